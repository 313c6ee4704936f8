"""A plan as commented YAML, quoted so that it reads back as what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

INDENT = 2
COMMENT_COLUMN = 34

# What YAML 1.1 and 1.2 both read as this very text or number; all else is put in quotes.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_TEXT = re.compile(r"[A-Za-z](?:[A-Za-z0-9 .+_/-]*[A-Za-z0-9.])?")
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:k|/s| [A-Za-z]+)")
_NOT_TEXT = frozenset({"null", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, its value or values or the entries below it, comments behind and above it."""

    key: str
    value: str | Sequence[str] | Sequence[Entry]
    comment: str = ""
    above: Sequence[str] = ()


def commented_yaml(head: Sequence[str], entries: Sequence[Entry]) -> str:
    """The entries in order under the lines of a comment."""
    lines = [f"# {line}" for line in head]
    return "\n".join([*lines, *_written(entries, 0)]) + "\n"


def scalar(text: str) -> str:
    """A value as YAML, plain where both versions of YAML agree on what that means."""
    plain = _NUMBER.fullmatch(text) or _QUANTITY.fullmatch(text) or _TEXT.fullmatch(text)
    if plain and text.lower() not in _NOT_TEXT:
        return text
    return json.dumps(text, ensure_ascii=False)


def _written(entries: Sequence[Entry], depth: int) -> Iterator[str]:
    for entry in entries:
        yield from (f"{' ' * INDENT * depth}# {line}" for line in entry.above)
        if isinstance(entry.value, str):
            yield _line(entry, depth, f" {scalar(entry.value)}")
            continue
        below = [item for item in entry.value if isinstance(item, Entry)]
        if below:
            yield _line(entry, depth, "")
            yield from _written(below, depth + 1)
        else:
            items = ", ".join(scalar(item) for item in entry.value if isinstance(item, str))
            yield _line(entry, depth, f" [{items}]")


def _line(entry: Entry, depth: int, value: str) -> str:
    written = f"{' ' * INDENT * depth}{entry.key}:{value}"
    aside = written.ljust(COMMENT_COLUMN) if len(written) < COMMENT_COLUMN else f"{written}  "
    return f"{aside}# {entry.comment}" if entry.comment else written
