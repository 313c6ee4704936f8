"""From captures, a plan and flags to a diagnosis: what ran, what was seen, what is to be predicted.

Flags stand above a capture, a capture above a plan: what ran is what counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from specplan.catalogue.store import Catalogue
from specplan.cli import grammar
from specplan.cli.acceptance import KINDS, acceptances
from specplan.cli.captures import Held, Moved
from specplan.cli.mixes import flag_of
from specplan.cli.naming import versioned
from specplan.cli.planned import Given, PlanRead, planned
from specplan.cli.scenario import NEEDED, build, loaded, texts_of
from specplan.cli.seen import FIGURES, Figures, Point, observed
from specplan.cli.sources import sorted_out
from specplan.cli.told import Told, engine_of, k_of, told_by
from specplan.dialects.habits import habits_of
from specplan.domain.acceptance import Acceptance, Lengths
from specplan.domain.answer import Answer
from specplan.domain.capture import Capture
from specplan.domain.engine import Engine
from specplan.domain.observed import Observed
from specplan.domain.scenario import Input, Scenario
from specplan.errors import SpecplanError, UsageError, Where, placed
from specplan.questions.diagnose import diagnose as question

__all__ = ["Figures", "answered", "diagnose"]

Source = Capture | str | PathLike[str]
ENGINES = "vllm, sglang, trtllm, llamacpp or a card of your own"
CARDS = ("target", "hardware")  # a drafter alone only says how it drafts


def diagnose(
    *captures: Source,
    catalogue: Catalogue | str | PathLike[str] | Iterable[str | PathLike[str]] | None = None,
    k_max: int | None = None,
    **options: str | float | Iterable[str | float],
) -> Answer:
    """A diagnosis, as `specplan diagnose` answers it.

    `captures` are files (the earlier of two first; a plan is told by its content) or `Capture`
    objects. `options` are those of the command line with underscores, as `scenario` takes them,
    and what was measured: seen_tokens_per_s=812, seen_tpot="8.8ms" or 0.0088, topk=4.
    """
    figures = {name: options.pop(name) for name in tuple(options) if name in FIGURES}
    return answered(
        captures,
        texts_of(options),
        Figures.read(figures),
        catalogue=loaded(catalogue),
        k_max=k_max,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """All that was said, before any of it is resolved; `flags` without k."""

    flags: Mapping[str, Sequence[str]]
    plan: PlanRead | None
    told: Told
    capture: Capture | None
    before: Capture | None
    catalogue: Catalogue

    def text(self, name: str) -> str | None:
        """The text of an axis, whoever said it; None where nobody did."""
        if name in self.flags:
            return ",".join(self.flags[name])
        if name in self.told.axes:
            return ",".join(self.told.axes[name].texts)
        said = planned(self.plan).get(name) if self.plan else None
        return ",".join(said.texts) if said else None

    @property
    def chosen(self) -> list[str]:
        """The cards that somebody chose, by flag or in a plan."""
        own = planned(self.plan) if self.plan else {}
        return [name for name in CARDS if name in self.flags or name in own]


def answered(
    sources: Sequence[Source],
    flags: Mapping[str, Sequence[str]],
    figures: Figures,
    *,
    catalogue: Catalogue,
    k_max: int | None = None,
    moved: Moved | None = None,
) -> Answer:
    """The diagnosis of what ran; `moved` is told of bytes as files are read."""
    found = sorted_out(sources, k=_typed_k(flags), moved=moved)
    now = found.captures[-1].capture if found.captures else None
    before = found.captures[0].capture if len(found.captures) == 2 else None
    engine, version, card, origin = _engine(flags, now, found.plan, catalogue)
    served = card.name if card.name in SERVERS else card.follows or card.name
    habits = habits_of(served, version)
    told = told_by(now, habits, catalogue, flags) if now else Told()
    told.axes["engine"] = Given((engine,), origin, Where("--engine"))
    asked = Asked(
        {name: texts for name, texts in flags.items() if name != "k"},
        found.plan,
        told,
        now,
        before,
        catalogue,
    )
    k = _k(flags, now, found.plan_k)
    model, k = _acceptance(asked, k)
    point = Point(engine=served, version=version, k=k, model=model, habits=habits)
    seen = observed(asked, point, figures, None)
    scenario, notes = _predictable(asked, seen, k_max)
    if scenario is not None:
        seen = observed(asked, point, figures, scenario)
    return question(
        seen,
        scenario,
        inputs={**_inputs(found.captures), **figures.inputs(), **_k_input(k, flags, now)},
        notes=(*told.notes, *notes),
    )


SERVERS = ("vllm", "sglang", "trtllm", "llamacpp", "transformers")


def _engine(
    flags: Mapping[str, Sequence[str]],
    capture: Capture | None,
    plan: PlanRead | None,
    catalogue: Catalogue,
) -> tuple[str, str | None, Engine, str]:
    """The engine as typed, its version, its card, and who said it: a flag, the log or the plan."""
    own = planned(plan) if plan else {}
    where, origin = Where("--engine"), "flag"
    if "engine" in flags:
        text = ",".join(flags["engine"])
    elif capture is not None and engine_of(capture):
        text, origin = engine_of(capture), capture.source
    elif "engine" in own:
        text, where, origin = (
            ",".join(own["engine"].texts),
            own["engine"].where,
            own["engine"].origin,
        )
    else:
        raise UsageError("which engine runs it?", where=where, expected=ENGINES)
    with placed(where):
        name, version = versioned(text)
        card = catalogue.engine(name, where).card
        if card.kind == "bound":
            raise UsageError(f"{name} is no engine that runs anything", expected=ENGINES)
        try:
            card.release(version)
        except UsageError:
            if "engine" in flags:
                raise
            return name, version, card, origin  # of a log: the newest habits stand in
    return text, version, card, origin


def _k(
    flags: Mapping[str, Sequence[str]], capture: Capture | None, plan_k: str | None
) -> int | None:
    """The draft length in use: the flag's, the capture's or the plan's."""
    if "k" in flags:
        return _typed_k(flags)
    if capture is not None and k_of(capture):
        return k_of(capture)
    return int(plan_k) if plan_k and plan_k.isdigit() and int(plan_k) >= 1 else None


