"""Where the figures of a report come from, and how to have them again."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from specplan.domain.answer import Answer, Basis, Column, Facts, Lines, Scalar, View, table_of
from specplan.domain.bands import Band
from specplan.domain.cards import AnyCard
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.scenario import Input
from specplan.questions.figures import DERIVED, Figure
from specplan.questions.hardware_figures import hardware_figures, price_words
from specplan.questions.model_figures import model_figures
from specplan.questions.showing import cited_words

EXACT = Basis(kind="exact", says="")
LIBRARIES = ("numpy", "pydantic")  # that figures may depend on
COLUMNS = (
    Column("card", "", "card", "text", "whose figures these are"),
    Column("of", "", "figures", "text", "keys of the card that the source covers"),
    Column("kind", "", "kind", "text", "datasheet, measured, derived, config or published"),
    Column("cite", "", "source", "text", "what was read"),
    Column("url", "", "address", "text", "where it lies"),
    Column("read", "", "read", "text", "when it was read"),
)


@dataclass(frozen=True, slots=True)
class Cited:
    """Each card by its name, how far rounds of every kind were off, what the answer rests on, and
    the command.
    """

    cards: Mapping[str, AnyCard]
    bands: tuple[Band, ...]
    inputs: Mapping[str, Input]
    command: str
    specplan: str


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of each card that states any: SI value, text, numbers of its sources."""

    figures: Mapping[str, tuple[Figure, ...]]


@dataclass(frozen=True, slots=True)
class Again:
    """The command and the versions that it ran with."""

    command: str
    versions: Mapping[str, str]


def sources(cited: Cited) -> Answer:
    """The figures of each card, and a row for each of its sources."""
    records: list[dict[str, Scalar]] = [
        {
            "card": name,
            "of": ", ".join(source.of),
            "kind": source.kind,
            "cite": source.cite,
            "url": source.url,
            "read": source.read,
        }
        for name, card in cited.cards.items()
        for source in card.sources
    ]
    return Answer(
        command="report",
        value=Figures({name: _figures(card) for name, card in cited.cards.items()}),
        table=table_of(COLUMNS, records),
        view=View(title="Sources", sections=tuple(_cited(cited.cards))),
        basis=EXACT,
    )


def _figures(card: AnyCard) -> tuple[Figure, ...]:
    """What a card states, without what is derived from it; engines and curves have `show`."""
    match card:
        case Hardware():
            found = hardware_figures(card)
        case Model():
            found = model_figures(card)
        case _:
            found = []
    return tuple(one for one in found if one.value is not None and one.sources != DERIVED)


def _cited(cards: Mapping[str, AnyCard]) -> Iterator[Facts | Lines]:
    """Card by card: its figures with the numbers of their sources, the sources, the prices."""
    for name, card in cards.items():
        yield Lines((f"{name}:",))
        if told_of := _figures(card):
            yield Facts(tuple((one.label, _numbered(one)) for one in told_of))
        told = [cited_words(number, source) for number, source in enumerate(card.sources, 1)]
        if isinstance(card, Hardware):
            told += map(price_words, card.prices)
        yield Lines(tuple(told), wrap=True)


def _numbered(figure: Figure) -> str:
    return " ".join([figure.text, *(f"[{number}]" for number in figure.sources.split())])


def reproduced(cited: Cited) -> Answer:
    """The command to type, versions, and the hashes of cards and files."""
    versions = {"specplan": cited.specplan, "Python": platform.python_version()}
    versions |= {name: found for name in LIBRARIES if (found := _version(name))}
    told = tuple((name, text) for name, text in versions.items())
    return Answer(
        command="report",
        value=Again(cited.command, versions),
        table=table_of((), ()),
        view=View(
            title="To repeat this",
            sections=(
                Lines((cited.command,), drawn=True),
                Facts(told),
                Facts(tuple(_hashes(cited.inputs))),
            ),
        ),
        basis=EXACT,
        inputs=cited.inputs,
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder that holds it
        return ""


def _hashes(inputs: Mapping[str, Input]) -> Iterator[tuple[str, str]]:
    """What was read: the name, the file, and its whole hash."""
    for name, used in inputs.items():
        if used.sha256:
            yield name, f"{used.value}, {used.origin}, sha256 {used.sha256}"
