"""A card as YAML: what its dataclass says beyond the defaults, quantities in people's units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Context, Decimal
from functools import cache
from typing import Any, get_args, get_type_hints

from specplan.catalogue.write import INDENT, scalar
from specplan.domain.card import Strict
from specplan.units import Unit, parse_quantity

WIDTH = 100
SPELLINGS = {
    "B": ("TB", "TiB", "GB", "GiB", "MB", "MiB", "KiB", "B"),
    "B/s": ("TB/s", "GB/s", "MB/s", "B/s"),
    "FLOP/s": ("TFLOP/s", "GFLOP/s", "MFLOP/s", "FLOP/s"),
    "s": ("s", "ms", "us", "ns"),
    "W": ("W",),
}
"""What a quantity of each unit is written in, largest first."""

_EXACT = Context(prec=160)
_WORDS = frozenset({"true", "false"})  # `scalar` leaves them plain for plans
_FOLD = re.compile(r"(?<=\S) (?=\S)")  # where a folded line may break and be joined again
_PLAIN_IN_BLOCK = re.compile(  # of two words or with a mark, or it might be a yes
    r"[A-Za-z](?:[\w ().,/+%<>=~;@'*^-]|:(?=\S))*"
)


def card_text(card: Strict) -> str:
    """The card as a file: keys in the order of the class, no key at its default.

    Read again it is the same card. Text beyond 100 columns is folded.
    """
    return "\n".join(_mapping(_entries(card), 0)) + "\n"


Entry = tuple[str, object, str]  # key, value, and the unit of the numbers in it


def _entries(record: object) -> list[Entry]:
    """What of a dataclass has to be said."""
    kind: Any = type(record)
    units = _units(kind)
    return [
        (field.name, value, units[field.name])
        for field in fields(kind)
        if (value := getattr(record, field.name)) is not None and value != _default(field)
    ]


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


@cache
def _units(kind: type) -> dict[str, str]:
    """The unit of each field of a dataclass, of its items where it holds several."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: next(_marks(hint), "") for name, hint in hints.items()}


def _marks(hint: object) -> Iterator[str]:
    """The units in an annotation, outside in."""
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, Unit):
            yield mark.symbol
    for inner in get_args(hint):
        yield from _marks(inner)


def _below(value: object, unit: str) -> list[Entry] | None:
    """The entries of a record or a mapping; None for anything else."""
    if is_dataclass(value):
        return _entries(value)
    if isinstance(value, Mapping):
        return [(str(key), item, unit) for key, item in value.items()]
    return None


def _mapping(entries: Sequence[Entry], depth: int) -> Iterator[str]:
    """Lines of the entries, each at `depth`."""
    for key, value, unit in entries:
        head = f"{' ' * INDENT * depth}{_key(key)}:"
        yield from _value(head, value, unit, depth)


def _value(head: str, value: object, unit: str, depth: int) -> Iterator[str]:
    """Lines of what stands behind a key or a dash, on its own line as far as it fits."""
    below = _below(value, unit)
    text = value if isinstance(value, str) else None
    flow = None if below is not None and depth == 0 else _flow(value, unit)
    if text is not None:
        yield from _text(head, text, depth)
    elif flow is not None and len(head) + 1 + len(flow) <= WIDTH:
        yield f"{head} {flow}"
    elif below is not None:
        yield head
        yield from _mapping(below, depth + 1)
    elif isinstance(value, Sequence):
        yield head
        for item in value:
            yield from _item(item, unit, depth + 1)
    else:  # a number that no line could hold
        yield f"{head} {flow}"


def _item(item: object, unit: str, depth: int) -> Iterator[str]:
    """Lines of an item of a list: a record begins on the line of its dash."""
    dash = f"{' ' * INDENT * depth}-"
    below, flow = _below(item, unit), _flow(item, unit)
    if below and (flow is None or len(dash) + 1 + len(flow) > WIDTH or _has_text(below)):
        first, *rest = _mapping(below, depth + 1)
        yield f"{dash} {first.lstrip(' ')}"
        yield from rest
    else:
        yield from _value(dash, item, unit, depth)


def _has_text(entries: Sequence[Entry]) -> bool:
    """Whether prose or lists stand in a record, which then gets lines of its own."""
    return any(isinstance(v, Sequence) and not _is_word(v) for _, v, _ in entries)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and " " not in value


def _flow(value: object, unit: str) -> str | None:
    """The value in one line; None where a text has a line break."""
    below = _below(value, unit)
    if below is not None:
        parts = [(_key(key), _flow(item, inner)) for key, item, inner in below]
        if any(flow is None for _, flow in parts):
            return None
        return f"{{ {', '.join(f'{key}: {flow}' for key, flow in parts)} }}" if parts else "{}"
    if isinstance(value, str):
        return None if "\n" in value else _word(value)
    if isinstance(value, Sequence):
        items = [_flow(item, unit) for item in value]
        return None if None in items else f"[{', '.join(item or '' for item in items)}]"
    return _number(value, unit)


def _number(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and unit in SPELLINGS:
        return quantity(value, unit)
    return repr(value).removesuffix(".0")


def quantity(value: float, unit: str) -> str:
    """The value in full in the spelling that takes fewest digits: "81559 MiB", "80 GB", "6.5 ms".

    The reader gives the very same value back.
    """
    whole, least = Decimal(repr(float(value))), SPELLINGS[unit][-1]
    digits = {}
    for spelling in SPELLINGS[unit]:
        factor = Decimal(repr(parse_quantity(f"1 {spelling}", unit)))
        if whole >= factor or spelling == least:
            text = f"{_EXACT.normalize(_EXACT.divide(whole, factor)):f}"
            digits[f"{text} {spelling}"] = len(text.replace(".", ""))
    return min(digits, key=lambda text: digits[text])


def _word(text: str) -> str:
    """A text that stands in a list or a record of one line."""
    return scalar(text) if text[:1].isalpha() and text.lower() not in _WORDS else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_][\w.-]*", key, re.ASCII) else _quoted(key)


def _text(head: str, text: str, depth: int) -> Iterator[str]:
    """A text behind its key: plain or quoted in one line, folded below it, or line by line."""
    prose = _PLAIN_IN_BLOCK.fullmatch(text) and text[-1] != " " and not text.isalpha()
    line = f"{head} {text if prose else _word(text)}"
    indent = " " * INDENT * (depth + 1)
    if "\n" in text:
        starts, ends = str(INDENT) if text[0].isspace() else "", "+" if text[-1] == "\n" else "-"
        yield f"{head} |{starts}{ends}"
        yield from (indent + part if part else "" for part in text.removesuffix("\n").split("\n"))
    elif len(line) <= WIDTH or not _FOLD.search(text) or text != text.strip():
        yield line
    else:
        yield f"{head} >-"
        yield from (indent + part for part in _folded(text, WIDTH - len(indent)))


def _folded(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width`, as far as its spaces let it break."""
    line = ""
    for part in _FOLD.split(text):
        if line and len(line) + 1 + len(part) > width:
            yield line
            line = part
        else:
            line = f"{line} {part}" if line else part
    yield line
