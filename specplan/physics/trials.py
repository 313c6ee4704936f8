"""How many trials a simulation runs, and how many of them it holds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from specplan.errors import Refused, UsageError

MAX_TRIALS = 1_000_000_000

_CHUNK = 1 << 16

Blocks = Callable[[int], Iterable[int]]
"""Cuts a number of trials into sizes that add up to it; `chunks`, or one that is watched."""


def chunks(trials: int) -> Iterator[int]:
    """Sizes that add up to `trials`, so that memory does not grow with them."""
    for start in range(0, trials, _CHUNK):
        yield min(_CHUNK, trials - start)


def check_trials(trials: int) -> None:
    """Refuse a number of trials outside 1 to `MAX_TRIALS`."""
    if not 1 <= trials <= MAX_TRIALS:
        raise UsageError(f"trials is {trials}", expected=f"1 to {MAX_TRIALS}")


def too_few(trials: int) -> Refused:
    """The error for a check that would pass whatever happened."""
    return Refused(
        f"{trials} trials cannot tell a wrong rule from a right one", hint="ask for more"
    )


def check_seed(seed: int) -> None:
    """Refuse a negative seed."""
    if seed < 0:
        raise UsageError(f"seed is {seed}", expected="0 or more")
