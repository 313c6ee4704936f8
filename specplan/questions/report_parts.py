"""The parts of a report, each an answer of its own; one that cannot be made says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from specplan.domain.answer import Answer, Lines, Part
from specplan.domain.picture import Bars, Cells, Panel, Plot
from specplan.domain.scenario import Scenario
from specplan.errors import SpecplanError
from specplan.questions.best_k import best_k
from specplan.questions.emit_k import asks_gate
from specplan.questions.explain import explain
from specplan.questions.gate import gate
from specplan.questions.memory import memory
from specplan.questions.report_acceptance import kept
from specplan.questions.report_accuracy import within
from specplan.questions.report_checked import expected
from specplan.questions.report_dials import Grid
from specplan.questions.report_flags import flags_of
from specplan.questions.report_point import Judged, alone, with_gate
from specplan.questions.report_sources import Cited, reproduced, sources
from specplan.questions.report_traffic import Coming, capacity_of
from specplan.questions.sweep import sweep
from specplan.units import people


@dataclass(frozen=True)  # without slots, for what is found once
class Asked:
    """What a report is made of: the plan's scenario, its points judged, the grid around the one in
    detail, where its cards come from and the command to repeat it. Those who can read files say
    how its expectations were `checked` and what traffic is `coming`.
    """

    scenario: Scenario
    judged: Judged
    grid: Grid
    cited: Cited
    checked: Answer | None
    coming: Coming | None

    @cached_property
    def explained(self) -> Answer:
        """The point in detail, taken apart at the k that is judged; at 1 where none is drafted."""
        here = (self.judged.here or max(self.grid.k[:2]),)
        return explain(alone(self.scenario, self.judged.at, here))


@dataclass(frozen=True, slots=True)
class Left:
    """A part that is not there, and why."""

    name: str
    reason: str


Made = Answer | str  # or why there is none
MOST_POINTS = 1000  # in a table: a page stays under 2 MB, a step summary under 1 MiB


def parts(asked: Asked) -> Iterator[Part | Left]:
    """Every part in the order they are read."""
    for name, (title, about, make) in PARTS.items():
        try:
            made = make(asked)
        except SpecplanError as error:
            made = error.said
        if isinstance(made, str):
            if made:
                yield Left(name, made)
        else:
            yield Part(name=name, title=title, about=about, answer=made)


def _expected(asked: Asked) -> Made:
    return expected(asked.checked) if asked.checked else ""


def _points(asked: Asked) -> Made:
    scenario, points = asked.scenario, len(asked.judged.points)
    if points > MOST_POINTS:
        return f"the plan has {points:,}, and a page shows {MOST_POINTS:,} at most; specplan best-k"
    return best_k(replace(scenario, k=())) if scenario.workloads > 1 else ""


def _best_k(asked: Asked) -> Made:
    return best_k(alone(asked.scenario, asked.judged.at))


def _batch_alpha(asked: Asked) -> Made:
    """At one k; where k follows the batch at the best one of each place, which may be none."""
    judged, grid = asked.judged, asked.grid
    k = () if judged.gated else (judged.here or max(grid.k[:2]),)
    here = replace(
        alone(asked.scenario, judged.at, k), batch=grid.batch, acceptance=grid.acceptance
    )
    found = best_k(here) if judged.gated else _only(sweep(here), Cells)
    own = grid.acceptance[grid.own[2]]
    return _marked(found, str(own), judged.at.batch, grid.named[grid.own[2]])


def _map(asked: Asked) -> Made:
    here, at = alone(asked.scenario, asked.judged.at), asked.judged.at
    found = best_k(replace(here, batch=asked.grid.batch, context=asked.grid.context))
    return _marked(found, people(at.context, "tokens"), at.batch)


def _marked(answer: Answer, y: str, batch: float, called: str = "") -> Answer:
    """The same with the place of the point in its maps, by the names of its row and column; the row
    is then `called` something else, if that is given.
    """
    if answer.view.picture is None:
        return answer
    picture, x = answer.view.picture(), people(batch, "tokens")
    panels = tuple(
        replace(
            one,
            at=(one.y.index(y), one.x.index(x)),
            y=tuple(called or name if name == y else name for name in one.y),
        )
        if isinstance(one, Cells) and y in one.y and x in one.x
        else one
        for one in picture.panels
    )
    some = replace(picture, panels=panels)
    return replace(answer, view=replace(answer.view, picture=lambda: some))


def _only(answer: Answer, kind: type[Panel]) -> Answer:
    """The same with only the panels of a kind in its picture."""
    if answer.view.picture is None:
        return answer
    picture = answer.view.picture()
    panels = tuple(panel for panel in picture.panels if isinstance(panel, kind))
    # A note tells what panels were left out: of others than these.
    some = replace(picture, panels=panels, columns=min(picture.columns, len(panels) or 1), note="")
    return replace(answer, view=replace(answer.view, picture=(lambda: some) if panels else None))


def _roofline(asked: Asked) -> Made:
    found = _only(asked.explained, Plot)
    return replace(found, view=replace(found.view, sections=found.view.sections[1:2]))


def _time(asked: Asked) -> Made:
    found = _only(asked.explained, Bars)
    sections = (*found.view.sections[:1], *found.view.sections[2:])
    return replace(found, view=replace(found.view, sections=sections))


def _memory(asked: Asked) -> Made:
    """At the k that runs at the point, which is said where k follows the batch."""
    judged, here = asked.judged, asked.judged.here
    if not judged.gated:
        return memory(alone(asked.scenario, judged.at, (here,)))
    found = memory(alone(asked.scenario, judged.at, (here,) if here else ()))
    said = (
        f"With drafts of k = {here}, the best at this point."
        if here
        else ("No drafts are best at this point; the drafter stays in memory for the others.")
    )
    sections = (Lines((said,), wrap=True), *found.view.sections)
    return replace(found, view=replace(found.view, sections=sections))


def _acceptance(asked: Asked) -> Made:
    here = alone(asked.scenario, asked.judged.at)
    return kept(here, asked.judged.at, asked.grid.k)


def _gate(asked: Asked) -> Made:
    return gate(alone(asked.scenario, asked.judged.at))


def _flags(asked: Asked) -> Made:
    judged, scenario = asked.judged, asked.scenario
    if asks_gate(scenario):
        return flags_of(with_gate(alone(scenario, judged.at)))
    return flags_of(alone(scenario, judged.at, (judged.k or 0,)))


def _gate_flags(asked: Asked) -> Made:
    if asks_gate(asked.scenario):
        return ""
    return flags_of(with_gate(alone(asked.scenario, asked.judged.at)))


def _accuracy(asked: Asked) -> Made:
    return within(asked.scenario, asked.judged.at.setup, asked.cited.bands)


def _capacity(asked: Asked) -> Made:
    if asked.coming is None:
        return "no traffic was given: --rate or --trace, or traffic: in the plan"
    return capacity_of(asked.coming)


class Kind(NamedTuple):
    """A part: its heading, a sentence, and what makes it, or "" where there is nothing to say."""

    title: str
    about: str
    make: Callable[[Asked], Made]


PARTS: Mapping[str, Kind] = {
    "expectations": Kind("What the plan expects", "As specplan check judges it.", _expected),
    "points": Kind("Every point of the plan", "The best draft length of each workload.", _points),
    "best-k": Kind(
        "Best k and its margins",
        "Which draft length, what its neighbours lose, and how wrong acceptance may be.",
        _best_k,
    ),
    "batch-alpha": Kind(
        "Batch and acceptance",
        "Speedup at one k, or at the best k of each place where k follows the load; "
        "along the border plain decoding is as fast.",
        _batch_alpha,
    ),
    "best-k-map": Kind(
        "Best k over batch and context",
        "The draft length that is best there, and its speedup.",
        _map,
    ),
    "roofline": Kind(
        "Roofline",
        "Both passes under the roof of the GPU: left of the ridge memory binds.",
        _roofline,
    ),
    "time": Kind("Where the time goes", "A round beside plain steps, term by term.", _time),
    "memory": Kind(
        "Memory",
        "What a GPU holds without and with the drafter, and the sequences that fit.",
        _memory,
    ),
    "acceptance": Kind(
        "Acceptance",
        "How often a draft token is kept, by its position, and what a round then yields.",
        _acceptance,
    ),
    "gate": Kind("Schedule by load", "The best k at each batch that fits.", _gate),
    "flags": Kind("Flags of the engine", "The plan in the engine's own words.", _flags),
    "gate-flags": Kind(
        "Flags of the schedule",
        "The same with k by batch, as far as the engine can say it.",
        _gate_flags,
    ),
    "capacity": Kind(
        "GPUs for the traffic",
        "What the traffic needs without speculation, with one k and with k by load.",
        _capacity,
    ),
    "accuracy": Kind(
        "How accurate this is",
        "Predictions against rounds that were measured and met no constant.",
        _accuracy,
    ),
    "sources": Kind(
        "Sources",
        "Where every figure used comes from.",
        lambda asked: sources(asked.cited),
    ),
    "reproduce": Kind(
        "To repeat this",
        "The command, versions and cards.",
        lambda asked: reproduced(asked.cited),
    ),
}
"""By name, in the order they are read."""
