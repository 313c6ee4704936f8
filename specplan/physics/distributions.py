"""Tables of probabilities or logits as they come in: checked, and probabilities scaled to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from specplan.errors import UsageError
from specplan.physics.draws import Floats
from specplan.physics.trials import check_seed

MAX_VOCABULARY = 1_000_000
SUM_TOLERANCE = 1e-9
MAX_LOGIT = 1e6  # no model's, and differences of any two stay finite at every temperature


def random_pair(vocabulary: int, seed: int) -> tuple[Floats, Floats]:
    """Target and draft (V,), both uniform on the simplex: they overlap by 0.5 when V is large."""
    if not 1 <= vocabulary <= MAX_VOCABULARY:
        raise UsageError(f"vocabulary is {vocabulary}", expected=f"1 to {MAX_VOCABULARY}")
    check_seed(seed)
    rows = np.random.default_rng(seed).standard_exponential((2, vocabulary))
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[0], rows[1]


def pair(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Target and draft (V,) over one vocabulary, each checked and scaled to sum to 1."""
    target, draft = distributions(p, "p", ndim=1), distributions(q, "q", ndim=1)
    if len(target) != len(draft):
        raise UsageError(f"p has {len(target)} probabilities and q has {len(draft)}")
    return target, draft


def distributions(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Probabilities (V,) or rows of them (rows, V), checked and scaled to sum to 1."""
    rows = _numbers(values, name, ndim)
    if not np.isfinite(rows).all():
        raise UsageError(f"{name} has a probability that is not a finite number")
    if (rows < 0).any():
        raise UsageError(f"{name} has a negative probability, {rows.min():g}")
    sums = rows.sum(axis=-1, keepdims=True)
    worst = float(sums.flat[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise UsageError(f"{name} sums to {worst:.12g}", expected=f"1 within {SUM_TOLERANCE:g}")
    scaled: Floats = rows / sums
    return scaled


def logits_of(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Logits (V,) or rows of them (rows, V), checked; -inf is a token that is ruled out."""
    rows = _numbers(values, name, ndim)
    if np.isnan(rows).any() or (rows > MAX_LOGIT).any():
        raise UsageError(f"{name} has a logit that is none", expected=f"at most {MAX_LOGIT:,.0f}")
    if (rows < -MAX_LOGIT).any() and not np.isneginf(rows[rows < -MAX_LOGIT]).all():
        raise UsageError(
            f"{name} has a logit that is none", expected=f"-inf, or -{MAX_LOGIT:,.0f} and more"
        )
    if np.isneginf(rows).all(axis=-1).any():
        raise UsageError(f"{name} rules out every token of a position")
    return rows


def logarithms(rows: Floats) -> Floats:
    """Logarithms of probabilities; -inf for 0. They are logits of the same distribution."""
    with np.errstate(divide="ignore"):
        found: Floats = np.log(rows)
    return found


def _numbers(values: ArrayLike, name: str, ndim: int) -> Floats:
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is not an array of numbers") from None
    if rows.ndim != ndim or not 1 <= rows.shape[-1] <= MAX_VOCABULARY or rows.size == 0:
        raise UsageError(
            f"{name} has shape {rows.shape}",
            expected=f"{ndim} dimension{'s' * (ndim > 1)}, the last from 1 to {MAX_VOCABULARY}",
        )
    return rows
