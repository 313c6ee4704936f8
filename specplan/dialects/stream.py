"""One source, whatever it holds: what the readers of every format find in it, one by one.

    stream = read("server.log")
    for found in stream: ...
    stream.origins(), stream.lines, stream.unread, stream.sha256

The source is decided by content. A document of JSON over several lines is read whole; everything
else goes line by line, where a line may be a log's, a JSON document, or a sample of a scrape.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from specplan.dialects import formats, scrapes
from specplan.dialects.documents import Exposition
from specplan.dialects.json_ import NoJsonError, parsed, series
from specplan.dialects.lines import MAX_JSON, MAX_LINE, Blocks, starts_json
from specplan.dialects.offers import Offers
from specplan.dialects.reading import DocumentReader, LineReader
from specplan.dialects.unpacking import Bytes, Moved
from specplan.domain.capture import Found, Noted, Origin, Span
from specplan.errors import InputError
from specplan.opening import place
from specplan.visible import visible

OURS: Final = "specplan.acceptance/1"
"""The schema of our own answers, which stand for what they were made from."""

_JSON = re.compile(rb"\s*(?:\{\s*(?:[\"}]|\Z)|\[\s*(?:[\[{\"\]]|\Z))")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MESSAGES: Final = ("log", "message", "msg", "MESSAGE", "line", "text")


def read(source: str, moved: Moved | None = None, *later: str) -> Stream:
    """What a file, or standard input for `-`, holds; `moved` is told of bytes as they are read.
    Sources `later` are taken for what comes behind it, such as later scrapes of the same server.

    Nothing is opened before the stream is iterated over; then a source that cannot be read, or
    begins as JSON and is none, is an InputError. A stream is iterated over once.
    """
    return Stream(source, moved, *later)


class Stream:
    """What is found in a source. The figures are whole when it has been iterated over.

    `size` is the bytes stored, or None; `lines` those read, `unread` those of no format, `cut`
    those too long; `ours` holds our own answers, found in place of an engine's words.
    """

    def __init__(self, source: str, moved: Moved | None = None, *later: str) -> None:
        self.source = source
        self.lines = self.unread = self.cut = 0
        self.ours: list[Mapping[str, object]] = []
        self.spans: dict[str, int] = {}
        self._sources = [Bytes(one, moved) for one in (source, *later)]
        sizes = [one.size() for one in self._sources]
        self.size = None if None in sizes else sum(filter(None, sizes))
        self._line_readers = formats.line_readers()
        self._document_readers = formats.document_readers()
        self._offers = Offers(self._line_readers)
        self._scrapes = scrapes.Scrapes()
        self._takings = 0

    def __iter__(self) -> Iterator[Found]:
        for _, found in self.by_format():
            yield found

    def by_format(self) -> Iterator[tuple[str, Found]]:
        """What is found, each with the format that it was found in."""
        for name, found in self._all():
            if isinstance(found, Noted) and not found.trap and not found.warning:
                continue
            self.spans[name] = self.spans.get(name, 0) + isinstance(found, Span)
            yield name, found

    @property
    def sha256(self) -> str:
        """Of the bytes of the first source as they are stored, in hex."""
        return self.digests[0]

    @property
    def digests(self) -> tuple[str, ...]:
        """The same of every source."""
        return tuple(one.sha256.hexdigest() for one in self._sources)

    @property
    def ended_early(self) -> bool:
        """Whether a gzip file lacks its end; what came before it was read."""
        return any(one.ended_early for one in self._sources)

    def origins(self) -> dict[str, Origin]:
        """By format, whose words were found; those of most spans first."""
        readers = {each.format: each for each in self._readers()}
        names = sorted(self.spans, key=lambda name: -self.spans[name])
        return {name: readers[name].origin() for name in names}

    def looked_for(self) -> tuple[str, ...]:
        """The formats that were looked for."""
        return tuple(each.format for each in self._readers())

    def nothing(self) -> InputError:
        """The error of whoever needs something where nothing was recognised."""
        engines = "vLLM, SGLang, TensorRT-LLM, llama.cpp, AIPerf or guidellm"
        cut = ", which end in the middle of a gzip stream" if self.ended_early else ""
        return InputError(
            f"nothing recognised in {self.lines:,} line{'s' if self.lines != 1 else ''}{cut}",
            where=place(self._sources[0].path),
            expected=f"a log, /metrics page or result of {engines}",
            hint=f"looked for {', '.join(self.looked_for())}",
        )

    def _readers(self) -> list[LineReader | DocumentReader]:
        return [*self._line_readers, *self._document_readers]

    def _all(self) -> Iterator[tuple[str, Found]]:
        for source in self._sources:
            yield from self._source(source)
        for scrape, at in self._scrapes.end():
            yield from self._document(scrape, at)
        for reader in self._readers():
            for found in reader.finish():
                yield reader.format, found

    def _source(self, source: Bytes) -> Iterator[tuple[str, Found]]:
        blocks = Blocks(source.chunks())
        rest = iter(blocks)
        first = next(rest, b"")
        rest = itertools.chain((first,), rest)
        if _JSON.match(first) and not _on_lines(first):
            text = _whole(rest, source.path)
            read = 0
            for document, line, end in series(text, source.path):
                yield from self._document(document, line)
                read = end
            self.lines += text.count("\n", 0, read)
            rest = iter((text[read:].lstrip().encode("utf-8", "replace"),))
        yield from self._text(rest)
        self.cut += blocks.cut

    def _text(self, blocks: Iterable[bytes]) -> Iterator[tuple[str, Found]]:
        for block in blocks:
            searched = b"\n" + block
            at, number, samples = 0, self.lines, False
            for start, end in self._offers.lines(searched):
                number += searched.count(b"\n", at, start)
                at = start
                line = searched[start:end]
                if scrapes.looks_so(line):
                    samples = True
                    for scrape, first in self._scrapes.take(_decoded(line), number):
                        yield from self._document(scrape, first)
                    continue
                before = self._takings
                for name, found in self._line(line, number):
                    self._takings += 1
                    yield name, found
                self.unread -= self._takings > before
            count = number - self.lines + searched.count(b"\n", at) - 1
            self.lines += count
            self.unread += count - (scrapes.counted(block) if samples else 0)

    def _line(self, line: bytes, number: int) -> Iterator[tuple[str, Found]]:
        if starts_json(line):
            try:
                document = parsed(_decoded(line).removeprefix("data: "))
            except NoJsonError:
                pass
            else:
                yield from self._document(document, number, on_line=True)
                return
        text = ""
        for reader in self._offers.readers(line):
            text = text or _COLOUR.sub("", _decoded(line[:MAX_LINE]))
            for found in reader.read(text, number):
                if isinstance(found, Span):
                    self._offers.heard(reader)
                yield reader.format, found

    def _document(
        self, document: object, number: int, *, on_line: bool = False
    ) -> Iterator[tuple[str, Found]]:
        reader = next((one for one in self._document_readers if one.claims(document)), None)
        if reader:
            if isinstance(document, Exposition) and document.odd:
                yield reader.format, Noted(warning=_odd(document.odd), line=number)
            for found in reader.read(document, number):
                yield reader.format, found
        elif isinstance(document, dict) and document.get("schema") == OURS:
            self.ours.append(document)
            self._takings += 1
        elif isinstance(document, dict) and on_line:  # a log whose lines are kept as JSON
            wrapped = next((document[key] for key in _MESSAGES if key in document), None)
            for line in str(wrapped or "").splitlines():
                yield from self._line(line.lstrip("{[").encode(), number)
        elif isinstance(document, list):
            for each in document:
                if isinstance(each, dict):
                    yield from self._document(each, number)


def _whole(blocks: Iterable[bytes], path: Path) -> str:
    raw = bytearray()
    for block in blocks:
        raw += block
        if len(raw) > MAX_JSON:
            what = "more than 64 MiB of JSON in one document"
            hint = "save it without the details of each token"
            raise InputError(what, where=place(path), hint=hint)
    return raw.decode("utf-8", "replace")


def _on_lines(block: bytes) -> bool:
    """Whether documents stand on lines of their own; the first line may have lost its start or
    end where a log was rotated.
    """
    first, _, rest = block.lstrip().partition(b"\n")
    second = rest.partition(b"\n")[0]
    return _complete(first) or (len(first.strip()) > 1 and _complete(second))


def _complete(line: bytes) -> bool:
    try:
        return isinstance(parsed(_decoded(line)), dict | list)
    except NoJsonError:
        return False


def _odd(names: tuple[str, ...]) -> str:
    """What is said of counters whose value is no count."""
    return f"left out, being NaN, infinite or negative: {visible(', '.join(names), 300)}"


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
