"""SD001-SD009: whether it pays, whether k fits, and where the time goes."""

from __future__ import annotations

from specplan.rules.deployed import TIE, Deployed, DeploymentRule, Told, percent, short, times
from specplan.rules.drafting import broken, found_nothing
from specplan.units import people

SMALL_STEP_S = 4e-3  # a plain step so short that launches and the host decide, not the weights
REGRET = 0.03  # of the speedup, from which another k is worth a restart
WASTE, LONG = 0.25, 4  # of the drafts kept, and the k from which so few say that it is too long
EXPLAINS = 0.1  # of what a round lacks, from which a cause is worth a look
DRAFTING = 0.5  # of a round


def _loses(d: Deployed) -> Told | None:
    speedup, seen, model = d.speedup, d.seen, d.model
    if speedup is None or speedup >= 1 - (TIE if seen.measured is not None else 0):
        return None
    if seen.measured is None:
        evidence = f"predicted {times(speedup)} at k = {seen.k}"
    elif seen.rate and seen.plain_rate:
        evidence = f"{short(seen.rate)} tok/s with, {short(seen.plain_rate)} without"
    else:
        evidence = f"measured {times(speedup)}"
    remedy = d.habits.off
    if seen.tree:
        remedy = f"{d.habits.set_chain} and measure again, or {remedy}"
    elif model and model.best_k and not broken(d) and seen.measured is None:
        better = d.habits.told(d.habits.set_k, k=model.best_k)
        remedy = f"{better} ({times(model.best_speedup)} predicted), or {remedy}"
    unsure = seen.measured is None and model is not None and (model.high >= 1 or d.unsure)
    return Told(
        evidence=evidence,
        consequence=f"{percent(1 - speedup)} fewer tokens a second ({times(speedup)})",
        remedy=remedy,
        found=speedup,
        limit=1.0,
        level="warning" if unsure else "error",
    )


def _break_even(d: Deployed) -> Told | None:
    cost, seen, kept = d.round_cost, d.seen, d.seen.kept
    if cost is None or not seen.k:
        return None
    most = seen.verified if seen.tree and seen.verified else seen.k + 1
    hopeless = cost > most
    if not hopeless and (seen.round_cost is None or kept is None or cost <= kept.tau * (1 + TIE)):
        return None
    steps = ""
    if seen.round_cost is not None and seen.round_s and seen.plain_step_s:
        round_words, plain_words = people(seen.round_s, "s"), people(seen.plain_step_s, "s")
        steps = f"a round takes {round_words}, a plain step {plain_words}: "
    yields = f", which yields {kept.tau:.2f} tokens" if kept else ""
    if hopeless:
        consequence = (
            f"even a perfect drafter loses at k = {seen.k}: {most} tokens are {times(most / cost)}"
        )
        remedy = (
            "more acceptance cannot help: find what a round adds (graph mode, host, launches, "
            f"wide verification), or {d.habits.off}"
        )
    else:
        consequence = f"it would have to yield {cost:.2f} tokens to break even"
        remedy = "raise acceptance above that, or cut what a round costs: shorter k, cheaper drafts"
    return Told(
        evidence=f"{steps}{cost:.2f} plain steps a round{yields}",
        consequence=consequence,
        remedy=remedy,
        found=cost,
        limit=float(most) if hopeless else kept.tau if kept else None,
        level="error" if hopeless else "warning",
    )


