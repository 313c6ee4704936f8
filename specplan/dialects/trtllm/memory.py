"""How TensorRT-LLM's PyTorch backend counts memory.

From its documentation of kv_cache_config, tensorrt_llm/_torch/speculative/utils.py
(get_num_extra_kv_tokens) and pull requests 3497 and 12188.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specplan.domain.accounting import Accounting, Loss, Profile, Served

ONE_ENGINE = frozenset({"eagle3", "mtp", "block", "dflash", "dspark", "model"})
"""Ways to draft that run inside the target's engine, and write past what it verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrtllmAccounting(Accounting):
    """The fraction is of what is free once weights are loaded and a pass has been profiled."""

    flag: str = "free_gpu_memory_fraction"
    run_flag: str = "max_batch_size"
    block: int = 32
    of_free: bool = True
    row_bytes: float = 8.0  # logits and probabilities

    def fraction(self, served: Served) -> float:
        """0.9 of free memory."""
        asked = served.limits.memory_fraction
        return 0.9 if asked is None else asked

    def held_back_bytes(self, served: Served, resident_bytes: float) -> float:
        """The rest of what is free."""
        return (1 - self.fraction(served)) * max(served.memory_bytes - resident_bytes, 0.0)

    def ahead(self, served: Served) -> int:
        """K draft tokens and the bonus, and k - 1 more where the drafter is part of the engine."""
        past = served.k - 1 if served.way in ONE_ENGINE else 0
        return served.k + 1 + past if served.k else 0

    def states(self, served: Served) -> int:
        """One, and one for each draft token."""
        return 1 + served.k

    def sequences(self, served: Served) -> int:
        """max_batch_size."""
        return served.limits.max_num_seqs or 2048

    def batched_tokens(self, served: Served) -> int:
        """max_num_tokens."""
        return served.limits.max_batched_tokens or 8192

    def profile(self, served: Served) -> Profile:
        """A pass of max_num_tokens, of which as many propose as there are sequences; graphs are
        captured afterwards, from the rest.
        """
        tokens = self.batched_tokens(served)
        return Profile(tokens, min(self.sequences(served), tokens))

    def losses(self, served: Served) -> Iterator[Loss]:
        """What is known of drafters that are models, and of windows."""
        if any(group.window is not None for group in served.setup.target.kv_groups):
            yield Loss(
                "NVIDIA/TensorRT-LLM#5722",
                "sliding layers keep the whole context unless kv_cache_config.max_attention_window "
                "names their windows, as is counted here",
            )
        if served.way == "model":
            yield Loss(
                "NVIDIA/TensorRT-LLM#9279",
                "AutoDeploy gives the drafter the target's KvCacheConfig: with that backend both "
                "reserve a full cache",
            )


RELEASES = (TrtllmAccounting(since="1.0", cite="TensorRT-LLM 1.3.0rc27"),)
