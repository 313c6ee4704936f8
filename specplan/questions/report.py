"""Everything about one plan in one answer: the verdict, then a part for each question it raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Answer, Basis, Column, Facts, Lines, Part, Rows, View, table_of
from specplan.domain.scenario import Scenario
from specplan.questions.common import basis_of, dtype_words, percent, refuse_mix, times
from specplan.questions.report_checked import failing_words
from specplan.questions.report_dials import explorer_of, grid_of
from specplan.questions.report_parts import PARTS, Asked, Left, parts
from specplan.questions.report_point import Judged, judged, room_words, sentence, worth
from specplan.questions.report_sources import Cited
from specplan.questions.report_traffic import Coming, facts, gpus_words, unserved_words
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
    `worth_alpha` is the one alpha by which its rounds would yield as much.
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
    worth_alpha: float
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
    coming: Coming | None = None,
    about: str = "",
) -> Answer:
    """The report of a plan; exit 1 where an expectation fails, its traffic cannot be served or it
    does not fit. Those who read files say what the plan is `about`, how its expectations were
    `checked` and what traffic is `coming`; `cited` says where the cards of a judged plan come from.
    """
    refuse_mix(scenario, "report")
    basis = basis_of(scenario)
    found = judged(scenario, basis)
    grid = grid_of(found.at, scenario, () if found.k is None else (found.k,), found.here)
    asked = Asked(scenario, found, grid, cited(found), checked, coming)
    made = list(parts(asked))
    there = tuple(part for part in made if isinstance(part, Part))
    value = _value(asked, basis)
    return Answer(
        command="report",
        value=value,
        table=table_of(COLUMNS, [_row(part) for part in made]),
        view=_view(asked, value, basis, [p for p in made if isinstance(p, Left)], about),
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


def _sentence(asked: Asked, basis: Basis) -> tuple[str, str]:
    """The verdict in a word and in one sentence: of speed, unless the traffic is not served."""
    found, coming = asked.judged, asked.coming
    head, rest = sentence(asked.scenario, found, basis)
    fails = failing_words(asked.checked)
    if found.verdict == "does not fit" or coming is None:
        return found.verdict, f"{head}: {rest}{fails}"
    if coming.unserved:
        return "not served", f"{unserved_words(coming)}; {rest}{fails}"
    return found.verdict, f"{head}: {rest}{gpus_words(coming, found.k)}{fails}"


def _value(asked: Asked, basis: Basis) -> Report:
    found = asked.judged
    worst, setup = found.worst, found.at.setup
    enough = worst.break_even_alpha
    verdict, words = _sentence(asked, basis)
    return Report(
        verdict=verdict,
        sentence=words,
        points=len(found.points),
        paying=found.paying,
        target=setup.target.name,
        draft=setup.draft.label,
        hardware=setup.where,
        batch=found.at.batch,
        context=found.at.context,
        acceptance=str(found.at.acceptance),
        worth_alpha=worth(found.at.acceptance, worst.k, found.at.context),
        k=found.k,
        speedup=worst.speedup,
        tpot_s=worst.tpot_s,
        best_k=worst.best_k,
        best_speedup=worst.best_speedup,
        k_regret=worst.k_regret,
        break_even_alpha=enough if worst.k and 0 <= enough <= 1 else None,
        fits=all(one.free_bytes >= 0 for one in found.points),
    )


def _view(asked: Asked, value: Report, basis: Basis, left: list[Left], about: str) -> View:
    found = asked.judged
    setup = found.at.setup
    told = [
        ("setup", f"{setup.label}, {dtype_words(setup)}, {setup.serving.served_by}"),
        *(facts(asked.coming) if asked.coming else ()),
        ("point", _point_words(asked, value)),
        ("k", _k_words(value)),
        ("speedup", f"{times(value.speedup)}{_band(value, basis)}"),
        ("TPOT", people(value.tpot_s, "s")),
    ]
    if value.break_even_alpha is not None:
        enough = f"at acceptance {value.break_even_alpha:.2f} with k = {found.here}"
        told.append(("breaks even", enough))
    sections: list[Facts | Lines | Rows] = [Facts(tuple(told))]
    if not value.fits:
        sections.insert(0, Lines((room_words(found),), wrap=True))
    gone = tuple(f"{PARTS[one.name].title}: left out, {one.reason}" for one in left)
    if gone:
        sections.append(Lines(gone, wrap=True))
    return View(title=value.sentence, caption=(about,) if about else (), sections=tuple(sections))


def _point_words(asked: Asked, value: Report) -> str:
    """The workload; whose figures it has that nobody gave; what an acceptance without one alpha is
    worth.
    """
    found, inputs = asked.judged, asked.scenario.inputs
    sizes = {
        "batch": f"batch {value.batch:,.0f}",
        "context": f"context {people(value.context, 'tokens')}",
    }
    coming = [name for name in sizes if name in inputs and inputs[name].origin == "traffic"]
    if len(coming) == 1:
        sizes[coming[0]] += ", that of the traffic"
    told = list(sizes.values())
    if len(coming) == len(sizes):
        told = [f"{' and '.join(told)}, those of the traffic"]
    told.append(f"acceptance {value.acceptance}")
    if not isinstance(found.at.acceptance, Alpha):
        told.append(f"worth alpha {value.worth_alpha:.2f} at k = {max(found.here, 1)}")
    if len(found.points) > 1:
        told.append("where speculation helps least")
    return ", ".join(told)


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
    """How far the speedup may be off; that of plain decoding over itself is what it is."""
    if value.k == 0:
        return ""
    low, high = basis.bands.get("speedup", (0.0, 0.0))
    if not high:
        return f", {basis.says}"
    ends = f"{value.speedup * (1 + low):.2f} to {value.speedup * (1 + high):.2f}"
    return f" ({ends}: {basis.says})"
