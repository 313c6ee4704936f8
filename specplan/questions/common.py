"""What several answers share: the basis of their figures and the words for a scenario."""

from __future__ import annotations

from collections.abc import Iterable

from specplan.domain.answer import Basis
from specplan.domain.card import Dtype
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.silicon import Silicon
from specplan.units import people, significant


def basis_of(scenario: Scenario, *, spread: bool = False) -> Basis:
    """The weakest basis among the engines asked about, and every assumption worth repeating.

    `spread` says that the answer makes use of how uncertain alpha is.
    """
    kinds = ("bound", "estimate", "calibrated")
    engine = min((s.engine for s in scenario.setups), key=lambda e: kinds.index(e.kind))
    assumed = sorted({a for s in scenario.setups for a in assumptions(s)})
    if not spread:
        unsure = [a for a in scenario.acceptance if a.sd]
        assumed += [
            f"alpha {a} is taken at its mean; best-k of one workload uses it" for a in unsure
        ]
    band = _band(scenario)
    return Basis(
        kind=engine.kind,
        says=f"{engine.says}, 9 of 10 within {100 * band:.0f} %" if band else engine.says,
        source=engine.name,
        bands={"speedup": (-band, band)} if band else {},
        assumed=tuple(assumed),
        extrapolated=tuple(sorted(set(_untrained(scenario)))),
    )


def _band(scenario: Scenario) -> float | None:
    """The widest band of those asked about; None if any was never measured."""
    shares = [setup.band for setup in scenario.setups]
    return None if None in shares else max(filter(None, shares), default=None)


def _untrained(scenario: Scenario) -> Iterable[str]:
    """Models asked about contexts that they were not trained on, in sentences."""
    contexts = [part.context for part in scenario.parts] or scenario.context
    longest = max(contexts) + scenario.growth
    for setup in scenario.setups:
        for model in filter(None, (setup.target, setup.draft.model)):
            if model.trained_context is not None and longest > model.trained_context:
                trained = people(model.trained_context, "tokens")
                yield (
                    f"{people(longest, 'tokens')} tokens are beyond the {trained} that "
                    f"{model.name} is made for"
                )


def assumptions(setup: Setup) -> Iterable[str]:
    """What the physics had to assume to price a setup, in sentences."""
    bound = setup.engine.kind == "bound"
    models = [(setup.target, setup.dtype)]
    if setup.draft.model:
        models.append((setup.draft.model, setup.draft_dtype))
    for model, stored in models:
        compute = setup.hardware.compute_dtype(stored)
        if compute != stored or stored.bytes_per_element < 2:
            yield (
                f"{setup.hardware.name} runs {stored} weights of {model.name} at its {compute} rate"
            )
        if stored.bytes_per_element < 2 and bound:
            yield f"every weight of {model.name} is {stored}, embeddings and head included"
    for model, _ in models:
        if model.architecture is None and model.stored_params is None:
            yield f"{model.name} is taken to store what it multiplies: its card says no more"
    yield from _uneven(setup)
    if bound and (setup.tp > 1 or setup.draft_tp > 1):
        yield f"tp {setup.tp} without the cost of communication"
    if not bound:
        dtypes = tuple(stored for _, stored in models)
        yield from Silicon(setup.hardware, setup.engine).assumed(dtypes)
    yield from _vocabularies(setup)
    if setup.hardware.memory_basis == "label":
        yield f"{setup.hardware.name}: memory is its label; what the driver shows may differ"


def _uneven(setup: Setup) -> Iterable[str]:
    """Heads that do not divide over the GPUs: the physics shares them out, engines refuse."""
    for model, tp in ((setup.target, setup.tp), (setup.draft.model, setup.draft_tp)):
        blocks = model.architecture.blocks if model and model.architecture else ()
        odd = {b.attention.heads for b in blocks if b.attention and b.attention.heads % tp}
        if odd and model:
            yield f"tp {tp} does not divide the {max(odd)} heads of {model.name}: engines refuse"


def _vocabularies(setup: Setup) -> Iterable[str]:
    """A pair that no engine would run: draft tokens mean nothing to the target."""
    target = setup.target.architecture
    draft = setup.draft.model.architecture if setup.draft.model else None
    if target and draft and not draft.fuse and target.vocab != draft.vocab:
        yield (
            f"{setup.draft.label} drafts from {draft.vocab:,} tokens and {setup.target.name} has "
            f"{target.vocab:,}: engines want one vocabulary"
        )


def one_setup(scenario: Scenario, question: str) -> Setup:
    """The only setup of a scenario whose question is about one."""
    if len(scenario.setups) != 1:
        raise UsageError(
            f"{question} is about one setup, not {len(scenario.setups)}",
            hint="give one target, draft, hardware, tp and dtype",
        )
    return scenario.setups[0]


def refuse_mix(scenario: Scenario, question: str) -> None:
    """Refuses workloads that share a server where the question is about each of a grid."""
    if scenario.parts:
        raise UsageError(f"{question} takes no mix", hint="best-k and check do; give axes instead")


def setups_caption(scenario: Scenario) -> str:
    """Who drafts for whom where: what the setups have in common is said once."""
    first = scenario.setups[0]
    if len(scenario.setups) == 1:
        return f"{first.label}, {dtype_words(first)}"
    parts = (
        [s.target.name for s in scenario.setups],
        [s.draft.label for s in scenario.setups],
        [s.where for s in scenario.setups],
    )
    target, draft, where = (", ".join(dict.fromkeys(names)) for names in parts)
    return f"{target} + {draft} on {where}"


def dtype_words(setup: Setup) -> str:
    """Storage types, those that differ from the target's named."""
    words = [str(setup.dtype)]
    if setup.draft.model and setup.draft_dtype != setup.dtype:
        words.append(f"drafter {setup.draft_dtype}")
    if setup.kv_dtype not in {setup.dtype, Dtype.BF16}:
        words.append(f"KV {setup.kv_dtype}")
    return ", ".join(words)


def tokens_words(values: Iterable[float]) -> str:
    """Token counts with separators."""
    return ", ".join(people(v, "tokens") for v in values)


def times(value: float) -> str:
    """A speedup as people write it."""
    return f"{value:.2f}x"


def percent(value: float, digits: int = 1) -> str:
    """A share as a percentage."""
    return f"{100 * value:.{digits}f} %"


def alpha_words(value: float) -> str:
    """An acceptance to two digits, without trailing zeros beyond them."""
    return significant(value, 2) if 0 < value < 0.1 else f"{value:.2f}"
