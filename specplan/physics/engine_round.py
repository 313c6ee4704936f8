"""Plain steps and rounds under an engine: GPU time of the terms, and the host time that shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.drafter import Does, Draws
from specplan.domain.engine import Release
from specplan.domain.scenario import Setup
from specplan.physics.drafting import Passes, passes_of
from specplan.physics.forward import Layout, forward_terms, key_terms
from specplan.physics.silicon import Silicon
from specplan.physics.steps import EAGER, HOST, Step, gpu_step
from specplan.physics.tokens import FloatArray
from specplan.physics.whole_round import whole_passes
from specplan.physics.work import Load, Term


@dataclass(frozen=True, slots=True)
class EngineRound:
    """Steps of a setup at given shapes of context, batch and draft length. `drafts` are the passes
    of the drafter, those that are alike once, in the order of a round; `passes_s` is all of them.
    """

    plain: Step
    verify: Step
    drafts: tuple[Step, ...]
    passes_s: FloatArray


def engine_round(
    setup: Setup,
    context: FloatArray,
    batch: FloatArray,
    drafted: FloatArray,
    k: Sequence[int],
) -> EngineRound:
    """Plain step, draft passes of rounds of each k, and verification of `drafted` tokens beside the
    known one; arrays broadcast, and k lies along their last axis.

    Verification at k = 0 is the plain step, whatever the host would add to a round.
    """
    if setup.engine.fitted:
        whole = EngineRound(*whole_passes(setup, context, batch, drafted, k))
        return whole if setup.engine.steps else _hosted(setup, _release(setup), k, whole)
    silicon, release = Silicon(setup.hardware, setup.engine), _release(setup)
    terms = forward_terms(setup.target, target_layout(setup), silicon.small)
    sequences = np.ceil(batch / setup.attention_dp)
    once = np.ones_like(context)
    plain = _launched(terms, Load(sequences, once, context), silicon, release)
    load = Load(sequences, drafted + 1, context, setup.engine.overlap)
    verify = _launched(terms, load, silicon, release)
    drafts = tuple(_drafts(setup, context, batch, k, silicon, release))
    count = np.asarray([setup.draft.passes(n) for n in k], np.float64)
    passes_s = count * (setup.draft.ratio * plain.time_s)
    for number, step in drafts:
        passes_s = passes_s + number * step.time_s
    steps = tuple(step for _, step in drafts)
    return _hosted(setup, release, k, EngineRound(plain, verify, steps, passes_s))


def _hosted(setup: Setup, release: Release, k: Sequence[int], on_gpu: EngineRound) -> EngineRound:
    """A round of the GPU's with the host time that shows."""
    plain, verify = on_gpu.plain, on_gpu.verify
    shown = _round_wait(release, setup.draft.draws, verify.time_s + on_gpu.passes_s)
    at_zero = _exposed(release.host, verify.time_s, hidden=release.host_hidden)
    host_s = _exposed(release.host, plain.time_s, hidden=release.host_hidden)
    return replace(
        on_gpu,
        plain=plain.plus(HOST, host_s),
        verify=verify.plus(HOST, np.where(np.asarray(k) == 0, at_zero, shown)),
    )


def target_layout(setup: Setup) -> Layout:
    """How the target lies on its GPUs."""
    return Layout(
        dtype=setup.dtype,
        kv_dtype=setup.kv_dtype,
        gpus=setup.tp,
        groups=setup.attention_dp,
        ep=setup.ep,
        rereads_kv=setup.engine.rereads,
    )


def draft_layout(setup: Setup) -> Layout:
    """How the drafter lies on its GPUs."""
    return Layout(dtype=setup.draft_dtype, kv_dtype=setup.kv_dtype, gpus=setup.draft_tp, draft=True)


def _release(setup: Setup) -> Release:
    if setup.release is None:
        raise setup.engine.lacking("states no host times", "releases")
    return setup.release


def _drafts(
    setup: Setup,
    context: FloatArray,
    batch: FloatArray,
    k: Sequence[int],
    silicon: Silicon,
    release: Release,
) -> Iterator[tuple[FloatArray, Step]]:
    """The passes of the models that draft, at least as long as the engine takes to start one, each
    with how many of it a round runs.
    """
    for some in passes_of(setup.draft, k):
        terms = draft_terms(setup, some, silicon)
        overlap = setup.engine.overlap
        load = Load(batch, some.tokens * np.ones_like(context), context, overlap)
        outputs = Load(batch, some.outputs * np.ones_like(context), context, overlap)
        step = _launched(terms, load, silicon, release, outputs)
        if some.does is not Does.WHOLE:
            yield some.count, step
            continue
        wait = np.maximum(release.draft_floor - step.time_s, 0.0) + release.draft_host
        yield some.count, step.plus(HOST, wait)


def draft_terms(setup: Setup, some: Passes, silicon: Silicon) -> tuple[Term, ...]:
    """The terms of one of these passes."""
    make = key_terms if some.does is Does.KEYS else forward_terms
    return make(some.model, draft_layout(setup), silicon.small)


def _launched(
    terms: Iterable[Term],
    load: Load,
    silicon: Silicon,
    release: Release,
    outputs: Load | None = None,
) -> Step:
    """A pass with the wait for launches one by one, beyond the width of the CUDA graphs."""
    listed = tuple(terms)
    step = gpu_step(listed, load, silicon, outputs)
    launches_s = sum(term.launches for term in listed) * release.eager
    late = np.maximum(launches_s - step.time_s, 0.0)
    wait = np.where(load.rows > release.graphs, late, 0.0)
    return step.plus(EAGER, wait) if wait.any() else step


def _round_wait(release: Release, draws: Draws, gpu_s: FloatArray) -> FloatArray:
    """Host time that a round waits for; all that a plain step might have hidden, where an engine
    overlaps nothing with drafts of this kind.
    """
    if draws in release.unhidden:
        return _exposed(max(release.host, release.round_host), gpu_s, hidden=False)
    return _exposed(release.round_host, gpu_s, hidden=release.round_hidden)


def _exposed(host_s: float, gpu_s: FloatArray, *, hidden: bool) -> FloatArray:
    """Host time that the GPU waits for."""
    return np.maximum(host_s - gpu_s, 0.0) if hidden else host_s + 0.0 * gpu_s
