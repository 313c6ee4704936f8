"""The figures that a diagnosis rests on, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specplan.domain.matched import alike
from specplan.questions.common import percent, times
from specplan.questions.memory_view import drafter_words, sequences_words
from specplan.rules.deployed import short
from specplan.rules.pacing import EXPLAINS
from specplan.units import people

if TYPE_CHECKING:
    from specplan.questions.diagnose import Diagnosis
    from specplan.questions.gap import Gap, RoundTimes

MOST_LOADS = 4
Line = tuple[str, str]


def facts(value: Diagnosis) -> Iterator[Line]:
    """All of them."""
    yield from _scatter(value)
    yield from _rates(value)
    yield from _measured(value)
    if value.round_times is not None:
        yield from _round(value.round_times)
    if value.gap is not None:
        yield from _gap(value.gap, unsure=value.over_plain is not None)
    elif value.predicted_tokens_per_s is not None and (
        value.seen_tokens_per_s is not None or value.seen_tpot_s is not None
    ):
        yield "gap", "not known: at which batch was that seen? (-b)"
    yield from _tokens(value)
    if value.astray and value.pays_to is not None:
        yield "", "(what follows is of the prediction, not of what was seen)"
    yield from _best(value)
    yield from _loads(value)
    if value.memory is not None:
        yield "memory", f"drafter {drafter_words(value.memory)}"
        yield "", sequences_words(value.memory)


def _scatter(value: Diagnosis) -> Iterator[Line]:
    """How sure the speedup is, where the verdict cannot say it."""
    low, high = value.speedup_low, value.speedup_high
    if value.band or low is None or high is None or times(low) == times(high):
        return
    yield "speedup", f"{times(low)} to {times(high)} by the scatter of acceptance alone"


def _rates(value: Diagnosis) -> Iterator[Line]:
    gap = "" if value.gap is None else f", {_off(value.gap.relative)}"
    elsewhere = value.plain_batch and value.batch and not alike(value.batch, value.plain_batch)
    spec = value.seen_tokens_per_s, value.seen_tpot_s, value.predicted_tokens_per_s
    plain = value.plain_tokens_per_s, value.plain_tpot_s, value.predicted_plain_tokens_per_s
    for label, (seen, tpot_s, predicted), more in (("with", spec, gap), ("without", plain, "")):
        words = [f"{short(seen)} tok/s seen"] if seen is not None else []
        if words and label == "without" and elsewhere and value.plain_batch:
            words = [f"{words[0]} at batch {short(value.plain_batch, 3)}"]
        if seen is None and tpot_s is not None:
            words = [f"{people(tpot_s, 's')} a token seen"]
        if predicted is not None:
            unit = "" if seen is not None else " tok/s"
            words.append(f"{short(predicted)}{unit} predicted{more}")
        if words:
            yield label, ", ".join(words)


def _measured(value: Diagnosis) -> Iterator[Line]:
    """What two runs saw at each load that both had."""
    for number, one in enumerate(value.both[:MOST_LOADS]):
        with_it, without = short(one.tokens_per_s), short(one.plain_tokens_per_s)
        batch, other = short(one.batch, 3), short(one.plain_batch, 3)
        at = "" if batch == other else f" at batch {other}"
        words = f"batch {batch}: {with_it} with, {without} without{at}, {times(one.speedup)}"
        yield "measured" if not number else "", words
    if len(value.both) > MOST_LOADS:
        yield "", f"and {len(value.both) - MOST_LOADS} loads more: -f json has all"
    if value.loads_of_one:
        lone = [f"{batch:.3g}" for batch in value.loads_of_one[:MOST_LOADS]]
        yield "", f"batch {', '.join(lone)}: only one of the two, left out"
    spec_s, plain_s = value.seen_tpot_s, value.plain_tpot_s
    if value.apart and spec_s and plain_s:
        yield "measured", f"{people(spec_s, 's')} a token with, {people(plain_s, 's')} without"


def _off(relative: float) -> str:
    return f"{100 * relative:+.0f} %"


def _round(each: RoundTimes) -> Iterator[Line]:
    seen = f"{people(each.seen_s, 's')} seen, " if each.seen_s is not None else ""
    step = f"a plain step {people(each.plain_s, 's')}"
    yield "a round", f"{seen}{people(each.round_s, 's')} predicted; {step}"
    parts = [
        (each.draft_s, "drafting"),
        (each.verify_s, "verification"),
        (each.host_s, "host"),
        (each.eager_s, "launches one by one"),
    ]
    yield "", ", ".join(f"{people(part_s, 's')} {name}" for part_s, name in parts if part_s)


def _gap(gap: Gap, *, unsure: bool) -> Iterator[Line]:
    """What a round takes beyond the prediction, and what would account for it."""
    more = "more" if gap.missing_s > 0 else "less"
    words = f"{people(abs(gap.missing_s), 's')} a round {more} than predicted"
    if gap.prompts_s is not None and gap.missing_s > 0:
        words += f"; prompts take {people(gap.prompts_s, 's')}"
    yield "gap", words
    if gap.unlike and gap.prompts_s is None and gap.prompts_tokens_per_s is not None:
        yield "", _prompts(gap.prompts_tokens_per_s, gap.prompts_seen_tokens_per_s)
    if gap.plain_missing_s is not None:
        slower = "more" if gap.plain_missing_s > 0 else "less"
        yield (
            "",
            f"a plain step took {people(abs(gap.plain_missing_s), 's')} {slower} than predicted",
        )
    elif (gap.unlike or unsure) and gap.speedup_as_slow is not None:
        yield (
            "",
            (
                f"{times(gap.speedup_as_predicted)} if plain steps are as predicted, "
                f"{times(gap.speedup_as_slow)} if off as much"
            ),
        )
    for load in gap.at_loads[:MOST_LOADS]:
        seen, predicted = load.seen_tokens_per_s, load.predicted_tokens_per_s
        words = f"{short(predicted)} tok/s predicted"
        if seen is not None:
            off = _off(seen / predicted - 1)
            words = f"{short(seen)} tok/s seen, {short(predicted)} predicted, {off}"
        yield "", f"batch {short(load.batch, 3)}: {words}"


def _prompts(needed: float, seen: float | None) -> str:
    """Whether prompts between the rounds are what they lack."""
    rate = people(needed, "tokens")
    if seen is None:
        return f"prompts of {rate} tok/s in between would explain it"
    if seen < EXPLAINS * needed:
        return f"prompts do not explain it: the log shows {short(seen)} tok/s"
    share = percent(min(seen / needed, 1.0), 0)
    return f"prompts explain {share} of it: the log shows {short(seen)} tok/s"


def _tokens(value: Diagnosis) -> Iterator[Line]:
    """What a round yields, and what it has to."""
    if value.tau is not None:
        span = before = ""
        if value.tau_low is not None and value.tau_high is not None:
            low, high = f"{value.tau_low:.2f}", f"{value.tau_high:.2f}"
            span = f" ({low}-{high})" if low != high else ""
        if value.tau_before is not None:
            before = f", {value.tau_before:.2f} before"
        yield "tokens/round", f"{value.tau:.2f}{span}{before}"
    cost = value.break_even_tokens_per_round
    if cost is not None and not (value.by == "measured" and value.paying is None):
        yield "break-even", f"{cost:.2f} tokens a round"
    if value.tau is not None and value.paying is None and value.speedup is None and not cost:
        words = f"a round takes less than {value.tau:.2f} plain steps"
        if value.round_s is not None:
            least = people(value.round_s / value.tau, "s")
            words = f"a plain step takes over {least}: a round takes {people(value.round_s, 's')}"
        yield "pays if", words


def _best(value: Diagnosis) -> Iterator[Line]:
    if value.best_k == 0:
        yield "best k", "0: no draft length pays here"
    if not value.best_k or value.best_speedup is None:
        return
    words = f"{value.best_k}: {times(value.best_speedup)}"
    if value.best_adds_tokens is not None and value.best_adds_steps is not None:
        words += "; its last draft adds " + _added(value.best_adds_tokens, value.best_adds_steps)
    yield "best k", words
    tokens, steps = value.next_adds_tokens, value.next_adds_steps
    if tokens is not None and steps is not None and tokens < steps * value.best_speedup:
        yield "", f"one more {_added(tokens, steps)}: less than {value.best_speedup:.2f} a step"


def _added(tokens: float, steps: float) -> str:
    return f"{tokens:.2g} tokens for {steps:.2g} steps"


def _loads(value: Diagnosis) -> Iterator[Line]:
    """Up to which batch the k in use pays, and which k at which, condensed."""
    if value.memory is not None and value.memory.largest_batch:
        most = value.memory.largest_batch
        if value.max_batch and value.max_batch < most:
            most = value.max_batch
        yield "pays", _where(value, most)
    for number, some in enumerate(value.loads[:MOST_LOADS]):
        batches = f"batch {some.first_batch:,}"
        if some.last_batch != some.first_batch:
            batches += f"-{some.last_batch:,}"
        gains = times(some.speedup_first)
        if times(some.speedup_last) != gains:
            gains += f" to {times(some.speedup_last)}"
        words = f"k = {some.k}, {gains}" if some.k else "plain decoding"
        yield "by load" if not number else "", f"{batches}: {words}"
    if len(value.loads) > MOST_LOADS:
        more = len(value.loads) - MOST_LOADS
        yield "", f"and {more} ranges more: specplan gate has all"
    if any(some.k for some in value.loads) and value.loads_within is not None:
        yield "", f"(each within {percent(value.loads_within, 0)} of the best of any k)"


def _where(value: Diagnosis, most: int) -> str:
    """The batches at which what is in use pays."""
    pays_to = value.pays_to or 0
    where = f"up to batch {pays_to:,}" if pays_to else "not at batch 1"
    if pays_to >= most:
        where = f"at every batch that fits, 1-{most:,}"
        if most == value.max_batch:
            where = f"at every batch that may run, 1-{most:,}: no more requests run"
    return where + (f"; again from {value.pays_from:,} on" if value.pays_from else "")
