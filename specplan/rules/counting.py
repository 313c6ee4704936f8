"""SD041-SD049: figures that do not say what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.rules.claims import apart, eager, impossible
from specplan.rules.deployed import Deployed, DeploymentRule, Told, percent, times
from specplan.rules.drafting import random_tokens
from specplan.units import people

ROUNDING = 0.02
CHUNKS = 1.5  # tokens a chunk from which ITL and TPOT are two things
FEW_ROUNDS = 100
LATER = 1.1  # times the first token's time without


def _random(d: Deployed) -> Told | None:
    if not random_tokens(d):
        return None
    kept = d.seen.kept
    now = f"{kept.tau:.2f} tokens a round" if kept else "acceptance"
    return Told(
        evidence=f"prompts of random tokens: {now}",
        consequence="it says nothing of a workload: neither k nor a loss follows from it",
        remedy="measure on your own prompts, or a public set with the chat template applied",
    )


def _chunks(d: Deployed) -> Told | None:
    spec, kept = d.seen.spec, d.seen.kept
    quoted = "itl-per-chunk" not in d.seen.traps
    if spec.itl_s and spec.tpot_s:
        per_chunk = spec.itl_s / spec.tpot_s
        if per_chunk < CHUNKS:
            return None
        evidence = f"ITL {people(spec.itl_s, 's')}, TPOT {people(spec.tpot_s, 's')}"
        consequence = (
            f"a chunk holds {per_chunk:.2f} tokens: ITL overstates their distance {per_chunk:.1f} "
            "times"
        )
    elif "itl-per-chunk" in d.seen.traps or (spec.itl_s and not spec.tpot_s):
        evidence = f"ITL {people(spec.itl_s, 's')}" if spec.itl_s else "ITL"
        evidence += ", no TPOT"
        consequence = f"a chunk holds {kept.tau:.2f} tokens" if kept else "a chunk holds a round"
        if kept and spec.itl_s:
            token_s, plain_s = spec.itl_s / kept.tau, d.seen.plain.tpot_s
            consequence += f": about {people(token_s, 's')} a token"
            consequence += f", {times(plain_s / token_s)} of plain decoding" if plain_s else ""
    else:
        return None
    return Told(
        evidence=evidence,
        consequence=consequence,
        remedy="compare TPOT with TPOT; a stream's chunks are rounds, not tokens",
        found=spec.itl_s,
        limit=spec.tpot_s,
        level="warning" if quoted or not spec.tpot_s else "note",  # a file has both, by right
    )


def _repeated(d: Deployed) -> Told | None:
    if not d.seen.same_prompt and "repeated-prompt" not in d.seen.traps:
        return None
    measured = d.seen.measured
    return Told(
        evidence="the same prompt was asked again" + (f": {times(measured)}" if measured else ""),
        consequence="drafts were found in the answer given before: only the first answer counts",
        remedy="measure on prompts that differ, or count the first answer alone",
        found=measured,
    )


def _contradicted(d: Deployed) -> Told | None:
    found = [*d.seen.contradictions[:3], *_beyond_chain(d)]
    if not found:
        return None
    return Told(
        evidence="; ".join(found),
        consequence="at least one of these figures is wrong, or is defined otherwise",
        remedy="read specplan acceptance's definitions; count rounds, drafted and accepted tokens",
    )


def _beyond_chain(d: Deployed) -> Iterator[str]:
    """Tokens that no chain of that alpha yields, however long: 1 / (1 - alpha)."""
    kept = d.seen.kept
    if kept is None or kept.alpha is None or kept.alpha >= 1 or d.seen.tree:
        return
    most = 1 / (1 - kept.alpha)
    if kept.tau > most * (1 + ROUNDING):
        yield (
            f"{kept.tau:.2f} tokens a round, and a chain of alpha {kept.alpha:.3g} yields "
            f"{most:.2f} at most: a tree was verified, or alpha is another rate"
        )


def _scatter(d: Deployed) -> Told | None:
    kept = d.seen.kept
    if kept is None or kept.rounds is None or kept.rounds >= FEW_ROUNDS:
        return None
    span = ""
    if kept.low is not None and kept.high is not None:
        span = f", {kept.low:.2f} to {kept.high:.2f}"
    return Told(
        evidence=f"{kept.tau:.2f} tokens a round{span}, worth {kept.rounds:,.0f} independent "
        "rounds",
        consequence="speedup and best k are as uncertain as that",
        remedy="log for longer, over more requests",
        found=kept.rounds,
        limit=float(FEW_ROUNDS),
    )


def _first_token(d: Deployed) -> Told | None:
    with_s, without_s = d.seen.spec.ttft_s, d.seen.plain.ttft_s
    if not with_s or not without_s or with_s < LATER * without_s:
        return None
    share = d.model.draft_prefill_share if d.model else 0.0
    own = f"; the drafter's own prefill is {percent(share)} of the target's" if share else ""
    return Told(
        evidence=f"TTFT {people(with_s, 's')}, {people(without_s, 's')} without",
        consequence=f"the first token comes {percent(with_s / without_s - 1)} later{own}",
        remedy="count it in short answers: the drafter reads every prompt, and heads give up the "
        "last block of a cached prefix",
        found=with_s / without_s,
        limit=LATER,
    )


COUNTING_RULES = (
    DeploymentRule(
        id="SD041",
        level="error",
        title="speedup above tau",
        what="A measured speedup larger than the tokens that a round yields.",
        why="It is impossible: the two runs did not do the same work.",
        remedy="Compare runs of the same prompts, batch, graph mode and version.",
        look=impossible,
    ),
    DeploymentRule(
        id="SD042",
        level="error",
        title="eager baseline",
        what="A speedup over a run without CUDA graphs.",
        why="Nobody serves that: graphs alone may be worth more than speculation.",
        remedy="Measure the baseline as it would be served.",
        look=eager,
    ),
    DeploymentRule(
        id="SD043",
        level="warning",
        title="random tokens",
        what="A benchmark whose prompts are random tokens.",
        why="No drafter predicts noise, and no user writes it.",
        remedy="Measure on real prompts.",
        look=_random,
    ),
    DeploymentRule(
        id="SD044",
        level="warning",
        title="ITL where TPOT is meant",
        what="The time between chunks, each of a round's tokens, quoted as that between tokens.",
        why="It makes speculation look as many times slower as a chunk has tokens.",
        remedy="Compare TPOT.",
        look=_chunks,
    ),
    DeploymentRule(
        id="SD045",
        level="warning",
        title="same prompt again",
        what="Drafts found in an earlier answer to the same prompt.",
        why="The rates are those of a cache, not of a workload.",
        remedy="Measure on prompts that differ.",
        look=_repeated,
    ),
    DeploymentRule(
        id="SD046",
        level="warning",
        title="counters contradict each other",
        what="Figures of one capture that cannot all be true.",
        why="Whatever is worked out from them may be wrong.",
        remedy="Count rounds, drafted and accepted tokens, and take nothing else.",
        look=_contradicted,
    ),
    DeploymentRule(
        id="SD047",
        level="note",
        title="few rounds",
        what="A capture worth fewer than 100 independent rounds.",
        why="Its acceptance is uncertain, and all that follows from it.",
        remedy="Log for longer.",
        look=_scatter,
    ),
    DeploymentRule(
        id="SD048",
        level="note",
        title="first token later",
        what="The time to the first token with speculation against that without.",
        why="The drafter reads every prompt too; short answers may lose what long ones gain.",
        remedy="Count it in the time of a whole answer.",
        look=_first_token,
    ),
    DeploymentRule(
        id="SD049",
        level="warning",
        title="runs of different loads",
        what="A run with speculation and one without that had no batch in common.",
        why="Tokens a second grow with the batch: their ratio is not speculation's.",
        remedy="Run both with as many requests at a time.",
        look=apart,
    ),
)
