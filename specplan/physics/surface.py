"""The best k over a whole grid at once: k, speedup and margin for every point and every alpha.

No time depends on alpha, so speedup[p, a, k] = tokens[a, k] * gain[p, k]. That product is never
stored whole: blocks of it that fit a core's own cache carry a running maximum over k and a running
second, and only the winner is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specplan.errors import UsageError
from specplan.physics.choose import TIE
from specplan.physics.tokens import FloatArray

MAX_K = 255  # k is written as one byte
LIMIT = 1e75  # figures from 1 / LIMIT to LIMIT: no speedup or margin can overflow or vanish

_POINTS = 4096  # shorter rows go through numpy's iteration buffer, at a third of the speed
_CELLS = 8 * _POINTS  # four arrays of floats take 1 MiB: a core's own cache

Bytes = npt.NDArray[np.uint8]


class Surface(NamedTuple):
    """For P points and A alphas, three arrays of shape (P, A).

    `k` is the smallest candidate whose speedup is within TIE, relatively, of the largest, and
    `speedup` is the speedup at that k. `margin` is largest / second largest - 1, above 0, and is
    exactly 0 where another candidate ties or where there is no other candidate.
    """

    k: Bytes
    speedup: FloatArray
    margin: FloatArray


def empty_surface(points: int, alphas: int) -> Surface:
    """An unfilled surface in the memory order that is fastest to fill: points run fastest."""
    shape = alphas, points
    return Surface(np.empty(shape, np.uint8).T, np.empty(shape).T, np.empty(shape).T)


def best_k_surface(
    tokens: FloatArray, gain: FloatArray, k: npt.NDArray[np.int64], *, out: Surface | None = None
) -> Surface:
    """The surface of the K candidates `k`, whole numbers that ascend from 0 or more to MAX_K.

    `tokens` (A, K) is E(alpha, k); `gain` (P, K) is plain step over round, for points flattened
    over batch, context and the like; both from 1 / LIMIT to LIMIT. `out` is filled and returned:
    any memory order will do, that of `empty_surface` is the fastest.
    """
    _refuse_unusable(tokens, gain, k)
    points, alphas = len(gain), len(tokens)
    surface = empty_surface(points, alphas) if out is None else out
    if any(array.shape != (points, alphas) for array in surface):
        raise UsageError("out has the wrong shape", expected=f"({points}, {alphas})")
    tokens_of_k, gain_of_k = np.ascontiguousarray(tokens.T), np.ascontiguousarray(gain.T)
    wide = max(1, min(points, _POINTS))
    high = max(1, min(alphas, _CELLS // wide))
    work = _Work.allocate(wide * high)
    for p in range(0, points, wide):
        for a in range(0, alphas, high):
            here = slice(p, p + wide), slice(a, a + high)
            _fill_block(
                Surface(surface.k[here].T, surface.speedup[here].T, surface.margin[here].T),
                tokens_of_k[:, here[1], np.newaxis],
                gain_of_k[:, np.newaxis, here[0]],
                k.astype(np.uint8),
                work,
            )
    return surface


class _Work(NamedTuple):
    """What a block keeps from one candidate to the next; every block uses the same memory."""

    floats: FloatArray  # (4, cells)
    flags: Bytes  # (2, cells)

    @classmethod
    def allocate(cls, cells: int) -> _Work:
        """Memory that starts on a cache line: at numpy's own 16 bytes a sixth of the speed goes."""
        raw = np.empty(4 * cells + 8)
        start = -raw.ctypes.data % 64 // raw.itemsize
        return cls(raw[start : start + 4 * cells].reshape(4, cells), np.empty((2, cells), np.uint8))


def _fill_block(
    block: Surface, tokens: FloatArray, gain: FloatArray, k: Bytes, work: _Work
) -> None:
    """Fill `block`, arrays (a, p), from tokens (K, a, 1), gain (K, 1, p) and k (K,)."""
    a, p = block.k.shape
    best, second, candidate, lower = work.floats[:, : a * p].reshape(4, a, p)
    winner, k_if_beats = work.flags[:, : a * p].reshape(2, a, p)
    beats = k_if_beats.view(np.bool_)
    np.multiply(tokens[0], gain[0], out=best)
    second.fill(0.0)
    winner.fill(k[0])
    for j in range(1, len(k)):
        np.multiply(tokens[j], gain[j], out=candidate)
        np.greater(candidate, best, out=beats)
        np.multiply(k_if_beats, k[j], out=k_if_beats)
        np.maximum(winner, k_if_beats, out=winner)  # k ascends: the last to beat all before it
        np.minimum(candidate, best, out=lower)
        np.maximum(second, lower, out=second)
        np.maximum(candidate, best, out=best)
    if len(k) == 1:
        second[...] = best
    least = np.multiply(best, 1 - TIE, out=lower)
    tied = np.greater_equal(second, least, out=beats)
    block.k[...] = winner
    block.speedup[...] = best
    np.subtract(np.divide(best, second, out=second), 1.0, out=block.margin)
    if tied.any():  # rare, and the maximum alone does not tell which k comes first within TIE of it
        at_alpha, at_point = cells = np.nonzero(tied)
        speedups = tokens[:, at_alpha, 0] * gain[:, 0, at_point]
        first = np.argmax(speedups >= least[cells], axis=0)
        block.k[cells] = k[first]
        block.speedup[cells] = speedups[first, np.arange(first.size)]
        block.margin[cells] = 0.0


def _refuse_unusable(tokens: FloatArray, gain: FloatArray, k: npt.NDArray[np.int64]) -> None:
    if k.ndim != 1 or not k.size or k[0] < 0 or k[-1] > MAX_K or (np.diff(k) <= 0).any():
        raise UsageError("k is not a list of candidates", expected=f"ascending, 0 to {MAX_K}")
    for name, array in (("tokens", tokens), ("gain", gain)):
        if array.ndim != 2 or array.shape[1] != len(k):
            raise UsageError(f"{name} has shape {array.shape}", expected=f"(any, {len(k)})")
        low, high = array.min(initial=1.0), array.max(initial=1.0)
        if not (low >= 1 / LIMIT and high <= LIMIT):
            raise UsageError(
                f"{name} runs from {low:g} to {high:g}", expected=f"{1 / LIMIT:g} to {LIMIT:g}"
            )
