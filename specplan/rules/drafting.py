"""SD010-SD019: what is wrong with the drafter, or with what it is given to draft."""

from __future__ import annotations

from specplan.domain.observed import LOOKUPS
from specplan.rules.deployed import Deployed, DeploymentRule, Told, percent, times
from specplan.units import people

DEAD_TOKENS = 1.1  # a round: fewer, and not one draft in ten is kept at the first position
DEAD_RATE = 0.01  # of a position: kept by chance alone
LIVE_RATE = 0.1  # of a first position that works
FEW_TOKENS = 1.3  # a round of a lookup that finds next to nothing
FALLEN = 0.05  # of tokens a round between two captures without intervals


def broken(d: Deployed) -> bool:
    """Whether next to nothing is kept, or nothing beyond the first position, of a drafter that
    runs a model, on a workload and at a context that it was made for.
    """
    kept = d.seen.kept
    if kept is None or d.seen.way in LOOKUPS or beyond_training(d) or random_tokens(d):
        return False
    first, later = kept.per_position[:1], kept.per_position[1:]
    sure = kept.high is None or kept.high < 2 * DEAD_TOKENS - 1
    if kept.tau < DEAD_TOKENS and sure:
        return True
    return bool(first and later) and first[0] >= LIVE_RATE and max(later) < DEAD_RATE


def found_nothing(d: Deployed) -> bool:
    """Whether a lookup hardly ever finds what comes next."""
    kept = d.seen.kept
    return d.seen.way in LOOKUPS and kept is not None and kept.tau < FEW_TOKENS


def beyond_training(d: Deployed) -> bool:
    """Whether sequences are longer than the drafter was trained on."""
    context = d.seen.context
    return d.trained is not None and context is not None and context > d.trained


def random_tokens(d: Deployed) -> bool:
    """Whether the prompts were random tokens."""
    return "random" in d.seen.dataset.lower() or "random-dataset" in d.seen.traps


def _broken(d: Deployed) -> Told | None:
    kept = d.seen.kept
    if kept is None or not broken(d):
        return None
    dead = kept.tau < DEAD_TOKENS
    evidence = f"{kept.tau:.2f} tokens a round" + (f" at k = {d.seen.k}" if d.seen.k else "")
    if not dead:
        rates = ", ".join(f"{rate:.3f}" for rate in kept.per_position[:4])
        evidence += f"; positions keep {rates}: nothing beyond the first"
    cost = d.round_cost
    consequence = "every k loses while it lasts"
    if cost:
        consequence = f"a round costs {cost:.2f} plain steps for it: {times(kept.tau / cost)}"
    if not dead:
        lost = len(kept.per_position) - 1
        consequence = f"{lost} of {lost + 1} drafts are made, verified and lost in every round"
    return Told(
        evidence=evidence,
        consequence=consequence,
        remedy=(
            "do not tune k. Check that the drafter is of this very checkpoint, tokenizer and "
            "chat template, that its quantisation loads, and the hidden states it is given; "
            f"until then {d.habits.off}"
        ),
        found=kept.tau,
        limit=DEAD_TOKENS,
    )


def _no_repetition(d: Deployed) -> Told | None:
    kept, few = d.seen.kept, found_nothing(d)
    if d.seen.way not in LOOKUPS or not (few or d.loses):
        return None
    evidence = "nobody measured what it keeps" if kept is None else f"{kept.tau:.2f} tokens a round"
    speedup = d.speedup
    lost = "wider verification and lookups on the host buy next to nothing"
    return Told(
        evidence=f"{d.seen.way} drafts: {evidence}",
        consequence=lost if speedup is None else f"{times(speedup)}: {lost}",
        remedy=(
            "look text up only where the output repeats the prompt (editing, code, "
            f"summaries); measure acceptance first; here {d.habits.off}"
        ),
        found=kept.tau if kept else None,
        limit=FEW_TOKENS if few else None,
    )


def _untrained(d: Deployed) -> Told | None:
    context, trained, kept = d.seen.context, d.trained, d.seen.kept
    if not beyond_training(d) or context is None or trained is None:
        return None
    now = f": {kept.tau:.2f} tokens a round" if kept else ""
    return Told(
        evidence=f"{people(context, 'tokens')} tokens of context, trained on up to "
        f"{people(trained, 'tokens')}{now}",
        consequence="a head of 2k fell from 2.30 tokens a round at 2k to 1.69 at 8k and 1.09 at "
        "16k (speculators#684)",
        remedy=(
            "take a drafter trained on long contexts, or one with a sliding window; give "
            "acceptance by context (-a context:...@2k,...@16k), and gate by it"
        ),
        found=context,
        limit=trained,
        level="error" if d.loses or (kept is not None and kept.tau < FEW_TOKENS) else "warning",
    )


