"""What is asked of a calibration, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specplan.domain.acceptance import Acceptance
from specplan.domain.engine import Engine
from specplan.domain.scenario import Input, Setup
from specplan.questions.calibrated_card import Naming


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked beside the fit: the `acceptance` that a best k needs, candidates (0 to the
    longest measured where empty) and batches (those measured), and the context of both and of rows
    that name none. `trusting` takes times of a unit that is hard to believe.
    """

    acceptance: Acceptance | None = None
    k: tuple[int, ...] = ()
    batch: tuple[float, ...] = ()
    context: float | None = None
    trusting: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant as fitted, with its standard error, the prior it had, and whether the figures
    tell it: no where they leave it to the prior, or only a combination is told.
    """

    name: str
    value: float
    unit: str
    error: float
    prior: float
    prior_error: float
    told: bool
    says: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best k at one batch. `spread` is one standard error of its time, relative; `margin` what
    the next best candidate loses; `unsure` where that is less than both errors.
    """

    batch: float
    context: float | None
    k: int
    tokens_per_s: float
    tpot_s: float
    speedup: float | None
    next_k: int | None
    margin: float | None
    spread: float
    how: str
    unsure: bool


@dataclass(frozen=True, slots=True)
class Wrong:
    """A figure that the others contradict: left out of the fit, it stands at its own place; as a
    `cliff` of the engine's, which it may be, passes of about as many rows follow it too.
    """

    where: str
    batch: float
    k: int
    measured_s: float
    expected_s: float
    cliff: bool


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The fit in SI. Errors are relative: `residual` the median of those kept, `left_out` the same
    where the fit had not met the figure, `within` what 9 of 10 of these stay below. `best_k` maps
    batches to draft lengths.
    """

    form: str
    figures: int
    kept: int
    residual: float
    left_out: float
    within: float
    noise: float
    constants: tuple[Constant, ...]
    rank: int
    condition: float | None
    only_together: tuple[tuple[str, ...], ...]
    not_told: tuple[str, ...]
    outliers: tuple[Wrong, ...]
    best_k: Mapping[str, int] | None
    choices: tuple[Chosen, ...]
    card: Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Where a fit stands: the setup whose cards it is laid over, if any, how its card is named, and
    what an answer rests on.
    """

    setup: Setup | None
    naming: Naming
    inputs: Mapping[str, Input] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
