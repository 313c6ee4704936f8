"""Serving engines in a table."""

from __future__ import annotations

from collections.abc import Sequence

from specplan.domain.answer import Answer, Column
from specplan.domain.engine import Engine
from specplan.questions.cards import ORIGIN_COLUMNS, Listed, Row, listing, rows_of

COLUMNS = (
    Column("name", "", "name", "text", "what to write after --engine"),
    Column("title", "", "engine", "text", "its full name"),
    Column("kind", "", "figures", "text", "a bound, an estimate, or calibrated to your data"),
    Column("since", "", "versions from", "text", "where its card tells versions apart"),
    Column("follows", "", "follows", "text", "the engine whose kernels stand in for its own"),
    Column("measured", "", "measured on", "text", "accelerators whose kernels were fitted"),
    *ORIGIN_COLUMNS,
)
SHOWN = ("name", "kind", "since", "follows", "measured")


def list_engines(listed: Sequence[Listed]) -> Answer:
    """A row for each engine."""
    return listing(
        "engines-list",
        listed,
        of=len(listed),
        columns=COLUMNS,
        sections=(rows_of(listed, SHOWN),),
        title=f"{len(listed)} engines",
        caption=("What an engine reaches on an accelerator; any other takes its stand-in's.",),
    )


def engine_row(card: Engine) -> Row:
    """What a listing says of one engine."""
    measured = [kernels.gpus[0] for kernels in card.kernels if kernels.basis == "measured"]
    return {
        "name": card.name,
        "title": card.title,
        "kind": card.kind,
        "since": ", ".join(release.since for release in card.releases) or None,
        "follows": card.follows,
        "measured": ", ".join(measured) or None,
    }
