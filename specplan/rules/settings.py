"""SD031-SD039: settings that cost, or that engines refuse."""

from __future__ import annotations

from math import ceil, floor

from specplan.rules.deployed import Deployed, DeploymentRule, Told, short
from specplan.units import people

SHORTER = 0.03  # of a round, from which fewer GPUs for the drafter are worth a restart
NOTED = 0.2  # of a round, from which drafting is worth a word
MUCH = 0.1  # of the rounds, from which a load says what ran there
ONE_RANK_BYTES = 2.0**30  # more on one GPU than on the others


def _draft_tp(d: Deployed) -> Told | None:
    model, tp = d.model, d.seen.draft_tp or d.seen.tp
    if model is None or not tp or tp < 2 or not model.draft_s:
        return None
    alone_s = model.alone_round_s - (model.round_s - model.draft_s)
    faster = alone_s / model.draft_s
    if faster >= tp / 2 or model.draft_s < NOTED * model.round_s:
        return None
    shorter = model.alone_round_s < (1 - SHORTER) * model.round_s
    if not shorter:
        remedy = "count on that: take a drafter of fewer layers, not more GPUs"
    elif d.habits.draft_tp == "the target's":
        remedy = d.habits.set_draft_tp
    else:
        remedy = d.habits.told(d.habits.set_draft_tp, n=1)
    return Told(
        evidence=f"drafter on {tp} GPUs: {faster:.1f} times as fast as on one, "
        f"{people(model.drafter_exchange_s, 's')} of {people(model.draft_s, 's')} a round are "
        "all-reduces",
        consequence=f"rounds of {people(model.round_s, 's')}, on one GPU "
        f"{people(model.alone_round_s, 's')}",
        remedy=remedy,
        found=faster,
        limit=float(tp),
        level="warning" if shorter else "note",
    )


def _shared_out(d: Deployed) -> Told | None:
    """Without cards: a win on one GPU that several lose has the drafter's share to blame."""
    seen = d.seen
    tp = seen.draft_tp or seen.tp
    if d.model is not None or not tp or tp < 2 or not d.loses or seen.way in {"", "ngram"}:
        return None
    return Told(
        evidence=f"drafter on {tp} GPUs",
        consequence="a small drafter does not get faster with more GPUs: each pass waits for two "
        "all-reduces a layer (opt-125m: 0.35 s on one, 1.39 s on four, vllm#4840)",
        remedy=d.habits.told(d.habits.set_draft_tp, n=1),
        found=float(tp),
        limit=1.0,
        level="note",
    )


def _refused(d: Deployed) -> Told | None:
    draft_tp, tp = d.seen.draft_tp, d.seen.tp or 1
    allowed = {"any": None, "1 or the target's": {1, tp}, "the target's": {tp}}[d.habits.draft_tp]
    if draft_tp is None or allowed is None or draft_tp in allowed:
        return None
    return Told(
        evidence=f"draft tp {draft_tp} beside tp {tp}",
        consequence=f"{d.habits.title} takes {d.habits.draft_tp} ({tp}): it refuses, or runs "
        "another than was asked for",
        remedy=d.habits.told(d.habits.set_draft_tp, n=min(allowed)),
        found=float(draft_tp),
        limit=float(min(allowed)),
    )


def _one_rank(d: Deployed) -> Told | None:
    model, tp, draft_tp = d.model, d.seen.tp or 1, d.seen.draft_tp
    if model is None or draft_tp is None or draft_tp >= tp:
        return None
    more = model.draft_bytes - model.spread_draft_bytes
    if more < ONE_RANK_BYTES:
        return None
    return Told(
        evidence=f"drafter on {draft_tp} of {tp} GPUs: {people(model.draft_bytes, 'B')} there, "
        "nothing on the others",
        consequence="the fullest GPU decides: the cache of all is cut by "
        f"{people(more, 'B')} each, {people(more * (tp - draft_tp), 'B')} of it unused",
        remedy=d.habits.told(d.habits.set_draft_tp, n=tp) + ", if the round stays short",
        found=model.draft_bytes,
        limit=model.spread_draft_bytes,
    )


