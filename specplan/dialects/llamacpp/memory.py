"""How llama.cpp counts memory: two contexts, each with a cache and a compute buffer.

From ggml-org/llama.cpp b11434 (tools/server/server-context.cpp), pull request 23801, issue 28433.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specplan.domain.accounting import GIB, Accounting, Loss, Profile, Served
from specplan.domain.pooling import Layers

UBATCH, SLOTS = 512, 4
"""--ubatch-size, and --parallel of a server."""
ROLLED_BACK = frozenset({"eagle", "eagle3", "mtp", "block", "dflash", "dspark"})
"""Ways to draft of which need_n_rs_seq (common/common.h) asks for states to go back to."""
MARGIN_BYTES = GIB
"""What -fit leaves free of every device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamacppAccounting(Accounting):
    """No fraction: the cache of all slots is allocated at the start, and -fit leaves a margin.
    `outputs` says that logits are reserved for those that slots can ask for (n_outputs_max).
    """

    run_flag: str = "--parallel"
    block: int = 256  # contexts are padded to it
    second_context: bool = True
    outputs: bool = False

    def held_back_bytes(self, served: Served, resident_bytes: float) -> float:  # noqa: ARG002
        """The margin."""
        return MARGIN_BYTES

    def ahead(self, served: Served) -> int:  # noqa: ARG002
        """None: a slot is as long as its context."""
        return 0

    def states(self, served: Served) -> int:
        """One, and for drafters that read the target's states one for each draft token to go back
        to (n_rs_seq).
        """
        return 1 + (served.k if served.way in ROLLED_BACK else 0)

    def state_bytes(self, served: Served, kind: Layers) -> float:  # noqa: ARG002
        """Both parts are kept in 32 bits."""
        return kind.state_bytes + kind.remembered * kind.input_bytes

    def window_tokens(self, served: Served, window: int) -> int:
        """A window and a micro-batch, padded like all contexts."""
        return -(-(window + self.batched_tokens(served)) // self.block) * self.block

    def batched_tokens(self, served: Served) -> int:
        """--ubatch-size."""
        return served.limits.max_batched_tokens or UBATCH

    def profile(self, served: Served) -> Profile:
        """A compute buffer for a micro-batch, which proposes at every token, or at those of the
        slots alone.
        """
        tokens = self.batched_tokens(served)
        slots = served.limits.max_num_seqs or SLOTS
        return Profile(tokens, min(tokens, slots * (served.k + 1)) if self.outputs else tokens)

    def losses(self, served: Served) -> Iterator[Loss]:
        """What builds are known to get wrong of a second context."""
        if served.k and served.setup.draft.caches:
            yield Loss(
                "ggml-org/llama.cpp#23801",
                "from b9305 -fit charges the drafter's compute buffer besides its cache; builds "
                "before charged neither (#23472)",
            )
        if served.way == "mtp":
            yield Loss(
                "ggml-org/llama.cpp#28433",
                "the drafter's context is as long as those of all slots together",
            )


RELEASES = (
    LlamacppAccounting(since="0", cite="llama.cpp b9305"),
    LlamacppAccounting(since="11434", outputs=True, cite="llama.cpp b11434"),
)
