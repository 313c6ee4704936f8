"""What an engine's counters say of its acceptance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from specplan.domain.answer import Answer, Basis, Column, Scalar, table_of
from specplan.domain.capture import AtLoad, Capture, Seen
from specplan.domain.scenario import Input
from specplan.domain.traps import TRAPS
from specplan.errors import Refused, Where
from specplan.questions.acceptance_view import ASIDE, aside_of, view_of
from specplan.questions.shared_k import SharedK

COLUMNS = (
    Column("position", "", "position", "count", "the first draft token of a round is 1"),
    Column("unconditional", "1", "kept", "number", "share of all rounds that keep it"),
    Column("low", "1", "from", "number", "95 % interval of that share"),
    Column("high", "1", "to", "number", "95 % interval of that share"),
    Column(
        "conditional", "1", "given all before", "number", "share of the rounds that kept all before"
    ),
)
SOURCES = "Cochran 1977; Lazarus et al. 2018; Wilson 1927"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A capture, flat; each figure as `specplan.domain.capture` defines it, each trap as
    `specplan.domain.traps` explains it. `best` is the best k, if a deployment was given.
    """

    source: str
    format: str
    engine: str
    version_guess: str
    spans: int
    drafts: float | None
    drafted_tokens: float | None
    accepted_tokens: float | None
    tokens_per_round: float | None
    tokens_per_round_low: float | None
    tokens_per_round_high: float | None
    acceptance_rate: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    alpha_basis: str
    effective_rounds: float | None
    k: int | None
    mean_draft: float | None
    per_position: tuple[float, ...]
    per_position_low: tuple[float, ...]
    per_position_high: tuple[float, ...]
    batch: Seen | None
    waiting: Seen | None
    tokens_per_s: Seen | None
    prompt_tokens_per_s: Seen | None
    step_s: Seen | None
    context: Seen | None
    loads: tuple[AtLoad, ...]
    traps: tuple[str, ...]
    warnings: tuple[str, ...]
    contradictions: tuple[str, ...]
    definitions: Mapping[str, str]
    told: Mapping[str, Scalar]
    lines: int
    unread: int
    sha256: str
    best: SharedK | None = None


def acceptance(
    capture: Capture,
    *,
    inputs: Mapping[str, Input] | None = None,
    best: SharedK | None = None,
    notes: tuple[str, ...] = (),
) -> Answer:
    """The figures of a capture, with their intervals, definitions and traps. Refused where nothing
    was drafted.
    """
    refuse_empty(capture)
    value = counted(capture, best)
    records = _positions(capture)
    shown = [record | aside_of(record) for record in records]
    return Answer(
        command="acceptance",
        value=value,
        table=table_of(COLUMNS, shown, ASIDE),
        view=view_of(capture, best),
        basis=Basis(
            kind="exact",
            says=f"{capture.origin.format}, 95 % intervals",
            source=SOURCES,
        ),
        inputs=inputs or {},
        notes=(*notes_of(capture), *notes),
    )


def counted(capture: Capture, best: SharedK | None = None) -> Counted:
    """The value of the answer."""
    origin = {"format", "engine", "version_guess", "definitions"}
    names = {field.name for field in fields(Counted)} - origin - {"best"}
    return Counted(
        **{name: getattr(capture, name) for name in names},
        **{name: getattr(capture.origin, name) for name in origin},
        best=best,
    )


def refuse_empty(capture: Capture) -> None:
    """Refuses a capture of no drafts, or of nothing but contradictions."""
    figures = (capture.tokens_per_round, capture.acceptance_rate)
    if any(figure is not None for figure in figures):
        return
    where = Where(capture.source)
    if capture.contradictions:
        raise Refused(f"contradicts itself: {capture.contradictions[0]}", where=where)
    reasons = [TRAPS[trap] for trap in capture.traps if trap == "diffusion"]
    reasons += capture.warnings
    raise Refused(
        f"no drafts in it ({capture.origin.format}, {capture.lines:,} lines)",
        where=where,
        hint=reasons[0] if reasons else "speculation was off, or nothing ran",
    )


def notes_of(capture: Capture) -> tuple[str, ...]:
    """What must be said beside the figures."""
    said = [f"contradiction: {each}" for each in capture.contradictions]
    if said:
        said.append(
            "what contradicts itself is not averaged: counts stand, each for its own figure"
        )
    if capture.unread and capture.lines:
        said.append(f"{capture.unread:,} of {capture.lines:,} lines were none of the format")
    return (*said, *capture.warnings)


def _positions(capture: Capture) -> list[dict[str, Scalar]]:
    """A row for each position; where drafts are short, rates of neighbours are no conditional."""
    known = "short-drafts" not in capture.traps
    rows: list[dict[str, Scalar]] = []
    before = 1.0
    for place, rate in enumerate(capture.per_position):
        rows.append(
            {
                "position": place + 1,
                "unconditional": rate,
                "low": capture.per_position_low[place] if capture.per_position_low else None,
                "high": capture.per_position_high[place] if capture.per_position_high else None,
                "conditional": rate / before if known and before else None,
            }
        )
        before = rate
    return rows
