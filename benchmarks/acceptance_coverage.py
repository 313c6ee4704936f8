"""How often the intervals of `specplan acceptance` hold the truth, over thousands of captures.

    python benchmarks/acceptance_coverage.py [CAPTURES]

Drafts alike (iid): every draft token is kept with one probability. Requests that differ: alpha of
each request is drawn from Beta(7, 3), and so many requests decode at once that the batch stays
full; a round takes 30 ms and a span is 10 s, as in vLLM's log. The truth of those is the share that
an endless capture gives: rounds of a request that keeps little are more. A draft is k tokens.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.capture import Capture, Origin, Span
from specplan.physics.counters.fold import Fold

ORIGIN = Origin(format="simulated", engine="vllm")
SPAN_S, ROUND_S = 10.0, 0.03
SIGMA = 0.8  # of the logarithm of output lengths
SEED = 20261130


@dataclass(frozen=True)
class Truth:
    """What an endless capture gives."""

    alpha: float
    tau: float
    positions: tuple[float, ...]


Counts = npt.NDArray[np.float64]  # (spans, 1 + k): rounds, and those that keep each position


def folded(counts: Counts) -> Capture:
    """The capture of spans."""
    k, fold = counts.shape[1] - 1, Fold()
    for rounds, *kept in counts.tolist():
        if rounds:
            at = tuple(kept)
            fold.take(Span(drafts=rounds, drafted=rounds * k, accepted=sum(at), at_position=at))
    return fold.capture("simulated", ORIGIN)


def alike(rng: np.random.Generator, alpha: float, k: int, rounds: int, spans: int) -> Counts:
    """Spans of equally many rounds of one alpha."""
    kept = np.minimum(rng.geometric(1 - alpha, (spans, rounds)) - 1, k)
    return _by_position(kept, k)


def _by_position(kept: npt.NDArray[np.int64], k: int) -> Counts:
    at = [(kept >= place).sum(axis=1) for place in range(1, k + 1)]
    return np.column_stack([np.full(len(kept), kept.shape[1]), *at]).astype(np.float64)


def differing(rng: np.random.Generator, batch: int, tokens: int, spans: int, k: int) -> Counts:
    """Spans of a full batch of requests of `tokens` tokens on average, alpha ~ Beta(7, 3) each."""
    per_span = round(SPAN_S / ROUND_S)
    counts = np.zeros((spans, 1 + k))
    for _ in range(batch):
        at = -int(rng.integers(0, 4 * tokens))  # slots are not in step when the capture begins
        while at < spans * per_span:
            kept = _request(rng, tokens, k)
            where = at + np.arange(len(kept))
            inside = where >= 0
            _tally(counts, where[inside] // per_span, kept[inside], k)
            at += len(kept)
    return counts


def _request(rng: np.random.Generator, tokens: int, k: int) -> npt.NDArray[np.int64]:
    alpha = min(float(rng.beta(7, 3)), 1 - 1e-12)
    length = rng.lognormal(np.log(tokens) - SIGMA**2 / 2, SIGMA)
    kept = np.minimum(rng.geometric(1 - alpha, int(length) + 1) - 1, k)
    return kept[: int(np.searchsorted(np.cumsum(kept + 1), length)) + 1]


def _tally(
    counts: Counts, span: npt.NDArray[np.int64], kept: npt.NDArray[np.int64], k: int
) -> None:
    inside = span < len(counts)
    span, kept = span[inside], kept[inside]
    for place in range(k + 1):
        counts[:, place] += np.bincount(span[kept >= place], minlength=len(counts))


def truth_of(counts: Counts) -> Truth:
    """The long-run figures of one very long capture."""
    rounds, *at = counts.sum(axis=0)
    kept = sum(at)
    return Truth(kept / (kept + rounds - at[-1]), 1 + kept / rounds, tuple(a / rounds for a in at))


def coverage(make: Callable[[], Counts], truth: Truth, captures: int) -> dict[str, float]:
    """Shares of captures whose intervals hold the truth, and the mean width of alpha's."""
    found = {"alpha": 0, "tau": 0, "first": 0, "last": 0}
    width = rounds = 0.0
    for _ in range(captures):
        one = folded(make())
        assert one.alpha_low is not None and one.alpha_high is not None
        assert one.tokens_per_round_low is not None and one.tokens_per_round_high is not None
        found["alpha"] += one.alpha_low <= truth.alpha <= one.alpha_high
        found["tau"] += one.tokens_per_round_low <= truth.tau <= one.tokens_per_round_high
        for name, place in (("first", 0), ("last", -1)):
            low, high = one.per_position_low[place], one.per_position_high[place]
            found[name] += low <= truth.positions[place] <= high
        width += one.alpha_high - one.alpha_low
        rounds += (one.effective_rounds or 0) / (one.drafts or 1)
    shares = {name: hits / captures for name, hits in found.items()}
    return shares | {"width": width / captures, "effective": rounds / captures}


ALIKE = [
    (0.7, 3, 5000, 1),
    (0.7, 3, 100, 2),
    (0.7, 3, 100, 4),
    (0.9, 5, 200, 8),
    (0.7, 3, 100, 12),
    (0.8, 5, 300, 40),
    (0.5, 2, 50, 100),
    (0.3, 7, 80, 250),
    (0.95, 4, 30, 300),
    (0.7, 3, 1, 60),
    (0.05, 3, 40, 30),
]
DIFFERING = [
    (1, 300, 60),
    (1, 1000, 60),
    (1, 1000, 360),
    (4, 500, 30),
    (8, 300, 30),
    (8, 1000, 60),
    (32, 300, 180),
    (32, 1000, 30),
    (64, 500, 60),
]


def cases(captures: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Every case by name."""
    rng = np.random.default_rng(SEED)
    for alpha, k, rounds, spans in ALIKE:
        at = tuple(alpha**i for i in range(1, k + 1))
        truth = Truth(alpha, 1 + sum(at), at)
        name = f"alike: alpha {alpha}, k {k}, {spans} x {rounds} rounds"

        def iid(a: float = alpha, k: int = k, n: int = rounds, m: int = spans) -> Counts:
            return alike(rng, a, k, n, m)

        yield name, coverage(iid, truth, captures)
    for batch, tokens, spans in DIFFERING:
        truth = truth_of(differing(rng, max(batch, 16), tokens, 4000, 4))
        name = f"differing: batch {batch}, {tokens} tokens, {spans} spans"

        def mixed(b: int = batch, t: int = tokens, m: int = spans) -> Counts:
            return differing(rng, b, t, m, 4)

        yield name, coverage(mixed, truth, max(captures // 4, 50))


def main() -> None:
    """Prints the table."""
    captures = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    started = time.perf_counter()
    print(f"{'':50} alpha   tau  first  last  width  eff.")
    for name, got in cases(captures):
        shares = "  ".join(f"{100 * got[n]:4.1f}" for n in ("alpha", "tau", "first", "last"))
        print(f"{name:50}  {shares}  {got['width']:.3f}  {got['effective']:.2f}", flush=True)
    print(f"{captures:,} captures a case, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
