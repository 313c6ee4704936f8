"""How vLLM counts memory, by version.

Read in the wheels of 0.33.0 (vllm/config/cache.py, vllm/config/vllm.py, vllm/engine/arg_utils.py,
vllm/v1/worker/gpu_worker.py, vllm/v1/core/kv_cache_utils.py); which release brought what before
that is as far as it is known between the releases that were compared. From 0.21 the log's size is
the concurrency times --max-model-len (issue 43308: 55k tokens became 525k); from 0.28 prefixes of
hybrid models are cached, for one state more (pull request 50991).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specplan.dialects.vllm.tables import aligned_block, grouped
from specplan.domain.accounting import GIB, Accounting, Limits, Loss, Profile, Served
from specplan.domain.pooling import Layers, Layout, layers_of

if TYPE_CHECKING:
    from specplan.domain.hardware import Hardware

HEADS = frozenset({"eagle", "eagle3", "mtp", "model", "block", "dspark"})
"""Ways to draft that write k tokens of cache past those that the target is scheduled for."""
LOOKUPS = frozenset({"ngram", "suffix"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmAccounting(Accounting):
    """`default` is gpu_memory_utilization; `graphs_counted` whether graphs come off the budget.
    `sizes` are max_num_seqs and max_num_batched_tokens of a server, by least GiB of a GPU;
    `derived` says that the size it logs is its concurrency times --max-model-len. `prefixes` are
    the states more that hybrids keep for cached ones, `batches` the passes that run at once.
    """

    flag: str = "--gpu-memory-utilization"
    run_flag: str = "--max-num-seqs"
    block: int = 16
    spare: int = 1  # the null block
    row_bytes: float = 26.0  # logits in both widths, probabilities, sorted with their places, masks
    default: float
    graphs_counted: bool
    sizes: tuple[tuple[float, int, int], ...]
    derived: bool = True
    prefixes: int = 0
    batches: int = 1

    def fraction(self, served: Served) -> float:
        """Of the whole memory, weights included."""
        asked = served.limits.memory_fraction
        return self.default if asked is None else asked

    def block_tokens(self, served: Served) -> int:
        """16; 64 where an indexer picks, 32 for latent attention on sm_100 as of 0.33; beside
        recurrent layers as many as make a page that holds one of their states.
        """
        setup = served.setup
        kinds = layers_of(setup.target, setup.kv_dtype, setup.tp // setup.attention_dp)
        state = max((self.state_bytes(served, k) for k in kinds if k.state_bytes), default=0.0)
        return aligned_block(kinds, state, self._kernel_block(served))

    def _kernel_block(self, served: Served) -> int:
        """The smallest that its attention kernel takes."""
        arch = served.setup.target.architecture
        latent = [block.latent for block in arch.blocks if block.latent] if arch else []
        if any(mixer.top for mixer in latent):
            return 64
        sm_100 = "sm_100" in (served.setup.hardware.arch or "")
        return 32 if latent and sm_100 and self.since == "0.33" else self.block

    def layout(
        self, served: Served, target: tuple[Layers, ...], drafter: tuple[Layers, ...]
    ) -> Layout | None:
        """Groups of layers, where some look back a window or keep a state. V0 has none."""
        if self.since == "0.6" or all(k.window is None and not k.state_bytes for k in target):
            return None
        tokens = self.batches * self.batched_tokens(served)
        block, states = self.block_tokens(served), self.states(served)
        return grouped((*target, *drafter), block, states, tokens, derived=self.derived)

    def ahead(self, served: Served) -> int:
        """1 + k for the tokens that a step schedules, and those that the drafter writes past them:
        k, k + 1 where it fills in a block (DFlash), none where it is looked up.
        """
        past = served.k if served.way in HEADS else served.k + 1 if served.way == "dflash" else 0
        return 1 + served.k + past if served.k else 0

    def states(self, served: Served) -> int:
        """One, one for each draft token, and those of cached prefixes."""
        return 1 + self.prefixes + served.k

    def state_bytes(self, served: Served, kind: Layers) -> float:
        """A convolution remembers an input more for each draft token."""
        return kind.state_bytes + served.k * kind.input_bytes

    def scratch(self, served: Served) -> int:
        """Those of the draft tokens."""
        return served.k

    def draft_rows(self, served: Served) -> int:
        """Rows that a drafter's pass has beyond the target's for each sequence: one of a model,
        k - 1 of those that propose in one pass.
        """
        if served.way == "model":
            return 1
        return served.k - 1 if served.way in {"block", "dflash", "dspark"} else 0

    def sampled_drafts(self, served: Served) -> int:
        """max_num_seqs k, of drafters with a model; first read in 0.33."""
        known = self.since == "0.33" and served.way not in LOOKUPS and served.setup.draft.model
        return self.sequences(served) * served.k if known else 0

    def _sizes(self, hardware: Hardware) -> tuple[int, int]:
        """A100s are kept among the small (vllm-project/vllm pull request 17885), and GB10."""
        small = hardware.name.startswith(("a100", "dgx-spark"))
        fitting = [s for s in self.sizes if hardware.memory >= s[0] * GIB and not (small and s[0])]
        return fitting[-1][1:]

    def sequences(self, served: Served) -> int:
        """max_num_seqs, no more by default than a pass has tokens."""
        usual = min(self._sizes(served.setup.hardware)[0], self.batched_tokens(served))
        return served.limits.max_num_seqs or usual

    def refused(self, limits: Limits) -> str | None:
        """A pass with fewer tokens than sequences (vllm/config/scheduler.py)."""
        tokens, most = limits.max_batched_tokens, limits.max_num_seqs
        if tokens is None or most is None or tokens >= most:
            return None
        return f"vLLM refuses {tokens:,}: less than --max-num-seqs {most:,}"

    def batched_tokens(self, served: Served) -> int:
        """max_num_batched_tokens of a server."""
        return served.limits.max_batched_tokens or self._sizes(served.setup.hardware)[1]

    def profile(self, served: Served) -> Profile:
        """A pass of max_num_batched_tokens, one row of logits for each sequence, and the graphs
        where they are counted.
        """
        working = self.working(served)
        return working if self.graphs_counted else working._replace(graphs=0)

    def working(self, served: Served) -> Profile:
        """The same with the graphs: 1, 2, 4, every 8th up to 256 and every 16th up to the widest,
        twice max_num_seqs (k + 1) and at most 512.
        """
        most, tokens = self.sequences(served), self.batched_tokens(served)
        widest = min(2 * most * (served.k + 1), 512, tokens)
        sizes = 3 + len(range(8, min(widest + 1, 256), 8)) + len(range(256, widest + 1, 16))
        return Profile(tokens, min(most, tokens), sizes)

    def losses(self, served: Served) -> Iterator[Loss]:
        """By version and drafter."""
        if not served.k:
            return
        if served.setup.target.state_bytes:
            yield Loss(
                "vllm-project/vllm#57261",
                f"{served.k} recurrent states are reserved for every sequence that the cache could "
                "hold, not for those that run",
            )
        if served.setup.target.state_bytes or _windowed(served):
            yield Loss(
                "vllm-project/vllm#51041",
                'the engine\'s "GPU KV cache size" is its concurrency times --max-model-len: no '
                "bytes per token follow from it",
            )
        yield from self._of_old(served)

    def _of_old(self, served: Served) -> Iterator[Loss]:
        setup = served.setup
        if setup.draft_tp not in {1, setup.tp} and setup.draft.model:
            yield Loss(
                "vllm-project/vllm#10483",
                "a drafter's GPUs can be 1 or all of the target's: the engine refuses "
                f"{setup.draft_tp} of {setup.tp}",
            )
        if self.since == "0.6" and setup.draft_tp < setup.tp:
            yield Loss(
                "vllm-project/vllm#9995",
                "the engine sizes its cache as if the drafter were spread over all GPUs: the first "
                "one holds it whole",
            )
        rows = self.draft_rows(served)
        if self.since in {"0.20.2", "0.21"} and rows:
            left = self.batched_tokens(served) - rows * self.sequences(served)
            yield Loss(
                "vllm-project/vllm#50708",
                f"drafting takes {rows} of max_num_batched_tokens for each of max_num_seqs: of a "
                f"pass {left:,} tokens are left to schedule",
            )


def _windowed(served: Served) -> bool:
    return any(group.window is not None for group in served.setup.target.kv_groups)


_TIERS = ((0.0, 256, 2048), (70.0, 1024, 8192))
RELEASES = (
    VllmAccounting(
        since="0.6",
        default=0.9,
        graphs_counted=False,
        sizes=((0.0, 256, 2048),),
        derived=False,
        cite="vLLM 0.6.6 and 0.8.5, V0 engine",
    ),
    VllmAccounting(
        since="0.9",
        default=0.9,
        graphs_counted=False,
        sizes=_TIERS,
        derived=False,
        cite="vLLM 0.9.2 to 0.17.1",
    ),
    VllmAccounting(
        since="0.20.2",  # in none of the wheels up to 0.17.1
        default=0.92,
        graphs_counted=True,
        sizes=_TIERS,
        derived=False,
        cite="vLLM 0.20.2",
    ),
    VllmAccounting(
        since="0.21", default=0.92, graphs_counted=True, sizes=_TIERS, cite="vLLM 0.26.0"
    ),
    VllmAccounting(
        since="0.28",
        default=0.92,
        graphs_counted=True,
        sizes=_TIERS,
        prefixes=1,
        cite="vLLM 0.26.0, and pull request 50991",
    ),
    VllmAccounting(
        since="0.33",
        default=0.92,
        graphs_counted=True,
        sizes=(*_TIERS, (160.0, 1024, 16384)),
        prefixes=1,
        batches=2,
        cite="vLLM 0.33.0",
    ),
)
