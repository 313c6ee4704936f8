"""What a plan may expect, and what else can be wrong with one.

An expectation is one entry of EXPECTED, or of DEMANDED (rules/demanded.py) where it is about
traffic, and one field of `Expect` in specplan/domain/plan.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from specplan.domain.model import Model
from specplan.rules import Finding, Rule
from specplan.rules.demanded import DEMANDED
from specplan.rules.expected import Expected, Facts, Keyed, apart, as_told, at_least, at_most
from specplan.units import people


def _free(free_bytes: float, _: float) -> str:
    if free_bytes < 0:
        return f"does not fit, {people(-free_bytes, 'B')} a GPU missing,"
    return f"fits with {people(free_bytes, 'B')} a GPU to spare"


def _margin(found: float, other: float) -> str:
    if found == -math.inf:
        return "no acceptance pays"
    return apart(lambda value, digits: f"{value:.{digits}f}", 3)(found, other)


def _loses(batch: float, _: float) -> str:
    if not batch:
        return "no sequence fits"
    return f"loses from batch {batch:.0f}" if math.isfinite(batch) else "pays at every batch"


def _best(words: Callable[[Facts], str]) -> Callable[[Facts], str]:
    return lambda facts: f"; best k there is {facts.best_k} ({words(facts)})"


EXPECTED: tuple[Expected, ...] = (
    Expected(
        id="SP001",
        level="error",
        key="min_speedup",
        title="speedup too low",
        what="Tokens per second over plain decoding, at the plan's k, at the slowest point.",
        why="Below 1 speculation makes every user wait longer than without it.",
        remedy="Take the best k that the finding names, gate speculation by load, or expect less.",
        found=lambda facts: facts.speedup,
        lack=at_least,
        say=apart(lambda value, digits: f"{value:.{digits}f}x", 2),
        aside=_best(lambda facts: f"{facts.best_speedup:.2f}x"),
    ),
    Expected(
        id="SP002",
        level="error",
        key="max_tpot",
        unit="s",
        title="output tokens too slow",
        what="Seconds between the output tokens of one sequence, at the slowest point.",
        why="Readers notice the pace of tokens, whatever the throughput.",
        remedy="Lower batch or context, take the best k, or a faster accelerator.",
        found=lambda facts: facts.tpot_s,
        lack=at_most,
        say=apart(lambda value, digits: people(value, "s", digits), 3),
        aside=_best(lambda facts: people(facts.best_tpot_s, "s")),
    ),
    Expected(
        id="SP003",
        level="error",
        key="min_tokens_per_s",
        unit="tokens/s",
        title="throughput too low",
        what="Output tokens per second of the whole server: batch over TPOT.",
        why="It decides how many servers the same traffic needs.",
        remedy="Raise the batch, take the best k, or a faster accelerator.",
        found=lambda facts: facts.tokens_per_s,
        lack=at_least,
        say=apart(lambda value, digits: f"{value:.{digits}f} tok/s", 0),
        aside=_best(lambda facts: f"{facts.best_tokens_per_s:.0f} tok/s"),
    ),
    Expected(
        id="SP004",
        level="error",
        key="fits",
        unit="B",
        title="workload does not fit",
        what="Whether weights and KV cache of the batch, drafter included, fit in memory.",
        why="An engine that runs out of memory evicts sequences or does not start.",
        remedy="Lower batch or context, store weights or KV smaller, or use more GPUs.",
        found=lambda facts: facts.free_bytes,
        lack=as_told,
        say=_free,
        certain=True,
    ),
    Expected(
        id="SP005",
        level="error",
        key="min_sequences",
        unit="sequences",
        title="too few sequences fit",
        what="The largest batch that fits beside the drafter, each sequence at its full context.",
        why="A drafter takes memory from the batch, and with it throughput.",
        remedy="Take a smaller drafter, store KV smaller, or expect fewer.",
        found=lambda facts: facts.largest_batch,
        lack=at_least,
        say=lambda found, _: f"{found:.0f} fit",
        certain=True,
        any_batch=True,
    ),
    Expected(
        id="SP006",
        level="error",
        key="max_draft_memory",
        unit="B",
        title="drafter takes too much memory",
        what="The drafter's weights and its KV cache of the whole batch, per GPU.",
        why="What the drafter holds, the target's cache cannot.",
        remedy="Take a smaller drafter or dtype, spread it over GPUs, or lower the batch.",
        found=lambda facts: facts.draft_bytes,
        lack=at_most,
        say=apart(lambda value, digits: people(value, "B", digits), 3),
        certain=True,
    ),
    Expected(
        id="SP007",
        level="error",
        key="max_k_regret",
        title="k is not the best",
        what="The share of speedup that the plan's k loses against the best; 0 for best and gate.",
        why="One k for all points is a compromise; this says how bad it may be.",
        remedy="Take the best k that the finding names, or gate it by load.",
        found=lambda facts: facts.k_regret,
        lack=at_most,
        say=apart(lambda value, digits: f"{value:.{digits}f}", 3),
        aside=_best(lambda facts: f"{facts.best_speedup:.2f}x"),
    ),
    Expected(
        id="SP008",
        level="error",
        key="min_alpha_margin",
        title="acceptance too near break-even",
        what="Acceptance minus the acceptance at which the plan's k only breaks even.",
        why="Acceptance drifts with the traffic; within the margin speculation still pays.",
        remedy="Take a smaller k or a cheaper drafter, or measure acceptance and expect less.",
        found=lambda facts: facts.alpha - facts.break_even_alpha,
        lack=at_least,
        say=_margin,
    ),
    Expected(
        id="SP009",
        level="error",
        key="min_break_even_batch",
        unit="sequences",
        title="stops paying too early",
        what="The first batch at which the plan's k loses (best and gate: every k but 0).",
        why="Beyond it a busy server is slower with speculation than without.",
        remedy="Gate speculation by load, take a smaller k, or expect less.",
        found=lambda facts: facts.break_even_batch,
        lack=at_least,
        say=_loses,
        any_batch=True,
    ),
)

UNREADABLE = Rule(
    id="SP101",
    level="error",
    title="unreadable file",
    what="A plan, card or lock that cannot be read as what it should be.",
    why="What is not read is not checked; the exit code is 2.",
    remedy="Mend the place that the finding names.",
)
ABSENT = Rule(
    id="SP102",
    level="error",
    title="point that the plan lacks",
    what="An expectation is about a point that the plan's axes do not have.",
    why="It would hold because nothing is looked at.",
    remedy="Add the point to the plan, or correct `at`.",
)
CHANGED = Rule(
    id="SP103",
    level="note",
    title="card or file changed since the lock",
    what="A card, a file of counters or a trace is not the one that specplan.lock was written "
    "with; an error if a verdict moved.",
    why="The plan is as it was, and its figures are not.",
    remedy="If the new one is right, mend the plan and write the lock anew with --lock.",
)
UNGUARDED = Rule(
    id="SP104",
    level="warning",
    title="nothing expected",
    what="A plan without `expect`, or an entry of it without an expectation.",
    why="It passes whatever happens.",
    remedy="Add an expectation; `specplan init` writes some.",
)
MISFIT = Rule(
    id="SP105",
    level="error",
    title="workload that does not fit unasked",
    what="Points that do not fit in memory and that no `fits` of the plan is about.",
    why="Whatever else is expected there, no engine can run them.",
    remedy="Lower batch or context, use more GPUs, or say `fits: false` of these points.",
)
UNEVEN = Rule(
    id="SP106",
    level="warning",
    title="heads that do not divide",
    what="The attention heads of target or drafter do not divide over its GPUs.",
    why="Engines refuse to start so; the figures share the heads out as if they did.",
    remedy="Take a tp, or a draft_tp, that divides the heads.",
)
REFUSED = Rule(
    id="SP107",
    level="error",
    title="plan without an answer",
    what="The plan reads well, and the figures at hand cannot price it: a drafter whose rounds are "
    "not modelled yet, a type that the accelerator has no rate for.",
    why="None of its expectations was judged; the exit code is 2.",
    remedy="Do what the finding says, such as to give the drafter's cost as ratio:0.05.",
)
PLAN_RULES: tuple[Rule, ...] = (
    *EXPECTED,
    *DEMANDED,
    *(UNREADABLE, ABSENT, CHANGED, UNGUARDED, MISFIT, UNEVEN, REFUSED),
)


def misfit(lacking: Sequence[Facts]) -> Finding | None:
    """SP105: of points that do not fit, and that no `fits` is about, the one that lacks most."""
    if not lacking:
        return None
    worst = min(lacking, key=lambda facts: facts.free_bytes)
    message = f"{_free(worst.free_bytes, 0)} at {worst.place(speed=False)}"
    if len(lacking) > 1:
        message += f", the worst of {len(lacking):,} points"
    return Finding(MISFIT.id, MISFIT.level, f"{message}; `fits: false` says that it is known")


def uneven(model: Model, tp: int) -> Finding | None:
    """SP106: heads of the model that `tp` GPUs cannot share evenly."""
    blocks = model.architecture.blocks if model.architecture else ()
    odd = {b.attention.heads for b in blocks if b.attention and b.attention.heads % tp}
    if not odd:
        return None
    message = f"tp {tp} does not divide the {max(odd)} heads of {model.name}: engines refuse"
    return Finding(UNEVEN.id, UNEVEN.level, message)


POINTWISE = {rule.key: rule for rule in EXPECTED}
BY_KEY: dict[str, Keyed] = {rule.key: rule for rule in (*EXPECTED, *DEMANDED)}
