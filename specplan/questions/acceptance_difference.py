"""Two captures: do their acceptances differ, where, and what would have shown?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from specplan.domain.answer import (
    Answer,
    Basis,
    Column,
    Facts,
    Lines,
    Rows,
    Scalar,
    Section,
    View,
    table_of,
)
from specplan.domain.capture import Capture
from specplan.domain.scenario import Input
from specplan.domain.traps import TRAPS
from specplan.errors import Refused
from specplan.physics.counters.differ import LEVEL, POWER, Difference, Interval, difference
from specplan.physics.twosample.labels import holm
from specplan.questions.acceptance import Counted, counted, notes_of, refuse_empty
from specplan.questions.acceptance_picture import difference_of
from specplan.questions.acceptance_view import caption_of
from specplan.questions.shared_k import SharedK, best_lines

SENSITIVITY = 0.05  # change of alpha that a verdict of "same" would have seen

COLUMNS = (
    Column("figure", "", "figure", "text", "tokens_per_round, alpha, rate or position N"),
    Column("a", "", "A", "number", "of the first capture"),
    Column("b", "", "B", "number", "of the second capture"),
    Column("difference", "", "B - A", "number", "second less first"),
    Column("low", "", "from", "number", "95 % interval of the difference"),
    Column("high", "", "to", "number", "95 % interval of the difference"),
    Column("p_value", "1", "p alone", "number", "chance shows as much, in this figure"),
    Column("adjusted_p", "1", "p", "number", "Holm's, over all figures tested"),
    Column("smallest", "", "shows", "number", "difference that shows 9 times in 10"),
    Column("differs", "", "differs", "flag", "whether the adjusted p is at most 0.05"),
)
ASIDE = (
    Column("called", "", "figure", "text"),
    Column("first", "", "A", "text"),
    Column("second", "", "B", "text"),
    Column("change", "", "B - A (95 %)", "text"),
    Column("p", "", "p", "text"),
    Column("shows", "", "shows", "text"),
)
EXPLAINED = (
    "tokens/round: 1 + accepted / drafts, the bonus token included.",
    "alpha: accepted / (accepted + rejections).",
    "rate: accepted / drafted; not tested, for it follows.",
    "position: share of all rounds that keep it.",
    "p: chance shows as much in any of the figures (Holm).",
    "shows: the difference that shows 9 times in 10.",
)
_CALLED = {"tokens_per_round": "tokens/round"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCaptures:
    """`differs`, `same` (a change of `SENSITIVITY` in alpha, or as much of a position, would have
    shown 9 times in 10), or `unsure`. `differing` names the figures that differ, `smallest` is the
    change of `tested` that shows 9 times in 10.
    """

    verdict: Literal["differs", "same", "unsure"]
    differing: tuple[str, ...]
    tested: str
    smallest: float
    level: float
    power: float
    a: Counted
    b: Counted
    best: SharedK | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A figure of both, and how it differs; `difference` is None where one has no interval."""

    name: str
    a: float | None
    b: float | None
    difference: Difference | None


def acceptance_difference(
    first: Capture,
    second: Capture,
    *,
    inputs: Mapping[str, Input] | None = None,
    best: SharedK | None = None,
    notes: tuple[str, ...] = (),
) -> Answer:
    """The second capture held against the first. Captures of another k are compared by alpha and
    by the positions that both have; of the same k by tokens per round too.
    """
    for capture in (first, second):
        refuse_empty(capture)
    lines = list(_lines(first, second))
    tests = {one.name: one.difference for one in lines if one.difference and one.name != "rate"}
    if not tests:
        raise Refused(
            "the captures have no figure with an interval in common",
            hint="rounds are not printed: -k, the draft length in use, gives them",
        )
    adjusted = holm({name: found.p_value for name, found in tests.items()})
    differing = tuple(name for name, p in adjusted.items() if p <= LEVEL)
    tested = "alpha" if "alpha" in tests else next(iter(tests))
    smallest = tests[tested].smallest
    same = smallest <= SENSITIVITY * (1 if tested == "alpha" else 2)
    value = TwoCaptures(
        verdict="differs" if differing else "same" if same else "unsure",
        differing=differing,
        tested=tested,
        smallest=smallest,
        level=LEVEL,
        power=POWER,
        a=counted(first),
        b=counted(second),
        best=best,
    )
    records = [_record(line, adjusted.get(line.name)) for line in lines]
    told = [f"{name}: {note}" for name, c in (("A", first), ("B", second)) for note in notes_of(c)]
    return Answer(
        command="acceptance-difference",
        value=value,
        table=table_of(COLUMNS, records, ASIDE),
        view=replace(_view(value, first, second), picture=difference_of(records)),
        basis=Basis(
            kind="exact",
            says=f"level {LEVEL:g}, 95 % intervals",
            source="Newcombe 1998; Zou and Donner 2008; Holm 1979",
        ),
        inputs=inputs or {},
        notes=(*told, *_unlike(first, second), *notes),
    )


