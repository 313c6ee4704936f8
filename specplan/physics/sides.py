"""Target and drafter along a drafted path, with and without their sampling settings.

What a round keeps at a position is 1 - TV of what is asked of the target there and what the draft
is drawn from, both after settings whose penalties have seen the drafts before. It stays exact
whatever the drafter's settings are, as long as a draft is judged by what it was drawn from and the
target by what was asked; else `cases` says what comes out instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from specplan.domain.sampling import Sampling
from specplan.domain.verification import TOKEN, Kind, Verification
from specplan.errors import UsageError
from specplan.physics.distributions import distributions, logarithms, logits_of
from specplan.physics.draws import Floats
from specplan.physics.paths import MAX_K, Mismatch
from specplan.physics.rule import Pairing
from specplan.physics.sampling import check_tokens, sampled, seen_before, softmax, token_counts
from specplan.physics.verify import Judge

MAX_POSITIONS = MAX_K
EXACT_TV = 1e-12
"""Laws this near each other are the same: what sums of a million terms lose to rounding."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Token ids that penalties see: those of the prompt, those generated before the round, and the
    drafts of the round in order, the first of which is seen at the second position.
    """

    prompt: tuple[int, ...] = ()
    history: tuple[int, ...] = ()
    drafted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One model at each position: `raw` (positions, V) without settings, `asked` with them, and
    `stale` with penalties that do not see the drafts of the round.
    """

    raw: Floats
    asked: Floats
    stale: Floats
    logits: Floats
    sampling: Sampling

    @classmethod
    def of(cls, logits: Floats, sampling: Sampling, seen: Seen) -> Self:
        """From logits (positions, V)."""
        positions, vocabulary = logits.shape
        prompt = token_counts(vocabulary, seen.prompt, "prompt")
        generated = seen_before(vocabulary, seen.history, seen.drafted, positions)
        frozen = np.broadcast_to(generated[0], generated.shape)
        asked, stale = (sampled(logits, sampling, made, prompt) for made in (generated, frozen))
        return cls(softmax(logits), asked, stale, logits, sampling)


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Both models at each position of a drafted path."""

    target: Side
    draft: Side
    seen: Seen

    @classmethod
    def of(
        cls,
        p: ArrayLike,
        q: ArrayLike,
        *,
        logits: bool = False,
        sampling: Sampling | None = None,
        draft_sampling: Sampling | None = None,
        seen: Seen | None = None,
    ) -> Self:
        """From tables (V,) of one position or (positions, V), probabilities unless `logits`.

        The drafter has the target's settings where it is given none. Penalties of several
        positions need the tokens drafted, a repetition penalty needs logits.
        """
        rows = [_rows(side, name, logits=logits) for side, name in ((p, "p"), (q, "q"))]
        _check_alike(*rows)
        seen = seen or Seen()
        settings = sampling or Sampling(), draft_sampling or sampling or Sampling()
        _check_penalties(settings, len(rows[0]), seen, logits=logits)
        check_tokens(rows[0].shape[1], seen.drafted, "drafted")
        scores = rows if logits else [logarithms(one) for one in rows]
        target, draft = (
            Side.of(one, said, seen) for one, said in zip(scores, settings, strict=True)
        )
        if not logits:  # what was given, not what its logarithms give back
            target, draft = (
                _as_given(side, one) for side, one in zip((target, draft), rows, strict=True)
            )
        return cls(target, draft, seen)

    @property
    def positions(self) -> int:
        """How many there are."""
        return len(self.target.raw)

    @property
    def acceptance(self) -> Floats:
        """1 - TV of both sides as asked (positions,)."""
        found: Floats = np.minimum(self.target.asked, self.draft.asked).sum(axis=1)
        return np.minimum(found, 1.0)

    def pairing(self, position: int, plant: Mismatch | None = None) -> Pairing:
        """What meets at a position, as asked for or as planted."""
        target, draft = self.target, self.draft
        p, q = target.asked, draft.asked
        match plant:
            case Mismatch.RAW_TARGET:
                p = target.raw
            case Mismatch.STALE_PENALTIES:
                p = target.stale
            case Mismatch.RAW_DRAFT:
                q = draft.raw
        return Pairing(
            asked=target.asked[position],
            drawn=draft.asked[position],
            judged_p=p[position],
            judged_q=q[position],
        )


@dataclass(frozen=True, slots=True)
class Case:
    """What one way to do it gives at each position: how often a draft is kept, TV of what comes out
    from what was asked, and KL of the same in nats, None where it puts out what was ruled out.
    """

    case: str
    exact: bool
    acceptance: tuple[float, ...]
    total_variation: tuple[float, ...]
    kl_nats: tuple[float | None, ...]


def cases(sides: Sides, verification: Verification = TOKEN) -> Iterator[Case]:
    """The rule as asked for, then what happens when one side differs, then other rules."""
    p, q = sides.target.asked, sides.draft.asked
    yield case("as asked", p, q, p, q, verification)
    own = verification.kind
    if own in {Kind.TOKEN, Kind.BLOCK}:  # which are the same at one position
        yield from _drafted_otherwise(sides)
        yield from _judged_otherwise(sides)
        own = Kind.TOKEN
    for kind, says in _RULES.items():
        if kind is not own:
            yield case(says, p, q, p, q, Verification(kind))


def _drafted_otherwise(sides: Sides) -> Iterator[Case]:
    """Drafts from something else, and judged by it: exact, and kept more or less often."""
    target, draft, p = sides.target, sides.draft, sides.target.asked
    if draft.sampling != target.sampling:
        alike = _with(sides, target.sampling)
        yield case("drafter sampled as the target", p, alike, p, alike)
    if draft.sampling != Sampling():
        yield case("drafter without settings", p, draft.raw, p, draft.raw)
    if not draft.sampling.greedy:
        greedy = _greedy(sides)
        yield case("greedy drafts, as certain ones", p, greedy, p, greedy)
    if sides.positions > 1 and draft.sampling.penalises:
        yield case("drafter's penalties miss the drafts", p, draft.stale, p, draft.stale)


def _judged_otherwise(sides: Sides) -> Iterator[Case]:
    """Drafts judged by what they were not drawn from, or by what was not asked: what comes out is
    something else.
    """
    target, draft = sides.target, sides.draft
    p, q = target.asked, draft.asked
    if not draft.sampling.greedy:
        yield case("greedy drafts judged by q", p, _greedy(sides), p, q)
    if draft.sampling != Sampling():
        yield case("drafts judged by q without settings", p, q, p, draft.raw)
        yield case("drawn without settings, judged with", p, draft.raw, p, q)
    if target.sampling != Sampling():
        yield case("target judged without settings", p, q, target.raw, q)
    if sides.positions > 1 and target.sampling.penalises:
        yield case("target's penalties miss the drafts", p, q, target.stale, q)


_RULES = {
    Kind.TOKEN: "the exact rule, token by token",
    Kind.MATCH: "kept if the target samples the same",
    Kind.GREEDY: "kept if it is the target's argmax",
}


def case(
    name: str,
    asked: Floats,
    drawn: Floats,
    judged_p: Floats,
    judged_q: Floats,
    verification: Verification = TOKEN,
) -> Case:
    """By formula, for rows (positions, V)."""
    judge = Judge.of(judged_p, judged_q, verification, drawn=drawn)
    output, acceptance = judge.law(drawn)
    tv = np.minimum(0.5 * np.abs(output - asked).sum(axis=1), 1.0)
    exact = bool((tv <= EXACT_TV).all()) and not verification.relaxed
    return Case(
        name,
        exact,
        tuple(acceptance.tolist()),
        tuple(np.where(tv <= EXACT_TV, 0.0, tv).tolist()),
        tuple(
            0.0 if near else kl for near, kl in zip(tv <= EXACT_TV, _kl(output, asked), strict=True)
        ),
    )


def _kl(output: Floats, asked: Floats) -> Iterator[float | None]:
    for out, want in zip(output, asked, strict=True):
        made = out > EXACT_TV
        if (want[made] == 0).any():
            yield None
        else:
            yield max(float((out[made] * np.log(out[made] / want[made])).sum()), 0.0)


def _greedy(sides: Sides) -> Floats:
    """Drafts that are the likeliest tokens, whatever else the drafter's settings say."""
    return _with(sides, replace(sides.draft.sampling, temperature=0.0))


