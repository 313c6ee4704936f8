"""How long requests are: laws and traces as a few hundred weighted lengths, and draws of them.

A law is cut at the quantiles EDGES, finer towards the tail, and each part stands for its mean; so
the mean is that of the law, and only the spread within a part is lost. Prompts and outputs of two
laws are independent; of a trace they go together as they were recorded.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist
from typing import Final

import numpy as np

from specplan.domain.lengths import Exponential, Fixed, Law, Lognormal, Tabled, Uniform
from specplan.domain.traffic import Lengths, Trace
from specplan.serving.arrivals import Counts, Floats, longs

EDGES: Final = (
    *(0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85),
    *(0.94, 0.96, 0.985, 0.995, 0.999, 1.0),
)
"""Fifteen parts, with the percentiles that people ask for in the middle of one; two laws make 225
weighted pairs.
"""
FINER: Final = 12  # parts that each of those is cut into where there is one law alone

_NORMAL: Final = NormalDist()


def parts_of(law: Law, *, finer: int = 1) -> tuple[Floats, Floats]:
    """Lengths and the shares of the requests that have them, shape (parts,) each; at least 1."""
    if isinstance(law, Fixed):
        return np.array([float(law.tokens)]), np.ones(1)
    edges = _edges(finer)
    below = np.array([_integral(law, q) for q in edges])
    share = np.diff(edges)
    return np.maximum(np.diff(below) / share, 1.0), share


def _edges(finer: int) -> Floats:
    coarse = np.array(EDGES)
    steps = np.arange(finer) / finer
    inner = coarse[:-1, np.newaxis] + np.diff(coarse)[:, np.newaxis] * steps
    return np.append(inner.ravel(), 1.0)


def _integral(law: Law, q: float) -> float:
    """The law's quantile function, integrated from 0 to q."""
    if isinstance(law, Uniform):
        return law.low * q + (law.high - law.low) * q * q / 2
    if isinstance(law, Exponential):
        left = 1 - q
        return law.mean * (q + (left * math.log(left) if left > 0 else 0.0))
    if isinstance(law, Lognormal):
        if not 0 < q < 1:
            return law.mean * q
        return law.mean * _NORMAL.cdf(_NORMAL.inv_cdf(q) - law.sigma)
    if isinstance(law, Tabled):
        return _tabled(law, q)
    return law.tokens * q


def _tabled(law: Tabled, q: float) -> float:
    tokens = np.concatenate(([1.0], law.tokens))
    reached = np.concatenate(([0.0], law.cumulative))
    share = np.diff(reached)
    whole = np.concatenate(([0.0], np.cumsum(share * (tokens[1:] + tokens[:-1]) / 2)))
    i = min(int(np.searchsorted(reached, q, side="left")), len(share)) - 1
    if i < 0 or share[i] <= 0:
        return float(whole[max(i, 0)])
    part = q - reached[i]
    slope = (tokens[i + 1] - tokens[i]) / share[i]
    return float(whole[i] + part * tokens[i] + slope * part * part / 2)


def independent(isl: Law, osl: Law, hit_share: float = 0.0) -> Lengths:
    """Prompts of one law, outputs of another; of each prompt a share is found in a prefix cache."""
    alone = isinstance(isl, Fixed) or isinstance(osl, Fixed)
    finer = FINER if alone else 1
    prompt, prompt_share = parts_of(isl, finer=finer)
    output, output_share = parts_of(osl, finer=finer)
    prompts, outputs = np.repeat(prompt, len(output)), np.tile(output, len(prompt))
    weight = np.outer(prompt_share, output_share).ravel()
    return _lengths(np.stack((prompts, outputs, prompts * hit_share), axis=1), weight)


def divided(total: Law, prompt_share: float, hit_share: float = 0.0) -> Lengths:
    """Prompt and output together of one law, the same share (0..1) of each being its prompt."""
    tokens, weight = parts_of(total, finer=FINER)
    prompt = np.maximum(tokens * prompt_share, 1.0)
    output = np.maximum(tokens - prompt, 1.0)
    return _lengths(np.stack((prompt, output, prompt * hit_share), axis=1), weight)


def recorded(trace: Trace) -> Lengths:
    """The lengths of a trace: its rows in order of prompt, cut at EDGES, each part in order of
    output and cut again; every piece stands for its means. Few different rows stay as they are.
    """
    rows = np.stack(
        (
            np.asarray(trace.isl, np.int64),
            np.asarray(trace.osl, np.int64),
            np.asarray(trace.hit, np.int64) if len(trace.hit) else np.zeros(len(trace), np.int64),
        ),
        axis=1,
    )
    most = (len(EDGES) - 1) ** 2
    if len(rows) <= most:
        return _lengths(rows.astype(np.float64), np.full(len(rows), 1 / len(rows)))
    pieces = [
        piece
        for part in _cut(rows[np.lexsort((rows[:, 1], rows[:, 0]))])
        for piece in _cut(part[np.argsort(part[:, 1], kind="stable")])
    ]
    means = np.array([piece.mean(axis=0) for piece in pieces])
    weight = np.array([len(piece) / len(rows) for piece in pieces])
    return _lengths(means, weight)


def _cut(rows: Counts) -> list[Counts]:
    """Consecutive parts at the quantiles EDGES, empty ones left out."""
    ends = np.rint(np.array(EDGES) * len(rows)).astype(int)
    return [rows[a:b] for a, b in pairwise(ends.tolist()) if b > a]


def with_hits(trace: Trace, share: float) -> Trace:
    """The trace with a share of each prompt found in a prefix cache."""
    hit = np.floor(np.asarray(trace.isl, np.float64) * share).astype(np.int64)
    return replace(trace, hit=longs(hit))


def draw_lengths(
    lengths: Lengths, count: int, rng: np.random.Generator
) -> tuple[Counts, Counts, Counts]:
    """So many prompts, outputs and hits, by their weights: (n,) each, whole tokens, at least 1 of
    prompt and output. What is no whole number is rounded up as often as keeps its mean.
    """
    weight = np.asarray(lengths.weight, np.float64)
    chosen = rng.choice(len(weight), size=count, p=weight / weight.sum())
    isl = _rounded(np.asarray(lengths.isl, np.float64)[chosen], rng)
    osl = _rounded(np.asarray(lengths.osl, np.float64)[chosen], rng)
    hit = _rounded(np.asarray(lengths.hit, np.float64)[chosen], rng)
    isl, osl = np.maximum(isl, 1), np.maximum(osl, 1)
    return isl, osl, np.minimum(hit, isl)


def _rounded(values: Floats, rng: np.random.Generator) -> Counts:
    below = np.floor(values)
    return (below + (rng.random(len(values)) < values - below)).astype(np.int64)


def _lengths(rows: Floats, weight: Floats) -> Lengths:
    isl, osl, hit = rows.T
    return Lengths(
        isl=tuple(isl.tolist()),
        osl=tuple(osl.tolist()),
        hit=tuple(hit.tolist()),
        weight=tuple((weight / weight.sum()).tolist()),
    )
