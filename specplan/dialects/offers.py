"""Which lines of a text are offered to which readers.

Each byte string that is searched for costs every log time, so few are: those of lines that engines
print again and again, and, near a start, those of lines that are printed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specplan.dialects import formats, scrapes
from specplan.dialects.lines import marked
from specplan.dialects.reading import LineReader

NEAR: Final = 16 * 2**20
"""Bytes after which an engine has said what it says when it starts."""
_ALWAYS: Final = (b"spec_",)
"""Of the names that every scrape of use holds."""
_FIRST: Final = (b"\n{",)
"""Of JSON lines. Beyond the first block only those are parsed that hold another needle: each that
has figures of speculation does, and a log kept as JSON would take hours.
"""
_IF_AT_FIRST: Final = (b"\n[{", b"\ndata: {", b"\n# TYPE ")
"""Of lists, streams of events, and scrapes: looked for where the first block has them."""
_METRIC: Final = (b"spec_", b"# TYPE ")


class Offers:
    """The searches of one source; blocks come in order, each begun by a line feed."""

    def __init__(self, readers: list[LineReader]) -> None:
        self._starts = formats.starts(readers)
        self._always = (*formats.needles(readers), *_ALWAYS)
        self._is_first = True
        self._opening = formats.opening(readers)
        self._readers = [(one, _marks(one), getattr(one, "trail", 0)) for one in readers]
        self._near = NEAR
        self._trail = 0
        self._scraping = False

    def lines(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of each line to look at, in order."""
        at = 1
        for start, end in (*self._marked(block), (len(block), len(block))):
            while self._trail and at < start:
                stop = block.find(b"\n", at)
                self._trail -= 1
                yield at, stop
                at = stop + 1
            if at <= start < len(block):
                self._trail = max(self._trail - 1, 0)
                yield start, end
                at = end + 1

    def readers(self, line: bytes) -> Iterator[LineReader]:
        """Whom a line is offered to."""
        trailing = bool(self._trail)
        for reader, marks, trail in self._readers:
            has_mark = any(mark in line for mark in marks)
            if has_mark and trail:
                self._trail = trail
            if has_mark or (trail and trailing):
                yield reader

    def _marked(self, block: bytes) -> list[tuple[int, int]]:
        if self._is_first:
            self._is_first = False
            self._always += tuple(needle for needle in _IF_AT_FIRST if needle in block)
            found = marked(block, (*self._always, *_FIRST))
        else:
            found = marked(block, self._always)
        lines = [block[start:end] for start, end in found]
        if any(start in line for line in lines for start in self._starts):
            self._near = NEAR
        more: tuple[bytes, ...] = ()
        if self._near > 0:
            more += self._opening
            self._near -= len(block)
        hinted = any(hint in line for line in lines for hint in _METRIC)
        if hinted or self._scraping:
            more += scrapes.STARTS
        self._scraping = hinted
        return sorted({*found, *marked(block, more)}) if more else found


def _marks(reader: LineReader) -> tuple[bytes, ...]:
    names = ("starts", "opening")
    own = (*reader.marks, *(mark for name in names for mark in getattr(reader, name, ())))
    return tuple(mark.encode() for mark in own)