def _with(sides: Sides, sampling: Sampling) -> Floats:
    """What the drafter would draw from with other settings."""
    return Side.of(sides.draft.logits, sampling, sides.seen).asked


def _as_given(side: Side, rows: Floats) -> Side:
    plain = side.sampling == Sampling()
    asked, stale = (rows, rows) if plain else (side.asked, side.stale)
    return replace(side, raw=rows, asked=asked, stale=stale)


def _rows(values: ArrayLike, name: str, *, logits: bool) -> Floats:
    """One row for each position."""
    read = logits_of if logits else distributions
    ndim = 2 if np.ndim(values) == 2 else 1
    return np.atleast_2d(read(values, name, ndim=ndim))


def _check_alike(p: Floats, q: Floats) -> None:
    if p.shape[1] != q.shape[1]:
        raise UsageError(f"p has {p.shape[1]} probabilities and q has {q.shape[1]}")
    if len(p) != len(q):
        raise UsageError(f"p has {len(p)} positions and q has {len(q)}")
    if len(p) > MAX_POSITIONS:
        raise UsageError(f"{len(p)} positions are too many", expected=f"1 to {MAX_POSITIONS}")


def _check_penalties(
    settings: Sequence[Sampling], positions: int, seen: Seen, *, logits: bool
) -> None:
    if not logits and any(one.repetition_penalty != 1 for one in settings):
        raise UsageError(
            "a repetition penalty scales logits by their sign, which probabilities have lost",
            hint="give logits",
        )
    if any(one.penalises for one in settings) and len(seen.drafted) < positions - 1:
        raise UsageError(
            f"penalties at {positions} positions depend on the tokens drafted before each",
            expected=f"{positions - 1} of them at least, not {len(seen.drafted)}",
        )
