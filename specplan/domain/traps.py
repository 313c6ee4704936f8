"""Traps in what engines print: figures that do not mean what their name says.

A reader names those that apply to what it read; the answer of `acceptance` explains them.
"""

from __future__ import annotations

TRAPS: dict[str, str] = {
    "bonus-in": "the mean acceptance length counts the bonus token",
    "bonus-out": "the mean acceptance length leaves the bonus token out: one was added",
    "percent": "rates are printed in percent",
    "per-token-rate": "the rate counts tokens kept one by one, even after a rejection: it is no "
    "share of accepted drafts",
    "rate-floor": "the rate counts the bonus token: it never falls below 1 / (k + 1), and is not "
    "accepted / drafted",
    "short-drafts": "drafts were shorter than k: a position may be unreached because nothing was "
    "drafted there, so rates of neighbours are no conditional acceptance",
    "stuck-gauge": "a gauge keeps its last value while nothing runs",
    "lifetime": "figures since the server started, not of one workload",
    "counter-reset": "the counters started again in between: the server was restarted",
    "data-parallel": "several engines print into one stream: they were counted together",
    "cumulative": "lines hold totals since the start: differences were taken",
    "counter-overcount": "this version adds its running total again and again: its counters are "
    "of no use",
    "prefill-token": "the length counts the token that the prompt's own pass made",
    "no-drafts-count": "the number of rounds is not printed: it was worked out from other "
    "figures where these tell it",
    "ignored-drafts": "drafts that were thrown away before verification count as drafted, or not, "
    "by version",
    "rank-copies": "ranks print copies of one rank's counters: one was counted",
    "random-dataset": "the prompts are random tokens, which is no workload: acceptance on them "
    "says nothing",
    "itl-per-chunk": "the time between chunks is that of a round of several tokens, not of a "
    "token: TPOT is",
    "diffusion": "lines of a diffusion model are no speculation and were left out",
    "repeated-prompt": "the same prompt again finds drafts in its own earlier answer",
    "mean-of-means": "a mean over requests is not the mean over rounds",
}
