"""What a reader is. Readers are found by content: `specplan.dialects.formats` lists them all.

A text is read line by line, each line offered to every reader of lines that its marks let through;
a document (JSON, an exposition of Prometheus) is offered whole. A reader yields what it found and
keeps as little as it can: the last totals, never the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from specplan.domain.capture import Found, Origin


class LineReader(Protocol):
    """Reads the lines of one format. A new one is made for each source.

    Each mark costs every log time. `starts` and `opening` may be left out: a line with one of the
    first begins a start of the engine, and the second are looked for only near such a line or the
    source's own start. Nor need `trail` be there: so many lines after one with a mark are offered
    as well, as a table's are.
    """

    format: ClassVar[str]
    marks: ClassVar[tuple[str, ...]]  # a line without any of these is not offered

    def read(self, line: str, place: int) -> Iterable[Found]:
        """What a line says; nothing if it is none of this format's. A line of this format that
        says nothing new, or that waits for the next, gives `Noted()`, so that it counts as read.
        """
        ...

    def finish(self) -> Iterable[Found]:
        """What only the end of the source tells."""
        ...

    def origin(self) -> Origin:
        """Whose words these were, as far as the lines read so far tell."""
        ...


class DocumentReader(Protocol):
    """Reads whole documents of one format; `read` may be called once for each of a series."""

    format: ClassVar[str]

    def claims(self, document: object) -> bool:
        """Whether a parsed document is of this format; cheap, and true of one reader at most."""
        ...

    def read(self, document: object, place: int) -> Iterator[Found]:
        """What it says."""
        ...

    def finish(self) -> Iterable[Found]:
        """What only the last of a series tells."""
        ...

    def origin(self) -> Origin:
        """Whose words these were."""
        ...
