"""How SGLang counts memory, by version.

Read in the wheels of 0.5.3, 0.5.9, 0.5.13 (sglang/srt/server_args.py), 0.5.14, 0.5.17 and 0.5.23
(sglang/srt/arg_groups/memory_hook.py, sglang/srt/model_executor/pool_configurator.py,
sglang/srt/mem_cache/allocation_sizing.py); the table before 0.5.3 is that of 0.4.10 and 0.5.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from specplan.dialects.sglang.pools import JOINT, States, divided
from specplan.domain.accounting import (
    GIB,
    MIB,
    Accounting,
    Loss,
    Profile,
    Served,
    layers_that_cache,
)
from specplan.domain.pooling import Aside, Layers, Layout

OWN_CELL = frozenset({"dflash", "dspark"})
"""Ways to draft whose bytes per token SGLang reads from the drafter's own layers."""


class Size(NamedTuple):
    """Defaults of GPUs with less than `below` GiB: prefill chunk, and the widest graph with few
    GPUs and with 4 or more.
    """

    below: float
    chunk: int
    graph: int
    graph_wide: int


_SIZES = (
    Size(20, 2048, 8, 8),
    Size(35, 2048, 24, 80),
    Size(60, 4096, 32, 160),
    Size(160, 8192, 256, 512),
    Size(float("inf"), 16384, 512, 512),
)
_FIRST = (_SIZES[0], Size(35, 2048, 16, 80), *_SIZES[2:])
_LAST = (_SIZES[0], Size(35, 4096, 48, 160), *_SIZES[2:])
_SLIDING = frozenset({"gpt-oss", "llama-4", "mimo"})
_OLD_RESERVES = ((35, 2.8, 0.1), (90, 9.5, 0.5), (160, 12.0, 0.5), (float("inf"), 32.0, 0.0))
"""Before 0.5.3, in GiB: of GPUs with less than so much, a part, and more for each GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangAccounting(Accounting):
    """A reserve is held back of a GPU as the engine guesses it; a drafter adds `extra` GiB, one
    that is a model of its own `extra_model`. A round's tokens are reserved `step` times; `prefill`
    says that prefills are captured as graphs too, `recurrent` how states are divided off, `clamped`
    that graphs are no wider than --max-running-requests. Families of models whose sliding layers
    have a pool of their own are `apart` (is_hybrid_swa_model, sglang/srt/configs/model_config.py).
    """

    flag: str = "--mem-fraction-static"
    run_flag: str = "--max-running-requests"
    row_bytes: float = 8.0  # logits and probabilities
    sizes: tuple[Size, ...] = _SIZES
    extra: float = 0.0
    extra_model: float = 0.0
    step: int = 1
    prefill: bool = False
    recurrent: States = JOINT
    clamped: bool = False
    apart: frozenset[str] = _SLIDING

    def size(self, served: Served) -> Size:
        """The defaults of GPUs as large as this one."""
        return next(s for s in self.sizes if served.memory_bytes < s.below * GIB)

    def widest_graph(self, served: Served) -> int:
        """Sequences of the widest graph: with few GPUs or with 4 and more, and no more than were
        told to run.
        """
        size, told = self.size(served), served.limits.max_num_seqs
        usual = size.graph if served.setup.tp < 4 else size.graph_wide
        return min(usual, told) if told and self.clamped else usual

    def reserve_mib(self, served: Served) -> float:
        """What the engine keeps from weights and cache, in MiB: 512, 1.5 for each token of a
        prefill chunk, 2 for each sequence of the widest graph, 8 for each captured prefill (1,536
        for latent attention), 1,024 for 8 GPUs; at least 10 GiB where the GPU has more than 60.
        """
        setup, size, graph = served.setup, self.size(served), self.widest_graph(served)
        chunk = served.limits.max_batched_tokens or size.chunk
        kept = 512 + 1.5 * max(chunk, 2048) + 2 * graph + setup.tp / 8 * 1024
        if self.prefill:
            kept += 1536 if _latent(served) else 8 * sum(size <= chunk for size in _PREFILLS)
        if setup.attention_dp > 1:
            kept += graph * setup.attention_dp * (4.5 if graph > 300 else 3)
        return max(kept, 10 * 1024.0) if served.memory_bytes > 60 * GIB else kept

    def fraction(self, served: Served) -> float:
        """(memory - reserve) / memory to three places, as the engine rounds it."""
        asked = served.limits.memory_fraction
        if asked is not None:
            return asked
        more = {"": 0.0, "ngram": 0.0, "model": self.extra_model}.get(served.way, self.extra)
        memory_mib = served.memory_bytes / MIB
        return round((memory_mib - self.reserve_mib(served) - 1024 * more) / memory_mib, 3)

    def ahead(self, served: Served) -> int:
        """The k + 1 tokens of a round, as many times as they are reserved."""
        return self.step * (served.k + 1) if served.k else 0

    def states(self, served: Served) -> int:  # noqa: ARG002
        """None in the pool of keys and values: they have one of their own."""
        return 0

    def set_aside(self, served: Served, pool_bytes: float, state_bytes: float) -> Aside:
        """The pool of recurrent states, with those of rounds for the sequences that run."""
        if not state_bytes:
            return Aside()
        tokens = served.k + 1 if served.k else 0
        return self.recurrent.aside(pool_bytes, state_bytes, tokens, self.sequences(served) or 0)

    def layout(
        self, served: Served, target: tuple[Layers, ...], drafter: tuple[Layers, ...]
    ) -> Layout | None:
        """Pools apart for layers that look back a window; a drafter's token takes what one of the
        target's layers that see all does, or what its own do.
        """
        whole = [kind for kind in target if kind.token_bytes and kind.window is None]
        own = sum(kind.number * kind.token_bytes for kind in drafter)
        if self.draft_share(served) is not None:
            layer = max((kind.token_bytes for kind in whole or target), default=0.0)
            own = sum(kind.number for kind in drafter) * layer
        apart = served.setup.target.family in self.apart
        return divided(target, own if self.pooled else 0.0, apart=apart)

    def sequences(self, served: Served) -> int | None:
        """--max-running-requests: 48 with speculation where it is not set."""
        return served.limits.max_num_seqs or (48 if served.k else None)

    def batched_tokens(self, served: Served) -> int:
        """The prefill chunk."""
        return served.limits.max_batched_tokens or self.size(served).chunk

    def working(self, served: Served) -> Profile:
        """A prefill chunk, the logits of a verification, and a graph for every 8th batch."""
        graphs = 3 + self.widest_graph(served) // 8
        return Profile(self.batched_tokens(served), self.verify_rows(served), graphs)

    def draft_share(self, served: Served) -> float | None:
        """Layers of the drafter over the target's, taken to be alike, where the pool is sized for
        both.
        """
        if not self.pooled or served.way in OWN_CELL or not served.draft_layers:
            return None
        return served.draft_layers / layers_that_cache(served.setup.target.architecture)

    def duplicated_bytes(self, served: Served) -> float:
        """An embedding and an output head in 16 bits where the drafter borrows the target's: they
        are given back once the cache is sized.
        """
        draft, target = served.setup.draft.model, served.setup.target.architecture
        arch = draft.architecture if draft else None
        if not served.k or not self.pooled or not arch or not target or not arch.fuse:
            return 0.0
        tables = arch.tied_embeddings + arch.borrowed_head
        return tables * 2.0 * target.vocab * target.hidden / served.setup.draft_tp

    def losses(self, served: Served) -> Iterator[Loss]:
        """By version and drafter."""
        lost = self.duplicated_bytes(served)
        if lost:
            yield Loss(
                "sgl-project/sglang#36452",
                "the drafter's copies of embedding and head are freed after the cache is sized",
                lost,
            )
        if served.k and not self.pooled:
            yield Loss(
                "sgl-project/sglang#6875",
                "the drafter's weights and cache are not counted: they must fit beside "
                f"{self.flag}",
            )
        target = served.setup.target
        windowed = any(group.window is not None for group in target.kv_groups)
        if windowed and target.family not in self.apart:
            yield Loss(
                "sglang/srt/configs/model_config.py",
                "sliding layers of this model keep the whole context",
            )
        if served.k and served.setup.target.state_bytes:
            yield Loss(
                "sgl-project/sglang#29857",
                "hybrid models left tens of GiB idle: compare the tokens of the pool with the log",
            )


_PREFILLS = (
    *range(4, 33, 4),
    *range(48, 257, 16),
    *range(288, 513, 32),
    *range(576, 1025, 64),
    *range(1280, 4097, 256),
    *range(4608, 16385, 512),
)
"""Tokens of the prefills that are captured, up to a chunk."""


def _latent(served: Served) -> bool:
    arch = served.setup.target.architecture
    return arch is not None and any(block.latent for block in arch.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSglangAccounting(SglangAccounting):
    """Before 0.5.3: a reserve by size alone."""

    def reserve_mib(self, served: Served) -> float:
        """Of the table, and 4 GiB with attention groups."""
        gib = served.memory_bytes / GIB
        _, kept, each = next(row for row in _OLD_RESERVES if gib < row[0])
        return 1024 * (kept + each * served.setup.tp + (4 if served.setup.attention_dp > 1 else 0))


_GEMMA = _SLIDING | {"gemma-4"}
_BEFORE, _PADDED = States(joint=False), States(slots=5, padding=1)
RELEASES: tuple[SglangAccounting, ...] = (
    OldSglangAccounting(
        since="0.4",
        pooled=False,
        extra=2,
        extra_model=6,
        recurrent=_BEFORE,
        apart=frozenset(),
        cite="SGLang 0.4.10 and 0.5.2",
    ),
    SglangAccounting(
        since="0.5.3",
        pooled=False,
        extra=2,
        extra_model=6,
        sizes=_FIRST,
        recurrent=_BEFORE,
        apart=frozenset(),
        cite="SGLang 0.5.3",
    ),
    SglangAccounting(
        since="0.5.4",
        pooled=False,
        extra=2,
        extra_model=6,
        recurrent=_BEFORE,
        cite="SGLang 0.5.6.post2 and 0.5.9",
    ),
    SglangAccounting(
        since="0.5.10",
        pooled=False,
        extra=4,
        extra_model=6,
        step=2,
        prefill=True,
        apart=_GEMMA,
        cite="SGLang 0.5.10.post1 and 0.5.13",
    ),
    SglangAccounting(since="0.5.14", step=2, prefill=True, apart=_GEMMA, cite="SGLang 0.5.14"),
    SglangAccounting(
        since="0.5.17", step=2, prefill=True, apart=_GEMMA, recurrent=_PADDED, cite="SGLang 0.5.17"
    ),
    SglangAccounting(
        since="0.5.23",
        step=2,
        prefill=True,
        apart=_GEMMA,
        sizes=_LAST,
        recurrent=_PADDED,
        clamped=True,
        cite="SGLang 0.5.23",
    ),
)
