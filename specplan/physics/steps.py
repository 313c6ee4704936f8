"""One pass under an engine: the sum of its terms on the GPU, and the host time that shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.card import Dtype
from specplan.physics.experts import Route
from specplan.physics.kernels import seconds, single_s
from specplan.physics.moving import Sample
from specplan.physics.silicon import Silicon
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Load, Matmul, Term

SINGLE = "single row"  # what a dtype's slow path at one row adds to the products of a plain step
EAGER = "eager launches"  # what launching one by one adds beyond the width of the CUDA graphs
HOST = "host"  # host time that the GPU waits for
WHOLE = "pass"  # a pass that was timed as a whole
EXCHANGE = "allreduce"  # what travels between GPUs, and neither through memory nor arithmetic
ATTAINED = 0.2  # of the peak: what the slowest kernels (experts) reach when they compute


def arithmetic(
    compute_s: npt.ArrayLike, memory_s: npt.ArrayLike, time_s: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether arithmetic takes the time: at full rate it is longer than the traffic, and as much of
    the time as kernels that only compute attain.
    """
    longer = np.greater(compute_s, memory_s)
    return np.logical_and(longer, np.greater_equal(compute_s, np.multiply(ATTAINED, time_s)))


@dataclass(frozen=True, slots=True)
class Share:
    """One named term of a pass: seconds, FLOP and bytes of all its kernels, and their number;
    `compute_s` is its arithmetic at the peak of the dtype that it runs in.
    """

    name: str
    time_s: FloatArray
    flops: FloatArray
    traffic_bytes: FloatArray
    compute_s: FloatArray
    launches: float


@dataclass(frozen=True, slots=True)
class Step:
    """One pass under an engine, term by term; all arrays broadcast together.

    `compute_s` is the arithmetic at the peaks of the dtypes it runs in, `memory_s` the traffic at
    full bandwidth: what the ideal roofline would take the larger of.
    """

    shares: tuple[Share, ...]
    flops: FloatArray
    traffic_bytes: FloatArray
    compute_s: FloatArray
    memory_s: FloatArray
    network_s: FloatArray
    time_s: FloatArray

    @property
    def bound(self) -> npt.NDArray[np.intp]:
        """Index into BOUNDS: the largest of traffic, arithmetic, waiting and communication; what
        arithmetic takes beyond its peak is arithmetic's where that is the larger (see ATTAINED).
        """
        ideal = np.maximum(self.compute_s, self.memory_s)
        waits = self.time_s - ideal - self.network_s
        waits = np.where(arithmetic(self.compute_s, self.memory_s, self.time_s), 0.0, waits)
        parts = np.broadcast_arrays(self.memory_s, self.compute_s, waits, self.network_s)
        largest: npt.NDArray[np.intp] = np.argmax(np.stack(parts), axis=0)
        return largest

    @property
    def intensity(self) -> FloatArray:
        """Arithmetic intensity, FLOP per byte."""
        return self.flops / self.traffic_bytes

    def plus(self, name: str, time_s: FloatArray) -> Step:
        """The same step with a further wait, such as the host's."""
        shape = np.broadcast_shapes(self.time_s.shape, np.shape(time_s))
        nothing = np.zeros(1)
        share = Share(name, np.broadcast_to(time_s, shape), nothing, nothing, nothing, 0.0)
        return Step(
            (*self.shares, share),
            self.flops,
            self.traffic_bytes,
            self.compute_s,
            self.memory_s,
            self.network_s,
            self.time_s + time_s,
        )


def gpu_step(
    terms: Sequence[Term], load: Load, silicon: Silicon, outputs: Load | None = None
) -> Step:
    """The pass as the GPU runs it: kernels one after another. Where fewer tokens are put out than
    go in, the head and the sampler see `outputs`.
    """
    shares = tuple(_merged(_shares(terms, load, silicon, outputs or load)))
    ordered = sorted(shares, key=_is_wide)
    local = [share for share in ordered if share.name != EXCHANGE]
    traffic = _sum([share.traffic_bytes for share in local])
    return Step(
        shares,
        flops=_sum([share.flops for share in local]),
        traffic_bytes=traffic,
        compute_s=_sum([share.compute_s for share in local]),
        memory_s=traffic / silicon.bandwidth,
        network_s=_sum([share.time_s for share in shares if share.name == EXCHANGE]),
        time_s=_sum([share.time_s for share in ordered]),
    )


def is_last(term: Term) -> bool:
    """Whether a term sees only the tokens that are put out."""
    return isinstance(term, Sample) or term.name == "head"


def _shares(terms: Sequence[Term], into: Load, silicon: Silicon, outputs: Load) -> Iterator[Share]:
    """Each term; the slow path at one row apart from the products that take it."""
    for term in terms:
        load = outputs if is_last(term) else into
        flops = term.flops(load)
        yield Share(
            term.name,
            seconds(term, load, silicon),
            flops,
            term.traffic_bytes(load),
            flops / silicon.peak(_rate(term)),
            term.launches,
        )
        if isinstance(term, Matmul) and silicon.gemm(term.dtype).single:
            slow = term.count * single_s(load.rows, silicon.gemm(term.dtype))
            yield Share(SINGLE, slow, np.zeros(1), np.zeros(1), np.zeros(1), 0.0)


def _merged(shares: Iterator[Share]) -> Iterator[Share]:
    """Shares of one name as one, in the order they first come."""
    named: dict[str, list[Share]] = {}
    for share in shares:
        named.setdefault(share.name, []).append(share)
    for name, alike in named.items():
        yield Share(
            name,
            _sum([one.time_s for one in alike]),
            _sum([one.flops for one in alike]),
            _sum([one.traffic_bytes for one in alike]),
            _sum([one.compute_s for one in alike]),
            sum(one.launches for one in alike),
        )


def _is_wide(of: Share) -> bool:
    """Whether it depends on context: summed last, so that few additions are full-size."""
    return of.name == "attention"


def _rate(term: Term) -> Dtype:
    """The dtype whose rate a term's arithmetic runs at."""
    return term.dtype if isinstance(term, Matmul | Route) else Dtype.BF16


def _sum(arrays: Sequence[FloatArray]) -> FloatArray:
    """The sum of arrays that broadcast, in their order: that of a plain step and of verification
    is one, so that their sums agree to the last digit at k = 0.
    """
    total = np.zeros(1)
    for array in arrays:
        total = total + array
    return total
