"""How a diagnosis is told: the verdict, the figures it rests on, and each finding in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Facts, Lines, Section, View
from specplan.questions.common import dtype_words, times
from specplan.questions.memory_view import drafter_words, sequences_words
from specplan.units import people

if TYPE_CHECKING:
    from specplan.domain.scenario import Scenario
    from specplan.questions.diagnose import Diagnosis
    from specplan.rules.deployed import Symptom

MOST_LOADS = 4
BROKEN = "SD011"


def shown(value: Diagnosis, told: Sequence[Symptom], scenario: Scenario | None) -> View:
    """The page."""
    sections: list[Section] = [Facts(tuple(_facts(value)))]
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
    said = _verdict(value)
    if any(symptom.rule == BROKEN for symptom in told):
        return f"{said}: the drafter is broken, do not tune k"
    if value.best_k is None or value.best_speedup is None or value.k == value.best_k:
        return said
    if value.best_k == 0:
        return f"{said}; no k pays here"
    would = "would" if value.paying is False else "is predicted"
    return f"{said}; k = {value.best_k} {would} {times(value.best_speedup)}".replace(
        "would ", "would be "
    )


def _verdict(value: Diagnosis) -> str:
    if value.speedup is None:
        if value.paying is False:
            return "Speculation loses now"
        return "Whether speculation pays is not known"
    span = ""
    if value.speedup_low is not None and value.speedup_high is not None:
        low, high = f"{value.speedup_low:.2f}", f"{value.speedup_high:.2f}"
        span = f" ({low}-{high}x)" if low != high else ""
    how = value.by if value.by == "measured" else ""
    verb = "pays" if value.paying else "loses"
    return f"Speculation {verb} now: {times(value.speedup)}{span} {how}".rstrip()


def _caption(value: Diagnosis, scenario: Scenario | None) -> Iterator[str]:
    served = value.engine + (f"@{value.engine_version}" if value.engine_version else "")
    if scenario is not None:
        setup = scenario.setups[0]
        yield f"{setup.label}, {dtype_words(setup)}"
    at = [served]
    at += [f"k = {value.k}"] if value.k is not None else []
    at += [f"batch {value.batch:,.4g}"] if value.batch is not None else []
    at += [f"context {people(value.context, 'tokens')}"] if value.context is not None else []
    yield ", ".join(at)


def _facts(value: Diagnosis) -> Iterator[tuple[str, str]]:
    yield from _rates(value)
    if value.tau is not None:
        span = ""
        if value.tau_low is not None and value.tau_high is not None:
            span = f" ({value.tau_low:.2f}-{value.tau_high:.2f})"
        yield "tokens/round", f"{value.tau:.2f}{span}"
    if value.break_even_tokens_per_round is not None:
        yield "break-even", f"{value.break_even_tokens_per_round:.2f} tokens a round"
    if value.best_k is not None:
        yield "best k", _best(value)
    yield from _loads(value)
    if value.memory is not None:
        yield "memory", f"drafter {drafter_words(value.memory)}"
        yield "", sequences_words(value.memory)


def _rates(value: Diagnosis) -> Iterator[tuple[str, str]]:
    seen, predicted = value.seen_tokens_per_s, value.predicted_tokens_per_s
    words = [f"{seen:,.4g} tok/s seen"] if seen is not None else []
    words += [f"{predicted:,.4g} predicted"] if predicted is not None else []
    words += [f"{value.gap:+.0%}"] if value.gap is not None else []
    if words:
        yield "with", ", ".join(words) if seen is not None else f"{predicted:,.4g} tok/s predicted"
    plain, expected = value.plain_tokens_per_s, value.predicted_plain_tokens_per_s
    words = [f"{plain:,.4g} tok/s seen"] if plain is not None else []
    if expected is not None:
        words.append(
            f"{expected:,.4g} predicted"
            if plain is not None
            else f"{expected:,.4g} tok/s predicted"
        )
    if words:
        yield "without", ", ".join(words)
    yield from _gap(value)


def _gap(value: Diagnosis) -> Iterator[tuple[str, str]]:
    """What a round takes beyond the prediction, and what accounts for it."""
    gap_s, prompts_s, ends = value.gap_s, value.gap_prefill_s, value.predicted_at_batches
    if gap_s is None:
        return
    longer = f"a round takes {people(abs(gap_s), 's')} {'longer' if gap_s > 0 else 'less'}"
    if prompts_s is not None:
        yield "gap", f"{longer}; prompts in between account for {people(prompts_s, 's')}"
    else:
        yield "gap", f"{longer}; {people(value.predicted_host_s or 0.0, 's')} of host predicted"
    if ends:
        (low, least), (high, most) = ends
        yield "", f"batch {low:,.4g}-{high:,.4g} seen: {least:,.4g} to {most:,.4g} tok/s predicted"


def _best(value: Diagnosis) -> str:
    if not value.best_k:
        return "0: no draft length pays here"
    words = f"{value.best_k}: {times(value.best_speedup or 0.0)}"
    if value.best_adds_tokens is not None and value.best_adds_steps is not None:
        words += (
            f"; its last draft adds {value.best_adds_tokens:.2f} tokens for "
            f"{value.best_adds_steps:.2f} steps"
        )
    return words


def _loads(value: Diagnosis) -> Iterator[tuple[str, str]]:
    """Which k at which batch, condensed."""
    for number, some in enumerate(value.loads[:MOST_LOADS]):
        batches = f"batch {some.first_batch:,}"
        if some.last_batch != some.first_batch:
            batches += f"-{some.last_batch:,}"
        gains = times(some.speedup_first)
        if times(some.speedup_last) != gains:
            gains += f" to {times(some.speedup_last)}"
        words = f"k = {some.k}, {gains}" if some.k else "plain decoding"
        yield "loads" if not number else "", f"{batches}: {words}"
    if len(value.loads) > MOST_LOADS:
        more = len(value.loads) - MOST_LOADS
        yield "", f"and {more} ranges more: specplan gate has all"


def _finding(symptom: Symptom) -> str:
    told = symptom.told
    if told is None:
        return f"{symptom.rule} {symptom.level}: {symptom.message}"
    first, rest = told.consequence[:1], told.consequence[1:]
    consequence = (first.upper() if rest[:1].isalpha() else first) + rest
    return (
        f"{symptom.rule} {symptom.level}, {symptom.title}: {told.evidence}. {consequence}. "
        f"Do: {told.remedy}."
    )