def _modules(d: Deployed) -> Told | None:
    k, n, kept = d.seen.k, d.seen.n_predict, d.seen.kept
    if not k or not n or k <= n:
        return None
    if k % n:
        return Told(
            evidence=f"k = {k} with {n} modules",
            consequence="engines refuse to start, or run a part of the modules out of turn",
            remedy=d.habits.told(d.habits.set_k, k=n * (k // n)),
            found=k,
            limit=n,
            level="error",
        )
    dead = kept is not None and kept.tau < DEAD_TOKENS
    return Told(
        evidence=f"k = {k} from {n} module{'s' if n > 1 else ''}: each runs {k // n} times on its "
        "own output",
        consequence=f"{kept.tau:.2f} tokens a round: nothing is kept"
        if kept and dead
        else "acceptance falls with every position, faster than that of a head trained for it",
        remedy=d.habits.told(d.habits.set_k, k=n) + " and compare",
        found=k,
        limit=n,
        level="error" if dead else "note",
    )


def _fell(d: Deployed) -> Told | None:
    now, before = d.seen.kept, d.seen.before
    if now is None or before is None:
        return None
    tau, earlier, shared = now.tau, before.tau, ""
    if now.k and before.k and now.k != before.k:
        k = min(now.k, before.k)
        cut, cut_before = now.at(k), before.at(k)
        if cut is None or cut_before is None:
            return None  # of different k, and nobody counted positions
        tau, earlier, shared = cut, cut_before, f" at k = {k}, which both have"
    sure = not shared and now.high is not None and before.low is not None
    if (now.high or 0) >= (before.low or 0) if sure else tau >= earlier * (1 - FALLEN):
        return None
    return Told(
        evidence=f"{earlier:.2f} tokens a round before, {tau:.2f} now{shared}",
        consequence=f"the same rounds yield {percent(1 - tau / earlier)} fewer tokens",
        remedy=(
            "compare versions, drafter and prompts of the two captures (specplan acceptance "
            "BEFORE NOW tests each position); go back to the version before if they are the same"
        ),
        found=tau,
        limit=earlier,
        level="error" if d.loses else "warning",
    )


def _below_plan(d: Deployed) -> Told | None:
    now, planned = d.seen.kept, d.seen.planned
    if now is None or planned is None or now.tau >= planned.tau * (1 - FALLEN):
        return None
    if now.high is not None and now.high >= planned.tau:
        return None
    return Told(
        evidence=f"{planned.tau:.2f} tokens a round planned, {now.tau:.2f} kept",
        consequence=f"rounds yield {percent(1 - now.tau / planned.tau)} fewer tokens than the plan "
        "rests on",
        remedy="put what is kept into the plan's acceptance, and check it again",
        found=now.tau,
        limit=planned.tau,
    )


DRAFTING_RULES = (
    DeploymentRule(
        id="SD011",
        level="error",
        title="drafter broken or mismatched",
        what="Drafts of a model are hardly ever kept, or never beyond the first position.",
        why="No k makes up for a drafter that does not predict its target: this is no tuning.",
        remedy="Check checkpoint, tokenizer, chat template, quantisation and hidden states.",
        look=_broken,
    ),
    DeploymentRule(
        id="SD012",
        level="error",
        title="no repetition to look up",
        what="A drafter that looks text up finds next to nothing, or loses unmeasured.",
        why="It only pays where the output repeats what is in the prompt or was said before.",
        remedy="Measure acceptance on your prompts; use it for editing, code and summaries.",
        look=_no_repetition,
    ),
    DeploymentRule(
        id="SD013",
        level="warning",
        title="context beyond the drafter's training",
        what="Sequences are longer than those that the drafter was trained on.",
        why="Acceptance is a function of context, and falls to nothing beyond it.",
        remedy="Take a drafter trained on long contexts; give acceptance as a table over context.",
        look=_untrained,
    ),
    DeploymentRule(
        id="SD014",
        level="note",
        title="k beyond the drafter's modules",
        what="More draft tokens than modules, or no multiple of them.",
        why="A module that runs on its own output was not trained for that.",
        remedy="Take k as the number of modules, or a multiple whose acceptance was measured.",
        look=_modules,
    ),
    DeploymentRule(
        id="SD015",
        level="warning",
        title="acceptance fell",
        what="An earlier capture kept more drafts, by more than its scatter.",
        why="An upgrade, a new template or other prompts took what speculation had gained.",
        remedy="Compare the two captures position by position with specplan acceptance.",
        look=_fell,
    ),
    DeploymentRule(
        id="SD016",
        level="warning",
        title="less accepted than planned",
        what="What the engine keeps against the acceptance of the plan.",
        why="Every speedup that the plan promises rests on it.",
        remedy="Plan with what was measured.",
        look=_below_plan,
    ),
)
