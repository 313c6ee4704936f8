"""The values of a GGUF header, read one after the other and never beyond what a header may hold."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias

from specplan.errors import InputError
from specplan.opening import place
from specplan.visible import visible

MAX_HEADER: Final = 2**28
"""Bytes; a vocabulary of 262144 tokens with its merges takes some 10 MB."""
MAX_ITEMS: Final = 8_000_000
"""Texts and lists in all arrays of a header: what has to be walked one by one."""
KEPT_ITEMS: Final = 4096
"""Longer arrays are counted only: a layer's figures are kept, a vocabulary is not."""
_MAX_DEPTH: Final = 4
_SHOWN: Final = 80

_SCALARS: Final = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""Scalar types by number, as struct letters."""
_BOOL: Final = 7
_STRING: Final = 8
_ARRAY: Final = 9


@dataclass(frozen=True, slots=True)
class Items:
    """An array: how long it is and, of short ones of numbers, its items."""

    length: int
    items: tuple[int | float | bool, ...] = ()


Value: TypeAlias = int | float | bool | str | Items


@dataclass(slots=True)
class Cursor:
    """A place in a header that moves on; `order` is struct's mark of the byte order."""

    file: BinaryIO
    path: Path
    size: int
    order: str = "<"
    position: int = 4
    walked: int = 0

    @property
    def byte_order(self) -> Literal["little", "big"]:
        """The byte order in words."""
        return "little" if self.order == "<" else "big"

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if self.position + count > min(self.size, MAX_HEADER):
            raise self._ended()
        raw = self.file.read(count)
        if len(raw) != count:
            raise self._ended()
        self.position += count
        return raw

    def number(self, letter: str) -> int:
        """The next unsigned number: I of 4 bytes, Q of 8."""
        return int.from_bytes(self.take(8 if letter == "Q" else 4), self.byte_order)

    def text(self, limit: int = MAX_HEADER) -> str:
        """The next text, of at most `limit` bytes."""
        length = self.number("Q")
        if length > limit:
            what = f"a text of {length} bytes"
            raise InputError(what, where=place(self.path), expected=f"at most {limit}")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            what = f"text at byte {self.position - length} is not UTF-8"
            raise InputError(what, where=place(self.path)) from error

    def value(self, kind: int, key: str) -> Value:
        """The next value of a type given by its number; `key` is for messages."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(key, 1)
        return self._scalars(kind, 1, key)[0]

    def _array(self, key: str, depth: int) -> Items:
        kind, length = self.number("I"), self.number("Q")
        if kind in _SCALARS:
            if length <= KEPT_ITEMS:
                return Items(length, self._scalars(kind, length, key))
            self._skip(length * struct.calcsize("=" + _SCALARS[kind]))
            return Items(length)
        self.walked += length
        if self.walked > MAX_ITEMS or depth >= _MAX_DEPTH:
            what = f"'{visible(key, _SHOWN)}' holds too much: {length} items at depth {depth}"
            raise InputError(what, where=place(self.path))
        if kind not in {_STRING, _ARRAY}:
            raise self._unknown(kind, key)
        if kind == _STRING:
            self._skip_texts(length)
        else:
            for _ in range(length):
                self._array(key, depth + 1)
        return Items(length)

    def _skip_texts(self, count: int) -> None:
        """Walks over texts: half a million merges are common, so without a call for each."""
        read, end = self.file.read, min(self.size, MAX_HEADER)
        for _ in range(count):
            length = int.from_bytes(read(8), self.byte_order)
            self.position += 8 + length
            if self.position > end:
                raise self._ended()
            read(length)

    def _scalars(self, kind: int, count: int, key: str) -> tuple[int | float | bool, ...]:
        if kind not in _SCALARS:
            raise self._unknown(kind, key)
        layout = f"{self.order}{count}{_SCALARS[kind]}"
        raw = self.take(struct.calcsize(layout))
        if kind == _BOOL and raw.strip(b"\0\1"):
            what = f"'{visible(key, _SHOWN)}' is neither true nor false"
            raise InputError(what, where=place(self.path))
        return struct.unpack(layout, raw)

    def _skip(self, count: int) -> None:
        if self.position + count > min(self.size, MAX_HEADER):
            raise self._ended()
        self.position += count
        self.file.seek(self.position)

    def _unknown(self, kind: int, key: str) -> InputError:
        what = f"'{visible(key, _SHOWN)}' has unknown value type {kind}"
        return InputError(what, where=place(self.path))

    def _ended(self) -> InputError:
        what = f"ends within its header, at byte {self.position}"
        return InputError(what, where=place(self.path), hint="it may be cut off")
