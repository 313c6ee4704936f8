"""What an engine card predicts for measured rows: with its own constants, and with constants that
have not met the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from specplan.domain.bands import BandOf, like
from specplan.domain.drafter import Drafter
from specplan.domain.engine import Engine, Release
from specplan.domain.hardware import Hardware
from specplan.domain.measurement import HeldOut, Host, Measurement
from specplan.domain.model import Model
from specplan.domain.weightless import FREE
from specplan.errors import Refused, SpecplanError
from specplan.questions.timed import Known, alike, on_gpu_alone

KERNELS = frozenset({"gemm", "attention", "experts"})


class Bench(Protocol):
    """Where names become cards, and the constants that left out rows."""

    @property
    def held(self) -> HeldOut:
        """Constants by what they have not met."""

    def hardware(self, name: str) -> Hardware:
        """The accelerator of that name."""

    def model(self, name: str) -> Model:
        """The model of that name."""

    def engine(self, name: str) -> Engine:
        """The engine of that name."""

    def drafter(self, name: str, target: str) -> Drafter:
        """What drafts for a target: a card by name, a kind, or the target's only card of one."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A row beside its predictions: seconds, for a round its cost in plain steps (tau / speedup).
    `held_out` is absent where every known constant met the row; without `fitted`, `missing` says
    what stood in the way. `sparse` says that the target has experts, `drafter` of a round what
    kind drafted, `like` which predictions it speaks for.
    """

    row: Measurement
    measured: float
    sparse: bool = False
    fitted: float | None = None
    held_out: float | None = None
    missing: str = ""
    drafter: str = ""
    like: BandOf | None = None


def predict(row: Measurement, bench: Bench) -> Predicted:
    """One row's predictions."""
    return predict_all((row,), bench)[0]


def predict_all(rows: Sequence[Measurement], bench: Bench) -> tuple[Predicted, ...]:
    """The rows' predictions, in order; a card that is missing is an answer, not an error."""
    places: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(alike(row), []).append(place)
    found: dict[int, Predicted] = {}
    for together in places.values():
        some = tuple(rows[place] for place in together)
        found.update(zip(together, _predicted(some, bench), strict=True))
    return tuple(found[place] for place in range(len(rows)))


def measured(row: Measurement) -> float:
    """What a prediction is held against: the value, of a round its cost in plain steps."""
    return row.value if row.kind != "round" else (row.tau or 1.0) / row.value


def _predicted(rows: tuple[Measurement, ...], bench: Bench) -> Iterable[Predicted]:
    """Of rows that are alike but for their load."""
    try:
        known = known_of(rows, bench)
        sparse = known.target is not None and bool(known.target.expert_groups)
        fitted: Sequence[float] = known.figures().tolist()
        held_out = _held_out(known, bench.held)
        about = _about(known)
    except SpecplanError as error:
        if len(rows) > 1:  # what stands in the way of one may not in that of the others
            return [one for row in rows for one in _predicted((row,), bench)]
        return [Predicted(row, measured(row), missing=error.what) for row in rows]
    return [
        replace(about, row=row, measured=measured(row), sparse=sparse, fitted=own, held_out=other)
        for row, own, other in zip(rows, fitted, held_out, strict=True)
    ]


def _about(known: Known) -> Predicted:
    """What predictions of rounds say besides figures."""
    round_ = known.row.kind == "round"
    kind, spoken_for = (known.drafter.kind, like(known.setup)) if round_ else ("", None)
    return Predicted(known.row, 1.0, drafter=kind, like=spoken_for)


def known_of(rows: tuple[Measurement, ...], bench: Bench) -> Known:
    """Rows that are alike but for their load, with their cards."""
    row = rows[0]
    engine = bench.engine(row.engine)
    release = engine.release(row.version)
    target = bench.model(row.target) if row.target else None
    return Known(rows, bench.hardware(row.gpu), engine, release, target, _drafter(rows, bench))


def _drafter(rows: tuple[Measurement, ...], bench: Bench) -> Drafter:
    """What drafted the rows, if it drafts as long as they say."""
    row = rows[0]
    if row.draft is None:
        return FREE
    drafter = bench.drafter(row.draft, row.target or "")
    longest = max(row.k or 0 for row in rows)
    if drafter.max_k is not None and longest > drafter.max_k:
        raise Refused(f"{drafter.label} drafts at most {drafter.max_k} tokens")
    return drafter


def _held_out(known: Known, held: HeldOut) -> Sequence[float | None]:
    """Figures of constants that have not met the rows; of several, the farthest from each row."""
    others = [one.figures() for one in unseen_by(known, held)]
    if not others:
        return [None] * len(known.rows)
    figures, truth = np.stack(others), np.array([measured(row) for row in known.rows])
    farthest = np.argmax(np.abs(figures / truth - 1), axis=0)
    chosen: list[float] = np.take_along_axis(figures, farthest[np.newaxis], axis=0)[0].tolist()
    return chosen


def unseen_by(known: Known, held: HeldOut) -> tuple[Known, ...]:
    """The same with constants that have not met the rows: themselves where no fit ever did (rows
    without a fold, rounds that host times were not fitted to), none where every fit did. A step
    that is a sum of kernels has one shape in this fold and one in that: each fold's constants.
    """
    row = known.row
    if row.kind in KERNELS and row.fold is not None:
        engine = held.unseen(known.engine, row)
        return (replace(known, engine=engine),) if engine else ()
    if row.kind == "step" and on_gpu_alone(row):
        engines = held.each_fold(known.engine, row.gpu)
        return tuple(replace(known, engine=engine) for engine in engines) or (known,)
    host = held.host(row.engine, row.fold) if row.fold is not None else None
    return (known,) if host is None else (replace(known, release=_hosted(known.release, host)),)


def _hosted(release: Release | None, host: Host) -> Release | None:
    """A release with other host times."""
    if release is None:
        return None
    return replace(
        release,
        host=host.host,
        host_per_sequence=host.host_per_sequence,
        round_host=host.round_host,
        draft_host=host.draft_host,
    )