def _lines(first: Capture, second: Capture) -> Iterator[_Line]:
    """The figures that both have."""
    pairs = [("alpha", _alpha(first), _alpha(second))]
    if first.k == second.k:
        pairs.insert(0, ("tokens_per_round", _tau(first), _tau(second)))
    for place, each in enumerate(zip(_positions(first), _positions(second), strict=False)):
        pairs.append((f"position {place + 1}", *each))
    tests = sum(a is not None and b is not None for _, a, b in pairs)
    rates = first.acceptance_rate, second.acceptance_rate
    for name, a, b in pairs:
        found = difference(a, b, tests) if a and b else None
        yield _Line(name, a.value if a else None, b.value if b else None, found)
        if name == "alpha" and None not in rates:
            yield _Line("rate", *rates, None)


def _interval(value: float | None, low: float | None, high: float | None) -> Interval | None:
    if value is None or low is None or high is None:
        return None
    return Interval(value, min(low, value), max(high, value))


def _tau(capture: Capture) -> Interval | None:
    low, high = capture.tokens_per_round_low, capture.tokens_per_round_high
    return _interval(capture.tokens_per_round, low, high)


def _alpha(capture: Capture) -> Interval | None:
    return _interval(capture.alpha, capture.alpha_low, capture.alpha_high)


def _positions(capture: Capture) -> list[Interval | None]:
    rates = (capture.per_position, capture.per_position_low, capture.per_position_high)
    return [_interval(*each) for each in zip(*rates, strict=False)]


def _record(line: _Line, adjusted: float | None) -> dict[str, Scalar]:
    found = line.difference
    change = None if line.a is None or line.b is None else line.b - line.a
    return {
        "figure": line.name,
        "a": line.a,
        "b": line.b,
        "difference": change,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "p_value": found.p_value if found else None,
        "adjusted_p": adjusted,
        "smallest": found.smallest if found else None,
        "differs": adjusted is not None and adjusted <= LEVEL,
        "called": _CALLED.get(line.name, line.name),
        "first": _short(line.a),
        "second": _short(line.b),
        "change": _change(change, found),
        "p": "" if adjusted is None else _probability(adjusted),
        "shows": f"{found.smallest:.3f}" if found else "",
    }


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _change(change: float | None, found: Difference | None) -> str:
    if change is None:
        return "-"
    return f"{change:+.3f}" + (f" ({found.low:+.3f} to {found.high:+.3f})" if found else "")


def _probability(p: float) -> str:
    return "below 0.0001" if p < 1e-4 else f"{p:.2g}"


def _view(value: TwoCaptures, first: Capture, second: Capture) -> View:
    title = {
        "differs": "The captures differ",
        "same": "No difference seen",
        "unsure": "No difference seen, but too few rounds",
    }[value.verdict]
    sections: list[Section] = [
        Rows(
            columns=("called", "first", "second", "change", "p", "shows"),
            mark="differs",
            marked="p",
        ),
        Lines((_told(value),), wrap=True),
    ]
    if value.best:
        sections.append(Lines(best_lines(value.best), wrap=True))
    said = [
        f"Contradiction in {name}: {each}."
        for name, capture in (("A", first), ("B", second))
        for each in capture.contradictions
    ]
    traps = [
        f"{trap} ({_holders(trap, first, second)}): {TRAPS.get(trap, '')}."
        for trap in dict.fromkeys((*first.traps, *second.traps))
    ]
    sections += [Lines(tuple(lines), wrap=True) for lines in (said, EXPLAINED, traps)]
    seen = Facts(tuple(_loads(first, second)))
    caption = (*caption_of(first, "A: "), *caption_of(second, "B: "))
    return View(title=title, caption=caption, sections=(sections[0], seen, *sections[1:]))


def _holders(trap: str, first: Capture, second: Capture) -> str:
    return " and ".join(n for n, c in (("A", first), ("B", second)) if trap in c.traps)


def _loads(first: Capture, second: Capture) -> Iterator[tuple[str, str]]:
    """What was running in both."""
    for name, a, b, unit in (
        ("batch", first.batch, second.batch, ""),
        ("throughput", first.tokens_per_s, second.tokens_per_s, " tok/s"),
    ):
        if a and b:
            yield name, f"{a.mean:,.1f} and {b.mean:,.1f}{unit}"
    if first.effective_rounds and second.effective_rounds:
        rounds = f"{first.effective_rounds:,.0f} and {second.effective_rounds:,.0f}"
        yield "effective", f"worth {rounds} rounds of drafts alike"


def _told(value: TwoCaptures) -> str:
    """The verdict in a sentence, with its power."""
    called = _CALLED.get(value.tested, value.tested)
    seen = f"A change of {value.smallest:.2g} in {called} would have shown 9 times in 10."
    if value.verdict == "differs":
        names = ", ".join(_CALLED.get(name, name) for name in value.differing)
        return f"* differs at level {value.level:g}: {names}."
    if value.verdict == "unsure":
        return f"{seen} More rounds tell more: four times as many see half of that."
    return seen


def _unlike(first: Capture, second: Capture) -> Iterator[str]:
    """What makes captures hard to compare."""
    if first.k != second.k and first.k and second.k:
        yield f"k is {first.k} in A and {second.k} in B: tokens per round are not compared"
    if first.sha256 and first.sha256 == second.sha256:
        yield "both captures are the same, byte for byte"
    for key in ("target", "draft", "method", "version"):
        a, b = first.told.get(key), second.told.get(key)
        if a is not None and b is not None and a != b:
            yield f"{key} is {a} in A and {b} in B"
