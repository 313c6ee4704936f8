"""Survival of draft positions under each acceptance model, and the tokens that follow from it.

S_i is the share of rounds that keep position i; a round yields E(k) = 1 + S_1 + ... + S_k tokens,
the bonus token included (any profile; Leviathan et al. 2023, eq. 1, where all rates are alpha).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, singledispatch

import numpy as np

from specplan.domain.acceptance import (
    Acceptance,
    Alpha,
    Burst,
    Conditional,
    Decay,
    Lengths,
    Named,
    Unconditional,
)
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.physics.curves import DecayFit, decay_survival, fit_decay, survival_from_lengths
from specplan.physics.tokens import FloatArray, expected_tokens, rounds_table


def tokens_of(model: Acceptance, k: Sequence[int], context: float = 0.0) -> FloatArray:
    """Tokens per round at each draft length, shape (K,), for a sequence of `context` tokens.

    Measured lengths come back exactly as they were measured.
    """
    exact = _exact(model, tuple(k), context)
    if exact is not None:
        return exact
    return np.asarray([1 + survival(model, n, context).sum() for n in k])


def tokens_table(
    acceptance: Sequence[Acceptance], k: Sequence[int], context: Sequence[float] = (0.0,)
) -> FloatArray:
    """Tokens per round, shape (C, A, K); C is 1 where no model depends on the context."""
    if all(isinstance(model, Alpha) for model in acceptance):
        alphas = np.asarray([model.iid for model in acceptance], np.float64)
        return expected_tokens(alphas[:, np.newaxis], np.asarray(k, np.float64))[np.newaxis]
    seen = context if any(model.by_context for model in acceptance) else context[:1]
    return np.stack([np.stack([tokens_of(model, k, c) for model in acceptance]) for c in seen])


def survival(model: Acceptance, k: int, context: float = 0.0) -> FloatArray:
    """S_1..S_k in rounds of k draft tokens, shape (k,): never rising, within [0, 1]."""
    return _survival(model, k, context)


@singledispatch
def _survival(model: Acceptance, k: int, context: float) -> FloatArray:
    raise NotImplementedError(type(model).__name__)


@_survival.register
def _(model: Alpha, k: int, context: float) -> FloatArray:  # noqa: ARG001
    return model.alpha ** np.arange(1.0, k + 1)


@_survival.register
def _(model: Conditional, k: int, context: float) -> FloatArray:  # noqa: ARG001
    kept: FloatArray = np.multiply.accumulate(np.asarray(model.rates, np.float64))
    return _extended(kept, k)


@_survival.register
def _(model: Unconditional, k: int, context: float) -> FloatArray:  # noqa: ARG001
    return _extended(np.asarray(model.rates), k)


@_survival.register
def _(model: Decay, k: int, context: float) -> FloatArray:  # noqa: ARG001
    return decay_survival(model.first, model.ratio, k)


@_survival.register
def _(model: Lengths, k: int, context: float) -> FloatArray:  # noqa: ARG001
    lengths, tau = zip(*model.points, strict=True)
    known = survival_from_lengths(lengths, tau)
    return _tailed(known, k, decay_of(model)) if k > len(known) else known[:k]


@_survival.register
def _(model: Burst, k: int, context: float) -> FloatArray:  # noqa: ARG001
    rate = model.burst / (1 + model.burst)  # of a draft that is long enough, rate / (1 - rate)
    return model.fire * rate ** np.arange(1.0, k + 1)


@_survival.register
def _(model: ByContext, k: int, context: float) -> FloatArray:
    pairs = zip(_weights(model, context), model.parts, strict=True)
    found = [weight * survival(part, k, context) for weight, (_, part) in pairs if weight]
    mean: FloatArray = np.sum(found, axis=0)
    return mean


@_survival.register
def _(model: Mixture, k: int, context: float) -> FloatArray:
    each = np.stack([survival(part, k, context) for _, part in model.parts])
    return _round_shares(model, (k,), context)[:, 0] @ each


@_survival.register
def _(model: Named, k: int, context: float) -> FloatArray:
    return survival(model.model, k, context)


@singledispatch
def _exact(model: Acceptance, k: tuple[int, ...], context: float) -> FloatArray | None:
    """Tokens per round where they are more than a sum of survivals; None where they are that."""
    del model, k, context
    return None


@_exact.register
def _(model: Alpha, k: tuple[int, ...], context: float) -> FloatArray:  # noqa: ARG001
    return expected_tokens(model.alpha, np.asarray(k, np.float64))


@_exact.register
def _(model: Lengths, k: tuple[int, ...], context: float) -> FloatArray:  # noqa: ARG001
    """The survival form, moved by what it is off at the measured points: in between in proportion,
    beyond the last as much as there.
    """
    longest = max(*k, model.points[-1][0], 1)
    summed = 1 + np.concatenate(([0.0], np.cumsum(survival(model, longest))))
    ends, tau = (np.asarray(axis) for axis in zip((0, 1.0), *model.points, strict=True))
    at = np.asarray(k)
    moved = summed[at] + np.interp(at, ends, tau - summed[ends.astype(np.int64)])
    found = np.where(np.isin(at, ends), np.interp(at, ends, tau), moved)
    tokens: FloatArray = np.clip(found, 1.0, at + 1.0)
    return tokens


@_exact.register
def _(model: ByContext, k: tuple[int, ...], context: float) -> FloatArray:
    pairs = zip(_weights(model, context), model.parts, strict=True)
    found = [weight * tokens_of(part, k, context) for weight, (_, part) in pairs if weight]
    mean: FloatArray = np.sum(found, axis=0)
    return mean


@_exact.register
def _(model: Mixture, k: tuple[int, ...], context: float) -> FloatArray:
    """Requests equally long: 1 / sum(share / E), for those of fewer tokens take more rounds."""
    each = np.stack([tokens_of(part, k, context) for _, part in model.parts])
    found: FloatArray = 1 / (np.asarray(model.shares) @ (1 / each))
    return found


@_exact.register
def _(model: Named, k: tuple[int, ...], context: float) -> FloatArray:
    return tokens_of(model.model, k, context)


def _weights(model: ByContext, context: float) -> FloatArray:
    """Of each part: linear in the logarithm of the context between two, the nearest outside."""
    places = np.log([max(at, 1.0) for at, _ in model.parts])
    own = np.eye(len(places))
    here = np.log(max(context, 1.0))
    return np.asarray([np.interp(here, places, row) for row in own])


def _round_shares(model: Mixture, k: tuple[int, ...], context: float) -> FloatArray:
    """The share of rounds that are of each part's requests, shape (parts, K)."""
    each = np.stack([tokens_of(part, k, context) for _, part in model.parts])
    taken = np.asarray(model.shares)[:, np.newaxis] / each
    shares: FloatArray = taken / taken.sum(axis=0)
    return shares


