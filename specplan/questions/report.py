"""Everything about one plan in one answer: the verdict, then a part for each question it raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specplan.domain.answer import Answer, Basis, Column, Facts, Lines, Part, Rows, View, table_of
from specplan.domain.scenario import Scenario
from specplan.questions.common import basis_of, dtype_words, percent, refuse_mix, times
from specplan.questions.report_dials import explorer_of, grid_of
from specplan.questions.report_parts import PARTS, Asked, Left, parts
from specplan.questions.report_point import Judged, judged, sentence
from specplan.questions.report_sources import Cited
from specplan.units import people

COLUMNS = (
    Column("part", "", "part", "text", "name of the part"),
    Column("title", "", "title", "text", "its heading"),
    Column("left_out", "", "left out because", "text", "absent where it is there"),
)
ANSWERS = ("expectations", "capacity")  # parts whose no is the report's


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict over all points, and the one that the parts are about: where speculation helps
    least. `k` is the plan's, or the one that loses least over its points; None by batch.
    """

    verdict: str
    sentence: str
    points: int
    paying: int
    target: str
    draft: str
    hardware: str
    batch: float
    context: float
    acceptance: str
    k: int | None
    speedup: float
    tpot_s: float
    best_k: int
    best_speedup: float
    k_regret: float
    break_even_alpha: float | None
    fits: bool


def report(
    scenario: Scenario,
    *,
    cited: Callable[[Judged], Cited],
    checked: Answer | None = None,
    sized: Callable[[], Answer] | None = None,
) -> Answer:
    """The report of a plan; exit 1 where an expectation fails, its traffic cannot be served or it
    does not fit. Those who read files say how the plan's expectations were `checked` and how many
    GPUs its traffic takes, `sized`; `cited` says where the cards of a judged plan come from.
    """
    refuse_mix(scenario, "report")
    basis = basis_of(scenario)
    found = judged(scenario, basis)
    grid = grid_of(found.at, scenario, () if found.k is None else (found.k,))
    asked = Asked(scenario, found, grid, cited(found), checked, sized)
    made = list(parts(asked))
    there = tuple(part for part in made if isinstance(part, Part))
    value = _value(scenario, found, basis)
    return Answer(
        command="report",
        value=value,
        table=table_of(COLUMNS, [_row(part) for part in made]),
        view=_view(found, value, basis, [p for p in made if isinstance(p, Left)]),
        basis=basis,
        inputs=scenario.inputs,
        notes=scenario.notes,
        ok=value.fits and all(p.answer.ok for p in there if p.name in ANSWERS),
        parts=there,
        explorer=explorer_of(found.at, grid, found.k),
    )


def _row(part: Part | Left) -> dict[str, str | None]:
    if isinstance(part, Left):
        return {"part": part.name, "title": None, "left_out": part.reason}
    return {"part": part.name, "title": part.title, "left_out": None}


def _value(scenario: Scenario, found: Judged, basis: Basis) -> Report:
    worst, setup = found.worst, found.at.setup
    enough = worst.break_even_alpha
    return Report(
        verdict=found.verdict,
        sentence=sentence(scenario, found, basis),
        points=len(found.points),
        paying=found.paying,
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.where,
        batch=found.at.batch,
        context=found.at.context,
        acceptance=str(found.at.acceptance),
        k=found.k,
        speedup=worst.speedup,
        tpot_s=worst.tpot_s,
        best_k=worst.best_k,
        best_speedup=worst.best_speedup,
        k_regret=worst.k_regret,
        break_even_alpha=enough if 0 <= enough <= 1 else None,
        fits=all(one.free_bytes >= 0 for one in found.points),
    )


def _view(found: Judged, value: Report, basis: Basis, left: list[Left]) -> View:
    setup = found.at.setup
    several = len(found.points) > 1
    facts = [
        ("setup", f"{setup.label}, {dtype_words(setup)}, {setup.serving.served_by}"),
        (
            "point",
            f"batch {value.batch:,.0f}, context {people(value.context, 'tokens')}, acceptance "
            f"{value.acceptance}{', where speculation helps least' if several else ''}",
        ),
        ("k", _k_words(value)),
        ("speedup", f"{times(value.speedup)}{_band(value, basis)}"),
        ("TPOT", people(value.tpot_s, "s")),
    ]
    if value.break_even_alpha is not None:
        facts.append(("breaks even", f"at acceptance {value.break_even_alpha:.2f}"))
    sections: list[Facts | Lines | Rows] = [Facts(tuple(facts))]
    told = tuple(f"{PARTS[one.name].title}: left out, {one.reason}" for one in left)
    if told:
        sections.append(Lines(told, wrap=True))
    return View(title=value.sentence, sections=tuple(sections))


def _k_words(value: Report) -> str:
    if value.k is None:
        return f"by batch; {value.best_k} here"
    if value.k == value.best_k:
        return f"{value.k}, the best here"
    return (
        f"{value.k}; the best here is {value.best_k} ({times(value.best_speedup)}), "
        f"{percent(value.k_regret)} are lost"
    )


def _band(value: Report, basis: Basis) -> str:
    low, high = basis.bands.get("speedup", (0.0, 0.0))
    if not high:
        return f", {basis.says}"
    ends = f"{value.speedup * (1 + low):.2f} to {value.speedup * (1 + high):.2f}"
    return f" ({ends}: {basis.says})"
