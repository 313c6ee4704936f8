"""The flags of vLLM's first engine (V0), as 0.6.6 has them (vllm/engine/arg_utils.py)."""

from __future__ import annotations

from specplan.domain.deployment import Deployment
from specplan.errors import Refused

V0 = ("0.6", "0.7")
"""The first and the last versions of these flags that are known to have had no others."""
LOOKUP = "[ngram]"
LOOKED_UP = "5"  # tokens; V1's own default, V0 has none


def stops_at(deployment: Deployment) -> int | None:
    """The batch from which on it stops drafting, where the schedule is one k up to a batch: the
    value is compared with >= (_should_disable_all_speculation in spec_decode_worker.py of 0.6.6,
    0.8.5 and 0.9.2), whatever its help says. Always 2 or more, as has to be.
    """
    return None if deployment.cutoff is None else deployment.cutoff + 1


def first_flags(deployment: Deployment, word: str) -> list[tuple[str, str | None]]:
    """Flags for one k, and the largest batch that drafts where not all do."""
    named = word or deployment.head
    flags: list[tuple[str, str | None]] = [
        ("--speculative-model", named),
        ("--num-speculative-tokens", str(deployment.k)),
    ]
    if word == LOOKUP:
        flags.append(("--ngram-prompt-lookup-max", LOOKED_UP))
    elif deployment.draft_tp != deployment.tp:
        if deployment.draft_tp != 1:
            raise Refused(
                f"--speculative-draft-tensor-parallel-size {deployment.draft_tp}",
                expected=f"1 or the target's {deployment.tp}",
            )
        flags.append(("--speculative-draft-tensor-parallel-size", "1"))
    if deployment.cutoff is not None:
        flags.append(("--speculative-disable-by-batch-size", str(stops_at(deployment))))
    return flags
