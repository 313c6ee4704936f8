"""Which models a listing shows: those that were asked for, and what could draft for a target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specplan.errors import Where, unknown
from specplan.questions.cards import Listed, Row, among, at_least
from specplan.questions.kinds import KINDS

COULD = "could"  # the column that says so
SMALLER = 4  # a drafter has at most one in so many of its target's parameters
_STEM = re.compile(r"[a-z]+(?:-[a-z]+(?![a-z0-9]))*")  # qwen of qwen2.5, deepseek of deepseek-v3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsAsked:
    """Which models: of one of these kinds, of families that begin so, and so on. `target` and its
    other names ask for what was trained to draft for it, `target_row` also for what could; empty
    or None asks for nothing.
    """

    kinds: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    least_params: float | None = None
    most_params: float | None = None
    context: float | None = None
    target: tuple[str, ...] = ()
    target_row: Row | None = None
    sort: str = "name"
    reverse: bool = False


def kept(listed: Sequence[Listed], asked: ModelsAsked) -> Iterator[Listed]:
    """The models asked for; of those that could draft for the target the rows say so, and that they
    stand apart from whole models.
    """
    kinds = among("--kind", "kind", asked.kinds, KINDS)
    families = _families(asked.families, listed)
    for one in listed:
        row = one.row
        if (
            (kinds and not kinds.intersection(str(row["kinds"]).split()))
            or (families and not str(row["family"]).startswith(families))
            or not at_least(row, "stored_params", asked.least_params, asked.most_params)
            or not at_least(row, "trained_context", asked.context)
        ):
            continue
        trained = set(str(row["targets"] or "").split())
        if not asked.target or not trained.isdisjoint(asked.target):
            yield replace(one, row={**row, COULD: False})
        elif asked.target_row and could_draft(row, asked.target_row):
            yield replace(one, row={**row, COULD: True, "whole": False})


def could_draft(row: Row, target: Row) -> bool:
    """Whether a model is one that engines take as a draft model: whole, of the target's vocabulary
    and maker, and a quarter of its size or less.
    """
    stored, most = row["stored_params"], target["stored_params"]
    return (
        bool(row["whole"])
        and row["targets"] is None
        and row["vocab"] is not None
        and row["vocab"] == target["vocab"]
        and _stem(str(row["family"])) == _stem(str(target["family"]))
        and isinstance(stored, int | float)
        and isinstance(most, int | float)
        and SMALLER * stored <= most
    )


def nearest_first(found: list[Listed], asked: ModelsAsked) -> list[Listed]:
    """The same by name, but what could draft and is of another generation last."""
    if asked.target_row is None or asked.sort != "name":
        return found
    family = asked.target_row["family"]
    return sorted(found, key=lambda one: bool(one.row[COULD]) and one.row["family"] != family)


def families_left(listed: Sequence[Listed], asked: ModelsAsked) -> tuple[str, ...]:
    """The families of what matches all that was asked but the families."""
    rows = (one.row for one in kept(listed, replace(asked, families=())))
    return tuple(sorted({str(row["family"]) for row in rows}))


def _families(asked: Sequence[str], listed: Sequence[Listed]) -> tuple[str, ...]:
    """What families are asked to begin with, if some family does."""
    known = {str(one.row["family"]) for one in listed}
    wanted = tuple(text.lower() for text in asked)
    for text in wanted:
        if not any(family.startswith(text) for family in known):
            error = unknown("family", text, known, where=Where("--family"))
            if not error.hint:
                stems = sorted(set(map(_stem, known)))
                error.expected = f"one that begins with {', '.join(stems)}"
            raise error
    return wanted


def _stem(family: str) -> str:
    """A family without its generation."""
    found = _STEM.match(family)
    return found[0] if found else family
