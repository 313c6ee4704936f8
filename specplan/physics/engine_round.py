"""Plain steps and rounds under an engine: GPU time of the terms, and the host time that shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.drafter import Draws
from specplan.domain.engine import Release
from specplan.domain.scenario import Setup
from specplan.physics.forward import FUSE, Layout, forward_terms
from specplan.physics.silicon import Silicon
from specplan.physics.steps import EAGER, HOST, Step, gpu_step
from specplan.physics.tokens import FloatArray
from specplan.physics.work import Load, Term


@dataclass(frozen=True, slots=True)
class EngineRound:
    """Steps of a setup at given shapes of context, batch and draft length. `draft` is any draft
    pass; a round's first may `fuse` the target's hidden states besides. `passes_s` is all of them.
    """

    plain: Step
    verify: Step
    draft: Step | None
    fuse: Step | None
    passes_s: FloatArray


def engine_round(
    setup: Setup,
    context: FloatArray,
    batch: FloatArray,
    k: FloatArray,
    passes: npt.ArrayLike,
) -> EngineRound:
    """Plain step, verification of k drafts and one draft pass; arrays broadcast.

    Verification at k = 0 is the plain step, whatever the host would add to a round.
    """
    silicon, release = Silicon(setup.hardware, setup.engine), _release(setup)
    terms = forward_terms(setup.target, target_layout(setup), silicon.small)
    sequences = np.ceil(batch / setup.attention_dp)
    once = np.ones_like(context)
    plain = _launched(terms, Load(sequences, once, context), silicon, release)
    load = Load(sequences, k + 1, context, setup.engine.overlap)
    verify = _launched(terms, load, silicon, release)
    draft, fuse = _draft(setup, context, batch, silicon, release)
    step_s = setup.draft.ratio * plain.time_s + (draft.time_s if draft else 0.0)
    count = np.asarray(passes, np.float64)
    passes_s = count * step_s + np.minimum(count, 1.0) * (fuse.time_s if fuse else 0.0)
    plain = plain.plus(HOST, _exposed(release.host, plain.time_s, hidden=release.host_hidden))
    gpu_s = verify.time_s + passes_s
    shown = _round_wait(release, setup.draft.draws, gpu_s)
    at_zero = _exposed(release.host, verify.time_s, hidden=release.host_hidden)
    return EngineRound(
        plain, verify.plus(HOST, np.where(k == 0, at_zero, shown)), draft, fuse, passes_s
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


def _draft(
    setup: Setup, context: FloatArray, batch: FloatArray, silicon: Silicon, release: Release
) -> tuple[Step | None, Step | None]:
    """One pass of the model that drafts, at least as long as the engine takes to start one; and
    what its first pass in a round adds, where the target's hidden states are fused.
    """
    if setup.draft.model is None:
        return None, None
    terms = forward_terms(setup.draft.model, draft_layout(setup), silicon.small)
    load = Load(batch, np.ones_like(context), context)
    begins = [term for term in terms if term.name == FUSE]
    step = _launched([term for term in terms if term.name != FUSE], load, silicon, release)
    wait = np.maximum(release.draft_floor - step.time_s, 0.0) + release.draft_host
    return step.plus(HOST, wait), gpu_step(begins, load, silicon) if begins else None


def _launched(terms: Iterable[Term], load: Load, silicon: Silicon, release: Release) -> Step:
    """A pass with the wait for launches one by one, beyond the width of the CUDA graphs."""
    listed = tuple(terms)
    step = gpu_step(listed, load, silicon)
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