def _typed_k(flags: Mapping[str, Sequence[str]]) -> int | None:
    if "k" not in flags:
        return None
    with placed(Where("--k")):
        lengths = grammar.lengths(flags["k"])
        if len(lengths) != 1 or lengths[0] < 1:
            raise UsageError(
                f"'{','.join(flags['k'])}' is no k in use", expected="one k, such as -k 4"
            )
    return lengths[0]


def _acceptance(asked: Asked, k: int | None) -> tuple[Acceptance | None, int | None]:
    """The model of what is accepted, and k where a length measured at one says it."""
    text = asked.text("acceptance")
    if text is None:
        return None, k
    if text[:1].isalpha() and text.partition(":")[0] not in KINDS:
        return None, k  # a curve, which only a scenario can look up
    with placed(Where("--acceptance")):
        models = acceptances(asked.flags.get("acceptance", (text,)))
        if len(models) != 1:
            raise UsageError(f"diagnose is about one acceptance, not {len(models)}")
    (model,) = models
    if k is None and isinstance(model, Lengths) and len(model.points) == 1:
        k = model.points[0][0]
    if k is None and "acceptance" in asked.flags:
        raise _no_k()
    return model, k


def _no_k() -> UsageError:
    return UsageError(
        "which draft length was in use?", where=Where("--k"), expected="one k, such as -k 4"
    )


def _predictable(
    asked: Asked, seen: Observed, k_max: int | None
) -> tuple[Scenario | None, list[str]]:
    """The scenario to predict, or a note on why there is none.

    Whoever chose a card is asked for the others, unless what was measured answers by itself.
    """
    missing = [name for name in NEEDED if asked.text(name) is None]
    missing += ["k"] if seen.k is None else []
    flags = ", ".join(flag_of(name) for name in missing)
    if missing and (seen.measured is not None or not asked.chosen):
        return None, [f"nothing is predicted without {flags}"]
    if not missing[:-1] and seen.k is None:
        raise _no_k()
    try:
        scenario = build(
            asked.flags,
            catalogue=asked.catalogue,
            plan=asked.plan,
            told=asked.told.axes,
            k_max=k_max,
        )
    except SpecplanError as error:
        if asked.chosen:
            raise
        return None, [f"nothing is predicted: {error}"]
    for name in ("batch", "context", "acceptance"):
        if len(getattr(scenario, name)) != 1 and not scenario.parts:
            raise UsageError(
                f"diagnose is about one point, not {len(getattr(scenario, name))} of {name}",
                where=Where(flag_of(name)),
                hint="give one",
            )
    return _without_k(scenario), []


def _without_k(scenario: Scenario) -> Scenario:
    inputs = {name: given for name, given in scenario.inputs.items() if name != "k"}
    return replace(scenario, k=(), inputs=inputs)


def _inputs(captures: Sequence[Held]) -> dict[str, Input]:
    names = ("capture",) if len(captures) == 1 else ("before", "after")
    found: dict[str, Input] = {}
    for name, one in zip(names, captures, strict=False):
        found |= one.inputs(name)
    return found


def _k_input(
    k: int | None, flags: Mapping[str, Sequence[str]], capture: Capture | None
) -> dict[str, Input]:
    if k is None:
        return {}
    told = capture is not None and k_of(capture) == k and "k" not in flags
    return {"k_in_use": Input(value=k, origin=capture.source if told and capture else "flag")}