def _too_long(d: Deployed) -> Told | None:
    k, kept, model = d.seen.k, d.seen.kept, d.model
    if not k or kept is None or broken(d) or d.seen.tree:
        return None
    used = (kept.tau - 1) / k
    if model is not None:
        if not 0 < model.best_k < k or model.regret <= REGRET:
            return None
        consequence = (
            f"k = {model.best_k} is predicted {times(model.best_speedup)}, "
            f"k = {k} {times(model.speedup)}: {percent(model.regret)} lost"
        )
        remedy = d.habits.told(d.habits.set_k, k=model.best_k)
    elif k >= LONG and used < WASTE and not found_nothing(d):
        consequence = f"{k - kept.tau + 1:.1f} drafts a round are made, verified and thrown away"
        remedy = f"try {d.habits.told(d.habits.set_k, k=max(1, round(kept.tau)))} or less"
    else:
        return None
    return Told(
        evidence=f"{kept.tau - 1:.2f} of {k} drafts are kept a round, {percent(used)}",
        consequence=consequence,
        remedy=remedy,
        found=float(k),
        limit=float(model.best_k) if model else None,
        level="error" if d.loses else "warning",
    )


def _too_short(d: Deployed) -> Told | None:
    k, kept, model = d.seen.k, d.seen.kept, d.model
    if not k or kept is None or model is None or broken(d) or d.seen.tree:
        return None
    if model.best_k <= k or model.regret <= REGRET or (d.astray and d.loses):
        return None
    share = percent((kept.tau - 1) / k)
    return Told(
        evidence=f"{kept.tau - 1:.2f} of {k} drafts are kept a round, {share}",
        consequence=f"k = {model.best_k} is predicted {times(model.best_speedup)}, "
        f"k = {k} {times(model.speedup)}, if drafts beyond {k} are kept as those before",
        remedy=d.habits.told(d.habits.set_k, k=model.best_k),
        found=float(k),
        limit=float(model.best_k),
    )


def _small(d: Deployed) -> Told | None:
    step_s, cost = d.plain_step_s, d.round_cost
    if not d.loses or step_s is None or step_s >= SMALL_STEP_S or broken(d):
        return None
    consequence = "what a round adds of drafting, launches and host time outweighs the weights read"
    if cost:
        added = people((cost - 1) * step_s, "s")
        consequence = f"a round adds {added}: {cost:.2f} tokens a round would only break even"
    return Told(
        evidence=f"a plain step takes {people(step_s, 's')}",
        consequence=consequence,
        remedy=f"{d.habits.off}: a drafter is not relatively cheap beside so small a target",
        found=step_s,
        limit=SMALL_STEP_S,
    )


def _dear(d: Deployed) -> Told | None:
    model = d.model
    if model is None or model.draft_s <= DRAFTING * model.round_s or not d.loses:
        return None
    return Told(
        evidence=f"drafting is {percent(model.draft_s / model.round_s)} of a round "
        f"({people(model.draft_s, 's')} of {people(model.round_s, 's')} predicted)",
        consequence=f"a round has to yield {model.round_cost:.2f} tokens at k = {model.k}, "
        f"{model.cost_at_one:.2f} at k = 1",
        remedy="take a smaller drafter or a head (specplan compare ranks those that fit), "
        "or a shorter k",
        found=model.draft_s / model.round_s,
        limit=DRAFTING,
    )


def _slower(d: Deployed) -> Told | None:
    ratio, model = d.seen_over_predicted, d.model
    if ratio is None or model is None or ratio >= 1 - d.allowed:
        return None
    missing = (d.seen.round_s or 0.0) - model.round_s
    consequence = f"{people(missing, 's')} of each round are not decoding as modelled"
    plain_s, first = d.seen.plain_step_s, ""
    if plain_s is not None:
        plain, modelled = people(plain_s, "s"), people(model.plain_step_s, "s")
        consequence += f"; a plain step took {plain}, {modelled} predicted"
    else:
        first = "measure a run without speculation (--plain-tokens-per-s), and "
    if plain_s is None and d.over_plain is not None and d.over_plain < 1:
        consequence += (
            f"; plain decoding is predicted {model.plain_tokens_per_s:,.0f} tok/s: this is "
            f"{times(d.over_plain)} of it, unless that is slower too"
        )
    prompts = "prompts in between (chunked prefill), " if _prompts_may(d, missing) else ""
    return Told(
        evidence=_held_against(d),
        consequence=consequence,
        remedy=(
            f"{first}look for {prompts}host work, eager launches, idle batches; specplan calibrate "
            "fits what stays"
        ),
        found=ratio,
        limit=1 - d.allowed,
    )


