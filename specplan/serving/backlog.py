"""Prompts that wait for the next step: how long steps are, and how long a prompt takes.

Continuous batching runs at every step all the prompt tokens that wait, up to the budget of the step
(Yu et al. 2022, Orca; Agrawal et al. 2024, Sarathi-Serve, for chunks). A step that carries much is
long, and more arrives meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.serving.chain import Prompts, StepTime, chain_of
from specplan.serving.firsts import first_of
from specplan.serving.law import Law, law_of


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps at one batch. `mean_s` and `variance` are of all steps, `late_s` by how much those
    after the end of a prompt are longer in all, for what came while it was read, none of them by
    more than `spare_s`; `length` is the law of a step, `first` that of the time from arrival to
    first token.
    """

    mean_s: float
    variance: float
    late_s: float
    spare_s: float
    length: Law
    first: Law


def steps_of(prompts: Prompts, budget: float, step: StepTime, *, alone: bool) -> Steps | None:
    """Steps with up to `budget` prompt tokens each; None where more arrives than they carry.

    `alone`: nothing decodes, and the server waits where no prompt does.
    """
    chain = chain_of(prompts, budget, step, alone=alone)
    if chain is None:
        return None
    runs, time_s = chain.runs(), chain.times()
    mean = float(runs @ time_s)
    first, behind = first_of(chain)
    more = behind - float(runs @ np.arange(chain.states))
    grain_s = float(time_s[-1] - time_s[0]) / chain.full if not alone else 0.0
    return Steps(
        mean_s=mean,
        variance=float(runs @ (time_s - mean) ** 2),
        late_s=max(more, 0.0) * grain_s * mean / float(time_s[0] or 1.0),
        spare_s=float(time_s[-1]) - mean,
        length=law_of(time_s, runs),
        first=first,
    )


def mean_step_s(prompts: Prompts, budget: float, step: StepTime) -> float | None:
    """The mean step beside a batch, without the laws."""
    chain = chain_of(prompts, budget, step, alone=False)
    return float(chain.weight @ chain.times()) if chain else None
