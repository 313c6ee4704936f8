"""How long requests of each length stay, from their first token to the last, and how unlike."""

from __future__ import annotations

import numpy as np

from specplan.physics.tokens import FloatArray
from specplan.serving.balance import Balance
from specplan.serving.latencies import Decode
from specplan.serving.server import Server


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
    mean = np.zeros(len(d.after))
    variance = np.zeros(len(d.after))
    jitter = np.interp(count, at.levels, [steps.variance for steps in at.steps])
    again = (1 + at.share) / (1 - at.share)  # a long step lets more prompts arrive for the next
    ks = np.asarray(server.k)
    for k, rounds in server.rounds.items():
        here = (ks == k) * made
        if not here.any():
            continue
        round_s, share = float(here @ at.round_s), float(here @ at.share / here.sum())
        late = float(here @ at.late_s)
        mean += rounds.mean * round_s + late * (1 - share**rounds.mean)
        variance += rounds.variance * float(here @ at.round_s**2)
        variance += rounds.mean * float(here @ (jitter * again))
    slow = at.tau_s / float(made @ at.tau_s)
    uneven = float(made @ (slow - 1) ** 2)
    variance += mean**2 * uneven * _persists(mean, server, at)
    return Decode(mean, variance)


def _persists(stay_s: FloatArray, server: Server, at: Balance) -> FloatArray:
    """The part of the variance of the batch that is left in its average over a stay: it forgets
    what it was over the stay of others, more slowly where a larger batch makes it longer.
    """
    d = server.demands
    typical = int(min(max(round(at.crowd.mean), 1), server.most - 1)) if server.most > 1 else 1
    after = at.tau_s[min(typical, server.most - 1)]
    bends = np.log(after / at.tau_s[typical - 1]) * typical
    stays = float(at.tau_s[typical - 1])
    forgets = stays * d.output_square / max(float(d.weight @ d.after) ** 2 * 2, 1e-12)
    x = stay_s / (forgets / (1 - min(max(float(bends), 0.0), 0.9)))
    safe = np.maximum(x, 1e-6)
    found: FloatArray = np.where(x < 1e-3, 1.0, 2 * (safe - 1 + np.exp(-safe)) / safe**2)
    return found
