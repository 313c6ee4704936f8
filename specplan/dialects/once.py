"""What a reader says but once, however often it meets it."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.capture import Noted


class Once:
    """Traps and warnings of one source, each told where it is first met; true once any was."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._told)

    def first(self, what: str) -> bool:
        """Whether this is met for the first time."""
        new = what not in self._told
        self._told.add(what)
        return new

    def trap(self, trap: str, place: int) -> Iterator[Noted]:
        """The trap, at the line where it is first met."""
        if self.first(trap):
            yield Noted(trap=trap, line=place)

    def warning(self, warning: str, place: int) -> Iterator[Noted]:
        """The warning, at the line where it is first met."""
        if self.first(warning):
            yield Noted(warning=warning, line=place)
