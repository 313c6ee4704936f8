"""Some cards figure by figure: one with its sources and notes, several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specplan.domain.answer import (
    Answer,
    Column,
    Facts,
    Lines,
    Rows,
    Scalar,
    Section,
    Table,
    View,
    table_of,
)
from specplan.domain.card import Origin, Source
from specplan.domain.cards import AnyCard
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.questions.cards import BASIS, Card, Filed, hiding_notes, inputs_of
from specplan.questions.figures import DERIVED, Figure, ratio, together
from specplan.questions.hardware_figures import hardware_figures, price_words
from specplan.questions.model_figures import layer_words, model_figures

_HASH = 12  # characters of a sha256 that people see

FIGURE_COLUMNS = (
    Column("key", "", "key", "text", "key in the card, or derived. and a name"),
    Column("figure", "", "figure", "text", "what it is"),
    Column("unit", "", "unit", "text", "SI unit of the cards' columns"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One card in SI, what is derived from it, and where it came from."""

    card: AnyCard
    derived: Mapping[str, Scalar]
    origin: Origin
    hides: str | None


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards asked for, in that order."""

    cards: tuple[Shown, ...]


def show_hardware(filed: Sequence[Filed[Hardware]]) -> Answer:
    """Accelerators figure by figure, with the ridge point of each dtype."""
    return _sheet("hardware-show", filed, hardware_figures, _less_certain)


def show_models(filed: Sequence[Filed[Model]]) -> Answer:
    """Models figure by figure, with the counts that the architecture gives."""
    return _sheet("models-show", filed, model_figures, layer_words)


def _sheet(
    command: str,
    filed: Sequence[Filed[Card]],
    figures: Callable[[Card], list[Figure]],
    facts: Callable[[Card], Iterator[tuple[str, str]]],
) -> Answer:
    sheets = {f.card.name: figures(f.card) for f in filed}
    pairs = [(f.card.name, *pair) for f in filed for pair in facts(f.card)]
    if len(filed) == 1:
        view = _alone(filed[0], Facts(tuple((label, text) for _, label, text in pairs)))
    else:
        view = _together(filed, Lines(tuple(_shared(pairs)), wrap=True))
    return Answer(
        command=command,
        value=Cards(tuple(_shown(f, sheets[f.card.name]) for f in filed)),
        table=_table(sheets),
        view=view,
        basis=BASIS,
        inputs=inputs_of(filed),
        notes=hiding_notes(filed),
    )


def _shown(filed: Filed[Card], figures: list[Figure]) -> Shown:
    prefix = f"{DERIVED}."
    derived = {f.key.removeprefix(prefix): f.value for f in figures if f.key.startswith(prefix)}
    return Shown(filed.card, derived, filed.origin, filed.hides or None)


def _table(sheets: Mapping[str, list[Figure]]) -> Table:
    """A row for each figure that any of the cards has: its SI value, text and sources by card."""
    columns = [*FIGURE_COLUMNS]
    first = next(iter(sheets))
    for name in sheets:
        columns += [
            Column(name, "", name, "text", "SI value"),
            Column(f"{name}:text", "", name, "text", "as people read it"),
            Column(f"{name}:sources", "", "sources", "text", "numbers of the card's sources"),
            Column(f"{name}:weak", "", "weak", "text", "why it is less certain, if it is"),
            *(
                [Column(f"{name}:ratio", "", "ratio", "times", f"over {first}")]
                if name != first
                else []
            ),
        ]
    aside = [Column("label", "", "figure", "text", "what it is, with the unit of the row")]
    aside += [Column(f"{name}:short", "", name, "text", "the same in that unit") for name in sheets]
    rows: list[dict[str, Scalar]] = []
    for line in zip(*sheets.values(), strict=True):
        if all(figure.value is None for figure in line):
            continue
        row: dict[str, Scalar] = {
            "key": line[0].key,
            "figure": line[0].label,
            "unit": line[0].unit,
        }
        row["label"], texts = together(line)
        for name, figure, short in zip(sheets, line, texts, strict=True):
            row[f"{name}:short"] = short
            row[name] = figure.value
            row[f"{name}:text"] = figure.text
            row[f"{name}:sources"] = figure.sources
            row[f"{name}:weak"] = figure.weak
            row[f"{name}:ratio"] = ratio(figure, line[0])
        rows.append(row)
    return table_of(tuple(columns), rows, tuple(aside))


def _alone(filed: Filed[Card], facts: Facts) -> View:
    """One card with the source of each figure, then what has no figure, sources and notes."""
    card = filed.card
    aliases = f", also {', '.join(card.aliases)}" if card.aliases else ""
    return View(
        title=card.title,
        caption=(f"{card.name}{aliases}", from_words(filed)),
        sections=(
            Rows(columns=("figure", f"{card.name}:text", f"{card.name}:sources")),
            facts,
            *_prices(card),
            *papers(card),
        ),
    )


def _together(filed: Sequence[Filed[Card]], facts: Lines) -> View:
    """A column for each card, and for each but the first how its figures compare."""
    first, *others = (f.card.name for f in filed)
    beside = (f"{name}:{shown}" for name in others for shown in ("short", "ratio"))
    named = (f"{f.card.name}: {f.card.title}; {from_words(f)}" for f in filed)
    return View(
        title="Side by side",
        caption=(*named, f"Ratios are over {first}."),
        sections=(
            Rows(columns=("label", f"{first}:short", *beside)),
            facts,
            Lines(("Sources and notes: show one at a time.",)),
        ),
    )


def _shared(pairs: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """What is said of each card in words, once for all of which it is said."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, label, text in pairs:
        names.setdefault((label, text), []).append(name)
    for (label, text), cards in names.items():
        yield f"{', '.join(cards)}, {label}: {text}"


def _prices(card: AnyCard) -> Iterator[Section]:
    """What an accelerator was offered for."""
    if isinstance(card, Hardware) and card.prices:
        yield Lines(tuple(map(price_words, card.prices)), wrap=True)


def from_words(filed: Filed[Card]) -> str:
    """Where a card lies, whose folder that is, and which bytes it was."""
    origin = filed.origin
    hides = f", hides the {filed.hides} card of that name" if filed.hides else ""
    return f"{origin.path} ({origin.layer}), sha256 {origin.sha256[:_HASH]}{hides}"


def papers(card: AnyCard) -> Iterator[Section]:
    """Sources by number, then notes and what is accepted."""
    cited = (cited_words(number, source) for number, source in enumerate(card.sources, 1))
    yield Lines(tuple(cited), wrap=True)
    accepted = (f"Accepted {rule}: {reason}" for rule, reason in card.accept.items())
    yield Lines((*card.notes, *accepted), wrap=True)


def cited_words(number: int, source: Source) -> str:
    """A source by its number: the keys that it covers, what it is, where it lies."""
    parts = (
        f"[{number}] {', '.join(source.of)} ({source.kind}): {source.cite}",
        source.url or "",
        f"read {source.read}" if source.read else "",
        source.licence or "",
    )
    return "; ".join(part for part in parts if part)


def _less_certain(card: Hardware) -> Iterator[tuple[str, str]]:
    """Why a figure is weak, and why a dtype has no rate."""
    for key, reason in card.weak.items():
        yield f"* {key.removeprefix('rates.')}", reason
    for dtype, reason in card.unsupported.items():
        yield f"no {dtype}", reason