def _prompts_may(d: Deployed, missing_s: float) -> bool:
    """Whether prompts may be what a round lacks: unless those that were read take far less."""
    rate, round_s = d.seen.prompts_per_s, d.seen.round_s
    if rate is None or round_s is None or d.model is None:
        return True
    return rate * d.model.prefill_token_s * round_s >= EXPLAINS * missing_s


def _faster(d: Deployed) -> Told | None:
    ratio, model = d.seen_over_predicted, d.model
    if ratio is None or model is None or ratio <= 1 + d.allowed:
        return None
    return Told(
        evidence=_held_against(d),
        consequence=f"a round takes {people(d.seen.round_s or 0.0, 's')}, "
        f"{people(model.round_s, 's')} predicted: what is predicted is not what runs",
        remedy=(
            "check what the prediction rests on: dtype, number of GPUs, batch, context (-c), "
            "and whether a cached prefix is shared; if all hold, specplan calibrate fits it"
        ),
        found=ratio,
        limit=1 + d.allowed,
    )


def _held_against(d: Deployed) -> str:
    seen, model = d.seen.rate or 0.0, d.model.tokens_per_s if d.model else 0.0
    return f"{seen:,.0f} tok/s seen, {model:,.0f} predicted at the same batch, k and acceptance"


PACING_RULES = (
    DeploymentRule(
        id="SD001",
        level="error",
        title="speculation loses",
        what="Tokens a second with speculation against those without, measured or predicted.",
        why="Below 1 everybody waits longer than without it.",
        remedy="Turn it off, gate it by load, or take the k that the answer names.",
        look=_loses,
    ),
    DeploymentRule(
        id="SD002",
        level="error",
        title="a round costs more than it yields",
        what="A round in plain steps (tau over speedup) against the tokens that it yields.",
        why="Above k + 1 even a perfect drafter loses: acceptance is not what is wrong.",
        remedy="Find what a round adds beside the weights read, or turn speculation off.",
        look=_break_even,
    ),
    DeploymentRule(
        id="SD003",
        level="warning",
        title="k is too long",
        what="Drafts far beyond the positions that are still accepted.",
        why="Each is made and verified in every round, and thrown away.",
        remedy="Take the k that the finding names.",
        look=_too_long,
    ),
    DeploymentRule(
        id="SD004",
        level="note",
        title="k is too short",
        what="The last position is still kept so often that more would pay.",
        why="Tokens that were to be had are not drafted.",
        remedy="Take the k that the finding names, if acceptance beyond it is as assumed.",
        look=_too_short,
    ),
    DeploymentRule(
        id="SD005",
        level="error",
        title="target too small: overhead decides",
        what="A plain step of under 4 ms, and speculation that loses.",
        why="Launches, drafting and the host take as long as the weights that a round saves.",
        remedy="Do not speculate on targets so small.",
        look=_small,
    ),
    DeploymentRule(
        id="SD006",
        level="error",
        title="drafter too dear",
        what="More than half of a losing round is drafting.",
        why="A drafter pays by being cheap; layers count before bytes.",
        remedy="Take a smaller drafter, a head, or a shorter k.",
        look=_dear,
    ),
    DeploymentRule(
        id="SD007",
        level="warning",
        title="slower than predicted",
        what="Tokens a second seen against those predicted at the same batch, k and acceptance.",
        why="What is missing is time that the engine does not spend on rounds as modelled.",
        remedy="Look for prefill, host time, eager launches or idle batches, and calibrate.",
        look=_slower,
    ),
    DeploymentRule(
        id="SD008",
        level="note",
        title="faster than predicted",
        what="Tokens a second seen above those predicted, by more than predictions scatter.",
        why="Something else runs than what the answer rests on: its best k is of that.",
        remedy="Check dtype, GPUs, batch and context; calibrate where they hold.",
        look=_faster,
    ),
)
