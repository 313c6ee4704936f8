"""The tests of sampled outputs as a table and as the page that people see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Column, Lines, Rows, Scalar, Section, Table, View, table_of
from specplan.physics.twosample.compare import ONE_PROMPT, Prompt
from specplan.physics.twosample.judge import POWER, Judged, Tested
from specplan.physics.twosample.opinion import Opinion
from specplan.units import significant
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.questions.equivalence_asked import Equivalence

WORST = 5  # prompts that people are shown

COLUMNS = (
    Column("test", "", "test", "text", "what is compared"),
    Column("prompt", "", "prompt", "text", "the prompt, or nothing for all of them"),
    Column("deviation", "1", "deviation", "number", "in standard deviations of chance"),
    Column("p_value", "1", "p", "number", "chance shows as much, in this test"),
    Column("adjusted_p", "1", "adjusted p", "number", "to be held against the level"),
    Column("effect", "", "effect", "number", "TV, below 0 by chance; or spec's mean less plain's"),
    Column("effect_low", "", "from", "number", "95 % interval of the effect"),
    Column("effect_high", "", "to", "number", "95 % interval of the effect"),
    Column("effect_of", "", "unit", "text", "what the effect is counted in"),
    Column("smallest_tv", "1", "shows", "number", "mean TV that shows 9 times in 10"),
    Column("power", "1", "power", "number", "probability that the TV asked about shows"),
    Column("covers", "1", "covers", "percent", "share of what came next that was compared"),
    Column("differs", "", "differs", "flag", "whether the adjusted p is at most the level"),
)
ASIDE = (
    Column("name", "", "prompt", "text"),
    Column("p", "", "p", "text"),
    Column("found", "", "effect (95 %)", "text"),
    Column("shows", "", "TV seen", "text"),
    Column("told", "", "told", "flag"),
    Column("worst", "", "worst", "flag"),
)
EXPLAINED = (
    "p: adjusted for all tests (Holm). TV: of what comes next, mean over the places "
    "compared. TV seen: the mean shift that shows 9 times in 10. covers: the share of what came "
    "next that stands at places which enough outputs reach. What only more than two tokens back "
    "decide shows where prefixes repeat alone."
)
_NAME = 40  # characters of a prompt that people are shown
_DIGITS = 5  # behind the point, at most


def sampled_table(
    result: Judged, prompts: Sequence[Prompt], names: Sequence[str], value: Equivalence
) -> Table:
    """A row for each test, then one for each prompt, the one that stands out most first."""
    records = [_of_test(tested, value) for tested in result.tests]
    order = sorted(range(len(names)), key=lambda i: (-prompts[i].deviation, i))
    for place, i in enumerate(order):
        records.append(_of_prompt(names[i], prompts[i], result.prompts[i], value, place))
    return table_of(COLUMNS, records, ASIDE)


def _of_test(tested: Tested, value: Equivalence) -> Mapping[str, Scalar]:
    kept = {c.name: getattr(tested, c.name, None) for c in COLUMNS}
    return kept | {
        "differs": tested.test in value.differing,
        "name": "",
        "p": "not made" if tested.adjusted_p is None else significant(tested.adjusted_p, 2),
        "found": _effect(tested, value),
        "shows": "" if tested.smallest_tv is None else significant(tested.smallest_tv, 2),
        "told": True,
        "worst": False,
    }


def _of_prompt(
    name: str, prompt: Prompt, adjusted: float, value: Equivalence, place: int
) -> Mapping[str, Scalar]:
    nothing: dict[str, Scalar] = dict.fromkeys([c.name for c in (*COLUMNS, *ASIDE)])
    return nothing | {
        "test": ONE_PROMPT,
        "prompt": name,
        "deviation": prompt.deviation,
        "p_value": prompt.p_value,
        "adjusted_p": adjusted,
        "effect_of": "",
        "differs": adjusted <= value.level,
        "name": visible(name, _NAME),
        "p": significant(adjusted, 2),
        "found": "",
        "shows": "",
        "told": False,
        "worst": place < WORST and bool(value.differing),
    }


def sampled_view(value: Equivalence, result: Judged, caption: tuple[str, ...]) -> View:
    """The page that people see."""
    title = {
        "differs": "The distributions differ",
        "same": "No difference seen",
        "unsure": "No difference seen, but too few outputs",
    }[value.verdict]
    sections: list[Section] = [
        Rows(
            columns=("test", "p", "found", "shows", "covers"),
            where="told",
            mark="differs",
            marked="p",
        ),
        Lines((" ".join(_told(value)),), wrap=True),
    ]
    if value.differing and len(result.prompts) > 1:
        sections.append(Lines(("Prompts that stand out most:",)))
        sections.append(Rows(columns=("name", "deviation", "p_value", "adjusted_p"), where="worst"))
    if value.second_opinion:
        sections.append(Lines((_opinion(value.second_opinion),), wrap=True))
    sections.append(Lines((EXPLAINED,), wrap=True))
    return View(title=title, caption=caption, sections=tuple(sections))


def _opinion(second: Opinion) -> str:
    said = [
        f"{what} p {significant(p, 2)}"
        for what, p in (("lengths", second.lengths_p), ("first tokens", second.first_tokens_p))
        if p is not None
    ]
    return f"SciPy, beside the verdict: {', '.join(said) or 'too few outputs'} (asymptotic)."


def _told(value: Equivalence) -> Iterator[str]:
    if value.verdict == "differs":
        yield f"* differs at level {value.level:g}."
        return
    if value.sees_best is None or value.power is None:
        yield "No place is reached by enough outputs to compare what comes next."
        return
    asked = f"A mean TV of {value.sensitivity:g}"
    seen = f"{100 * value.power:.0f} %" if value.power >= 0.01 else "below 1 %"
    yield f"{asked} would have shown with probability {seen} ({value.sees_best})."
    if value.verdict == "unsure" and value.smallest_tv and value.sensitivity:
        more = (value.smallest_tv / value.sensitivity) ** 2
        yield f"About {significant(more, 2)} times the outputs make it {100 * POWER:.0f} %."


def _effect(tested: Tested, value: Equivalence) -> str:
    if tested.effect is None or tested.effect_low is None or tested.effect_high is None:
        return ""
    of = "pieces" if tested.effect_of == "tokens" and value.unit == "text" else tested.effect_of
    effect = max(tested.effect, 0.0) if of == "TV" else tested.effect
    bounds = [effect, tested.effect_low, tested.effect_high]
    if of == "share":
        bounds, of = [100 * bound for bound in bounds], "%"
    width = max(bounds) - min(bounds)
    digits = min(max(1 - math.floor(math.log10(width)), 0), _DIGITS) if width > 0 else _DIGITS
    mean, low, high = (f"{bound:z,.{digits}f}" if bound else "0" for bound in bounds)
    return f"{mean} ({low} to {high}) {of}"
