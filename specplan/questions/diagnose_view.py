"""How a diagnosis is told: the verdict, the figures it rests on, and each finding in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Facts, Lines, Section, View
from specplan.questions.common import dtype_words, times
from specplan.questions.diagnose_facts import facts
from specplan.rules.deployed import TIE, short
from specplan.units import people

if TYPE_CHECKING:
    from specplan.domain.scenario import Scenario
    from specplan.questions.diagnose import Diagnosis
    from specplan.rules.deployed import Symptom

BROKEN = "SD011"
DOUBTS = {  # rules that say why a measured speedup is none
    "SD041": "is more than a round yields",
    "SD042": "is over an eager run",
}
ON = {"SD043": "on random tokens", "SD045": "on one prompt asked again"}
_ARTICLE = re.compile(r"[a-z]+ [a-z]|[a-z]{2}")  # a sentence, not k = 4


def shown(value: Diagnosis, told: Sequence[Symptom], scenario: Scenario | None) -> View:
    """The page."""
    sections: list[Section] = [Facts(tuple(facts(value)))]
    sections += [Lines((_finding(symptom),), wrap=True) for symptom in told]
    if not told:
        sections.append(Lines(("Nothing else was found.",)))
    return View(
        title=verdict(value, told),
        caption=tuple(_caption(value, scenario)),
        sections=tuple(sections),
    )


def verdict(value: Diagnosis, told: Sequence[Symptom]) -> str:
    """The answer in one line."""
    rules = {symptom.rule for symptom in told}
    on = next((f" {words}" for rule, words in ON.items() if rule in rules), "")
    said = _verdict(value, rules) + on
    if BROKEN in rules:
        return f"{said}: the drafter is broken, do not tune k"
    best = value.best_speedup
    if value.paying is None or value.best_k is None or best is None or value.k == value.best_k:
        return said
    if value.astray or (value.memory is not None and value.memory.shortfall_bytes):
        return said
    if value.best_k == 0:
        return f"{said}; no k pays here"
    if value.by == "predicted" and value.paying and not told_of(value):
        return f"{said}; k = {value.best_k}: {times(best)}"
    would = "is predicted" if value.paying else "would be"
    return f"{said}; k = {value.best_k} {would} {times(best)}"


def _verdict(value: Diagnosis, rules: set[str]) -> str:
    unknown = "Whether speculation pays is not known"
    if value.paying is None:
        doubt = _doubt(value, value.speedup, rules)
        return f"{unknown}: {doubt}" if doubt else unknown
    if value.speedup is None:
        return "Speculation loses now"  # whose drafter keeps nothing
    if value.memory is not None and value.batch is not None and value.memory.shortfall_bytes:
        verb = "pay" if value.paying else "lose"
        return f"Batch {short(value.batch)} does not fit; it would {verb}: {times(value.speedup)}"
    if value.by == "measured" and abs(value.speedup - 1) <= TIE:
        return f"Speculation gains nothing now: {times(value.speedup)} measured"
    if value.by == "predicted" and not told_of(value):
        return _predicted(value, value.speedup)
    how = " measured" if value.by == "measured" else _span(value)
    how += " per token" if value.apart else ""
    return f"Speculation {'pays' if value.paying else 'loses'} now: {times(value.speedup)}{how}"


def told_of(value: Diagnosis) -> bool:
    """Whether a prediction was held against anything seen."""
    return value.gap is not None


def _predicted(value: Diagnosis, speedup: float) -> str:
    """A verdict that nothing seen stands behind."""
    seen = value.seen_tokens_per_s is not None or value.seen_tpot_s is not None
    why = "not compared with what was seen" if seen else "nothing measured"
    said = "; ".join(filter(None, (_span(value).strip(" ()"), why)))
    return f"Predicted to {'pay' if value.paying else 'lose'}: {times(speedup)} ({said})"


def _doubt(value: Diagnosis, speedup: float | None, rules: set[str]) -> str:
    """Why nobody knows, in few words; "" where nothing was said or seen."""
    if value.apart and value.batch and value.plain_batch:
        own, other = (short(round(one, 1)) for one in (value.batch, value.plain_batch))
        return f"batch {own} with it, {other} without"
    if speedup is None:
        return ""
    for rule, words in DOUBTS.items():
        if rule in rules:
            return f"{times(speedup)} {words}"
    ends = [speedup]
    if value.gap is not None:
        gap = value.gap
        ends = [gap.speedup_as_predicted, gap.speedup_as_slow or speedup]
    elif value.over_plain is not None:
        return f"{times(value.over_plain)} of plain decoding as predicted"
    return f"{times(min(ends))} to {times(max(ends))}"


def _span(value: Diagnosis) -> str:
    """The scatter of the prediction, where that of the model is known."""
    low, high = value.speedup_low, value.speedup_high
    if not value.band or low is None or high is None:
        return ""
    return f" ({low:.2f}-{high:.2f}x)"


def _caption(value: Diagnosis, scenario: Scenario | None) -> Iterator[str]:
    served = value.engine + (f"@{value.engine_version}" if value.engine_version else "")
    if scenario is not None:
        setup = scenario.setups[0]
        yield f"{setup.label}, {dtype_words(setup)}"
    at = [served]
    if value.tree_tokens is not None:
        at += [f"a tree {value.k} deep of {value.tree_tokens} tokens"]
    else:
        at += [f"k = {value.k}"] if value.k is not None else []
    at += [f"batch {short(value.batch, 3)}"] if value.batch is not None else []
    at += [f"context {people(value.context, 'tokens')}"] if value.context is not None else []
    yield ", ".join(at)


def _finding(symptom: Symptom) -> str:
    told = symptom.told
    if told is None:
        return f"{symptom.rule} {symptom.level}: {symptom.message}"
    return (
        f"{symptom.rule} {symptom.level}, {symptom.title}: {told.evidence}. "
        f"{_sentence(told.consequence)}. Do: {told.remedy}."
    )


def _sentence(text: str) -> str:
    """With its first letter in upper case, unless that is a symbol."""
    return text[:1].upper() + text[1:] if _ARTICLE.match(text) else text
