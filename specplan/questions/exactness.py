"""Is the accept/resample rule exact? The rule itself, run and held against plain sampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from specplan.domain.answer import Answer, Basis, Column, Lines, Rows, View, table_from
from specplan.domain.scenario import Input
from specplan.errors import unknown
from specplan.physics.chance import FALSE_ALARM
from specplan.physics.rounds import (
    REFERENCE_DRAFT_MARKOV,
    REFERENCE_TARGET_MARKOV,
    TokensPerPass,
    WholeRounds,
    rounds,
    tokens_per_pass,
)
from specplan.physics.rule import (
    REFERENCE_DRAFT,
    REFERENCE_TARGET,
    Bug,
    SinglePosition,
    greedy,
    single,
)
from specplan.physics.trials import Blocks, check_seed, chunks

BASIS = Basis(kind="exact", says="simulation of the rule itself", source="Leviathan et al. 2023")
TRIALS = 200_000
LENGTHS = (1, 2, 4, 8)  # draft lengths at which tokens per pass are counted
ROUND_K = 3
SIMULATIONS = 5 + len(LENGTHS)  # one position, greedy, q = p, whole rounds; alpha 1 and each k


@dataclass(frozen=True, slots=True)
class Check:
    """One number that a correct rule keeps within `limit` of `expected`."""

    check: str
    measured: float
    expected: float
    standard_error: float | None
    limit: float
    passed: bool


@dataclass(frozen=True, slots=True)
class Exactness:
    """Whether every check holds; with a bug planted, which checks caught it."""

    exact: bool
    trials: int
    seed: int
    plant: str | None
    acceptance: float
    total_variation: float
    false_alarm_per_check: float
    checks: tuple[Check, ...]


COLUMNS = (
    Column("check", "", "check", "text", "what is compared"),
    Column("measured", "", "measured", "precise", "by simulation"),
    Column("expected", "", "expected", "precise", "of a correct rule"),
    Column("standard_error", "", "std. error", "number", "of the measurement"),
    Column("limit", "", "limit", "number", "largest deviation allowed"),
    Column("passed", "", "holds", "flag", "whether the deviation is within the limit"),
)


def exactness(
    p: Sequence[float] | None = None,
    q: Sequence[float] | None = None,
    *,
    alpha: float = 0.7,
    trials: int = TRIALS,
    seed: int = 0,
    plant: str | None = None,
    blocks: Blocks = chunks,
) -> Answer:
    """The rule run `trials` times per check, from `seed`; SIMULATIONS times in all.

    `p` and `q` (V,) are the probabilities of target and draft; by default the reference pair,
    whose acceptance is 0.79. `plant` names a Bug to run the rule with: the answer is then no if
    the checks work. `blocks` cuts the trials of each simulation into those that are held at once.
    Exit 1 when the rule is not exact.
    """
    if plant is not None and plant not in list(Bug):
        raise unknown("bug", plant, [str(b) for b in Bug])
    target = np.asarray(REFERENCE_TARGET if p is None else p, np.float64)
    draft = np.asarray(REFERENCE_DRAFT if q is None else q, np.float64)
    bug = Bug(plant) if plant else None
    check_seed(seed)
    rng = np.random.default_rng(seed)
    position = single(target, draft, trials, rng, bug=bug, blocks=blocks)
    checks = tuple(_checks(target, draft, position, alpha, trials, rng, bug, blocks))
    exact = all(check.passed for check in checks)
    value = Exactness(
        exact, trials, seed, plant, position.acceptance, position.tv, FALSE_ALARM, checks
    )
    return Answer(
        command="exactness",
        value=value,
        table=table_from(COLUMNS, checks),
        view=_view(value, len(target)),
        basis=BASIS,
        inputs={
            "p": Input(value=target.tolist(), origin="default" if p is None else "flag"),
            "q": Input(value=draft.tolist(), origin="default" if q is None else "flag"),
            "seed": Input(value=seed, origin="flag" if seed else "default"),
        },
        ok=exact,
    )


def _checks(
    target: np.ndarray,
    draft: np.ndarray,
    position: SinglePosition,
    alpha: float,
    trials: int,
    rng: np.random.Generator,
    bug: Bug | None,
    blocks: Blocks,
) -> Iterator[Check]:
    certain = greedy(target, draft, trials, rng, bug=bug, blocks=blocks)
    same = single(target, target, trials, rng, bug=bug, blocks=blocks)
    yield from _position("one position", position)
    yield from _position("greedy target", certain)
    yield from _position("drafter equals target", same)
    chains = (REFERENCE_TARGET_MARKOV, REFERENCE_DRAFT_MARKOV)
    yield _joint(rounds(*chains, ROUND_K, trials, rng, bug=bug, blocks=blocks))
    for k in LENGTHS:
        yield _tokens(tokens_per_pass(alpha, k, trials, rng, bug=bug, blocks=blocks))
    yield _tokens(tokens_per_pass(1.0, LENGTHS[-1], trials, rng, bug=bug, blocks=blocks))


def _position(name: str, found: SinglePosition) -> Iterator[Check]:
    yield Check(
        f"{name}: TV of output and target",
        found.tv,
        found.expected_tv,
        None,
        found.tv_limit,
        found.same_distribution,
    )
    yield Check(
        f"{name}: acceptance, 1 - TV(p, q)",
        found.acceptance,
        found.expected_acceptance,
        found.acceptance_se,
        found.acceptance_limit,
        found.same_acceptance,
    )


def _joint(found: WholeRounds) -> Check:
    return Check(
        f"whole rounds, k={found.k}: joint of {found.k + 1} tokens, p-value",
        found.p_value,
        0.5,
        None,
        FALSE_ALARM,
        found.passed,
    )


def _tokens(found: TokensPerPass) -> Check:
    return Check(
        f"tokens per pass, alpha {found.alpha:g}, k={found.k}",
        found.mean,
        found.expected,
        found.standard_error,
        found.limit,
        found.passed,
    )


def _view(value: Exactness, vocabulary: int) -> View:
    failed = sum(not check.passed for check in value.checks)
    planted = f", planted bug {value.plant}" if value.plant else ""
    title = (
        "The rule is exact"
        if value.exact
        else f"Not exact: {failed} check{'s fail' if failed > 1 else ' fails'}"
    )
    return View(
        title=title,
        caption=(
            f"{value.trials:,} trials a check, seed {value.seed}, vocabulary {vocabulary}{planted}",
        ),
        sections=(
            Rows(columns=("check", "measured", "expected", "limit", "passed")),
            Lines(
                (
                    "limit: of the deviation; for TV the largest value, for the p-value the "
                    "smallest.",
                    f"A correct rule fails a check once in {1 / value.false_alarm_per_check:,.0f}.",
                )
            ),
        ),
    )
