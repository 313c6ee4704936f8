"""Is the accept/resample rule exact? The rule itself, run and held against plain sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from specplan.domain.answer import Answer, Basis, Column, table_from
from specplan.domain.sampling import Sampling, parse_sampling
from specplan.domain.scenario import Input
from specplan.domain.verification import TOKEN, Kind, Verification, parse_verification
from specplan.errors import UsageError, unknown
from specplan.physics.chance import FALSE_ALARM
from specplan.physics.paths import Mismatch
from specplan.physics.rule import REFERENCE_DRAFT, REFERENCE_TARGET
from specplan.physics.sides import EXACT_TV, Case, Seen, Sides, cases
from specplan.physics.trials import Blocks, check_seed, chunks
from specplan.physics.verify import Bug
from specplan.questions.exactness_checks import ROUND_K, Check, Found, Run, check
from specplan.questions.exactness_view import view

TRIALS = 200_000
PLANTS = (*Bug, *Mismatch)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Of the reference chains under the same settings, by formula: tokens that a round of `k`
    drafts yields, what the exact rule token by token would, and TV of the first k + 1 tokens from
    plain sampling.
    """

    k: int
    tokens: float
    token_by_token: float
    total_variation: float


@dataclass(frozen=True, slots=True)
class Exactness:
    """Whether every check holds; with a bug planted, which checks caught it.

    A relaxed rule is never exact: its checks say what it gives up. `cases` are by formula, at each
    position: the rule as asked, what happens when one side differs, and other rules.
    """

    exact: bool
    trials: int
    seed: int
    plant: str | None
    acceptance: float
    total_variation: float
    false_alarm_per_check: float
    verification: str
    relaxed: bool
    sampling: str
    draft_sampling: str
    rounds: Rounds
    cases: tuple[Case, ...]
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
    p: ArrayLike | None = None,
    q: ArrayLike | None = None,
    *,
    logits: bool = False,
    sampling: Sampling | str | None = None,
    draft_sampling: Sampling | str | None = None,
    verify: Verification | str = TOKEN,
    prompt: Sequence[int] = (),
    history: Sequence[int] = (),
    drafted: Sequence[int] = (),
    alpha: float = 0.7,
    trials: int = TRIALS,
    seed: int = 0,
    plant: str | None = None,
    source: Input | None = None,
    blocks: Blocks = chunks,
) -> Answer:
    """The rule run `trials` times per check, from `seed`.

    `p` and `q`, (V,) or (positions, V) along a drafted path, are the probabilities of target and
    draft, or their logits; by default the reference pair, whose acceptance is 0.79. `sampling` is
    what the request asks for, `draft_sampling` what drafts are drawn with (the same if absent), in
    the words of a flag or as Sampling. Penalties see the token ids of `prompt`, `history` and, from
    the second position on, `drafted`. `verify` names the rule. `plant` names a bug to run it with:
    the answer is then no if the checks work. `source` says where p and q come from, if a file.
    `blocks` cuts the trials of each simulation into those that are held at once. Exit 1 when the
    rule is not exact.
    """
    verification = parse_verification(verify) if isinstance(verify, str) else verify
    asked, drafting = _settings(sampling), _settings(draft_sampling)
    sides = Sides.of(
        REFERENCE_TARGET if p is None else p,
        REFERENCE_DRAFT if q is None else q,
        logits=logits,
        sampling=asked,
        draft_sampling=drafting,
        seen=Seen(tuple(prompt), tuple(history), tuple(drafted)),
    )
    planted = _planted(plant, sides, verification)
    check_seed(seed)
    run = Run(
        sides=sides,
        verification=verification,
        plant=planted,
        alpha=alpha,
        trials=trials,
        rng=np.random.default_rng(seed),
        blocks=blocks,
    )
    value = _value(run, check(run), seed)
    return Answer(
        command="exactness",
        value=value,
        table=table_from(COLUMNS, value.checks),
        view=view(value, sides),
        basis=_basis(verification),
        inputs=_inputs(value, p, q, source),
        ok=value.exact,
    )


def _settings(given: Sampling | str | None) -> Sampling | None:
    return parse_sampling(given) if isinstance(given, str) else given


def _planted(plant: str | None, sides: Sides, verification: Verification) -> Bug | Mismatch | None:
    """The bug of that name; refused where it could not act."""
    if plant is None:
        return None
    if plant not in PLANTS:
        raise unknown("bug", plant, [str(one) for one in PLANTS])
    if verification.kind not in {Kind.TOKEN, Kind.BLOCK}:
        raise UsageError(f"bugs are planted in the rules token and block, not in {verification}")
    if plant in list(Bug):
        return Bug(plant)
    found = Mismatch(plant)
    target, draft = sides.target.sampling, sides.draft.sampling
    acts = {
        Mismatch.RAW_TARGET: (target != Sampling(), "settings of the target"),
        Mismatch.RAW_DRAFT: (draft != Sampling(), "settings of the drafter"),
        Mismatch.STALE_PENALTIES: (target.penalises, "penalties of the target"),
    }
    can, needs = acts[found]
    if not can:
        raise UsageError(f"{found} needs {needs}", hint="give --sampling")
    return found


def _value(run: Run, found: Found, seed: int) -> Exactness:
    target, draft = run.sides.target.sampling, run.sides.draft.sampling
    apart = tuple(cases(run.sides, run.verification))
    whole = found.whole
    same_law = apart[0].exact and whole.distance <= EXACT_TV
    return Exactness(
        exact=same_law and all(one.passed for one in found.checks),
        trials=run.trials,
        seed=seed,
        plant=str(run.plant) if run.plant else None,
        acceptance=found.first.acceptance,
        total_variation=found.first.tv,
        false_alarm_per_check=FALSE_ALARM,
        verification=str(run.verification),
        relaxed=run.verification.relaxed,
        sampling=str(target),
        draft_sampling=str(draft),
        rounds=Rounds(
            ROUND_K,
            whole.tokens,
            whole.token_by_token,
            whole.distance if whole.distance > EXACT_TV else 0.0,
        ),
        cases=apart,
        checks=found.checks,
    )


def _basis(verification: Verification) -> Basis:
    return Basis(kind="exact", says="simulation of the rule itself", source=verification.source)


def _inputs(
    value: Exactness, p: ArrayLike | None, q: ArrayLike | None, source: Input | None
) -> dict[str, Input]:
    def given(side: ArrayLike | None, reference: Sequence[float]) -> Input:
        values = np.asarray(reference if side is None else side, np.float64)
        shown = [[_finite(x) for x in row] for row in np.atleast_2d(values).tolist()]
        return Input(
            value=shown if values.ndim == 2 else shown[0],
            origin="default" if side is None else "flag",
        )

    tables = (
        {"tables": source}
        if source
        else {"p": given(p, REFERENCE_TARGET), "q": given(q, REFERENCE_DRAFT)}
    )
    said = {
        "sampling": (value.sampling, "none"),
        "draft_sampling": (value.draft_sampling, value.sampling),
        "verify": (value.verification, str(TOKEN)),
    }
    return {
        **tables,
        **{
            name: Input(value=text, origin="default" if text == usual else "flag")
            for name, (text, usual) in said.items()
        },
        "seed": Input(value=value.seed, origin="flag" if value.seed else "default"),
    }


def _finite(value: float) -> float | None:
    """None for a logit of -inf, which JSON cannot hold."""
    return value if np.isfinite(value) else None
