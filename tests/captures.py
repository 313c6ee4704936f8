"""Captures made by hand, for whatever rests on one."""

from __future__ import annotations

from specplan.domain.capture import Capture, Origin, Seen


def capture(engine="vllm", **given):
    """A capture in which nothing is known but what was given."""
    nothing = dict.fromkeys(
        (
            *("drafts", "drafted_tokens", "accepted_tokens", "tokens_per_round"),
            *("tokens_per_round_low", "tokens_per_round_high", "acceptance_rate"),
            *("alpha", "alpha_low", "alpha_high", "effective_rounds", "k", "mean_draft"),
        )
    )
    known = {
        "source": "server.log",
        "origin": Origin(format=f"{engine}-log", engine=engine),
        "spans": 1,
        "alpha_basis": "rejections counted",
        "per_position": (),
    }
    return Capture(**(nothing | known | given))


def steady(value, low=None, high=None):
    """A quantity that was seen."""
    ends = (value if low is None else low, value if high is None else high)
    return Seen(mean=value, low=ends[0], high=ends[1], last=value)
