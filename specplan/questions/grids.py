"""A scenario's grid as columns: slices small enough to stream, and arrays flattened to rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from specplan.domain.acceptance import Acceptance
from specplan.domain.answer import Column, Scalar
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.round import seen_by
from specplan.questions.servings import SERVING_COLUMNS, serving_cells

POINT_LIMIT = 10_000_000
CHUNK_ROWS = 8192

PLACE_COLUMNS = (
    Column("target", "", "target", "text", "model that is sped up"),
    Column("draft", "", "draft", "text", "what proposes tokens"),
    Column("hardware", "", "hardware", "text", "accelerator"),
    Column("tp", "GPU", "tp", "count", "GPUs that share the target"),
)
SETUP_COLUMNS = (
    *PLACE_COLUMNS,
    Column("dtype", "", "dtype", "text", "storage type of the target's weights"),
    Column("draft_dtype", "", "draft dtype", "text", "storage type of the drafter's weights"),
    Column("kv_dtype", "", "kv dtype", "text", "storage type of the cache"),
    Column("draft_tp", "GPU", "draft tp", "count", "GPUs that share the drafter"),
    *SERVING_COLUMNS,
)
WORKLOAD_COLUMNS = (
    Column("batch", "sequences", "batch", "count", "sequences decoded together"),
    Column("context", "tokens", "context", "count", "tokens each sequence has behind it"),
    Column("alpha", "1", "alpha", "alpha", "of a draft token; absent where it varies"),
    Column("acceptance", "", "acceptance", "text", "the acceptance as it was given"),
)
ROUND_COLUMNS = (
    Column("draft_s", "s", "draft", "seconds", "all draft passes of a round"),
    Column("verify_s", "s", "verify", "seconds", "the target's pass over k + 1 tokens"),
    Column("round_s", "s", "round", "seconds", "draft and verify"),
    Column("tpot_s", "s", "TPOT", "seconds", "time per output token"),
)


def refuse_beyond_limit(points: int) -> None:
    """Refuses a grid that nobody meant to ask for."""
    if points > POINT_LIMIT:
        raise UsageError(
            f"{points:,} points are more than one answer holds",
            expected=f"at most {POINT_LIMIT:,}",
            hint="take coarser steps",
        )


def slices(scenario: Scenario, rows_per_point: int = 1) -> Iterator[Scenario]:
    """The scenario cut along context, batch and acceptance, one setup each, in axis order.

    A slice makes at most CHUNK_ROWS rows. An outer axis is taken in steps of more than one only
    where every inner axis is whole, so that rows keep their order. What verification carries for a
    drafter that adapts depends on acceptance and context: it gets a slice for each, and stands in
    it as these find it.
    """
    for setup in scenario.setups:
        yield from _slices(scenario, setup, max(1, CHUNK_ROWS // rows_per_point))


def _slices(scenario: Scenario, setup: Setup, points: int) -> Iterator[Scenario]:
    inner = 1 if setup.draft.adapts else min(len(scenario.acceptance), points)
    whole_rows = inner == len(scenario.acceptance)
    middle = min(len(scenario.batch), points // inner) if whole_rows else 1
    outer = min(len(scenario.context), points // (inner * middle)) if whole_rows else 1
    outer = 1 if setup.draft.adapts else outer
    for c, b, a in product(
        range(0, len(scenario.context), outer),
        range(0, len(scenario.batch), middle),
        range(0, len(scenario.acceptance), inner),
    ):
        here = scenario.context[c]
        yield replace(
            scenario,
            setups=(seen_by(setup, scenario.acceptance[a], here),),
            context=scenario.context[c : c + outer],
            batch=scenario.batch[b : b + middle],
            acceptance=scenario.acceptance[a : a + inner],
        )


def iid_alphas(acceptance: Sequence[Acceptance]) -> npt.NDArray[np.object_]:
    """The alpha of each, None where it has no single one."""
    return np.asarray([model.iid for model in acceptance], object)


def setup_cells(setup: Setup, count: int) -> dict[str, list[Scalar]]:
    """SETUP_COLUMNS of one setup, and SERVED_BY aside: `count` rows of them."""
    cells: dict[str, Scalar] = {
        "target": setup.target.name,
        "draft": setup.draft.label,
        "hardware": setup.hardware.name,
        "tp": setup.tp,
        "dtype": str(setup.dtype),
        "draft_dtype": str(setup.draft_dtype),
        "kv_dtype": str(setup.kv_dtype),
        "draft_tp": setup.draft_tp,
        **serving_cells(setup.serving),
    }
    return {name: [value] * count for name, value in cells.items()}


def flattened(
    cells: Mapping[str, npt.NDArray[np.generic] | float], shape: tuple[int, ...]
) -> dict[str, list[Scalar]]:
    """Arrays broadcast to `shape` and laid out in its order."""
    return {name: np.broadcast_to(v, shape).ravel().tolist() for name, v in cells.items()}


def whole(values: tuple[float, ...]) -> npt.NDArray[np.object_]:
    """Numbers that are integers where they can be, as JSON should show them."""
    return np.array([int(v) if v == int(v) else v for v in values], object)
