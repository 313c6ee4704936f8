"""Which lines of a text are offered to which readers.

Each byte string that is searched for costs every log time, so few are: those of lines that engines
print again and again, and, near a start, those of lines that are printed once. Where one engine has
been heard, and another not for a long while, the other is not listened for until it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specplan.dialects import formats, scrapes
from specplan.dialects.lines import marked
from specplan.dialects.reading import LineReader

NEAR: Final = 16 * 2**20
"""Bytes after which an engine has said what it says when it starts."""
_ALWAYS: Final[tuple[bytes, ...]] = (b"spec_",)
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
        self._besides: tuple[bytes, ...] = _ALWAYS
        self._always = formats.needles(readers)
        self._heard: set[str] = set()
        self._is_first = True
        self._opening = formats.opening(readers)
        self._readers = [(one, _marks(one), getattr(one, "trail", 0)) for one in readers]
        self._own: tuple[bytes, ...] = ()
        self._near = NEAR
        self._trail = 0
        self._scraping = False

    def lines(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Start and end of each line to look at, in order."""
        at = 1
        for start, end in (*self._marked(block), (len(block), len(block))):
            while self._trail and at < start:
                stop = block.find(b"\n", at)
                yield at, stop
                self._trail = max(self._trail - 1, 0)
                at = stop + 1
            if at <= start < len(block):
                yield start, end
                self._trail = max(self._trail - 1, 0)
                at = end + 1

    def readers(self, line: bytes) -> Iterator[LineReader]:
        """Whom a line is offered to."""
        trailing = bool(self._trail)
        for reader, marks, trail in self._readers:
            has_mark = any(mark in line for mark in marks)
            if has_mark and trail:
                self._trail = trail + 1  # this line is the first of them
            if has_mark or (trail and trailing):
                yield reader

    def heard(self, reader: LineReader) -> None:
        """Notes that a reader found figures."""
        engine = reader.origin().engine
        if engine not in self._heard:
            self._heard.add(engine)
            own = [one for one, _, _ in self._readers if one.origin().engine in self._heard]
            self._own = (*formats.needles(own), *self._starts)

    def _marked(self, block: bytes) -> list[tuple[int, int]]:
        found = marked(block, (*self._needles(), *self._besides, *self._of_first(block)))
        lines = [block[start:end] for start, end in found]
        if any(start in line for line in lines for start in self._starts):
            is_late = self._near <= 0
            self._near = NEAR
            if is_late:
                found = marked(block, (*self._needles(), *self._besides))
        more: tuple[bytes, ...] = ()
        if self._near > 0:
            more += self._opening
            self._near -= len(block)
        hinted = any(hint in line for line in lines for hint in _METRIC)
        if hinted or self._scraping:
            more += scrapes.STARTS
        self._scraping = hinted
        return sorted({*found, *marked(block, more)}) if more else found

    def _needles(self) -> tuple[bytes, ...]:
        return self._own if self._heard and self._near <= 0 else self._always

    def _of_first(self, block: bytes) -> tuple[bytes, ...]:
        if not self._is_first:
            return ()
        self._is_first = False
        self._besides += tuple(needle for needle in _IF_AT_FIRST if needle in block)
        return (*self._besides, *_FIRST)


def _marks(reader: LineReader) -> tuple[bytes, ...]:
    names = ("starts", "opening")
    own = (*reader.marks, *(mark for name in names for mark in getattr(reader, name, ())))
    return tuple(mark.encode() for mark in own)
