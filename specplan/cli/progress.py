"""The bar on a terminal's stderr while a long answer is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(total: int, *, colour: bool) -> Iterator[Callable[[int], None]]:
    """A bar up to `total` that is gone in the end; what is given moves it on by so many."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, no_color=not colour, highlight=False),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)
