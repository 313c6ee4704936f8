"""From captures, a plan and flags to a diagnosis: what ran, what was seen, what is to be predicted.

Flags stand above a capture, a capture above a plan: what ran is what counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from specplan.catalogue.store import Catalogue
from specplan.cli.captures import Held, Moved
from specplan.cli.figures import FIGURES, Figures
from specplan.cli.mixes import flag_of
from specplan.cli.paces import unseen
from specplan.cli.planned import Given, PlanRead, planned
from specplan.cli.ran import (
    Served,
    accepted,
    counted_in,
    engine_in_use,
    k_in_use,
    mismatch,
    no_k,
    typed_k,
)
from specplan.cli.runs import Runs, runs_of
from specplan.cli.scenario import NEEDED, build, loaded, texts_of
from specplan.cli.seen import Point, observed
from specplan.cli.sources import sorted_out
from specplan.cli.told import Told, acceptance_of, k_of, told_by
from specplan.dialects.habits import habits_of
from specplan.domain.answer import Answer
from specplan.domain.capture import Capture
from specplan.domain.observed import Observed
from specplan.domain.scenario import Input, Scenario
from specplan.domain.traps import TRAPS
from specplan.errors import SpecplanError, UsageError, Where
from specplan.questions.diagnose import diagnose as question
from specplan.visible import visible

__all__ = ["Figures", "answered", "diagnose"]

Source = Capture | str | PathLike[str]
CARDS = ("target", "hardware")  # a drafter alone only says how it drafts
SAID = ("lifetime", "data-parallel", "counter-reset", "per-token-rate")  # traps without a rule
MOST_SAID = 4


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
    """All that was said, before any of it is resolved; `flags` without k. `kept` is the capture
    whose acceptance counts: that of -a, else the one that is diagnosed; `plain` one of a run
    without speculation.
    """

    flags: Mapping[str, Sequence[str]]
    plan: PlanRead | None
    told: Told
    capture: Capture | None
    before: Capture | None
    kept: Capture | None
    plain: Capture | None

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
    found = sorted_out(sources, k=typed_k(flags), moved=moved)
    runs = runs_of(found.captures)
    counted = counted_in(flags.get("acceptance", ()), "--acceptance")
    kept = counted.capture if counted else None if "acceptance" in flags else runs.now
    served = engine_in_use(flags, runs.now or kept or runs.plain, found.plan, catalogue)
    asked = _asked(found.plan, runs, flags, served, counted, catalogue)
    model, k = accepted(
        asked.text("acceptance"),
        asked.flags.get("acceptance"),
        k_in_use(flags, runs.now, kept, found.plan_k),
    )
    habits = habits_of(served.habits, served.version)
    point = Point(engine=served.habits, version=served.version, k=k, model=model, habits=habits)
    seen, scenario, notes = _looked_at(asked, point, figures, catalogue, k_max)
    read = [*found.captures, *([counted] if counted else [])]
    files = {**runs.inputs(), **(counted.inputs("acceptance") if counted else {})}
    return question(
        seen,
        scenario,
        inputs={**files, **figures.inputs(), **_k_input(k, flags, kept or runs.now, found.plan)},
        notes=(
            *mismatch(served, runs.now),
            *runs.notes(),
            *_beware(read),
            *asked.told.notes,
            *notes,
        ),
        files=tuple(one.capture.source for one in read),
        hint=next((words for one in read for words in one.capture.warnings), ""),
    )


def _looked_at(
    asked: Asked, point: Point, figures: Figures, catalogue: Catalogue, k_max: int | None
) -> tuple[Observed, Scenario | None, list[str]]:
    """What was seen, at the point of the scenario if there is one, and notes on that."""
    seen = observed(asked, point, figures, None)
    scenario, notes = _predictable(asked, seen, catalogue, k_max)
    typed = seen.batch if "batch" in asked.flags else None
    notes += unseen(asked.capture, figures, typed)
    return (observed(asked, point, figures, scenario) if scenario else seen), scenario, notes


def _asked(
    plan: PlanRead | None,
    runs: Runs,
    flags: Mapping[str, Sequence[str]],
    served: Served,
    counted: Held | None,
    catalogue: Catalogue,
) -> Asked:
    """All that was said: a file behind -a stands for the acceptance in it."""
    now = runs.now
    said = {name: texts for name, texts in flags.items() if name != "k"}
    if counted is not None:
        said["acceptance"] = (acceptance_of(counted.capture),)
    habits = habits_of(served.habits, served.version)
    told = told_by(now, habits, catalogue, flags) if now else Told()
    told.axes["engine"] = Given((served.text,), served.origin, Where("--engine"))
    kept = counted.capture if counted else None if "acceptance" in flags else now
    return Asked(said, plan, told, now, runs.before, kept, runs.plain)


def _beware(read: Sequence[Held]) -> Iterator[str]:
    """What is to be said of captures beside what rules find in them."""
    for one in read:
        capture = one.capture
        said = (*(TRAPS[trap] for trap in SAID if trap in capture.traps), *capture.warnings)
        for words in said[:MOST_SAID]:
            yield f"{visible(capture.source, 200)}: {visible(words, 200)}"


def _predictable(
    asked: Asked, seen: Observed, catalogue: Catalogue, k_max: int | None
) -> tuple[Scenario | None, list[str]]:
    """The scenario to predict, or a note on why there is none.

    Whoever chose a card is asked for the others, unless what was measured answers by itself.
    """
    missing = [name for name in NEEDED if asked.text(name) is None]
    missing += ["k"] if seen.k is None else []
    flags = ", ".join(flag_of(name) for name in missing)
    if missing and (seen.measured is not None or not asked.chosen):
        return None, [f"nothing is predicted without {flags}"]
    counted = asked.capture is not None and asked.capture.tokens_per_round is not None
    left = [name for name in missing if name != "k" and not (counted and name == "acceptance")]
    if seen.k is None and not left:
        raise no_k()  # which is also all that a counted length of rounds lacks to be an acceptance
    try:
        scenario = build(
            asked.flags,
            catalogue=catalogue,
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


def _k_input(
    k: int | None,
    flags: Mapping[str, Sequence[str]],
    capture: Capture | None,
    plan: PlanRead | None,
) -> dict[str, Input]:
    """The k in use, and who said it."""
    if k is None:
        return {}
    origin = "flag"
    if "k" not in flags and capture is not None and k_of(capture) == k:
        origin = capture.source
    elif "k" not in flags and "acceptance" not in flags and plan is not None:
        origin = plan.document.name
    return {"k_in_use": Input(value=k, origin=origin)}
