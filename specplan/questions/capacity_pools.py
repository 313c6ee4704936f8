"""Prefill and decode apart: a pool of replicas that read prompts, one that decodes, and the caches
that go from the first to the second.

The drafter reads a prompt where the target does, whose hidden states it may need; its cache goes
along. A cache crosses the link of the card, which is that to the GPUs of its own node: between
nodes it takes longer, so what it adds to the first token is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specplan.domain.scenario import Setup
from specplan.domain.slo import Slo
from specplan.physics.roofline import kv_bytes
from specplan.questions.capacity_figures import costs, figures, latencies, mean
from specplan.questions.capacity_row import Row
from specplan.questions.capacity_size import Asked, Desk, Sized, sized


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Both pools, and the seconds that a prompt's cache takes between them (None: no link is known,
    and none are counted).
    """

    prefill: Sized
    decode: Sized
    transfer_s: float | None


def pools_of(setup: Setup, desk: Desk, asked: Asked) -> Pools | str:
    """The fewest replicas of each, or why there are none; the first token's promise is shorter by
    the transfer.
    """
    transfer_s = moved_s(setup, asked, drafts=desk.replica.policy.drafts)
    first = replace(asked, slo=_less(asked.slo, transfer_s or 0.0))
    if any(one.limit_s <= 0 for one in first.slo.limits):
        return f"a cache takes {transfer_s:.3g} s between pools, which is longer than promised"
    prefill = sized(desk, first, "prefill")
    if isinstance(prefill, str):
        return prefill
    decode = sized(desk, asked, "decode")
    return (
        decode
        if isinstance(decode, str)
        else Pools(prefill=prefill, decode=decode, transfer_s=transfer_s)
    )


def moved_s(setup: Setup, asked: Asked, *, drafts: bool) -> float | None:
    """Seconds that the cache of the longest prompt takes over one GPU's link, each GPU sending what
    it holds; None where the card knows of no link.
    """
    link = setup.hardware.link
    if link is None:
        return None
    longest = float(max(asked.traffic.lengths.isl))
    held = float(kv_bytes(setup.target, longest, setup.kv_dtype, setup.tp))
    model = setup.draft.model
    if drafts and model is not None and setup.draft.caches:
        each = float(kv_bytes(model, longest, setup.kv_dtype, setup.draft_tp))
        held += setup.draft.caches * each
    return held / link


def _less(slo: Slo, seconds: float) -> Slo:
    """The promises about the first token, so much shorter."""
    limits = (
        replace(one, limit_s=one.limit_s - seconds) if one.metric == "ttft" else one
        for one in slo.limits
    )
    return Slo(limits=tuple(limits), name=slo.name, cite=slo.cite)


def pooled(row: Row, setup: Setup, desk: Desk, asked: Asked, usd: float | None) -> Row:
    """The row of a candidate with its pools apart: of the decode pool where one is meant, GPUs and
    costs of both.
    """
    row = replace(row, pools="apart")
    found, server = pools_of(setup, desk, asked), desk.replica
    if isinstance(found, str):
        return replace(row, reason=found)
    prefill, decode = found.prefill, found.decode
    replicas = prefill.replicas + decode.replicas
    gpus, rate = replicas * server.gpus, asked.traffic.rate_per_s
    exact = sum(rate / (one.largest_per_s * (1 - asked.margin)) for one in (prefill, decode))
    full = sum(rate / one.saturation_per_s for one in (prefill, decode))
    least = min((prefill, decode), key=lambda one: one.largest_per_s * one.replicas)
    cells = figures(server, decode, asked) | {
        "largest_per_s": None,
        "saturation_per_s": None,
        "rate_per_replica_per_s": None,
        "dispersion": None,
        "bound_by": f"{'prefill' if least is prefill else 'decode'}: {least.bound_by}",
        "replicas": replicas,
        "prefill_replicas": prefill.replicas,
        "decode_replicas": decode.replicas,
        "gpus": gpus,
        "gpus_exact": server.gpus * exact,
        "tokens_per_s_per_gpu": rate * mean(asked.traffic.lengths, "osl") / gpus,
        "utilisation": _busy(prefill, decode),
        "latency_s": _latencies(found, asked),
        "transfer_s": found.transfer_s,
    }
    return replace(row, **cells, **costs(setup, gpus, server.gpus * full, asked, usd))


def _busy(*pools: Sized) -> float:
    """Mean over all replicas."""
    every = sum(one.replicas for one in pools)
    return sum(one.replicas * one.at.utilisation for one in pools) / every


def _latencies(found: Pools, asked: Asked) -> dict[str, float]:
    """First tokens of the one pool, with the transfer, and the further ones of the other."""
    of_prompts, of_tokens = latencies(found.prefill.at, asked), latencies(found.decode.at, asked)
    moved = found.transfer_s or 0.0
    return {
        name: of_prompts[name] + moved if name.startswith("ttft") else value
        for name, value in of_tokens.items()
        if not name.startswith("e2e")
    }
