"""What was imported, figure by figure with its basis; or how a whole folder of configs fares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from specplan.domain.answer import Answer, Basis, Column, Lines, Rows, View, table_of
from specplan.domain.imported import Checked, Derived, Imported
from specplan.domain.model import Model

BASIS = Basis(kind="exact", says="", source="derived from the config")
FIGURES = (
    Column("figure", "", "figure", "text", "a figure of the card, or a key that was read"),
    Column("value", "", "value", "text", "its value"),
    Column("basis", "", "basis", "text", "where it is from"),
)
SHOWN = Column("shown_basis", "", "basis", "text", "where it is from, its own key as `stated`")
CHECKED = (
    Column("file", "", "file", "text", "the config"),
    Column("verdict", "", "verdict", "text", "pass, explained, unknown, differs, refused, beside"),
    Column("kind", "", "kind", "text", "model or kind of drafter"),
    Column("stored_params", "", "derived", "count", "parameters stored, derived"),
    Column("published_params", "", "published", "count", "parameters as published"),
    Column("matmul_params", "", "multiplied", "count", "parameters that one token multiplies"),
    Column("kv_bytes_per_token", "B", "KV/token", "count", "at 16 bits, windows ignored"),
    Column("says", "", "why", "text", "what explains or refuses it"),
)
BRIEF = ("file", "verdict", "stored_params", "published_params", "kv_bytes_per_token", "says")
WORDS = {
    "pass": "within 0.5 % of the published count",
    "explained": "further off, and explained",
    "unknown": "with no published count",
    "differs": "that differ and are not explained",
    "refused": "refused with a reason",
    "beside": "read beside another file",
}


@dataclass(frozen=True, slots=True)
class Made:
    """The card that was made."""

    card: Model


@dataclass(frozen=True, slots=True)
class Report:
    """How many files came to each verdict."""

    files: int
    verdicts: dict[str, int]


def imported_answer(made: Imported, origin: str) -> Answer:
    """Every figure of an imported card with its basis."""
    card = made.card
    rows = [{**d._asdict(), SHOWN.name: _shown(d)} for d in made.derived]
    return Answer(
        command="models-import",
        value=Made(card),
        table=table_of(FIGURES, rows, aside=(SHOWN,)),
        view=View(
            title=f"{card.title}: {card.name}",
            caption=(origin,),
            sections=(Rows(columns=("figure", "value", SHOWN.name)), Lines(made.notes, wrap=True)),
        ),
        basis=BASIS,
    )


def told(made: Imported) -> tuple[str, ...]:
    """The figures that the source does not state as they are, each with its basis, in columns."""
    derived = [d for d in made.derived if not d.stated]
    wide = max((len(d.figure) for d in derived), default=0)
    long = max((len(d.value) for d in derived), default=0)
    return tuple(f"{d.figure:<{wide}}  {d.value:<{long}}  {d.basis}" for d in derived)


def _shown(derived: Derived) -> str:
    if not derived.stated:
        return derived.basis
    within = derived.basis.removesuffix(derived.figure).rstrip(".")
    return f"stated in {within}" if within else "stated"


def report_answer(folder: str, checked: Sequence[Checked]) -> Answer:
    """A row for each file; the answer is no where a count differs without explanation."""
    counts = Counter(str(c.verdict) for c in checked)
    told = [f"{counts[verdict]} {words}" for verdict, words in WORDS.items() if counts[verdict]]
    rows = [{column.name: getattr(c, column.name) for column in CHECKED} for c in checked]
    return Answer(
        command="models-import-report",
        value=Report(len(checked), dict(counts)),
        table=table_of(CHECKED, rows),
        view=View(
            title=f"{len(checked)} files of {folder}",
            caption=("; ".join(told),),
            sections=(Rows(columns=BRIEF),),
        ),
        basis=BASIS,
        ok=not counts["differs"],
    )
