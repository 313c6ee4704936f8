"""How often the intervals of `specplan acceptance` hold the truth, over thousands of captures.

    python benchmarks/acceptance_coverage.py [CAPTURES] [NAME...]

Drafts alike (iid): every draft token is kept with one probability. Requests that differ: alpha of
each request is drawn from Beta(7, 3), and a request that ends makes room for the next, so that the
batch stays full; a round takes 30 ms and a span is 10 s, as in vLLM's log. The truth of those is
the share that an endless capture gives: rounds of a request that keeps little are more. NAME picks
the cases whose names hold it.
"""

from __future__ import annotations

import math
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
BETA = (7, 3)
K = 4  # draft length where requests differ
WARM = 3  # mean output lengths in rounds, before a capture of requests that differ begins
SEED = 20261130

Counts = npt.NDArray[np.float64]  # (captures, spans, 1 + k): rounds, those that keep each position


@dataclass(frozen=True)
class Truth:
    """What an endless capture gives."""

    alpha: float
    tau: float
    positions: tuple[float, ...]


def folded(counts: Counts) -> Capture:
    """The capture of spans, shape (spans, 1 + k)."""
    k, fold = counts.shape[1] - 1, Fold()
    for rounds, *kept in counts.tolist():
        if rounds:
            at = tuple(kept)
            fold.take(Span(drafts=rounds, drafted=rounds * k, accepted=sum(at), at_position=at))
    return fold.capture("simulated", ORIGIN)


def alike(
    rng: np.random.Generator, alpha: float, k: int, rounds: int, spans: int, captures: int
) -> Counts:
    """Spans of equally many rounds of one alpha: rounds by what they keep are multinomial."""
    survival = alpha ** np.arange(k + 1)
    exactly = np.append(survival[:-1] - survival[1:], survival[-1])
    kept = rng.multinomial(rounds, exactly, (captures, spans))
    return kept[..., ::-1].cumsum(axis=-1)[..., ::-1].astype(np.float64)


def differing(
    rng: np.random.Generator, batch: int, tokens: int, spans: int, captures: int
) -> Counts:
    """Spans of a full batch of requests of `tokens` tokens on average, alpha ~ Beta(7, 3) each."""
    per_span, slots = round(SPAN_S / ROUND_S), batch * captures
    left = np.zeros(slots, np.float32)  # tokens that the request of a slot still makes
    scale = np.ones(slots, np.float32)  # -1 / ln(alpha): a round keeps floor(Exp(1) x scale)
    counts = np.zeros((captures, spans, 1 + K))
    for step in range(-WARM * tokens, spans * per_span):
        ended = np.flatnonzero(left <= 0)
        if len(ended):
            spread = SIGMA * rng.standard_normal(len(ended)) - SIGMA**2 / 2
            left[ended] = tokens * np.exp(spread)
            scale[ended] = -1 / np.log(rng.beta(*BETA, len(ended)))
        kept = np.minimum(rng.standard_exponential(slots, np.float32) * scale, K).astype(np.int8)
        left -= kept + 1
        if step >= 0:
            by_capture, at = kept.reshape(captures, batch), counts[:, step // per_span]
            at[:, 0] += batch
            for place in range(1, K + 1):
                at[:, place] += (by_capture >= place).sum(axis=1)
    return counts


def truth_of(counts: Counts) -> Truth:
    """The long-run figures: those of all captures together."""
    rounds, *at = counts.sum(axis=(0, 1))
    kept = sum(at)
    return Truth(kept / (kept + rounds - at[-1]), 1 + kept / rounds, tuple(a / rounds for a in at))


def inside(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval holds the truth; everything does, where nothing is claimed."""
    return (-math.inf if low is None else low) <= truth <= (math.inf if high is None else high)


def coverage(counts: Counts, truth: Truth) -> dict[str, float]:
    """Shares of captures whose intervals hold the truth, and the mean width of alpha's."""
    found = {"alpha": 0, "tau": 0, "first": 0, "last": 0}
    width = effective = 0.0
    for one in map(folded, counts):
        found["alpha"] += inside(one.alpha_low, one.alpha_high, truth.alpha)
        found["tau"] += inside(one.tokens_per_round_low, one.tokens_per_round_high, truth.tau)
        for name, place in (("first", 0), ("last", -1)):
            ends = one.per_position_low[place], one.per_position_high[place]
            found[name] += inside(*ends, truth.positions[place])
        width += (one.alpha_high or 0.0) - (one.alpha_low or 0.0)
        effective += one.effective_rounds or 0.0
    shares = {name: hits / len(counts) for name, hits in found.items()}
    rounds = float(counts[..., 0].sum()) / len(counts)
    mean = effective / len(counts)
    return shares | {"width": width / len(counts), "rounds": rounds, "effective": mean}


ALIKE = [  # alpha, k, rounds of a span, spans
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
DIFFERING = [  # batch, mean output tokens, spans
    (1, 300, 60),
    (1, 1000, 60),
    (1, 1000, 360),
    (4, 500, 30),
    (4, 2000, 30),
    (8, 500, 12),
    (8, 300, 30),
    (8, 1000, 60),
    (32, 300, 180),
    (32, 1000, 30),
    (64, 500, 60),
]
Make = Callable[[np.random.Generator, int], tuple[Counts, Truth]]


def cases() -> Iterator[tuple[str, Make]]:
    """Every case by name, with what makes its captures."""
    for alpha, k, rounds, spans in ALIKE:

        def iid(
            rng: np.random.Generator,
            captures: int,
            case: tuple[float, int, int, int] = (alpha, k, rounds, spans),
        ) -> tuple[Counts, Truth]:
            at = tuple(case[0] ** i for i in range(1, case[1] + 1))
            return alike(rng, *case, captures), Truth(case[0], 1 + sum(at), at)

        yield f"alike: alpha {alpha}, k {k}, {spans} x {rounds} rounds", iid
    for batch, tokens, spans in DIFFERING:

        def mixed(
            rng: np.random.Generator,
            captures: int,
            case: tuple[int, int, int] = (batch, tokens, spans),
        ) -> tuple[Counts, Truth]:
            counts = differing(rng, *case, captures)
            return counts, truth_of(counts)

        yield f"differing: batch {batch}, {tokens} tokens, {spans} spans", mixed


def main() -> None:
    """Prints the table."""
    captures = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    asked = sys.argv[2:]
    started = time.perf_counter()
    print(f"{'':46} alpha   tau first  last  width   rounds  worth")
    for number, (name, make) in enumerate(cases()):
        if asked and not any(word in name for word in asked):
            continue
        got = coverage(*make(np.random.default_rng((SEED, number)), captures))
        shares = " ".join(f"{100 * got[n]:5.1f}" for n in ("alpha", "tau", "first", "last"))
        tail = f"{got['width']:.3f} {got['rounds']:8.0f} {got['effective']:6.0f}"
        print(f"{name:46} {shares}  {tail}", flush=True)
    print(f"{captures:,} captures a case, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
