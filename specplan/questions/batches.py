"""The batches that a traffic comes to on one server."""

from __future__ import annotations

import numpy as np

from specplan.domain.histogram import GATED, Histogram
from specplan.domain.scenario import Scenario
from specplan.domain.traffic import Traffic
from specplan.errors import UsageError, Where, placed
from specplan.questions.common import one_setup, refuse_mix
from specplan.questions.regret import candidates_of, refuse_gate
from specplan.questions.replicas import gated_replica, shape_of
from specplan.questions.weigh import lengths
from specplan.serving.steady import steady

MILLIONTH = 1e-6  # of the time, at the largest batches: nobody would see them


def batches_under(
    scenario: Scenario, traffic: Traffic, *, tax: float, hysteresis: float
) -> Histogram:
    """The share of time that one gated server spends at each batch under the traffic, as
    `serving.steady` has it, but for the last MILLIONTH; refused where it would fall behind, and
    under a bound, which no server keeps up with.
    """
    refuse_mix(scenario, "gate")
    setup = one_setup(scenario, "gate")
    refuse_gate(tax, hysteresis)
    if setup.engine.kind == "bound":
        raise UsageError(
            f"{setup.engine.name} is a bound: real batches are larger",
            where=Where("--engine"),
            expected="an engine with kernels, such as vllm",
        )
    k, acceptance = lengths(setup, candidates_of(scenario)), scenario.acceptance[0]
    shape = shape_of(traffic.lengths)
    server = gated_replica(setup, acceptance, shape, k, tax=tax, hysteresis=hysteresis)
    with placed(Where("--rate" if traffic.trace is None else "--trace")):
        at = steady(server, traffic.lengths, traffic.rate_per_s, traffic.dispersion)
    seen = int(np.searchsorted(np.cumsum(at.batch_law), (1 - MILLIONTH) * at.batch_law.sum())) + 1
    return Histogram(
        batch=tuple(range(seen)),
        weight=tuple(at.batch_law[:seen].tolist()),
        recorded=GATED,
        source=f"{traffic.rate_per_s:.4g} requests/s, {traffic.source}",
    )
