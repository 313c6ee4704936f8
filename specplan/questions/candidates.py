"""The candidates of one weighed point, a row each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from specplan.domain.answer import Column, Scalar
from specplan.physics.round import bound_names
from specplan.physics.tokens import FloatArray
from specplan.questions.grids import PLACE_COLUMNS, ROUND_COLUMNS, WORKLOAD_COLUMNS
from specplan.questions.servings import SERVING_COLUMNS, serving_cells
from specplan.questions.weigh import Objective, Weighed

COLUMNS = (
    *PLACE_COLUMNS,
    *SERVING_COLUMNS,
    *WORKLOAD_COLUMNS,
    Column("k", "tokens", "k", "count", "draft tokens per round"),
    Column("speedup", "1", "speedup", "times", "tokens per second over plain decoding"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    *ROUND_COLUMNS,
    Column("break_even_tokens", "tokens", "break-even", "number", "round cost in plain steps"),
    Column("throughput", "1", "throughput", "times", "each arm at its own largest batch"),
    Column("flops_per_token", "1", "FLOP/token", "times", "arithmetic over plain decoding"),
    Column("verify_bound_by", "", "verify by", "text", "ceiling of verification"),
    Column("best", "", "best", "flag", "the chosen k"),
    Column("near", "", "near", "flag", "within two of the chosen k"),
    Column("within_1_percent", "", "within 1 %", "flag", "loses at most 1 % against the best"),
)


def nearly_best(score: FloatArray, best: int) -> npt.NDArray[np.bool_]:
    """Which candidates lose at most 1 % against the best."""
    nearly: npt.NDArray[np.bool_] = score >= 0.99 * score[best]
    return nearly


def rows(w: Weighed, objective: Objective) -> Iterator[dict[str, Scalar]]:
    """The candidates of one point as rows of the table."""
    best, point = w.best(objective), w.point
    nearly = nearly_best(w.score(objective), best)
    for i, k in enumerate(w.k):
        yield {
            "target": point.setup.target.name,
            "draft": point.setup.draft.label,
            "hardware": point.setup.hardware.name,
            "tp": point.setup.tp,
            **serving_cells(point.setup.serving),
            "batch": int(point.batch),
            "context": point.context,
            "alpha": point.acceptance.iid,
            "acceptance": str(point.acceptance),
            "k": k,
            "speedup": float(w.speedup[i]),
            "tokens_per_round": float(w.tokens[i]),
            "draft_s": float(w.timing.draft_s[0, 0, i]),
            "verify_s": float(w.timing.verify_s[0, 0, i]),
            "round_s": float(w.timing.round_s[0, 0, i]),
            "tpot_s": float(w.tpot_s[i]),
            "break_even_tokens": float(1 / w.gain[i]),
            "throughput": float(w.throughput[i]),
            "flops_per_token": float(w.flops_per_token[i]),
            "verify_bound_by": str(bound_names(w.timing.verify)[0, 0, i]),
            "best": i == best,
            "near": abs(i - best) <= 2,
            "within_1_percent": bool(nearly[i]),
        }
