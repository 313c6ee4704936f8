"""A speedup above the tokens of a round: a finding, with the term of the plain step that causes it.

The ideal roofline never says so: its verification takes at least as long as a plain step. Under an
engine a plain step may pay for what verification does not: a slow path at one row, host time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specplan.domain.scenario import Scenario, Setup
from specplan.physics.round import Timing, time_rounds
from specplan.physics.steps import SINGLE, Step
from specplan.questions.servings import telling
from specplan.units import people

NOTICED = 1e-9  # relative; a round this little shorter than a plain step is as long
CAUSES = {
    SINGLE: "the slow path of its matrix kernels at one row",
    "host": "host time between steps",
}


def paid_alone(timing: Timing) -> str | None:
    """What a plain step pays and verification does not, in words; None unless some round of the
    timing is shorter than its plain step. Told where that gains most.
    """
    plain, verify = timing.plain, timing.verify
    gain = timing.gain
    if not isinstance(plain, Step) or not isinstance(verify, Step) or gain.max() <= 1 + NOTICED:
        return None
    at = np.unravel_index(np.argmax(gain), gain.shape)

    def seconds(step: Step, name: str) -> float:
        found = [np.broadcast_to(s.time_s, gain.shape)[at] for s in step.shares if s.name == name]
        return float(sum(found))

    saved = {s.name: seconds(plain, s.name) - seconds(verify, s.name) for s in plain.shares}
    name = max(saved, key=lambda term: saved[term])
    return f"{people(saved[name], 's')} of {CAUSES.get(name, name)}"


def beyond_tokens(scenario: Scenario) -> Iterator[str]:
    """A note for each setup whose speedup is above its tokens per round at the smallest batch,
    where what a plain step pays alone weighs most.
    """
    batches = [part.batch for part in scenario.parts] or scenario.batch
    contexts = tuple(part.context for part in scenario.parts) or scenario.context
    lengths = tuple(k for k in scenario.candidates if k)
    apart = telling(scenario.setups)
    for setup in scenario.setups:
        drafts = tuple(k for k in lengths if setup.draft.max_k is None or k <= setup.draft.max_k)
        if setup.engine.kind == "bound" or not drafts:
            continue
        smallest = min(batches)
        cause = paid_alone(time_rounds(setup, contexts, (smallest,), drafts))
        if cause:
            yield beyond_words(setup, apart(setup.serving), smallest, cause)


def beyond_words(setup: Setup, served: str, batch: float, cause: str) -> str:
    """The note on a setup, told from others by `served`."""
    told = ", ".join(filter(None, (setup.label, served)))
    return (
        f"{told}: speedups are above the tokens per round at batch "
        f"{batch:,.0f}, for a plain step alone pays {cause}"
    )
