"""How far predictions lie from what was measured, on rows that no constant met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from specplan.domain.answer import Answer, Basis, View
from specplan.domain.measurement import Measurement
from specplan.domain.scenario import Input
from specplan.errors import UsageError, Where, unknown
from specplan.questions.accuracy_picture import picture_of
from specplan.questions.accuracy_view import group_table, groups_view, worst_table, worst_view
from specplan.questions.ledger import KINDS, farthest, ledger
from specplan.questions.predict import Bench, predict_all

MOST_WORST = 10_000
BASIS = Basis(
    kind="estimate", says="on rows that no constant met", source="measurements, engine cards"
)


def accuracy(
    rows: Iterable[Measurement],
    bench: Bench,
    *,
    kind: str | None = None,
    worst: int | None = None,
    inputs: Mapping[str, Input] | None = None,
) -> Answer:
    """Errors of every group of rows, of one `kind` if named; or the `worst` rows one by one."""
    if kind is not None and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if worst is not None and not 1 <= worst <= MOST_WORST:
        raise UsageError(
            f"{worst} is out of range", where=Where("--worst"), expected=f"1 to {MOST_WORST:,}"
        )
    given = list(rows)
    found = predict_all([row for row in given if kind in {None, row.kind}], bench)
    value = ledger(found)
    chosen = farthest(found, worst or 0)
    view = worst_view(value, len(chosen)) if worst else groups_view(value)
    return Answer(
        command="accuracy",
        value=value,
        table=worst_table(chosen) if worst else group_table(value),
        view=replace(view, picture=picture_of(chosen if worst else found, value))
        if found
        else View(title="No rows to predict"),
        basis=BASIS,
        inputs=inputs or {},
        notes=() if found else (_nothing(kind, given),),
    )


def _nothing(kind: str | None, given: Sequence[Measurement]) -> str:
    """Why there is no row to predict: none were given, or none of that kind."""
    if not given:
        return "no rows: a file holds a header and one line per figure"
    kinds = ", ".join(name for name in KINDS if name in {row.kind for row in given})
    return f"no rows of kind {kind} among the {len(given):,} given: they are {kinds}"
