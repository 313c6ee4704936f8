"""The distribution that is sampled from: logits after penalties, temperature and cuts.

Steps by whose order, as read in their sources:

    vllm          penalties, temperature, min-p, top-k, top-p    v1/sample/sampler.py
    sglang        penalties, temperature, top-k with top-p, min-p    srt/layers/sampler.py
    llamacpp      penalties, top-k, top-p, min-p, temperature    common/common.h
    transformers  penalties, temperature, top-k, top-p, min-p    generation/utils.py

Each cut works on what the cut before left, scaled to 1. SGLang's top-p alone looks at probabilities
from before top-k, unless min-p is asked for too; it takes additive penalties off before it scales
by the repetition penalty, the others after.

Ties: all that equal the k-th largest stay (as in vLLM and transformers; llama.cpp keeps k of them,
whichever its sort leaves first). top-p keeps the fewest tokens that reach the mass, of equal ones
the lower ids first; the argmax of equals is the lowest id.

Penalties: repetition counts the prompt and what was generated, the other two what was generated
(vLLM; llama.cpp counts the prompt in all three, within its window of 64 tokens, here without it).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specplan.domain.sampling import Order, Sampling
from specplan.errors import UsageError
from specplan.physics.draws import Counts, Floats

_REACHED = 1e-12  # a mass or ratio this near its bound has reached it: what sums lose to rounding


def sampled(
    logits: Floats,
    sampling: Sampling,
    generated: Counts | None = None,
    prompt: Counts | None = None,
) -> Floats:
    """Probabilities (rows, V) that a token is drawn with.

    `logits` (rows, V) may be logarithms of probabilities, for which a repetition penalty has no
    meaning: it depends on the sign. `generated` (rows, V) counts each token in the output so far,
    `prompt` (V,) those of the prompt; absent, none was seen.
    """
    scores = _penalised(logits, sampling, generated, prompt)
    if sampling.greedy:
        return _certain(scores)
    if sampling.order is Order.LLAMACPP:
        scores = _cut_min_p(_cut_top_p(_cut_top_k(scores, sampling), sampling), sampling)
        return softmax(scores / sampling.temperature)
    scores = scores / sampling.temperature
    match sampling.order:
        case Order.VLLM:
            scores = _cut_top_p(_cut_top_k(_cut_min_p(scores, sampling), sampling), sampling)
        case Order.TRANSFORMERS:
            scores = _cut_min_p(_cut_top_p(_cut_top_k(scores, sampling), sampling), sampling)
        case Order.SGLANG if sampling.min_p:
            scores = _cut_min_p(_cut_top_p(_cut_top_k(scores, sampling), sampling), sampling)
        case Order.SGLANG:
            scores = np.minimum(_cut_top_k(scores, sampling), _cut_top_p(scores, sampling))
    return softmax(scores)


def softmax(scores: Floats) -> Floats:
    """Probabilities (rows, V) of logits with at least one above -inf in each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found


def seen_before(
    vocabulary: int, history: Sequence[int], drafted: Sequence[int], positions: int
) -> Counts:
    """How often each token was generated before each position (positions, V): `history`, then the
    drafted tokens before it, one more at each position.
    """
    counts = np.zeros((positions, vocabulary), dtype=np.int64)
    counts += token_counts(vocabulary, history, "history")
    path = check_tokens(vocabulary, drafted, "drafted")[: positions - 1]
    for position, token in enumerate(path, start=1):
        counts[position:, token] += 1
    return counts


def token_counts(vocabulary: int, tokens: Sequence[int], name: str) -> Counts:
    """How often each token id occurs (V,)."""
    found: Counts = np.bincount(check_tokens(vocabulary, tokens, name), minlength=vocabulary)
    return found.astype(np.int64)


def check_tokens(vocabulary: int, tokens: Sequence[int], name: str) -> Sequence[int]:
    """Refuse ids that the vocabulary does not have."""
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise UsageError(f"{name} has the token {token}", expected=f"0 to {vocabulary - 1}")
    return list(tokens)


def _penalised(
    logits: Floats, sampling: Sampling, generated: Counts | None, prompt: Counts | None
) -> Floats:
    if not sampling.penalises or (generated is None and prompt is None):
        return logits
    made = np.zeros(logits.shape, dtype=np.int64) if generated is None else generated
    seen = made if prompt is None else made + prompt
    if sampling.order is Order.LLAMACPP:
        made = seen
    taken = sampling.frequency_penalty * made + sampling.presence_penalty * (made > 0)
    if sampling.order is Order.SGLANG:
        return _scaled(logits - taken, seen, sampling.repetition_penalty)
    return _scaled(logits, seen, sampling.repetition_penalty) - taken


def _scaled(logits: Floats, seen: Counts, penalty: float) -> Floats:
    """Keskar et al. 2019, as all engines do it: logits above 0 divided, others multiplied."""
    return np.where(seen > 0, np.where(logits > 0, logits / penalty, logits * penalty), logits)


def _certain(scores: Floats) -> Floats:
    """All of the mass on the first largest."""
    rows = np.zeros_like(scores)
    rows[np.arange(len(rows)), scores.argmax(axis=1)] = 1.0
    return rows


def _cut_top_k(scores: Floats, sampling: Sampling) -> Floats:
    k, vocabulary = sampling.top_k, scores.shape[1]
    if not 0 < k < vocabulary:
        return scores
    edge = np.partition(scores, vocabulary - k, axis=1)[:, vocabulary - k]
    return np.where(scores >= edge[:, None], scores, -np.inf)


def _cut_top_p(scores: Floats, sampling: Sampling) -> Floats:
    if sampling.top_p >= 1:
        return scores
    order = np.argsort(-scores, axis=1, kind="stable")
    mass = np.cumsum(np.take_along_axis(softmax(scores), order, axis=1), axis=1)
    keep = np.ones_like(mass, dtype=np.bool_)
    keep[:, 1:] = mass[:, :-1] < sampling.top_p - _REACHED
    kept = np.empty_like(keep)
    np.put_along_axis(kept, order, keep, axis=1)
    return np.where(kept, scores, -np.inf)


def _cut_min_p(scores: Floats, sampling: Sampling) -> Floats:
    if sampling.min_p == 0:
        return scores
    edge = scores.max(axis=1, keepdims=True) + np.log(sampling.min_p) - _REACHED
    return np.where(scores >= edge, scores, -np.inf)