def _schedule(d: Deployed) -> Told | None:
    schedule, price = d.seen.schedule, d.habits.schedule_price
    if not schedule or not price:
        return None
    tiers = ", ".join(f"{tier.first}-{tier.last}: {tier.k}" for tier in schedule[:6])
    off = any(tier.k == 0 for tier in schedule)
    return Told(
        evidence=f"k by batch: {tiers}",
        consequence=price,
        remedy=d.habits.set_full_graphs,
        level="error" if off else "warning",
    )


def _another_k(d: Deployed) -> Told | None:
    """A k that ran where the schedule has others."""
    seen, k = d.seen, d.seen.k
    if not seen.schedule or not k or seen.tree:
        return None
    rounds = sum(load.rounds for load in seen.loads)
    spans = [(load.batch, load.batch) for load in seen.loads if load.rounds >= MUCH * rounds]
    if not spans and seen.batch is not None:
        spans = [(seen.batch_low or seen.batch, seen.batch_high or seen.batch)]
    wrong = [(span, has) for span in spans if (has := _scheduled(d, *span)) and not _may(d, has)]
    if not wrong:
        return None
    at = ", ".join(
        short(low, 3) if low == high else f"{low:g} to {high:g}" for (low, high), _ in wrong
    )
    has_k = " or ".join(map(str, sorted(set().union(*(ks for _, ks in wrong)))))
    return Told(
        evidence=f"drafts of k = {k} at batch {at}, where the schedule has k = {has_k}",
        consequence="that schedule is not what ran: the figures here are of the k in use",
        remedy="see that the engine was started with it, and reads it in this version; specplan "
        "emit writes it as the engine takes it",
        found=float(k),
    )


def _scheduled(d: Deployed, low: float, high: float) -> set[int]:
    """The k that a schedule has from one batch to another."""
    tiers = d.seen.schedule
    return {tier.k for tier in tiers if tier.first <= ceil(high) and tier.last >= floor(low)}


def _may(d: Deployed, scheduled: set[int]) -> bool:
    """Whether what ran may be one of these k: of drafts that were not all as long only the longest
    is known.
    """
    k = d.seen.k or 0
    return k in scheduled or (
        "short-drafts" in d.seen.traps and any(0 < one < k for one in scheduled)
    )


SETTING_RULES = (
    DeploymentRule(
        id="SD031",
        level="warning",
        title="drafter spread over GPUs",
        what="A drafter whose passes spend their time on all-reduces.",
        why="A small drafter does not shrink with tp: the latency of each exchange stays.",
        remedy="Run the drafter on one GPU where the engine can.",
        look=lambda d: _draft_tp(d) or _shared_out(d),
    ),
    DeploymentRule(
        id="SD032",
        level="error",
        title="draft tp that is not taken",
        what="A tensor parallel size of the drafter that the engine does not run.",
        why="It refuses to start, or ignores what was asked for.",
        remedy="Take 1 or the target's.",
        look=_refused,
    ),
    DeploymentRule(
        id="SD033",
        level="warning",
        title="drafter on some of the GPUs",
        what="A drafter that fills one GPU more than the others.",
        why="The fullest GPU decides how much cache all of them get.",
        remedy="Spread the drafter, or take a smaller one.",
        look=_one_rank,
    ),
    DeploymentRule(
        id="SD034",
        level="warning",
        title="price of k by load",
        what="A schedule of k by batch in a version where it costs CUDA graphs.",
        why="A k = 0 tail is not plain decoding there: it was much slower.",
        remedy="End the schedule in k = 1, or take the runner that keeps full graphs.",
        look=_schedule,
    ),
    DeploymentRule(
        id="SD035",
        level="warning",
        title="another k than the schedule's",
        what="A draft length that ran at a batch for which the schedule has another.",
        why="The engine did not take the schedule, or another server was logged.",
        remedy="Start the engine with the schedule, and look at its log again.",
        look=_another_k,
    ),
)
