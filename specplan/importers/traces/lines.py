"""The lines of a file, gzip or not, in bounded memory, and the place of what is read."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from specplan.errors import InputError, Where
from specplan.opening import opened, place

MAX_BYTES: Final = 4 * 2**30
"""Unpacked: a week of Azure's 2024 trace is about a gigabyte."""
MAX_LINE: Final = 2**20
MAX_LINES: Final = 25_000_000
WANTED: Final = "a trace: a table of requests, or lines of JSON"

_CHUNK: Final = 2**19
_GZIP: Final = b"\x1f\x8b"
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Lines:
    """Iterates over the lines of a file without their line feeds; `number` and `text` are of the
    line that was given last.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self.text = ""

    def where(self, column: int = 1) -> Where:
        """A place in the current line, its columns counted from 1."""
        return place(self.path, max(self.number, 1), column)

    def __iter__(self) -> Iterator[str]:
        """Every line, the last one with or without a line feed."""
        with opened(self.path, WANTED) as (file, _):
            packed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            rest = b""
            for piece in self._bounded(file, packed=packed):
                whole, feed, rest = (rest + piece).rpartition(b"\n")
                if feed:
                    yield from self._told(whole)
                if len(rest) > MAX_LINE:
                    self.number += 1
                    what = f"a line of more than {MAX_LINE:,} bytes"
                    raise InputError(what, where=self.where(), expected=WANTED)
            if rest:
                yield from self._told(rest)

    def _told(self, whole: bytes) -> Iterator[str]:
        for line in self._decoded(whole).split("\n"):
            self.number += 1
            self.text = line
            if self.number > MAX_LINES:
                what = f"more than {MAX_LINES:,} lines"
                raise InputError(what, where=self.where(), hint="cut it into parts")
            if len(line) > MAX_LINE:
                what = f"a line of more than {MAX_LINE:,} bytes"
                raise InputError(what, where=self.where(), expected=WANTED)
            yield line

    def _decoded(self, whole: bytes) -> str:
        if not self.number:
            if whole.startswith(_WIDE_MARKS):
                raise InputError("is not UTF-8 text", where=self.where(), expected=WANTED)
            whole = whole.removeprefix(_UTF8_MARK)
        try:
            return whole.decode()
        except UnicodeDecodeError as error:
            before = whole[: error.start]
            line = self.number + before.count(b"\n") + 1
            column = error.start - before.rfind(b"\n")
            where = place(self.path, line, column)
            raise InputError("is not UTF-8 text", where=where, expected=WANTED) from error

    def _bounded(self, file: BinaryIO, *, packed: bool) -> Iterator[bytes]:
        read = 0
        source = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file
        try:
            while piece := source.read(_CHUNK):
                read += len(piece)
                if read > MAX_BYTES:
                    what = f"more than {MAX_BYTES:,} bytes of text"
                    raise InputError(what, where=self.where(), hint="cut it into parts")
                yield piece
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError("is no whole gzip file", where=place(self.path)) from error
