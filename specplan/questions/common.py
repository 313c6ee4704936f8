"""What several answers share: the basis of their figures and the words for a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from specplan.domain.answer import SEPARATOR, Basis, Kind
from specplan.domain.card import Dtype
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError
from specplan.physics.survival import fires, known_contexts, tail_of
from specplan.questions.assumptions import assumptions
from specplan.questions.servings import servings_caption
from specplan.units import people, significant


def basis_of(
    scenario: Scenario, *, spread: bool = False, timed: bool = True, ranked: bool = False
) -> Basis:
    """What each of the engines asked about says of its figures, and every assumption worth
    repeating. Figures of several kinds have an estimate's: no more is true of all of them.

    `spread` says that the answer makes use of how uncertain alpha is, `timed` that it has times,
    `ranked` that what is assumed for the first setups matters most.
    """
    engines: dict[str, list[Setup]] = {}
    for setup in scenario.setups:
        engines.setdefault(setup.engine.name, []).append(setup)
    kinds = set(map(kind_of, scenario.setups))
    assumed = list(_assumed(engines, timed=timed))
    if not ranked:  # where they are, every setup has an acceptance of its own
        assumed.sort()
        assumed += dict.fromkeys(_firing(scenario))
    if not spread:
        unsure = [a for a in scenario.acceptance if a.sd]
        assumed += [
            f"alpha {a} is taken at its mean; best-k of one workload uses it" for a in unsure
        ]
    band = _band(scenario.setups) if timed else None
    return Basis(
        kind=kinds.pop() if len(kinds) == 1 else "estimate",
        says=SEPARATOR.join(dict.fromkeys(_says(some, timed=timed) for some in engines.values())),
        source=", ".join(engines),
        bands={"speedup": (-band, band)} if band else {},
        assumed=tuple(assumed),
        extrapolated=(*sorted(set(_untrained(scenario))), *dict.fromkeys(_unmeasured(scenario))),
    )


def _says(setups: Sequence[Setup], *, timed: bool) -> str:
    """One engine's own words, and its band if there are times."""
    words, band = setups[0].engine.says, _band(setups) if timed else None
    if timed and any(map(_unbounded, setups)):
        return f"{words.partition(':')[0]}: no bound with experts"
    return f"{words}, 9 of 10 within {100 * band:.0f} %" if band else words


def kind_of(setup: Setup) -> Kind:
    """What kind of figures those of a setup are."""
    return "estimate" if _unbounded(setup) else setup.engine.kind


def _unbounded(setup: Setup) -> bool:
    """Whether the ideal roofline bounds nothing: it has every token of a round choose experts for
    itself, and real ones share some (kappa below 1).
    """
    return setup.engine.kind == "bound" and bool(setup.target.expert_groups)


def _assumed(engines: Mapping[str, Sequence[Setup]], *, timed: bool) -> Iterator[str]:
    """Assumptions, each once; what only some of the engines assume begins with their names."""
    found: dict[str, dict[str, None]] = {}
    for name, setups in engines.items():
        for sentence in (a for setup in setups for a in assumptions(setup, timed=timed)):
            found.setdefault(sentence, {})[name] = None
    for sentence, names in found.items():
        told = len(names) == len(engines) or all(name in sentence for name in names)
        yield sentence if told else f"{', '.join(names)}: {sentence}"


def _band(setups: Sequence[Setup]) -> float | None:
    """The widest band of those asked about; None if any was never measured."""
    shares = [setup.band for setup in setups]
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


def _firing(scenario: Scenario) -> Iterator[str]:
    """Lookups of which nobody said how often they find anything."""
    models = [part.acceptance for part in scenario.parts] or scenario.acceptance
    for setup in scenario.setups:
        if setup.draft.adapts and any(fires(model, 1) == 1 for model in models):
            yield (
                f"{setup.draft.label} is taken to propose in every round, which widens every "
                "verification: -a burst:FIRE@KEPT says how often it does"
            )


def _unmeasured(scenario: Scenario) -> Iterator[str]:
    """Acceptances asked beyond the positions or the contexts that they were measured at."""
    longest = max(scenario.candidates)
    for model in [part.acceptance for part in scenario.parts] or scenario.acceptance:
        known = model.measured
        if known is not None and longest > known:
            fit = tail_of(model)
            form = f" ({fit.first:.3f} x {fit.ratio:.3f}^(i-1))" if fit else ""
            if fit and fit.ratio > 1:
                form = f" ({min(1.0, fit.first * fit.ratio ** (known - 1)):.3f} each, no more)"
            yield (
                f"acceptance {model} was measured up to k = {known}: beyond it stands the decay "
                f"fitted to it{form}"
            )
        reach = known_contexts(model)
        contexts = [part.context for part in scenario.parts] or scenario.context
        if reach and not reach[0] <= min(contexts) <= max(contexts) <= reach[1]:
            ends = " to ".join(people(end, "tokens") for end in reach)
            yield f"acceptance {model} is known at contexts of {ends}: outside, that of the end"


def one_setup(scenario: Scenario, question: str) -> Setup:
    """The only setup of a scenario whose question is about one."""
    if len(scenario.setups) != 1:
        raise UsageError(
            f"{question} is about one setup, not {len(scenario.setups)}",
            hint="give one target, draft, hardware, tp, engine and dtype",
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
    return f"{target} + {draft} on {where}{servings_caption(scenario.setups)}"


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


def acceptance_words(alpha: float | None, said: str) -> str:
    """An acceptance in words: alpha where that is all of it."""
    return f"acceptance {said}" if alpha is None else f"alpha {alpha:g}"


def alpha_words(value: float) -> str:
    """An acceptance to two digits, without trailing zeros beyond them."""
    return significant(value, 2) if 0 < value < 0.1 else f"{value:.2f}"
