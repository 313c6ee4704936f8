"""How llama.cpp counts memory: two contexts, each with a cache and a compute buffer.

From ggml-org/llama.cpp b11434 (tools/server/server-context.cpp), pull request 23801, issue 28433.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specplan.domain.accounting import GIB, Accounting, Loss, Profile, Served

UBATCH = 512
MARGIN_BYTES = GIB
"""What -fit leaves free of every device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamacppAccounting(Accounting):
    """No fraction: the cache of all slots is allocated at the start, and -fit leaves a margin."""

    block: int = 256  # contexts are padded to it
    second_context: bool = True

    def held_back_bytes(self, served: Served, resident_bytes: float) -> float:  # noqa: ARG002
        """The margin."""
        return MARGIN_BYTES

    def ahead(self, served: Served) -> int:  # noqa: ARG002
        """None: a slot is as long as its context."""
        return 0

    def states(self, served: Served) -> int:
        """One, and a checkpoint of it with drafts."""
        return 2 if served.k else 1

    def batched_tokens(self, served: Served) -> int:
        """--ubatch-size."""
        return served.limits.max_batched_tokens or UBATCH

    def profile(self, served: Served) -> Profile:
        """A compute buffer for a micro-batch that proposes at every token."""
        tokens = self.batched_tokens(served)
        return Profile(tokens, tokens)

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


RELEASES = (LlamacppAccounting(since="0", cite="llama.cpp b11434"),)
