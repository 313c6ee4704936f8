"""Requests drawn of clients that are only described: each window as often as it was asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specplan.domain.clients import AskingWindow, Client, Clients, LengthsWindow
from specplan.domain.traffic import Trace
from specplan.errors import UsageError
from specplan.serving.arrivals import MOST_DRAWN, Counts, Floats, doubles, longs


def drawn_of(clients: Clients, seed: int) -> Trace:
    """A trace of all clients together, in order of arrival, the same for the same seed.

    A window has as many requests as its rate times its length says (a fraction is one more with
    that probability), spread over it with gaps of the window's law. Clients are drawn each with a
    generator of its own, so that one more changes nothing of the others.
    """
    expected = sum(w.rate_per_s * w.length_s for c in clients.clients for w in c.windows)
    if expected > MOST_DRAWN:
        what = f"{expected:,.0f} requests are too many to draw"
        raise UsageError(what, expected=f"at most {MOST_DRAWN:,}")
    parts = [_client(one, [seed, 2, n]) for n, one in enumerate(clients.clients)]
    at, isl, osl = (np.concatenate([part[i] for part in parts]) for i in range(3))
    if not len(at):
        raise UsageError("the clients ask for nothing")
    order = np.argsort(at, kind="stable")
    at = at[order]
    return Trace(
        arrival_s=doubles(at - at[0]),
        isl=longs(isl[order]),
        osl=longs(osl[order]),
        form=clients.form,
        source=clients.source,
        dropped=clients.dropped,
    )


def _client(client: Client, seed: list[int]) -> tuple[Floats, Counts, Counts]:
    rng = np.random.default_rng(seed)
    starts = np.array([window.start_s for window in client.lengths])
    times, isl, osl = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for window in client.windows:
        at = _within(window, rng)
        # Lengths are of longer windows; where one has none, those before it, or else the first.
        index = max(int(np.searchsorted(starts, window.start_s, side="right")) - 1, 0)
        lengths: LengthsWindow = client.lengths[index]
        times.append(at)
        isl.append(_chosen(lengths.isl, lengths.isl_share, len(at), rng))
        osl.append(_chosen(lengths.osl, lengths.osl_share, len(at), rng))
    return np.concatenate(times), np.concatenate(isl), np.concatenate(osl)


def _within(window: AskingWindow, rng: np.random.Generator) -> Floats:
    """Arrivals of one window: n + 1 gaps, scaled to fill it. For a Poisson process this is exactly
    how arrivals lie, given that there are n of them.
    """
    expected = window.rate_per_s * window.length_s
    count = int(expected) + int(rng.random() < expected - int(expected))
    if window.law == "gamma":
        gaps = rng.gamma(window.shape, 1.0, count + 1)
    elif window.law == "weibull":
        gaps = rng.weibull(window.shape, count + 1)
    else:
        gaps = rng.exponential(1.0, count + 1)
    reached = np.cumsum(gaps)
    total = reached[-1]
    if not 0 < total < np.inf:  # gaps too small or too large for a float: spread evenly at random
        return window.start_s + window.length_s * np.sort(rng.random(count))
    at: Floats = window.start_s + window.length_s * (reached[:-1] / total)
    return at


def _chosen(
    values: npt.ArrayLike, shares: npt.ArrayLike, count: int, rng: np.random.Generator
) -> Counts:
    share = np.asarray(shares, np.float64)
    return rng.choice(np.asarray(values, np.int64), size=count, p=share / share.sum())