def _extended(known: FloatArray, k: int) -> FloatArray:
    """Measured survival, and beyond its last position the decay fitted to it."""
    if k <= len(known):
        return known[:k]
    lengths = tuple(range(1, len(known) + 1))
    return _tailed(known, k, _fit(lengths, tuple((1 + np.cumsum(known)).tolist())))


def _tailed(known: FloatArray, k: int, fit: DecayFit) -> FloatArray:
    places = np.arange(len(known), k)
    if fit.ratio > 1:  # rates that rise were measured so far and no further
        places = np.full_like(places, len(known) - 1)
    rates = np.minimum(fit.first * fit.ratio**places, 1.0)
    return np.concatenate((known, known[-1] * np.cumprod(rates)))


def decay_of(model: Lengths) -> DecayFit:
    """The decay nearest to measured lengths."""
    lengths, tau = zip(*model.points, strict=True)
    return _fit(lengths, tau)


@singledispatch
def fires(model: Acceptance, k: int, context: float = 0.0) -> float:
    """Share of the rounds of k draft tokens in which a drafter of this acceptance proposes at all:
    that of a burst, else 1.
    """
    del k, context
    return model.fires


@fires.register
def _(model: ByContext, k: int, context: float = 0.0) -> float:
    pairs = zip(_weights(model, context).tolist(), model.parts, strict=True)
    return float(sum(weight * fires(part, k, context) for weight, (_, part) in pairs))


@fires.register
def _(model: Mixture, k: int, context: float = 0.0) -> float:
    shares = _round_shares(model, (k,), context)[:, 0].tolist()
    pairs = zip(shares, model.parts, strict=True)
    return float(sum(share * fires(part, k, context) for share, (_, part) in pairs))


@fires.register
def _(model: Named, k: int, context: float = 0.0) -> float:
    return fires(model.model, k, context)


def known_contexts(model: Acceptance) -> tuple[float, float] | None:
    """The first and the last context of a table over contexts."""
    while isinstance(model, Named):
        model = model.model
    if not isinstance(model, ByContext):
        return None
    return model.parts[0][0], model.parts[-1][0]


def tail_of(model: Acceptance) -> DecayFit | None:
    """The decay that stands in beyond what a single model measured; None where none does."""
    while isinstance(model, Named):
        model = model.model
    if isinstance(model, Lengths):
        return decay_of(model)
    if isinstance(model, Conditional | Unconditional):
        kept = survival(model, model.measured)
        return _fit(tuple(range(1, model.measured + 1)), tuple((1 + np.cumsum(kept)).tolist()))
    return None


@lru_cache(maxsize=1024)
def _fit(k: tuple[int, ...], tau: tuple[float, ...]) -> DecayFit:
    return fit_decay(k, tau)


def rounds_for(model: Acceptance, k: int, tokens: int, context: float = 0.0) -> float:
    """Rounds that a request of `tokens` output tokens takes on average: the first comes from
    prefill, the others from rounds; of a mixture, averaged over its requests.
    """
    return float(rounds_up_to(model, k, tokens, context)[-1])


def rounds_up_to(model: Acceptance, k: int, tokens: int, context: float = 0.0) -> FloatArray:
    """The same for requests of 1, 2, ... `tokens` output tokens, shape (tokens,)."""
    while isinstance(model, Named):
        model = model.model
    if isinstance(model, Mixture):
        pairs = zip(model.shares, model.parts, strict=True)
        parts = [share * rounds_up_to(part, k, tokens, context) for share, (_, part) in pairs]
        mean: FloatArray = np.sum(parts, axis=0)
        return mean
    return rounds_table(survival(model, k, context), max(tokens - 1, 0))
