"""The simulations behind `exactness`, each check one number and its limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from specplan.domain.sampling import Sampling
from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.physics.chance import FALSE_ALARM
from specplan.physics.passes import TokensPerPass, tokens_per_pass
from specplan.physics.paths import Mismatch
from specplan.physics.rounds import (
    REFERENCE_DRAFT_MARKOV,
    REFERENCE_TARGET_MARKOV,
    WholeRounds,
    rounds,
)
from specplan.physics.rule import SinglePosition, greedy, paired, single
from specplan.physics.sides import Sides
from specplan.physics.trials import Blocks
from specplan.physics.verify import Bug

LENGTHS = (1, 2, 4, 8)  # draft lengths at which tokens per pass are counted
ROUND_K = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One number that a correct rule keeps within `limit` of `expected`."""

    check: str
    measured: float
    expected: float
    standard_error: float | None
    limit: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is simulated, and how: a rule with at most one bug, `trials` times a check."""

    sides: Sides
    verification: Verification
    plant: Bug | Mismatch | None
    alpha: float
    trials: int
    rng: np.random.Generator
    blocks: Blocks

    @property
    def bug(self) -> Bug | None:
        """The bug that is of the rule itself."""
        return self.plant if isinstance(self.plant, Bug) else None

    @property
    def mismatch(self) -> Mismatch | None:
        """The bug that is of the settings."""
        return self.plant if isinstance(self.plant, Mismatch) else None


@dataclass(frozen=True, slots=True)
class Found:
    """The checks and what else the simulations said."""

    checks: tuple[Check, ...]
    first: SinglePosition
    whole: WholeRounds


def simulations(positions: int = 1, verification: Verification = TOKEN) -> int:
    """How often `check` runs all trials."""
    return positions + (2 if verification.exact else 0) + 1 + len(LENGTHS) + 1


def check(run: Run) -> Found:
    """Every position, an exact rule's two limits, whole rounds and tokens per pass."""
    singles = _singles(run)
    names = ["one position"] if len(singles) == 1 else [f"position {i + 1}" for i in _range(run)]
    found = list(chain.from_iterable(map(partial(_position, run.verification), names, singles)))
    if run.verification.exact:
        found += _limits(run)
    whole = _rounds(run)
    found += _joint(whole, run.verification)
    found += map(_tokens, _passes(run))
    return Found(tuple(found), singles[0], whole)


def _range(run: Run) -> range:
    return range(run.sides.positions)


def _singles(run: Run) -> list[SinglePosition]:
    return [
        paired(
            run.sides.pairing(number, run.mismatch),
            run.trials,
            run.rng,
            bug=run.bug,
            verification=run.verification,
            blocks=run.blocks,
        )
        for number in _range(run)
    ]


def _limits(run: Run) -> Iterator[Check]:
    """A target that leaves nothing to chance, and a drafter that is the target."""
    pairing = run.sides.pairing(0)
    p, q = pairing.asked, pairing.drawn
    for name, simulate, drawn in (
        ("greedy target", greedy, q),
        ("drafter equals target", single, p),
    ):
        found = simulate(
            p,
            drawn,
            run.trials,
            run.rng,
            bug=run.bug,
            verification=run.verification,
            blocks=run.blocks,
        )
        yield from _position(run.verification, name, found)


def _passes(run: Run) -> Iterator[TokensPerPass]:
    for k, alpha in (*((k, run.alpha) for k in LENGTHS), (LENGTHS[-1], 1.0)):
        yield tokens_per_pass(
            alpha,
            k,
            run.trials,
            run.rng,
            bug=run.bug,
            verification=run.verification,
            blocks=run.blocks,
        )


def _rounds(run: Run) -> WholeRounds:
    """On the reference chains, under the same settings; their start has seen no tokens."""
    return rounds(
        REFERENCE_TARGET_MARKOV,
        REFERENCE_DRAFT_MARKOV,
        ROUND_K,
        run.trials,
        run.rng,
        bug=run.plant,
        verification=run.verification,
        sampling=_or_none(run.sides.target.sampling),
        draft_sampling=run.sides.draft.sampling,
        blocks=run.blocks,
    )


def _or_none(sampling: Sampling) -> Sampling | None:
    return sampling if sampling != Sampling() else None


def _position(verification: Verification, name: str, found: SinglePosition) -> Iterator[Check]:
    yield Check(
        f"{name}: TV of output and target",
        found.tv,
        found.expected_tv,
        None,
        found.tv_limit,
        found.same_distribution,
    )
    law = found.law
    if law is not None:
        yield Check(
            f"{name}: TV of output and its own law",
            law.tv,
            law.expected_tv,
            None,
            law.tv_limit,
            law.holds,
        )
    yield Check(
        f"{name}: acceptance{_BY_FORMULA.get(verification.kind, '')}",
        found.acceptance,
        found.expected_acceptance,
        found.acceptance_se,
        found.acceptance_limit,
        found.same_acceptance,
    )


_BY_FORMULA = {
    Kind.TOKEN: ", 1 - TV(p, q)",
    Kind.BLOCK: ", 1 - TV(p, q)",
    Kind.MATCH: ", sum of p q",
    Kind.GREEDY: ", q of the argmax",
}


def _joint(found: WholeRounds, verification: Verification) -> Iterator[Check]:
    yield Check(
        f"whole rounds, k={found.k}: joint of {found.k + 1} tokens, p-value",
        found.p_value,
        0.5,
        None,
        FALSE_ALARM,
        found.passed,
    )
    if not verification.exact:
        yield Check(
            f"whole rounds, k={found.k}: its own law, p-value",
            found.own_p_value,
            0.5,
            None,
            FALSE_ALARM,
            found.own_p_value >= FALSE_ALARM,
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
