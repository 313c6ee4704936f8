"""What stands in for measurements that an engine lacks of the kernels in a pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from specplan.domain.card import Dtype
from specplan.physics.experts import Route
from specplan.physics.moving import Exchange, State
from specplan.physics.silicon import USUAL_UNITS, Silicon, nearest
from specplan.physics.work import Attend, AttendIndex, AttendLatent, Matmul, Term

_SAME: dict[Dtype, tuple[Dtype, ...]] = {Dtype.FP16: (Dtype.BF16,)}  # 16 bits are 16 bits


def assumed(terms: Iterable[Term], silicon: Silicon) -> Iterator[str]:
    """One sentence for each thing that the times of these terms take from something else."""
    yield from _accelerator(silicon)
    yield from dict.fromkeys(s for term in terms for s in _of_term(term, silicon))


def _accelerator(silicon: Silicon) -> Iterator[str]:
    name, kernels, engine = silicon.hardware.name, silicon.kernels, silicon.engine.name
    if kernels.gpus[0] != name:
        yield (
            f"efficiency assumed, not measured: {engine} on {name} takes {kernels.gpus[0]}'s shares"
        )
    elif kernels.basis != "measured":
        yield f"efficiency {kernels.basis}, not measured: {engine} on {name}"
    if silicon.hardware.measured is not None:
        yield f"shares of peaks taken off what {name} reached, which roofline takes as it is"
    if silicon.hardware.units is None:
        yield f"{name} taken to have {USUAL_UNITS} multiprocessors: its card does not say"


def _of_term(term: Term, silicon: Silicon) -> Iterator[str]:
    kernels = silicon.kernels
    if isinstance(term, Matmul):
        yield from _other(kernels.gemm, term.dtype, "{} kernels")
    elif isinstance(term, Route):
        yield from _other(kernels.experts, term.dtype, "{} expert kernels")
    elif isinstance(term, Attend):
        yield from _other(kernels.attention, term.dtype, "attention over {} caches")
    elif isinstance(term, AttendLatent):
        yield "efficiency of latent attention is assumed: no table has it"
        if term.top is not None:
            yield "all queries of a round are taken to read the tokens that one of them picked"
    elif isinstance(term, AttendIndex):
        yield "the indexer of sparse attention is taken to run as latent attention does"
    elif isinstance(term, State):
        yield "time of recurrent layers is assumed: no table has it"
    elif isinstance(term, Exchange):
        most = silicon.allreduce(term.gpus).gpus
        if term.gpus > most:
            yield f"all-reduce over {term.gpus} GPUs taken to be as fast as over {most}"


def _other(known: Mapping[Dtype, object], dtype: Dtype, what: str) -> Iterator[str]:
    """Another dtype's constants, unless both are of 16 bits."""
    stand_in = next((near for near in nearest(dtype) if near in known), None)
    if stand_in and stand_in != dtype and stand_in not in _SAME.get(dtype, ()):
        yield f"{what.format(dtype)} assumed to reach the shares of {stand_in}"
