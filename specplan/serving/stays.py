"""How long requests of each length stay, from their first token to the last, and how unlike."""

from __future__ import annotations

import numpy as np

from specplan.serving.balance import Balance
from specplan.serving.latencies import Decode
from specplan.serving.server import Server, waited_s

_BENDS = 0.9  # of a stay that a batch may add to itself: above, it would hold itself


def decode_of(server: Server, at: Balance) -> Decode:
    """How requests of each length fare. What makes two of one length differ: rounds that keep more
    or less, prompts that come in between, and the batch, as far as it does not even out over a
    request's own time.
    """
    d, most = server.demands, server.most
    if not most:
        return Decode(np.zeros(len(d.after)), np.zeros(len(d.after)))
    count = np.arange(1.0, most + 1)
    made = at.crowd.law[1:] * count / at.tau_s  # requests a second, a part of each at every batch
    made /= made.sum()
    mean, own, stalls = (np.zeros(len(d.after)) for _ in range(3))
    jitter = np.interp(count, at.levels, [steps.variance for steps in at.steps])
    again = (1 + at.share) / (1 - at.share)  # a long step lets more prompts arrive for the next
    first_s = np.minimum(at.late_s * (1 - at.share), at.spare_s)
    before = first_s / (np.maximum(at.share, 1e-9) * at.round_s)
    ks = np.asarray(server.k)
    for k, rounds in server.rounds.items():
        here = (ks == k) * made
        if not here.any():
            continue
        share, late, spare = (here @ a / here.sum() for a in (at.share, at.late_s, at.spare_s))
        mean += rounds.mean * float(here @ at.round_s)
        mean += here.sum() * waited_s(rounds.mean, share, late, spare)
        own += rounds.variance * float(here @ at.round_s**2)
        stalls += rounds.mean * float(here @ (jitter * again))
        stalls += np.minimum(rounds.mean, 1) * float(here @ (jitter * again * before))
    slow = at.tau_s / float(made @ at.tau_s)
    uneven = float(made @ (slow - 1) ** 2)
    forgets = _forgets_s(server, at)
    x = np.maximum(mean / forgets, 1e-6)
    kept = -np.expm1(-x)  # of a batch, lost at the end of a stay
    crowd = mean**2 * uneven * 2 * (x - kept) / x**2
    alike = _together(server, float(made @ at.share))
    both = alike * np.sqrt(2 * stalls * uneven * forgets * mean) * (1 - kept / x)
    return Decode(mean, own + stalls + crowd + 2 * both)


def _together(server: Server, share: float) -> float:
    """The correlation of what arrivals do to a request by their prompts with what they do by making
    the batch larger: both come of the same arrivals, but batches also get smaller by chance.
    """
    kept, square = share / (1 - share), 1 + server.uneven
    jump = (1 + kept) ** 2 + kept**2 * server.uneven
    return (1 + kept * square) / float(np.sqrt((1 + jump) * square))


def _forgets_s(server: Server, at: Balance) -> float:
    """Seconds in which the batch forgets what it was: the stay of others, as seen by chance, and
    longer where a larger batch makes stays longer.
    """
    d, tau_s = server.demands, at.tau_s
    typical = int(min(max(round(at.crowd.mean), 1), max(server.most - 1, 1)))
    stays = float(tau_s[typical - 1])
    bends = float(np.log(tau_s[min(typical, server.most - 1)] / stays)) * typical
    seen = stays * d.output_square / (2 * float(d.weight @ d.after) ** 2)
    return seen / (1 - min(max(bends, 0.0), _BENDS))
