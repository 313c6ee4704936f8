"""Acceptance curves in a table: a row for each series of each card, by what is written after -a."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specplan.domain.answer import Answer, Column, Scalar, View, table_of
from specplan.domain.curve import WORDS, Curve, Series
from specplan.questions.cards import (
    BASIS,
    ORIGIN_COLUMNS,
    Listed,
    Order,
    Row,
    among,
    counted,
    hiding_notes,
    inputs_of,
    one_of_each,
    ordered,
    origin_row,
    rows_of,
)

NEAR = 3  # a draft length at which most curves were measured
_NONE = "-"

OF_CARD = (
    Column("card", "", "card", "text", "the card that holds it"),
    Column("drafter", "", "kind", "text", "what drafts"),
    Column("family", "", "family", "text", "how a block drafter was made"),
    Column("draft", "", "drafter", "text", "the drafter's card"),
    Column("target", "", "target", "text", "the target's card"),
    Column("of", "", "of", "text", "what was measured, in words"),
    Column("engine", "", "engine", "text", "what ran it"),
)
OF_SERIES = (
    Column("series", "", "series", "text", "its name in the card"),
    Column("task", "", "task", "text", "what was generated"),
    Column("temperature", "", "T", "alpha", "of sampling; nothing where it is not stated"),
    Column("k", "", "k", "count", "longest draft measured"),
    Column("tokens_1", "tokens", "k=1", "number", "tokens per round with one draft token"),
    Column(f"tokens_{NEAR}", "tokens", f"k={NEAR}", "number", f"with {NEAR}, where measured"),
    Column("tokens_k", "tokens", "at k", "number", "with the longest draft"),
    Column("spread", "tokens", "spread", "number", "standard deviation between requests or runs"),
    Column("spread_of", "", "between", "text", "requests or runs"),
    Column("samples", "", "samples", "count", "how many were measured"),
    Column("samples_of", "", "of", "text", "rounds, requests, prompts or tokens"),
)
COLUMNS = (
    Column("name", "", "curve", "text", "what to write after --acceptance"),
    *OF_CARD,
    *OF_SERIES,
    *ORIGIN_COLUMNS,
)
CARD_COLUMNS = (
    Column("name", "", "name", "text", "the card's name"),
    Column("title", "", "curves", "text", "its full name"),
    *(replace(column, form="text") for column in OF_CARD[1:]),
    *(replace(column, form="text") for column in OF_SERIES),
    *ORIGIN_COLUMNS,
)
"""What an index holds of a card: of all its series one after the other, with spaces between."""
SHOWN = ("name", "temperature", "tokens_1", f"tokens_{NEAR}", "tokens_k", "k")
SORTS = {
    "name": Order(("name",)),
    "kind": Order(("drafter", "name")),
    "task": Order(("task", "name")),
    "target": Order(("target", "name")),
    "tokens": Order((f"tokens_{NEAR}",), falling=True),
    "k": Order(("k",), falling=True),
}
"""Words after --sort; the largest figure first."""
INSTEAD = {
    "kind": ("name", "drafter", "temperature", f"tokens_{NEAR}", "tokens_k", "k"),
    "target": ("name", "target", f"tokens_{NEAR}", "k"),
}
"""What people see where the order is by what SHOWN leaves out; names hold the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvesAsked:
    """Which curves: of drafters of one of these kinds or families, of these tasks, measured with
    the target under any of its names. Empty asks for nothing.
    """

    kinds: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    sort: str = "name"
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class CurvesListed:
    """The scalars of the listing: its curves, of how many, and how many lie in each folder."""

    curves: int
    of: int
    cards: int
    layers: Mapping[str, int]


def list_curves(listed: Sequence[Listed], asked: CurvesAsked | None = None) -> Answer:
    """A row for each curve that was asked for; `listed` are cards."""
    asked = asked or CurvesAsked()
    every = [series for card in listed for series in _series_of(card)]
    found = ordered(_kept(every, asked), SORTS[asked.sort], reverse=asked.reverse)
    names = {str(one.row["card"]) for one in found}
    cards = [card for card in listed if card.name in names]
    layers = Counter(one.origin.layer for one in found)
    shown = INSTEAD.get(asked.sort, SHOWN)
    rows = [{**one.row, **origin_row(one)} for one in found]
    value = CurvesListed(len(found), len(every), len(cards), dict(sorted(layers.items())))
    return Answer(
        command="curves-list",
        value=value,
        table=table_of(COLUMNS, rows),
        view=View(
            title=counted(len(found), len(every), "acceptance curves"),
            caption=_legend() if found else (),
            sections=(rows_of(found, shown),) if found else (),
        ),
        basis=BASIS,
        inputs=inputs_of(cards),
        notes=hiding_notes(cards),
    )


def _legend() -> tuple[str, ...]:
    return (
        "Tokens per round, the bonus token included, as measured with one draft token,",
        f"with {NEAR}, and with the longest draft k; T is the temperature, where it is stated.",
    )


def _kept(every: Sequence[Listed], asked: CurvesAsked) -> Iterator[Listed]:
    drafters = {str(one.row["drafter"]) for one in every}
    kinds = among("--kind", "kind", asked.kinds, {*WORDS, *drafters})
    tasks = one_of_each("--task", "task", asked.tasks, _with_task(every), "task")
    for one in every:
        row = one.row
        if (
            (not kinds or not kinds.isdisjoint({row["drafter"], row["family"]}))
            and (not tasks or row["task"] in tasks)
            and (not asked.target or row["target"] in asked.target)
        ):
            yield one


def _with_task(every: Sequence[Listed]) -> list[Listed]:
    return [one for one in every if one.row["task"] is not None]


def _series_of(card: Listed) -> Iterator[Listed]:
    """The series of a card, each as if it were a card."""
    told = [str(card.row[column.name] or "").split() for column in OF_SERIES]
    shared = {column.name: card.row[column.name] for column in OF_CARD[1:]}
    for values in zip(*told, strict=False):  # equally many, if the index is ours
        pairs = zip(OF_SERIES, values, strict=True)
        own = {column.name: _read(value, column) for column, value in pairs}
        row: Row = {"name": f"{card.name}/{own['series']}", "card": card.name, **shared, **own}
        yield Listed(row, card.aliases, card.origin, card.hides)


def _read(text: str, column: Column) -> Scalar:
    if text == _NONE:
        return None
    if column.form == "text":
        return text
    return int(text) if column.form == "count" else float(text)


def curve_row(card: Curve) -> Row:
    """What a listing says of one card."""
    each = [_figures(series) for series in card.series]
    return {
        "name": card.name,
        "title": card.title,
        "drafter": card.drafter,
        "family": card.family,
        "draft": card.draft,
        "target": card.target,
        "of": card.of,
        "engine": card.engine,
        **{c.name: " ".join(_written(one[c.name]) for one in each) for c in OF_SERIES},
    }


def _written(value: Scalar) -> str:
    return _NONE if value is None else str(value)


def _figures(series: Series) -> Row:
    """The figures of one series; a burst has no lengths."""
    measured = series.measured
    longest = max(measured, default=None)
    return {
        "series": series.name,
        "task": series.task,
        "temperature": series.temperature,
        "k": longest,
        "tokens_1": measured.get(1),
        f"tokens_{NEAR}": measured.get(NEAR),
        "tokens_k": None if longest is None else measured[longest],
        "spread": series.spread,
        "spread_of": series.spread_of,
        "samples": series.samples,
        "samples_of": series.samples_of,
    }
