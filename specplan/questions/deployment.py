"""What the cards say of one deployment at the point at which it was seen to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from specplan.domain.matched import Load
from specplan.domain.observed import Observed
from specplan.domain.scenario import Setup
from specplan.physics.choose import BATCH_LIMIT, TIE, Crossed, Crossing, crossings, scan_batches
from specplan.physics.drafting import passes_of
from specplan.physics.experts import touched_share
from specplan.physics.prefill import prefill
from specplan.physics.round import LONGEST, Timing, time_rounds
from specplan.physics.steps import EAGER, HOST, Step
from specplan.physics.tokens import FloatArray
from specplan.questions.bills import MemoryBill, bill_of
from specplan.questions.gate import Range
from specplan.questions.weigh import Point, Weighed, weigh
from specplan.rules.deployed import Predicted

HYSTERESIS = (0.02, 0.05, 0.1)  # of the speedup: less gained is not worth another k
MOST_OF_TREE = 2048  # sequences
MOST_RANGES = 4  # of batches that a page tells; a wider hysteresis makes fewer


@dataclass(frozen=True, slots=True)
class Priced:
    """A deployment's point: its candidates weighed, the index of the best, its memory, what the
    rules go by, and tokens a second predicted at each load that was seen.
    """

    weighed: Weighed
    best: int
    memory: MemoryBill
    predicted: Predicted
    loads: tuple[Load, ...] = ()


def priced(point: Point, seen: Observed, candidates: Sequence[int]) -> Priced:
    """The point priced at the k in use, which `seen` names and a tree's nodes widen, and at the
    candidates, chains all.

    Figures of a tree are those of its depth's draft passes and of a verification as wide as it is;
    its tokens are those that were seen, for no chain's acceptance says them, nor they a chain's.
    """
    k = seen.k or 1
    wide = max(k, (seen.verified or 1) - 1)
    point = replace(point, setup=_captured(point.setup, seen))
    weighed = weigh(point, tuple(sorted({0, 1, k, *candidates})), (wide,))
    memory = bill_of(weighed.point.setup, point.end, point.batch, (wide,))
    timing = _used(weighed.point, seen, k)
    best = weighed.k.index(0) if seen.tree else weighed.best()
    predicted = _predicted(weighed, timing, seen, memory, best)
    loads = tuple(_at_loads(weighed.point, seen, predicted))
    return Priced(weighed, best, memory, predicted, loads)


def _captured(setup: Setup, seen: Observed) -> Setup:
    """The setup with the CUDA graphs that were captured, where they count rows."""
    if setup.release is None or seen.graph_rows is None:
        return setup
    return replace(setup, release=replace(setup.release, graphs=seen.graph_rows))


def _at_loads(point: Point, seen: Observed, predicted: Predicted) -> Iterator[Load]:
    """Tokens a second predicted at each load that was seen, of its own tokens a round, or at the
    least and the largest batch.
    """
    tau = predicted.tokens_per_s * predicted.round_s / predicted.batch
    loads, low, high = seen.loads, seen.batch_low, seen.batch_high
    if not loads and low is not None and high is not None and low < high:
        loads = (Load(low, tau, None), Load(high, tau, None))
    for load in loads:
        if load.batch >= 1 and len(loads) > 1:
            timing = _used(replace(point, batch=load.batch), seen, predicted.k)
            yield load._replace(tokens_per_s=load.batch * load.tau / timing.round_s.item())


def schedule(w: Weighed, most: int | None = None) -> tuple[tuple[Range, ...], float]:
    """Batches from 1 to the largest that fits, or to `most` requests if no more may run, in ranges
    in which one k loses little against the best, at most the share that is told too, and never
    against plain decoding: 2 %, or more where that takes more ranges than anybody reads.
    """
    point, limit = w.point, _limit(int(w.bill.largest), most, w.point.batch)
    if limit < 1:
        return (), HYSTERESIS[0]
    scanned = scan_batches(point.setup, point.context, w.k, limit)
    speedup = np.concatenate([w.tokens * gain for _, gain in scanned])
    tried = [(_ranges(speedup, w.k, lost), lost) for lost in HYSTERESIS]
    return next((one for one in tried if len(one[0]) <= MOST_RANGES), tried[-1])


def _limit(largest: int, most: int | None, batch: float) -> int:
    """The largest batch that is looked at: that which fits, and no more than may run, unless more
    did.
    """
    return min(largest, BATCH_LIMIT, max(most, ceil(batch)) if most else BATCH_LIMIT)


def _ranges(speedup: FloatArray, k: Sequence[int], lost: float) -> tuple[Range, ...]:
    """Rows of speedups of each k in the fewest ranges of one k that loses at most that share."""
    near = speedup >= (1 - lost) * speedup.max(axis=1, keepdims=True)
    near &= speedup >= 1 - TIE
    limit, ranges, first = len(speedup), [], 0
    while first < limit:
        failed = ~near[first:]
        stays = np.where(failed.any(axis=0), failed.argmax(axis=0), limit - first)
        longest = int(np.argmax(stays))
        last = first + max(int(stays[longest]), 1) - 1
        ends = float(speedup[first, longest]), float(speedup[last, longest])
        ranges.append(Range(first + 1, last + 1, k[longest], *ends))
        first = last + 1
    return tuple(ranges)


def _used(point: Point, seen: Observed, k: int) -> Timing:
    """The rounds in use: of k, or of a tree."""
    return _used_at(point, seen, k, (point.batch,))


def _used_at(point: Point, seen: Observed, k: int, batches: Sequence[float]) -> Timing:
    timing = time_rounds(point.setup, (point.context,), batches, (k,))
    if not seen.tree or not seen.verified:
        return timing
    width = min(seen.verified - 1, LONGEST)
    wide = time_rounds(point.setup, (point.context,), batches, (width,))
    return replace(timing, verify=wide.verify)


def _predicted(
    w: Weighed, timing: Timing, seen: Observed, memory: MemoryBill, best: int
) -> Predicted:
    point, setup, kept, k = w.point, w.point.setup, seen.kept, seen.k or 1
    tau = float(w.tokens[w.k.index(k)])
    if seen.tree and kept is not None:
        tau = kept.tau
    plain_s, round_s = timing.plain_s.item(), timing.round_s.item()
    speedup = tau * plain_s / round_s
    low, high = _band(setup, seen, speedup)
    pays_to, loses_from, pays_from = _crossed(point, seen, tau, k, memory.largest_batch)
    at_one = time_rounds(setup, (point.context,), (point.batch,), (1,))
    host_s, eager_s = _share(timing, HOST), _share(timing, EAGER)
    spread = replace(setup, draft_tp=setup.tp)
    share, token_s = _prefill(setup, point)
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
        verify_s=timing.verify_s.item() - host_s - eager_s,
        host_s=host_s,
        eager_s=eager_s,
        graph_rows=setup.release.graphs if setup.release else None,
        cost_at_one=1 / at_one.gain.item(),
        pays_to=pays_to,
        loses_from=loses_from,
        pays_from=pays_from,
        plain_experts=experts_read(setup, point.batch, 1),
        round_experts=experts_read(setup, point.batch, seen.verified or k + 1),
        drafter_exchange_s=_exchange_s(setup, timing, k),
        alone_round_s=_alone_s(point, timing, k),
        trained=setup.draft.model.trained_context if setup.draft.model else None,
        chain_round_s=w.timing.round_s[0, 0, w.k.index(k)].item() if seen.tree else None,
        largest=memory.largest_batch,
        largest_plain=memory.largest_batch_plain,
        draft_bytes=_draft_bytes(memory, point.batch),
        spread_draft_bytes=_draft_bytes(bill_of(spread, point.end, point.batch, (k,)), point.batch),
        draft_prefill_share=share,
        prefill_token_s=token_s,
        bound=setup.engine.kind == "bound",
    )


def _alone_s(point: Point, timing: Timing, k: int) -> float:
    """The round with the drafter on one GPU."""
    alone = replace(point.setup, draft_tp=1)
    drafts = time_rounds(alone, (point.context,), (point.batch,), (k,)).draft_s
    return timing.verify_s.item() + drafts.item()


def _band(setup: Setup, seen: Observed, speedup: float) -> tuple[float, float]:
    """The predicted speedup with the scatter of its like and of the acceptance, as far as known."""
    kept, band = seen.kept, setup.band or 0.0
    low = high = speedup
    if kept is not None and kept.low is not None and kept.high is not None:
        low, high = speedup * kept.low / kept.tau, speedup * kept.high / kept.tau
    return low * (1 - band), high * (1 + band)


def _crossed(
    point: Point, seen: Observed, tau: float, k: int, largest: int
) -> tuple[int, int | None, int | None]:
    """The last batch up to which the k in use, or the tree, pays from 1 on, and the first ones
    beyond the batch in use at which it begins to lose and to pay.
    """
    limit = _limit(largest, seen.max_batch, point.batch)
    if limit < 1:
        return 0, None, None
    if seen.tree:
        found = _crossed_by_tree(point, seen, tau, k, limit)
    else:
        found = crossings(point.setup, point.context, tau, k, limit)
    ahead = [crossing for crossing in found if crossing.batch > point.batch]
    lost = next((crossing.batch for crossing in found if not crossing.pays), None)
    return (
        limit if lost is None else lost - 1,
        next((crossing.batch for crossing in ahead if not crossing.pays), None),
        next((crossing.batch for crossing in ahead if crossing.pays), None),
    )


def _crossed_by_tree(
    point: Point, seen: Observed, tau: float, k: int, limit: int
) -> tuple[Crossing, ...]:
    """The crossings of a tree up to a few thousand sequences, which is beyond what any pays at."""
    batches = np.arange(1, min(limit, MOST_OF_TREE) + 1, dtype=np.float64)
    timing = _used_at(point, seen, k, batches.tolist())
    crossed = Crossed.watching(1)
    crossed.see(batches, tau * timing.gain[0])
    return tuple(crossed.found[0])


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


def _draft_bytes(memory: MemoryBill, batch: float) -> float:
    """The drafter's weights and caches of the batch, on the fullest GPU."""
    return memory.draft_weights_bytes + batch * memory.draft_kv_bytes_per_sequence


def _prefill(setup: Setup, point: Point) -> tuple[float, float]:
    """The drafter's prefill over the target's, and seconds for a token of a prompt in both."""
    prompt = prefill(setup, max(point.context - point.growth, 1.0))
    target_s, draft_s = prompt.target_s_per_token, prompt.draft_s_per_token
    return draft_s / target_s, target_s + draft_s
