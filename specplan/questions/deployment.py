"""What the cards say of one deployment at the point at which it was seen to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.observed import Observed
from specplan.domain.scenario import Setup
from specplan.physics.choose import BATCH_LIMIT, TIE, Crossing, crossings, scan_batches
from specplan.physics.drafting import passes_of
from specplan.physics.experts import touched_share
from specplan.physics.memory import memory_bill
from specplan.physics.prefill import prefill
from specplan.physics.round import LONGEST, Timing, time_rounds
from specplan.physics.steps import EAGER, HOST, Step
from specplan.questions.gate import Range
from specplan.questions.weigh import Point, Weighed, weigh
from specplan.rules.deployed import Predicted

HYSTERESIS = 0.02  # of the speedup: less gained is not worth another k


@dataclass(frozen=True, slots=True)
class Priced:
    """A deployment's point: its candidates weighed, the index of the best, what the rules go by,
    and tokens a second at the least and the largest batch seen, where it varied.
    """

    weighed: Weighed
    best: int
    predicted: Predicted
    ends: tuple[tuple[float, float], ...] = ()


def priced(point: Point, seen: Observed, candidates: Sequence[int]) -> Priced:
    """The point priced at the k in use, which `seen` names and a tree's nodes widen, and at the
    candidates, chains all.

    Figures of a tree are those of its depth's draft passes and of a verification as wide as it is;
    its tokens are those that were seen, for no chain's acceptance says them.
    """
    k = seen.k or 1
    weighed = weigh(point, tuple(sorted({0, 1, k, *candidates})))
    timing = _used(weighed.point, seen, k)
    predicted = _predicted(weighed, timing, seen, k, weighed.best())
    return Priced(weighed, weighed.best(), predicted, tuple(_ends(weighed.point, seen, predicted)))


def _ends(point: Point, seen: Observed, predicted: Predicted) -> Iterator[tuple[float, float]]:
    low, high = seen.batch_low, seen.batch_high
    if low is None or high is None or not 1 <= low < high:
        return
    tau = predicted.tokens_per_s * predicted.round_s / predicted.batch
    for batch in (low, high):
        timing = _used(replace(point, batch=batch), seen, predicted.k)
        yield batch, batch * tau / timing.round_s.item()


def schedule(w: Weighed) -> tuple[Range, ...]:
    """Batches from 1 to the largest that fits, in the fewest ranges in which one k loses at most
    HYSTERESIS against the best and never against plain decoding.
    """
    point, limit = w.point, min(int(w.bill.largest), BATCH_LIMIT)
    if limit < 1:
        return ()
    scanned = scan_batches(point.setup, point.context, w.k, limit)
    speedup = np.concatenate([w.tokens * gain for _, gain in scanned])
    near = speedup >= (1 - HYSTERESIS) * speedup.max(axis=1, keepdims=True)
    near &= speedup >= 1 - TIE
    ranges, first = [], 0
    while first < limit:
        lost = ~near[first:]
        stays = np.where(lost.any(axis=0), lost.argmax(axis=0), limit - first)
        longest = int(np.argmax(stays))
        last = first + max(int(stays[longest]), 1) - 1
        ends = float(speedup[first, longest]), float(speedup[last, longest])
        ranges.append(Range(first + 1, last + 1, w.k[longest], *ends))
        first = last + 1
    return tuple(ranges)


def _used(point: Point, seen: Observed, k: int) -> Timing:
    """The rounds in use: of k, or of a tree."""
    setup = point.setup
    timing = time_rounds(setup, (point.context,), (point.batch,), (k,))
    if not seen.tree or not seen.verified:
        return timing
    width = min(seen.verified - 1, LONGEST)
    wide = time_rounds(setup, (point.context,), (point.batch,), (width,))
    return replace(timing, verify=wide.verify)


def _predicted(w: Weighed, timing: Timing, seen: Observed, k: int, best: int) -> Predicted:
    point, setup, kept = w.point, w.point.setup, seen.kept
    tau = float(w.tokens[w.k.index(k)])
    if seen.tree and kept is not None:
        tau = kept.tau
    plain_s, round_s = timing.plain_s.item(), timing.round_s.item()
    speedup = tau * plain_s / round_s
    low, high = _band(setup, seen, speedup)
    alone = replace(setup, draft_tp=1)
    bill = memory_bill(setup, point.end, setup.draft.slots(k))
    spread = replace(setup, draft_tp=setup.tp)
    found = () if seen.tree else _crossed(setup, point, tau, k, int(bill.largest))
    ahead = [c for c in found if c.batch > point.batch]
    lost = next((c.batch for c in found if not c.pays), None)
    limit = min(int(bill.largest), BATCH_LIMIT)
    at_one = time_rounds(setup, (point.context,), (point.batch,), (1,))
    return Predicted(
        k=k,
        speedup=speedup,
        low=low,
        high=high,
        best_k=w.k[best],
        best_speedup=float(w.speedup[best]),
        band=setup.band,
        batch=point.batch,
        context=point.context,
        tokens_per_s=point.batch * tau / round_s,
        plain_tokens_per_s=point.batch / plain_s,
        plain_step_s=plain_s,
        round_s=round_s,
        draft_s=timing.draft_s.item(),
        host_s=_share(timing, HOST),
        eager_s=_share(timing, EAGER),
        graph_rows=setup.release.graphs if setup.release else None,
        cost_at_one=1 / at_one.gain.item(),
        pays_to=0 if seen.tree else limit if lost is None else lost - 1,
        loses_from=next((c.batch for c in ahead if not c.pays), None),
        pays_from=next((c.batch for c in ahead if c.pays), None),
        plain_experts=experts_read(setup, point.batch, 1),
        round_experts=experts_read(setup, point.batch, seen.verified or k + 1),
        drafter_exchange_s=_exchange_s(setup, timing, k),
        alone_round_s=timing.verify_s.item()
        + time_rounds(alone, (point.context,), (point.batch,), (k,)).draft_s.item(),
        trained=setup.draft.model.trained_context if setup.draft.model else None,
        chain_round_s=w.timing.round_s[0, 0, w.k.index(k)].item() if seen.tree else None,
        largest=int(bill.largest),
        largest_plain=int(bill.largest_plain),
        draft_bytes=_draft_bytes(setup, point),
        spread_draft_bytes=_draft_bytes(spread, point),
        draft_prefill_share=_prefill_share(setup, point),
        bound=setup.engine.kind == "bound",
    )


def _band(setup: Setup, seen: Observed, speedup: float) -> tuple[float, float]:
    """The predicted speedup with the scatter of its like and of the acceptance, as far as known."""
    kept, band = seen.kept, setup.band or 0.0
    low = high = speedup
    if kept is not None and kept.low is not None and kept.high is not None:
        low, high = speedup * kept.low / kept.tau, speedup * kept.high / kept.tau
    return low * (1 - band), high * (1 + band)


def _crossed(setup: Setup, point: Point, tau: float, k: int, largest: int) -> tuple[Crossing, ...]:
    limit = min(largest, BATCH_LIMIT)
    return crossings(setup, point.context, tau, k, limit) if limit >= 1 else ()


def experts_read(setup: Setup, batch: float, tokens: int) -> float:
    """The share of a sparse target's experts that a pass of so many tokens a sequence reads,
    T_eff = B (1 + kappa (n - 1)), over its layers; 0 of a dense one.
    """
    groups = setup.target.expert_groups
    layers = sum(group.layers for group in groups)
    effective = np.asarray(batch * (1 + setup.engine.overlap * (tokens - 1)))
    shares = [
        group.layers * float(touched_share(group.active, group.experts, effective))
        for group in groups
    ]
    return sum(shares) / layers if layers else 0.0


def _share(timing: Timing, name: str) -> float:
    """Seconds of one named wait in the verification."""
    if not isinstance(timing.verify, Step):
        return 0.0
    return sum(np.max(share.time_s).item() for share in timing.verify.shares if share.name == name)


def _exchange_s(setup: Setup, timing: Timing, k: int) -> float:
    """What the draft passes of a round spend on all-reduces."""
    counts = [some.count.item() for some in passes_of(setup.draft, (k,))]
    return sum(
        count * np.max(step.network_s).item()
        for count, step in zip(counts, timing.drafts, strict=True)
        if isinstance(step, Step)
    )


def _draft_bytes(setup: Setup, point: Point) -> float:
    """The drafter's weights and caches of the batch, on the fullest GPU."""
    bill = memory_bill(setup, point.end)
    return float(bill.draft_bytes + point.batch * bill.draft_sequence_bytes)


def _prefill_share(setup: Setup, point: Point) -> float:
    """The drafter's prefill over the target's."""
    prompt = prefill(setup, max(point.context - point.growth, 1.0))
    return prompt.draft_s_per_token / prompt.target_s_per_token
