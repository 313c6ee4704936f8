"""What packaged cards say, written down by the hash of their bytes, so that not all are parsed.

`hardware/index.json` and its siblings are made by `.ci/index.py`. A card that was edited since has
another hash and is parsed like the user's own: an index is never wrong, it only helps less.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from specplan.catalogue.folders import Entry, first_bytes, packaged
from specplan.errors import InputError, SpecplanError

if TYPE_CHECKING:
    from specplan.domain.answer import Scalar

FILE = "index.json"
_MOST_BYTES = 1_000_001  # one more than any card may have


@dataclass(frozen=True, slots=True)
class Known:
    """A card without its file: name, aliases, and its row in a listing."""

    name: str
    aliases: tuple[str, ...]
    row: Mapping[str, Scalar]


@dataclass(frozen=True)
class Index:
    """The packaged cards of a kind by their sha256, looked up when first asked."""

    kind: str

    @cached_property
    def cards(self) -> dict[str, Known]:
        """All of them; none where there is no index, or something else in its place."""
        with suppress(OSError, ValueError, OverflowError, RecursionError, SpecplanError):
            return _cards(json.loads(packaged(self.kind).joinpath(FILE).read_text("utf-8")))
        return {}

    def called(self, alias: str) -> frozenset[str]:
        """The names of the cards that had the alias when they were written down."""
        return frozenset(card.name for card in self.cards.values() if alias in card.aliases)

    def find(self, entry: Entry) -> tuple[str, Known | None]:
        """The sha256 of a file, and the card if it is one of these under its own name."""
        try:
            digest = hashlib.sha256(first_bytes(entry.file, _MOST_BYTES)).hexdigest()
        except InputError:  # whoever parses it says so
            return "", None
        known = self.cards.get(digest)
        return digest, known if known and known.name == entry.name else None


def _cards(read: object) -> dict[str, Known]:
    """The cards of an index; ValueError if it is none."""
    if not isinstance(read, dict):
        raise ValueError  # noqa: TRY004 - as of text that is no JSON
    return {sha256: _card(card) for sha256, card in read.items()}


def _card(read: object) -> Known:
    match read:
        case {"name": str(name), "aliases": list(aliases), "row": dict(row)}:
            if all(isinstance(alias, str) for alias in aliases) and all(map(_scalar, row.values())):
                return Known(name, tuple(aliases), row)
    raise ValueError


def _scalar(value: object) -> bool:
    if isinstance(value, int | float):
        return math.isfinite(value)
    return value is None or isinstance(value, str)


def index_text(cards: Iterable[tuple[str, Known]]) -> str:
    """The index of cards by sha256 as it is committed: a line for each, by name."""
    lines = [
        f'"{digest}": '
        + json.dumps({"name": card.name, "aliases": card.aliases, "row": card.row}, allow_nan=False)
        for digest, card in sorted(cards, key=lambda pair: pair[1].name)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"
