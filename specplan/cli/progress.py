"""The bars on a terminal's stderr while a long answer is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

REFRESH_S = 0.2


@contextmanager
def counting(total: int, *, colour: bool) -> Iterator[Callable[[int], None]]:
    """A bar up to `total` that is gone in the end; what is given moves it on by so many."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

    bar = _bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), colour=colour)
    with bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def reading(size: int, *, colour: bool) -> Iterator[Callable[[int], None]]:
    """A bar up to so many bytes that is gone in the end; what is given moves it on by so many."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn

    bar = _bar(BarColumn(), DownloadColumn(), TimeRemainingColumn(), colour=colour)
    with bar:
        task = bar.add_task("", total=size)
        yield lambda done: bar.advance(task, done)


@contextmanager
def lasting(seconds: float, *, colour: bool) -> Iterator[Callable[[float, str], None]]:
    """A bar up to so many seconds that is gone in the end; it is given those gone and what is next.

    It is drawn only when given something: a thread of its own would disturb what is timed.
    """
    from rich.progress import BarColumn, TextColumn

    words = TextColumn("{task.description}", markup=False)
    bar = _bar(BarColumn(), words, colour=colour, alone=False)
    drawn = 0.0

    def move(gone: float, says: str) -> None:
        nonlocal drawn
        bar.update(task, completed=min(gone, seconds), description=f"{gone:.0f} s  {says}")
        if time.monotonic() - drawn >= REFRESH_S:
            bar.refresh()
            drawn = time.monotonic()

    with bar:
        task = bar.add_task("", total=seconds)
        yield move


def _bar(*columns: ProgressColumn, colour: bool, alone: bool = True) -> Progress:
    """A bar of these columns; `alone` it draws itself again and again."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(
        *columns,
        console=Console(stderr=True, no_color=not colour, highlight=False),
        auto_refresh=alone,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
