"""One row of a comparison: the candidate, its figures at its own best k, or the reason for none."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.answer import Column
from specplan.questions.cards import Order
from specplan.questions.grids import SETUP_COLUMNS, WORKLOAD_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A candidate in SI; without a k where a `reason` says why it is not compared. What is too
    large keeps its memory.

    Bytes are on the fullest GPU. `slots_ahead` of a sequence's cache a round may write before it is
    known what is kept: engines that count their memory charge them, the ideal form does not.
    `throughput` compares tokens per second with plain decoding, each arm at the largest batch that
    fits it; `band` is how far 9 of 10 predictions of its like were off, where that was measured.
    """

    target: str
    draft: str
    hardware: str
    tp: int
    dtype: str | None
    draft_dtype: str | None
    kv_dtype: str | None
    draft_tp: int | None
    engine: str
    engine_version: str | None
    attention_dp: int
    ep: int
    served_by: str
    kind: str | None
    batch: int
    context: float
    alpha: float | None = None
    acceptance: str | None = None
    k: int | None = None
    speedup: float | None = None
    tokens_per_round: float | None = None
    tpot_s: float | None = None
    plain_tpot_s: float | None = None
    tokens_per_s: float | None = None
    tokens_per_s_per_gpu: float | None = None
    draft_weights_bytes: float | None = None
    draft_kv_bytes_per_sequence: float | None = None
    draft_bytes: float | None = None
    largest_batch_plain: int | None = None
    largest_batch: int | None = None
    sequences_lost: int | None = None
    slots_ahead: int | None = None
    largest_tokens_per_s: float | None = None
    largest_tokens_per_s_per_gpu: float | None = None
    throughput: float | None = None
    usd_per_gpu_hour: float | None = None
    price: str | None = None
    usd_per_million_tokens: float | None = None
    fits: bool | None = None
    shortfall_bytes: float | None = None
    basis: str | None = None
    band: float | None = None
    best: bool = False
    shown: bool = False
    rank: int | None = None
    reason: str | None = None

    @property
    def compared(self) -> bool:
        """Whether nothing stands in its way."""
        return self.reason is None

    @property
    def plain(self) -> bool:
        """Whether it is plain decoding."""
        return self.kind == "none"

    @property
    def forgone(self) -> bool:
        """Whether a drafter is there and no k pays."""
        return self.k == 0 and not self.plain

    @property
    def fewer(self) -> bool:
        """Whether it puts out fewer tokens than plain decoding, each at its own largest batch."""
        return self.throughput is not None and self.throughput < 1


COLUMNS = (
    *SETUP_COLUMNS,
    Column("kind", "", "kind", "text", "how it drafts; none is plain decoding"),
    *WORKLOAD_COLUMNS,
    Column("k", "tokens", "k", "count", "its own best draft length; absent for what has a reason"),
    Column("speedup", "1", "speedup", "times", "over plain decoding in the same place"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    Column("tpot_s", "s", "TPOT", "seconds", "time per output token"),
    Column("plain_tpot_s", "s", "plain TPOT", "seconds", "the same of plain decoding"),
    Column("tokens_per_s", "1/s", "tok/s", "number", "of the whole batch"),
    Column("tokens_per_s_per_gpu", "1/s", "tok/s/GPU", "number", "of the batch, by GPU"),
    Column("draft_weights_bytes", "B", "drafter", "bytes", "its weights, per GPU"),
    Column("draft_kv_bytes_per_sequence", "B", "KV/seq", "bytes", "of the drafter, per GPU"),
    Column("draft_bytes", "B", "drafter", "bytes", "weights and the batch's cache, per GPU"),
    Column("largest_batch_plain", "sequences", "without", "count", "that fit without the drafter"),
    Column("largest_batch", "sequences", "sequences", "count", "that fit with the drafter"),
    Column("sequences_lost", "sequences", "lost", "count", "to the drafter"),
    Column("slots_ahead", "tokens", "ahead", "count", "of a sequence's cache in a round"),
    Column("largest_tokens_per_s", "1/s", "tok/s", "number", "at its own largest batch"),
    Column(
        *("largest_tokens_per_s_per_gpu", "1/s", "full/GPU", "number"),
        "tokens per second and GPU at its own largest batch",
    ),
    Column("throughput", "1", "full", "times", "over plain decoding, each arm at its largest"),
    Column("usd_per_gpu_hour", "USD/h", "USD/h", "number", "price of one GPU"),
    Column("price", "", "price", "text", "whose price that is"),
    Column("usd_per_million_tokens", "USD", "USD/Mtok", "number", "of output, at this batch"),
    Column("fits", "", "fits", "flag", "whether the batch fits, with the drafter if k > 0"),
    Column("shortfall_bytes", "B", "shortfall", "bytes", "what the batch lacks, per GPU"),
    Column("basis", "", "basis", "text", "bound, estimate or calibrated"),
    Column("band", "1", "band", "percent", "how far 9 of 10 of its like were off at most"),
    Column("best", "", "best", "flag", "the first in the order asked for"),
    Column("reason", "", "reason", "text", "why it is not compared"),
)
ASIDE = (
    Column("rank", "", "#", "count", "place in the order"),
    Column("served_by", "", "engine", "text", "engine and version as they are typed"),
    Column("shown", "", "shown", "flag", "among the first, which people see"),
    Column("forgone", "", "forgone", "flag", "no k pays"),
    Column("fewer", "", "fewer", "flag", "fewer tokens than plain decoding at capacity"),
)
SORTS: dict[str, Order] = {
    "speedup": Order(("speedup",), falling=True),
    "tpot": Order(("tpot_s",)),
    "throughput": Order(("largest_tokens_per_s_per_gpu",), falling=True),
    "cost": Order(("usd_per_million_tokens",)),
    "memory": Order(("draft_bytes",)),
    "tokens": Order(("tokens_per_round",), falling=True),
}
"""Words after --sort and the figure that each goes by; what is best leads."""


def ranked(entries: list[Entry], sort: str, *, reverse: bool = False) -> list[Entry]:
    """The compared in an order: equal ones by name, plain decoding first of them, and last those
    without the figure.
    """
    by_name = sorted(entries, key=lambda e: (not e.plain, e.draft, e.target, e.hardware, e.tp))
    have = [entry for entry in by_name if figure_of(entry, sort) is not None]
    lack = [entry for entry in by_name if figure_of(entry, sort) is None]

    def key(entry: Entry) -> float:
        return figure_of(entry, sort) or 0.0

    # Equal ones keep their order either way round.
    return sorted(have, key=key, reverse=SORTS[sort].falling is not reverse) + lack


def figure_of(entry: Entry, sort: str) -> float | None:
    """What an entry is ordered by."""
    value: float | None = getattr(entry, SORTS[sort].columns[0])
    return value
