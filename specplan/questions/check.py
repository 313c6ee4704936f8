"""Do our plans and cards still hold? What was found of each file, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specplan.domain.answer import Answer, Basis, Column, Lines, Scalar, View, table_of
from specplan.domain.scenario import Input
from specplan.questions.common import basis_of
from specplan.questions.expectations import Outcome
from specplan.questions.grids import PLACE_COLUMNS, WORKLOAD_COLUMNS
from specplan.questions.verdicts import Judged
from specplan.rules.plans import BY_KEY, CHANGED
from specplan.rules.registry import RULES

EXACT = Basis(kind="exact", says="")

COLUMNS = (
    Column("rule", "", "rule", "text", "id of the rule"),
    Column("level", "", "level", "text", "pass, note, warning or error"),
    Column("file", "", "file", "text", "plan or card"),
    Column("line", "", "line", "count", "line of the value"),
    Column("column", "", "column", "count", "column of the value"),
    Column("name", "", "name", "text", "the expectation, or what the rule is about"),
    Column("message", "", "message", "text", "what was expected and found"),
    Column("help", "", "help", "text", "what the rule is for and what to do"),
    Column("expected", "", "expected", "number", "the limit"),
    Column("found", "", "found", "number", "at the worst point; of fits the bytes to spare"),
    Column("unit", "", "unit", "text", "SI unit of expected and found"),
    *PLACE_COLUMNS,
    *WORKLOAD_COLUMNS,
    Column("k", "tokens", "k", "count", "draft tokens per round"),
    Column("speedup", "1", "speedup", "times", "at that k"),
    Column("best_k", "tokens", "best k", "count", "best draft length there"),
    Column("best_speedup", "1", "best", "times", "speedup of the best k"),
    Column("policy", "", "policy", "text", "of traffic: k=N, gated or without speculation"),
    Column("gpus", "GPU", "GPUs", "count", "that the traffic needs there"),
)
_OF_FACTS = COLUMNS[11:]


@dataclass(frozen=True, slots=True)
class Seen:
    """What check looked at: plans judged, and every finding about something else.

    `files` are all files in order; `cards` of them are cards, read or not, and `unread` are plans
    that could not be read. `measured` counts files of measurements and of their constants.
    """

    files: tuple[str, ...]
    plans: tuple[Judged, ...]
    cards: int
    unread: int
    others: tuple[Outcome, ...]
    measured: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """Files and expectations by what became of them; `refused` plans read well and have no answer;
    `other_*` are about no expectation, and notes about no card that changed since the lock.
    """

    plans: int
    cards: int
    measurements: int
    expectations: int
    hold: int
    fail: int
    unsure: int
    unreadable: int
    refused: int
    other_errors: int
    other_warnings: int
    other_notes: int


def check(seen: Seen, *, strict: bool = False) -> Answer:
    """Every outcome as a row; ok when there is no error. With `strict` a warning is one."""
    ranks = {name: rank for rank, name in enumerate(seen.files)}
    found = [o for plan in seen.plans for o in (*plan.outcomes, *plan.others)]
    found += seen.others
    if strict:
        found = [_strict(outcome) for outcome in found]
    found.sort(key=lambda o: (ranks.get(o.where.name, len(ranks)), o.where[1:]))
    value = _counted(seen, found)
    return Answer(
        command="check",
        value=value,
        table=table_of(COLUMNS, [_record(outcome) for outcome in found]),
        view=View(title="", sections=(Lines((*_lines(found), _summary(value) + _aside(value))),)),
        basis=_basis(seen.plans),
        inputs=_inputs(seen.plans),
        notes=tuple(_changes(found)),
        ok=not any(outcome.finding.level == "error" for outcome in found),
    )


def verdict(answer: Answer) -> str:
    """The last line of a check, for formats that show findings alone, and notes among them."""
    return _summary(answer.value) if isinstance(answer.value, Checked) else ""


def _strict(outcome: Outcome) -> Outcome:
    if outcome.finding.level != "warning":
        return outcome
    return replace(outcome, finding=replace(outcome.finding, level="error"))


def _counted(seen: Seen, found: Sequence[Outcome]) -> Checked:
    expected = [outcome for plan in seen.plans for outcome in plan.outcomes]
    unsure = sum(o.holds and o.finding.level != "pass" for o in expected)
    hold = sum(o.holds for o in expected) - unsure
    besides = [o for o in found if o.name not in BY_KEY and not (o.unreadable or o.refused)]
    levels = [o.finding.level for o in besides]
    return Checked(
        plans=len(seen.plans) + seen.unread,
        cards=seen.cards,
        measurements=seen.measured,
        expectations=len(expected),
        hold=hold,
        fail=len(expected) - hold - unsure,
        unsure=unsure,
        unreadable=sum(o.unreadable for o in found),
        refused=sum(o.refused for o in found),
        other_errors=levels.count("error"),
        other_warnings=levels.count("warning"),
        other_notes=sum(o.finding.level == "note" and not _changed(o) for o in found),
    )


def _lines(found: Sequence[Outcome]) -> Iterator[str]:
    """Errors, then warnings, each in the order of the files; what holds in one file only as a bound
    is one line, for nothing in the plan can change it.
    """
    unsure: dict[str, list[str]] = {}
    for outcome in filter(_unsure, found):
        unsure.setdefault(outcome.where.name, []).append(outcome.name)
    for level in ("error", "warning"):
        for outcome in found:
            if outcome.finding.level != level:
                continue
            if level == "error" or not outcome.holds:
                yield f"{outcome.where}: {outcome.finding.rule} {outcome.finding.message}"
            elif outcome.where.name in unsure:
                names = ", ".join(unsure.pop(outcome.where.name))
                yield f"{outcome.where}: unsure, held only as a bound: {names}"


def _unsure(outcome: Outcome) -> bool:
    return outcome.holds and outcome.finding.level == "warning"


def _changes(found: Sequence[Outcome]) -> Iterator[str]:
    """Cards that changed and moved no verdict: nothing to act on, and worth knowing."""
    for outcome in found:
        if _changed(outcome):
            yield f"{outcome.where}: {outcome.finding.message}"


def _changed(outcome: Outcome) -> bool:
    return outcome.finding.rule == CHANGED.id and outcome.finding.level == CHANGED.level


def _summary(value: Checked) -> str:
    read = [_many(value.plans, "plan")] if value.plans else []
    read += [_many(value.cards, "card")] if value.cards else []
    read += [_many(value.measurements, "measurement file")] if value.measurements else []
    read += [_many(value.expectations, "expectation")] if value.plans else []
    said = [f"{value.hold:,} hold{'s' if value.hold == 1 else ''}"] if value.plans else []
    said += [f"{value.fail:,} fail{'s' if value.fail == 1 else ''}"] if value.fail else []
    said += [f"{value.unsure:,} unsure"] if value.unsure else []
    besides = " besides" if value.plans else ""  # what is said of expectations
    said += [_many(value.other_errors, "error") + besides] if value.other_errors else []
    said += [_many(value.other_warnings, "warning") + besides] if value.other_warnings else []
    said += [f"{_many(value.unreadable, 'file')} unreadable"] if value.unreadable else []
    said += [f"{_many(value.refused, 'plan')} refused"] if value.refused else []
    return f"{', '.join(read) or 'nothing read'}: {', '.join(said) or 'nothing found'}"


def _aside(value: Checked) -> str:
    """What the lines for people leave out, and where it is."""
    if not value.other_notes:
        return ""
    them = "it" if value.other_notes == 1 else "them"
    return f"; {_many(value.other_notes, 'note')}, -f json shows {them}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _record(outcome: Outcome) -> dict[str, Scalar]:
    finding, facts, found = outcome.finding, outcome.facts, outcome.found
    record: dict[str, Scalar] = {
        "rule": finding.rule,
        "level": finding.level,
        "file": outcome.where.name,
        "line": outcome.where.line,
        "column": outcome.where.column,
        "name": outcome.name,
        "message": finding.message,
        "help": RULES[finding.rule].help,
        "expected": outcome.limit,
        "found": found if found is not None and math.isfinite(found) else None,
        "unit": outcome.unit,
    }
    told = {column.name: getattr(facts, column.name, None) for column in _OF_FACTS}
    return record | {name: None if value == math.inf else value for name, value in told.items()}


def _basis(plans: Sequence[Judged]) -> Basis:
    """The weakest of the plans' bases, with what any of them assumes."""
    setups = tuple(setup for plan in plans for setup in plan.case.scenario.setups)
    return basis_of(replace(plans[0].case.scenario, setups=setups)) if plans else EXACT


def _inputs(plans: Sequence[Judged]) -> dict[str, Input]:
    """Plans and cards with their hashes."""
    inputs = {}
    for plan in plans:
        case = plan.case
        inputs[case.file] = Input(value=case.file, origin=case.file, sha256=case.sha256)
        for key, used in case.cards.items():
            inputs[key] = Input(value=used.card.name, origin=used.path, sha256=used.sha256)
    return inputs
