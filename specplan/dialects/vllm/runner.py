"""Which of vLLM's two model runners serves a schedule of k, and what that costs: config/vllm.py and
v1/core/sched/scheduler.py of 0.24.0, 0.26.0, 0.28.0, 0.30.0 and 0.33.0.

Runner V1 verifies as many tokens at every load, so with a schedule it takes CUDA graphs down to
pieces. V2 keeps them whole; it is asked for by a variable, or taken by itself, by version, and has
not every drafter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from specplan.dialects.spans import Span, age
from specplan.domain.deployment import Step

Taken = Literal["v1", "asked", "v2"]
"""V1 whatever is said, V2 where it is asked for, V2 without being asked."""

ASK: Final = "VLLM_USE_V2_MODEL_RUNNER=1"
ONLY_V2: Final = ("dspark",)
_HEADS: Final = ("eagle", "eagle3", "mtp", "dflash", "dspark")
# With these V1 reads the schedule. With others 0.33 drops it there, with a warning; before, their
# proposers assert that k is num_speculative_tokens, and end the engine at the first other one.
_READ_BY_V1: Final = ("ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash")


@dataclass(frozen=True, slots=True)
class Runner:
    """From `since` on V2 runs schedules with the methods `only`, or with all but `never`; by itself
    where `default`. `drops` says whether V1 drops a schedule that its drafter does not read, and
    `synced` whether a schedule is switched off among data-parallel groups, where k may differ.
    """

    since: str
    default: bool = False
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    drops: bool = False
    synced: bool = True


RUNNERS: Final = (
    Runner("0.24", synced=False),
    Runner("0.26", only=_HEADS),
    Runner(
        "0.30",
        default=True,
        never=("ngram", "draft_model", "suffix", "medusa", "mlp_speculator"),
    ),
    Runner("0.33", default=True, never=("suffix",), drops=True),
)
OFF_COSTS: Final = (0.066, 0.216)
"""Of a step, that k = 0 costs against no drafter, at 2 requests and at 189: a reply to
vllm-project/vllm#49548, of 0.27.1 on an H100 NVL: 14.374 to 15.317 ms, and 77.164 to 93.820 ms.
"""
SCHEDULED: Final = Span("", RUNNERS[0].since)
"""num_speculative_tokens_per_batch_size; absent in 0.23.0."""


def of(version: str) -> Runner:
    """How a version that has schedules runs them."""
    return [one for one in RUNNERS if age(one.since) <= age(version)][-1]


def taken(version: str, method: str, *, parallel: bool) -> Taken:
    """The runner of a schedule; `parallel` is parallel_drafting, which V2 has for none of these."""
    runner = of(version)
    has = method not in runner.never if runner.default else method in runner.only
    if parallel or not has:
        return "v1"
    return "v2" if runner.default or method in ONLY_V2 else "asked"


def dropped(version: str, method: str, *, parallel: bool) -> str:
    """Why the version would not run a schedule with a method, "" where it would."""
    if method in _READ_BY_V1 or taken(version, method, parallel=parallel) != "v1":
        return ""
    if of(version).drops:
        return f"it is dropped with {method}, which runs on Model Runner V1"
    return f"with {method} the engine ends at the first k that is not num_speculative_tokens"


def among_groups(version: str) -> str:
    """Why there is no schedule among data-parallel groups."""
    if of(version).synced:
        return "it is switched off where data-parallel groups are more than one"
    return "data-parallel groups would choose different k and wait for each other"


def price(version: str, method: str, schedule: tuple[Step, ...], *, parallel: bool) -> list[str]:
    """What a schedule costs beside what it is for. Figures of vllm-project/vllm#49548: a report of
    0.24 with two MTP tokens, and a reply on 0.27.1.
    """
    runs = taken(version, method, parallel=parallel)
    notes = [
        "k is looked up by the requests scheduled in a step, those in prefill included; beyond the "
        "last range its k goes on"
    ]
    pieces = (
        "with a schedule Model Runner V1 captures CUDA graphs in pieces (PIECEWISE): one stream "
        "fell from 59.6 to 50.0 tok/s (vllm#49548)"
    )
    if runs == "v1":
        notes.append(f"{pieces}; {method} runs on no other here")
    elif runs == "asked":
        notes.append(f"{pieces}; {ASK} keeps them whole")
    else:
        notes.append("Model Runner V2, taken unless it is turned off, keeps CUDA graphs whole")
    if not schedule[-1].k and len(schedule) > 1:
        notes += _of_tail(runs)
    return notes


def _of_tail(runs: Taken) -> list[str]:
    """What a k of 0 at the end costs: it is not the same as a server without a drafter."""
    notes = [
        "k = 0 is not free: the drafter, its cache and k slots a request stay reserved, and steps "
        f"took {OFF_COSTS[0]:.1%} longer at 2 requests and {OFF_COSTS[1]:.1%} at 189 than without "
        "one (vllm#49548, 0.27.1)".replace("%", " %")
    ]
    if runs != "v2":
        notes.append(
            "on Model Runner V1 8 requests fell from 232 to 24-157 tok/s where such a tail began "
            "(vllm#49548): a tail of 1 and a server without a drafter have no such step"
            + (f", nor has {ASK}" if runs == "asked" else "")
        )
    return notes
