"""How many arrivals come together, as seen over some time.

Gaps that are independent, of a gamma law with a squared coefficient of variation I above 1, come in
clusters: within a time u after an arrival there are M(u) more, of which lambda u would be there
anyway. The excess M(u) - lambda u grows from 0 to (I - 1) / 2 (Cox 1962, renewal theory). Arrivals
in clusters of geometric size with mean 1 + excess have as many neighbours within u.
"""

from __future__ import annotations

from specplan.physics.chance import chi_square_tail

_FAR = 6.0  # mean gaps times I, from which the excess is at its limit
_SLIGHT = 1e-4  # of an arrival


def burst_of(rate_per_s: float, dispersion: float, within_s: float) -> float:
    """Mean size of the clusters (1 or more) that a queue sees which looks `within_s` seconds far.

    `dispersion` below 1 counts as 1: arrivals that are more regular than Poisson gain nothing.
    """
    if dispersion <= 1:
        return 1.0
    usual = rate_per_s * within_s
    limit = (dispersion - 1) / 2
    if usual >= _FAR * dispersion:
        return 1 + limit
    shape, more, nth = 1 / dispersion, 0.0, 0
    while True:
        nth += 1
        chance = 1 - chi_square_tail(2 * usual * shape, 2 * nth * shape)
        more += chance
        if chance < _SLIGHT:
            break
    return 1 + min(max(more - usual, 0.0), limit)
