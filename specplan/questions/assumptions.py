"""What a setup's figures rest on beside its cards, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specplan.domain.card import Dtype
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.assumed import assumed
from specplan.physics.engine_round import draft_layout, target_layout
from specplan.physics.forward import forward_terms
from specplan.physics.silicon import Silicon
from specplan.rules.drafters import made_for_others, unfit
from specplan.rules.plans import uneven


def assumptions(setup: Setup, *, timed: bool = True) -> Iterable[str]:
    """What the physics had to assume to price a setup, in sentences."""
    bound = setup.engine.kind == "bound"
    models = [(setup.target, setup.dtype)]
    if setup.draft.model:
        models.append((setup.draft.model, setup.draft_dtype))
    yield from _stored(setup, models, timed=timed)
    for model, _ in models:
        if model.shape is None and model.stored_params is None:
            yield f"{model.name} is taken to store what it multiplies: its card says no more"
    yield from _uneven(setup)
    if bound and (setup.tp > 1 or setup.draft_tp > 1):
        yield f"tp {setup.tp} without the cost of communication"
    if timed and setup.engine.fitted:
        yield from _otherwise(setup)
    elif timed and not bound:
        yield from _stand_ins(setup)
    yield from _pairing(setup)
    yield from _less_certain(setup, models, timed=timed)
    if setup.hardware.memory_basis == "label":
        yield f"{setup.hardware.name}: memory is its label; what the driver shows may differ"


def _stored(setup: Setup, models: Iterable[tuple[Model, Dtype]], *, timed: bool) -> Iterator[str]:
    """How weights are multiplied that are stored in few bits, or without a rate of their own."""
    for model, stored in models:
        compute, name = setup.hardware.compute_dtype(stored), model.name
        if compute != stored or stored.bytes_per_element < 2:
            yield f"{setup.hardware.name} runs {stored} weights of {name} at its {compute} rate"
        if timed and stored.bytes_per_element < 2 and setup.engine.kind == "bound":
            yield f"a pass reads every weight of {name} as {stored}, the head included"


def _less_certain(
    setup: Setup, models: Iterable[tuple[Model, Dtype]], *, timed: bool
) -> Iterator[str]:
    """Figures of the accelerator that an answer rests on and its card calls weak."""
    rates = {f"rates.{setup.hardware.compute_dtype(stored)}" for _, stored in models}
    used = ("memory", *(("bandwidth", *sorted(rates)) if timed else ()))
    for key in used:
        reason = setup.hardware.weak.get(key)
        if reason:
            yield f"{setup.hardware.name}: {key} is less certain: {reason}"


def _stand_ins(setup: Setup) -> Iterator[str]:
    """What stands in for measurements of the engine's kernels and of its rounds."""
    silicon = Silicon(setup.hardware, setup.engine)
    terms = forward_terms(setup.target, target_layout(setup), silicon.small)
    if setup.draft.model:
        terms += forward_terms(setup.draft.model, draft_layout(setup), silicon.small)
    yield from assumed(terms, silicon)
    if setup.band is None:
        yield f"no band: too few rounds {_measured(setup)} were measured"


def _otherwise(setup: Setup) -> Iterator[str]:
    """What a card's measured passes are taken for, where something else ran."""
    engine = setup.engine
    fitted = engine.steps or engine.passes
    ran = fitted.ran if fitted else None
    here = {
        "target": setup.target.name,
        "draft": setup.draft.label,
        "gpu": setup.hardware.name,
        "gpus": setup.gpus,
    }
    for key, value in here.items():
        then = getattr(ran, key) if ran else None
        if then is not None and then != value:
            yield f"{engine.name} was calibrated with {key} {then}: taken to hold for {value}"
    if engine.steps and not (ran and ran.named):
        yield f"{engine.name} does not say what its steps were measured with: taken to be this"
    if engine.steps and engine.steps.context is None:
        yield f"{engine.name} states no context of its steps: taken to be the one asked about"
    if engine.steps and not engine.steps.drafts:
        yield f"{engine.name} states no time of drafts: ideal, a bound on theirs"


def _measured(setup: Setup) -> str:
    """What rounds a band would be of."""
    engine = setup.engine.name
    since = f" {setup.release.since} and later" if setup.release else ""
    drafts = "a draft model" if setup.draft.kind == "model" else f"{setup.draft.kind} drafts"
    sparse = "experts" if setup.target.expert_groups else "a dense target"
    return f"of {engine}{since} on {setup.hardware.name} with {drafts} and {sparse}"


def _uneven(setup: Setup) -> Iterable[str]:
    """Heads that do not divide over the GPUs of a group: the physics shares them out."""
    grouped = setup.tp // setup.attention_dp
    for model, tp in ((setup.target, grouped), (setup.draft.model, setup.draft_tp)):
        found = uneven(model, tp) if model else None
        if found:
            yield found.message


def _pairing(setup: Setup) -> Iterable[str]:
    """A pair that no engine would run, states or tokens of one meaning nothing to the other; or one
    that runs, with a drafter that learnt from other targets.
    """
    draft, target = setup.draft.model, setup.target
    if draft is not None:
        found = [finding.message for finding in unfit(draft, target)]
        other = made_for_others(draft, target)
        yield from found or filter(None, (other,))
