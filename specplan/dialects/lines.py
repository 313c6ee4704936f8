"""Lines that may say something, found among many that do not, without looking at each.

Blocks of whole lines are searched for a few byte strings, each by one fast search; a line without
any of them costs its bytes and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MAX_LINE: Final = 2**20
"""Bytes of a line of text; what is longer is no line that an engine prints, and is cut."""
MAX_JSON: Final = 64 * 2**20
"""Bytes of a JSON document, on one line or many."""

_JSON_STARTS: Final = (b"{", b"[", b"data: {")


class Blocks:
    """Blocks of whole lines, each ended by a line feed; `cut` counts the lines cut."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.cut = 0
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        head = bytearray()  # the start of a line that goes on in the next chunk
        cutting = False
        for chunk in self._chunks:
            first = chunk.find(b"\n") if cutting else 0
            if first < 0:
                continue
            cutting = False
            last = chunk.rfind(b"\n") + 1
            if last:
                yield bytes(head + chunk[first:last])
                head = bytearray(chunk[last:])
            else:
                head += chunk
            if len(head) > _longest(head):
                del head[MAX_LINE:]
                self.cut += 1
                cutting = True
        if head:
            yield bytes(head + b"\n")


def marked(block: bytes, needles: Sequence[bytes]) -> list[tuple[int, int]]:
    """Start and end of each line of a block that holds one of the needles, in order.

    A needle that starts with a line feed stands at the start of a line; the block has to start
    with one for that.
    """
    found: set[tuple[int, int]] = set()
    for needle in needles:
        at = block.find(needle)
        while at >= 0:
            start = at + 1 if needle.startswith(b"\n") else block.rfind(b"\n", 0, at) + 1
            end = block.find(b"\n", start)
            found.add((start, end))
            at = block.find(needle, end)
    return sorted(found)


def starts_json(line: bytes | bytearray) -> bool:
    """Whether a line begins as a JSON document on one line would."""
    return line.startswith(_JSON_STARTS)


def _longest(head: bytearray) -> int:
    return MAX_JSON if starts_json(head) else MAX_LINE
