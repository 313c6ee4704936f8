"""The bytes of a source, unpacked, read through once in constant memory.

A source is a regular file or standard input (`-`), gzip or not, by its first bytes. UTF-16, which
some shells write, becomes UTF-8; a byte order mark and NULs (holes that a rotated log leaves) go.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import itertools
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast

from specplan.errors import InputError
from specplan.opening import exists, opened, place

STDIN: Final = "-"
WANTED: Final = "what an engine or a load generator prints"
CHUNK: Final = 2**19

_GZIP: Final = b"\x1f\x8b"
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Moved(Protocol):
    """Told how many more bytes of the source, as it is stored, have been read."""

    def __call__(self, more: int, /) -> object:
        """Moves a bar, say."""
        ...


class Bytes:
    """What has been read of a source so far; `ended_early` where a gzip file lacks its end."""

    def __init__(self, source: str, moved: Moved | None = None) -> None:
        self.path = Path("standard input" if source == STDIN else source)
        self.source = source
        self.ended_early = False
        self.sha256 = hashlib.sha256()
        self._moved = moved

    def size(self) -> int | None:
        """The bytes there are, as stored; None where nobody knows."""
        if self.source == STDIN or not exists(self.path):
            return None
        return self.path.stat().st_size

    def chunks(self) -> Iterator[bytes]:
        """The text as UTF-8, half a megabyte at a time; what is no UTF-8 is left as it is."""
        with self._file() as file:
            counted = io.BufferedReader(_Counted(file, self), CHUNK)
            packed = counted.peek(len(_GZIP)).startswith(_GZIP)
            buffered = cast("BinaryIO", counted)
            unpacked = self._unpacked(buffered) if packed else _pieces(buffered)
            for chunk in _as_utf8(unpacked):
                yield chunk.replace(b"\0", b"") if b"\0" in chunk else chunk

    @contextmanager
    def _file(self) -> Iterator[BinaryIO]:
        if self.source != STDIN:
            with opened(self.path, WANTED) as (file, _):
                yield file
        elif sys.stdin is None:
            raise InputError("is closed", where=place(self.path), expected=WANTED)
        else:
            yield sys.stdin.buffer

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                # read1, as read would lose what stands before a missing end
                while piece := unpacked.read1(CHUNK):
                    yield piece
        except EOFError:  # a log that is still written, or a copy that was cut off
            self.ended_early = True
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError("is no whole gzip file", where=place(self.path)) from error

    def took(self, piece: bytes) -> None:
        """Notes bytes as they are stored."""
        self.sha256.update(piece)
        if self._moved is not None:
            self._moved(len(piece))


class _Counted(io.RawIOBase):
    """A file whose bytes are noted as they are read."""

    def __init__(self, file: BinaryIO, source: Bytes) -> None:
        self._file = file
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # read1 gives what a pipe holds now, so that a bar moves while a slow writer writes
        read = getattr(self._file, "read1", self._file.read)
        piece = cast("bytes", read(len(buffer)))
        buffer[: len(piece)] = piece
        self._source.took(piece)
        return len(piece)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(CHUNK):
        yield piece


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = next(pieces, b"")
    if first.startswith(_UTF16_MARKS):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        for piece in itertools.chain((first,), pieces):
            yield decoder.decode(piece).encode("utf-8", "replace")
        return
    yield first.removeprefix(_UTF8_MARK)
    yield from pieces
