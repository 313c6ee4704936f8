"""What TensorRT-LLM's speculative_config refuses: tensorrt_llm/llmapi/llm_args.py.

`draft_len_schedule` changed its meaning with NVIDIA/TensorRT-LLM#10860 (merged 2026-03-13): keys
were the first batch of a range and are the last. The release notes of v1.3.0rc8 (2026-03-17) list
it, those of v1.3.0rc7 (2026-03-10) do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from specplan.dialects.spans import Span
from specplan.domain.deployment import Json
from specplan.errors import Refused

LOWER = Span("", "1.2", "1.2")  # keys are first batches: #8194, two-model drafters
LOWER_CANDIDATES = Span("", "1.3.0rc0", "1.3.0rc7")
UPPER = Span("", "1.3.0rc8")  # keys are last batches
WITH_DRAFTER = ("Eagle", "Eagle3", "DraftTarget", "Draft_Target", "PARD", "DFlash", "DSpark")
LENGTH = {"MTP": "num_nextn_predict_layers"}


def upper(version: str) -> bool:
    """Whether the keys of draft_len_schedule are the last batches of their ranges; refused where
    the version has no such schedule.
    """
    if UPPER.holds(version):
        return True
    if LOWER.holds(version) or LOWER_CANDIDATES.holds(version):
        return False
    raise Refused(f"draft_len_schedule is not in {version}", expected="1.2 or later")


def check(config: Mapping[str, Json], *, version: str) -> None:
    """Refuses a speculative_config that TensorRT-LLM would refuse, or read otherwise."""
    kind = str(config.get("decoding_type"))
    key = "num_nextn_predict_layers" if "num_nextn_predict_layers" in config else "max_draft_len"
    k = config.get(key)
    if not isinstance(k, int) or k < 1:
        raise Refused(f"{key} is {k!r}", expected="a whole number above 0")
    if kind in WITH_DRAFTER and not config.get("speculative_model"):
        raise Refused(f"{kind} without speculative_model")
    limit, schedule = config.get("max_concurrency"), config.get("draft_len_schedule")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise Refused(f"max_concurrency is {limit!r}", expected="a whole number above 0")
    if schedule is None:
        return
    if limit is not None:
        raise Refused("max_concurrency beside draft_len_schedule", expected="one of them")
    if not isinstance(schedule, Mapping) or not schedule:
        raise Refused("draft_len_schedule is empty", expected="batches, each with a k")
    _check_schedule({int(str(b)): n for b, n in schedule.items()}, k, upper(version))


def _check_schedule(schedule: Mapping[int, Json], k: int, last: bool) -> None:  # noqa: FBT001
    for batch, tokens in schedule.items():
        if batch < 1:
            raise Refused(f"draft_len_schedule: batch {batch}", expected="1 or more")
        if not isinstance(tokens, int) or not 0 <= tokens <= k:
            raise Refused(
                f"draft_len_schedule: {tokens!r} at batch {batch}",
                expected=f"0 to {k}, the longest",
            )
    if not last and 1 not in schedule:
        raise Refused("draft_len_schedule without batch 1", expected="first batches from 1 on")
    if schedule[min(schedule)] != k:
        raise Refused(
            f"draft_len_schedule: {schedule[min(schedule)]} at batch {min(schedule)}",
            expected=f"the longest, {k}, in the first range",
        )
