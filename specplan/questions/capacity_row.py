"""One row of a capacity plan: a candidate under one policy, its GPUs, their state and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from specplan.domain.answer import Column, Scalar
from specplan.domain.slo import Slo
from specplan.questions.capacity_parts import Parts
from specplan.questions.grids import SETUP_COLUMNS

USUAL = (("ttft", 50.0), ("ttft", 95.0), ("tpot", 50.0), ("tpot", 95.0))
"""Percentiles that are told whatever was promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A plan for the traffic in SI; without replicas where a `reason` says why there is none.

    `by_rate` are latencies by requests per second of a replica, `kept_by_dispersion` the most of
    them that it is given by the dispersion of arrivals. `gpus_exact` are GPUs before replicas are
    whole. Cost is at the traffic as it is, and with every
    replica as full as it can be; energy is every GPU at its TDP all the time, an upper bound.
    """

    target: str
    draft: str
    hardware: str
    tp: int
    dtype: str
    draft_dtype: str | None
    kv_dtype: str
    draft_tp: int | None
    engine: str
    engine_version: str | None
    attention_dp: int
    ep: int
    served_by: str
    acceptance: str | None
    policy: str
    pools: str
    schedule: str | None = None
    largest_per_s: float | None = None
    bound_by: str | None = None
    saturation_per_s: float | None = None
    replicas: int | None = None
    prefill_replicas: int | None = None
    decode_replicas: int | None = None
    gpus_per_replica: int | None = None
    gpus: int | None = None
    gpus_exact: float | None = None
    gpus_saved: int | None = None
    rate_per_replica_per_s: float | None = None
    dispersion: float | None = None
    utilisation: float | None = None
    batch_mean: float | None = None
    kv_share: float | None = None
    k_shares: str | None = None
    k_mean: float | None = None
    latency_s: Mapping[str, float] = field(default_factory=dict)
    tokens_per_s: float | None = None
    tokens_per_s_per_gpu: float | None = None
    usd_per_gpu_hour: float | None = None
    price: str | None = None
    usd_per_hour: float | None = None
    usd_per_million_output_tokens: float | None = None
    usd_per_million_tokens: float | None = None
    usd_per_million_output_tokens_saturated: float | None = None
    usd_per_million_tokens_saturated: float | None = None
    wh_per_million_output_tokens: float | None = None
    lambda_star_per_s: float | None = None
    crossings_per_s: str | None = None
    sustains: float | None = None
    fixed_points: str | None = None
    transfer_s: float | None = None
    peak_gpus: int | None = None
    mean_gpus: float | None = None
    gpu_hours: float | None = None
    parts: Parts | None = None
    by_rate: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    kept_by_dispersion: tuple[tuple[float, float], ...] = ()
    basis: str | None = None
    cheapest: bool = False
    rank: int | None = None
    reason: str | None = None

    @property
    def plain(self) -> bool:
        """Whether it never speculates."""
        return self.policy == "none"

    def record(self, asked: Sequence[tuple[str, float]]) -> dict[str, Scalar]:
        """The cells of the table."""
        cells: dict[str, Scalar] = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in {"latency_s", "parts", "by_rate", "kept_by_dispersion"}
        }
        cells |= {name: self.latency_s.get(name) for name in map(percentile_name, asked)}
        cells |= {"planned": self.reason is None, "parted": self.parts is not None}
        parts = dict(self.parts.pairs()) if self.parts else {}
        return cells | {f"gpus_{name}": parts.get(name) for name in PARTS}


PARTS = tuple(one.name for one in fields(Parts))
PART_MEANINGS = {
    "prefill": "prompts, without a drafter, of a server never without requests",
    "decode": "output tokens there, at the batch that the promise about TPOT allows",
    "memory": "more because fewer sequences fit",
    "speculation": "what the drafter changes of all that; below 0 it saves",
    "queue": "waiting, at the percentiles promised, of Poisson arrivals",
    "bursts": "of arrivals that are burstier",
    "margin": "the head-room asked for",
    "whole": "of the last replica, which is whole",
}


def asked_percentiles(slo: Slo) -> tuple[tuple[str, float], ...]:
    """The usual percentiles and those that were promised, by metric."""
    promised = {(one.metric, one.percentile) for one in slo.limits}
    order = ("ttft", "tpot", "itl", "e2e")
    return tuple(sorted({*USUAL, *promised}, key=lambda one: (order.index(one[0]), one[1])))


def percentile_name(one: tuple[str, float]) -> str:
    """The column of a percentile: ttft_p99_s."""
    metric, percentile = one
    return f"{metric}_p{percentile:g}_s"


def columns_of(asked: Sequence[tuple[str, float]]) -> tuple[Column, ...]:
    """The columns of a plan, the percentiles asked among them."""
    return (*_BEFORE, *_latencies(asked), *_AFTER, *_parts(), *_LAST)


def _latencies(asked: Sequence[tuple[str, float]]) -> Iterator[Column]:
    said = {
        "ttft": "time to the first token",
        "tpot": "seconds per further token of a request",
        "itl": "seconds between two tokens as they reach the reader",
        "e2e": "time to the last token",
    }
    for metric, percentile in asked:
        name = f"{metric.upper()} p{percentile:g}"
        meaning = f"{said[metric]}, at most, of {percentile:g} %"
        yield Column(percentile_name((metric, percentile)), "s", name, "seconds", meaning)


def _parts() -> Iterator[Column]:
    for name, meaning in PART_MEANINGS.items():
        yield Column(f"gpus_{name}", "GPU", name, "number", meaning)


_BEFORE = (
    *SETUP_COLUMNS,
    Column("acceptance", "", "acceptance", "text", "the acceptance as it was given"),
    Column("policy", "", "policy", "text", "none, k=N at every load, or gated by the batch"),
    Column("pools", "", "pools", "text", "shared, or prefill and decode apart"),
    Column("schedule", "", "schedule", "text", "k by batch of a gated one: k up to which batch"),
    Column("largest_per_s", "1/s", "most/s", "number", "requests a replica, promises kept"),
    Column("bound_by", "", "bound by", "text", "what keeps a replica from more"),
    Column("saturation_per_s", "1/s", "full/s", "number", "requests from which queues only grow"),
    Column("replicas", "1", "replicas", "count", "the fewest that keep every promise"),
    Column("prefill_replicas", "1", "prefill", "count", "that read prompts, where apart"),
    Column("decode_replicas", "1", "decode", "count", "that decode, where apart"),
    Column("gpus_per_replica", "GPU", "GPUs each", "count", "of one replica"),
    Column("gpus", "GPU", "GPUs", "count", "of all replicas"),
    Column("gpus_exact", "GPU", "exactly", "number", "before replicas are whole"),
    Column("gpus_saved", "GPU", "saved", "count", "over no speculation in the same place"),
    Column("rate_per_replica_per_s", "1/s", "req/s", "number", "requests that each takes"),
    Column("dispersion", "1", "dispersion", "number", "variance over mean of its arrivals"),
    Column("utilisation", "1", "load", "percent", "of what a full replica does, not of time"),
    Column("batch_mean", "sequences", "batch", "number", "that decode together, by time"),
    Column("kv_share", "1", "KV", "percent", "of the pool in use"),
    Column("k_shares", "", "k in use", "text", "share of the rounds' time at each k"),
    Column("k_mean", "tokens", "mean k", "number", "draft tokens a round, by time"),
)
_AFTER = (
    Column("tokens_per_s", "1/s", "tok/s", "number", "output tokens of all replicas"),
    Column("tokens_per_s_per_gpu", "1/s", "tok/s/GPU", "number", "the same by GPU"),
    Column("usd_per_gpu_hour", "USD/h", "USD/h", "number", "price of one GPU"),
    Column("price", "", "price", "text", "whose price that is"),
    Column("usd_per_hour", "USD/h", "USD/h all", "number", "price of all GPUs"),
    Column(
        *("usd_per_million_output_tokens", "USD", "USD/Mout", "number"),
        "per million output tokens at this traffic",
    ),
    Column(
        *("usd_per_million_tokens", "USD", "USD/Mtok", "number"),
        "per million tokens of prompt and output at this traffic",
    ),
    Column(
        *("usd_per_million_output_tokens_saturated", "USD", "full/Mout", "number"),
        "per million output tokens, replicas as full as can be",
    ),
    Column(
        *("usd_per_million_tokens_saturated", "USD", "full/Mtok", "number"),
        "per million tokens of prompt and output then",
    ),
    Column(
        *("wh_per_million_output_tokens", "Wh", "Wh/Mout", "number"),
        "GPUs at their TDP all the time: an upper bound; absent where a TDP is unknown",
    ),
    Column(
        *("lambda_star_per_s", "1/s", "pays to/s", "number"),
        "requests a replica beyond which mean TPOT gains nothing; absent where it always does",
    ),
    Column("crossings_per_s", "", "crosses at", "text", "all loads at which mean TPOTs cross"),
    Column("sustains", "1", "sustains", "times", "stable rate over that without speculation"),
    Column("fixed_points", "", "fixed points", "text", "batches it can settle at, where several"),
    Column("transfer_s", "s", "transfer", "seconds", "of a prompt's cache between pools"),
    Column(
        "peak_gpus", "GPU", "peak GPUs", "count", "in the busiest bin of the trace, scaled freely"
    ),
    Column("mean_gpus", "GPU", "mean GPUs", "number", "over the bins of the trace"),
    Column("gpu_hours", "h", "GPU-hours", "number", "of the trace, scaled freely"),
)
_LAST = (
    Column("basis", "", "basis", "text", "estimate or calibrated"),
    Column("cheapest", "", "cheapest", "flag", "the first in the order"),
    Column("reason", "", "reason", "text", "why there is no plan"),
)
ASIDE = (
    Column("rank", "", "#", "count", "place in the order"),
    Column("served_by", "", "engine", "text", "engine and version as they are typed"),
    Column("planned", "", "planned", "flag", "has a plan"),
    Column("parted", "", "parted", "flag", "has its GPUs told by cause"),
)
