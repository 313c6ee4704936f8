"""How an engine counts memory, as the tables in `dialects` state it release by release.

Physics asks an accounting for counts (blocks, tokens ahead, rows that a profile runs over) and
turns them into bytes; it never asks which engine keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from specplan.domain.pooling import Aside, Layers, Layout
from specplan.domain.scenario import Setup

MIB, GIB = 2.0**20, 2.0**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server was told of its memory; the engine's defaults where nothing was said."""

    memory_fraction: float | None = None
    max_num_seqs: int | None = None
    max_batched_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A setup as it is served: with drafts of k tokens, or plainly where k is 0."""

    setup: Setup
    k: int = 0
    limits: Limits = Limits()

    @property
    def memory_bytes(self) -> float:
        """What the driver shows of one GPU."""
        return self.setup.hardware.memory

    @property
    def way(self) -> str:
        """How drafts are made, by the words that engines use: a family of block drafters, else the
        drafter's kind; "" without drafts.
        """
        draft = self.setup.draft
        if not self.k:
            return ""
        named = draft.model.family if draft.kind == "block" and draft.model else ""
        return named if named in {"dflash", "dspark"} else draft.kind

    @property
    def draft_layers(self) -> int:
        """Layers of the drafter that keep keys and values, every module's."""
        model = self.setup.draft.model if self.k else None
        return self.setup.draft.caches * layers_that_cache(model.architecture) if model else 0


def layers_that_cache(arch: object) -> int:
    """Layers with keys and values: all but recurrent ones; 1 where a card does not say."""
    blocks = getattr(arch, "blocks", None)
    if blocks is None:
        return 1
    return sum(block.repeat for block in blocks if block.attention or block.latent)


class Profile(NamedTuple):
    """What an engine takes off its budget before the pool, as counts: tokens of the pass that it
    profiles, rows that it samples from, and sizes of passes that it captures as graphs.
    """

    tokens: int = 0
    rows: int = 0
    graphs: int = 0


@dataclass(frozen=True, slots=True)
class Loss:
    """Memory that a release loses, by its issue: what, how much (0 where it cannot be said)."""

    issue: str
    says: str
    lost_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """What a release from `since` on counts; the defaults are those of one without habits.

    `flag` is how its fraction is spelt, `run_flag` the most sequences that run. `block` tokens of a
    sequence are allocated at once. `pooled` says that the drafter's weights and cache are paid from
    the fraction; else they have to find room beside it. `spare` blocks of the pool are never lent.
    """

    since: str
    flag: str = ""
    run_flag: str = ""
    block: int = 1
    spare: int = 0
    pooled: bool = True
    of_free: bool = False
    second_context: bool = False
    row_bytes: float = 4.0
    cite: str

    def fraction(self, served: Served) -> float:
        """The share of memory that it fills, unless it was told another."""
        asked = served.limits.memory_fraction
        return 1.0 if asked is None else asked

    def held_back_bytes(self, served: Served, resident_bytes: float) -> float:  # noqa: ARG002
        """Bytes of what the driver shows that neither weights nor pool may take, where
        `resident_bytes` lie there before the pool is made.
        """
        return (1 - self.fraction(served)) * served.memory_bytes

    def block_tokens(self, served: Served) -> int:  # noqa: ARG002
        """Tokens that a sequence is given at once."""
        return self.block

    def ahead(self, served: Served) -> int:
        """Tokens beyond its context that a sequence has room for; 0 without drafts."""
        return served.setup.draft.slots(served.k)

    def states(self, served: Served) -> int:  # noqa: ARG002
        """Recurrent states that a sequence keeps in the pool."""
        return 1

    def state_bytes(self, served: Served, kind: Layers) -> float:  # noqa: ARG002
        """Bytes of one recurrent state of such a layer."""
        return kind.state_bytes

    def window_tokens(self, served: Served, window: int) -> int:  # noqa: ARG002
        """Tokens that a layer with a window keeps of a long sequence."""
        return window

    def scratch(self, served: Served) -> int:  # noqa: ARG002
        """How many of them only a sequence that runs can use, and every one reserves."""
        return 0

    def sequences(self, served: Served) -> int | None:
        """Most sequences that it runs at once; None for no limit of its own."""
        return served.limits.max_num_seqs

    def batched_tokens(self, served: Served) -> int | None:
        """Most tokens of a pass; None for no limit of its own."""
        return served.limits.max_batched_tokens

    def refused(self, limits: Limits) -> str | None:  # noqa: ARG002
        """Why the engine would not start with these limits, if it would not."""
        return None

    def profile(self, served: Served) -> Profile:  # noqa: ARG002
        """What comes off the budget; nothing where what is held back is for it."""
        return Profile()

    def working(self, served: Served) -> Profile:
        """What has to find room beside pool and weights, whoever counts it."""
        return self.profile(served)

    def verify_rows(self, served: Served) -> int:
        """Rows of logits that the widest verification makes; 0 without drafts."""
        most, tokens = self.sequences(served), self.batched_tokens(served)
        wide = (most or 0) * (served.k + 1) if served.k else 0
        return min(wide, tokens) if tokens else wide

    def sampled_drafts(self, served: Served) -> int:  # noqa: ARG002
        """Rows of logits that it keeps of drafts from one step to the next, where they are sampled
        instead of taken for certain; 0 where it cannot.
        """
        return 0

    def layout(
        self,
        served: Served,  # noqa: ARG002
        target: tuple[Layers, ...],  # noqa: ARG002
        drafter: tuple[Layers, ...],  # noqa: ARG002
    ) -> Layout | None:
        """How layers of several kinds share the pool; None where each sequence has what its layers
        keep.
        """
        return None

    def set_aside(self, served: Served, pool_bytes: float, state_bytes: float) -> Aside:  # noqa: ARG002
        """What is divided off the pool for recurrent states, of which a sequence's take
        `state_bytes`.
        """
        return Aside()

    def draft_share(self, served: Served) -> float | None:  # noqa: ARG002
        """Bytes of the drafter for a token, as a share of the target's, where the engine takes it
        for granted; None where it looks.
        """
        return None

    def duplicated_bytes(self, served: Served) -> float:  # noqa: ARG002
        """Bytes on a GPU that lie there twice while the pool is sized."""
        return 0.0

    def losses(self, served: Served) -> Iterator[Loss]:  # noqa: ARG002
        """What this release is known to lose."""
        return iter(())
