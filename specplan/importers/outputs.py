"""Files of generated outputs, a JSON record a line: read one by one, with limits, gzip or not."""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final, cast

from specplan.domain.outputs import Outputs
from specplan.errors import InputError
from specplan.importers.json_ import parse_json
from specplan.importers.output_record import Sample, Unit, prompt_key, prompt_of, samples
from specplan.opening import opened, place

STDIN: Final = "-"
MAX_LINE: Final = 64 * 2**20
MAX_TOKENS: Final = 2**28
"""Of one file, in memory 1 GiB."""
MAX_OUTPUTS: Final = 5_000_000

_WANTED = "JSONL, a record of a prompt and its outputs a line"
_GZIP = b"\x1f\x8b"
# Up to four letters with the space before them, or one sign: about a token's length. The pieces of
# a text put together are the text.
_PIECE = re.compile(r"\s*\w{1,4}|\s*[^\w\s]|\s+")


def read_outputs(source: str, pieces: dict[str, int]) -> Outputs:
    """The outputs in a file, or in standard input if the source is `-`.

    `pieces` numbers the pieces of text; one dictionary serves all files that are compared.
    """
    path = Path("standard input" if source == STDIN else source)
    with _lines(source, path) as (file, sha256):
        reader = _Reader(path, pieces)
        try:
            for number, line in enumerate(_bounded(file, path), start=1):
                if line.strip():
                    reader.take(line, number)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError("is no whole gzip file", where=place(path)) from error
    return reader.outputs(sha256)


@contextmanager
def _lines(source: str, path: Path) -> Iterator[tuple[BinaryIO, str | None]]:
    """The file to read lines from, unpacked, and the digest of its bytes where it has one."""
    if source == STDIN:
        if sys.stdin is None:
            raise InputError("is closed", where=place(path), expected=_WANTED)
        stream = cast("BufferedReader", sys.stdin.buffer)
        yield _unpacked(stream, stream.peek(len(_GZIP))), None
        return
    with opened(path, _WANTED) as (file, _):
        sha256 = hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()
        file.seek(0)
        start = file.read(len(_GZIP))
        file.seek(0)
        yield _unpacked(file, start), sha256


def _unpacked(file: BinaryIO, start: bytes) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=file)) if start.startswith(_GZIP) else file


def _bounded(file: BinaryIO, path: Path) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            where = place(path, number, 1)
            raise InputError("a line of more than 64 MiB", where=where, expected=_WANTED)
        yield line


class _Reader:
    """What has been read of one file."""

    def __init__(self, path: Path, pieces: dict[str, int]) -> None:
        self.path = path
        self.pieces = pieces
        self.key: str | None = None
        self.unit: Unit | None = None
        self.prompts: dict[str, list[array[int]]] = {}
        self.records = self.tokens = self.count = 0

    def take(self, line: bytes, number: int) -> None:
        """Adds the record in a line; an error says where the line stands."""
        self.records += 1
        try:
            record = parse_json(line.rstrip(b"\r\n"), self.path)
            if self.key is None:
                self.key = prompt_key(record)
            prompt = prompt_of(record, self.key) if self.key else str(self.records)
            known = self.prompts.setdefault(prompt, [])
            for sample in samples(record):
                known.append(self._numbers(sample))
        except InputError as error:
            column = error.where.column if error.where else 0
            error.where = place(self.path, number, column or 1)
            error.expected = error.expected or _WANTED
            raise

    def _numbers(self, sample: Sample) -> array[int]:
        """An output as numbers."""
        if self.unit is None:
            self.unit = sample.unit
        elif self.unit != sample.unit:
            called = {"tokens": "token ids", "text": "text"}
            what = f"{called[sample.unit]}, after {called[self.unit]} in the lines before"
            raise InputError(what, expected="one of them throughout", hint="token ids tell more")
        numbers = sample.tokens
        if sample.unit == "text":
            of = self.pieces
            numbers = array("i", [of.setdefault(p, len(of)) for p in _PIECE.findall(sample.text)])
        self.tokens += len(numbers)
        self.count += 1
        if self.tokens > MAX_TOKENS or self.count > MAX_OUTPUTS:
            what = f"more than {MAX_TOKENS:,} tokens or {MAX_OUTPUTS:,} outputs"
            raise InputError(what, expected="fewer", hint="compare fewer prompts at a time")
        return numbers

    def outputs(self, sha256: str | None) -> Outputs:
        """All of it."""
        if self.unit is None:
            raise InputError("is empty", where=place(self.path), expected=_WANTED)
        return Outputs(
            name=str(place(self.path)),
            unit=self.unit,
            named_by=self.key or "",
            prompts=self.prompts,
            sha256=sha256,
        )
