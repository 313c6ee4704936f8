"""One point taken apart, as people see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.answer import Facts, Lines, Rows, View
from specplan.domain.drafter import Does
from specplan.domain.scenario import Scenario, Setup
from specplan.physics.prefill import Prefill
from specplan.questions.common import dtype_words, percent, times
from specplan.units import people

MOST = 3  # terms named that make verification longer than a plain step
SHOWN = ("pass", "term", "time_s", "share", "traffic_bytes", "intensity", "bound_by")


@dataclass(frozen=True, slots=True)
class PassFigures:
    """One pass as a whole: seconds here and in the ideal roofline; MBU and MFU of its GPU, the
    latter against the peak of each dtype that it computes in.
    """

    time_s: float
    ideal_s: float
    mbu: float
    mfu: float
    flops_per_s: float
    intensity: float
    bound_by: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A round of k drafts beside a plain step. `waits_s` is what neither traffic nor arithmetic
    at the card's own rates accounts for; `longer` is what each term takes more in verification
    than in a plain step, in seconds; `prefill` what a prompt costs, of context less the output so
    far; `paid_alone` is what a plain step pays and verification
    does not, where that takes the speedup above the tokens of a round.
    """

    k: int
    tokens_per_round: float
    speedup: float
    ideal_speedup: float
    plain: PassFigures
    verify: PassFigures
    drafts: tuple[PassFigures, ...]
    draft_passes: tuple[str, ...]
    passes: int
    draft_s: float
    prefill: Prefill
    round_s: float
    waits_s: float
    ridge: float
    longer: tuple[tuple[str, float], ...]
    paid_alone: str | None


def explained(scenario: Scenario, setup: Setup, value: Explained) -> View:
    """What people see."""
    (batch,), (context,), (acceptance,) = scenario.batch, scenario.context, scenario.acceptance
    return View(
        title=f"{times(value.speedup)} at k = {value.k}, taken apart",
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"batch {batch:,.0f}, context {people(context, 'tokens')}, acceptance {acceptance}",
        ),
        sections=(
            Rows(columns=SHOWN),
            Facts(tuple(_facts(value))),
            Lines(tuple(_difference(value)), wrap=True),
        ),
    )


def _facts(value: Explained) -> Iterator[tuple[str, str]]:
    passes = {"plain step": value.plain, "verification": value.verify}
    named = zip(value.draft_passes, value.drafts, strict=True)
    passes |= {f"{name} pass": figures for name, figures in named}
    for name, figures in passes.items():
        yield (
            name,
            f"{people(figures.time_s, 's')} (ideal {people(figures.ideal_s, 's')}), "
            f"MBU {percent(figures.mbu)}, MFU {percent(figures.mfu)}, {figures.bound_by}",
        )
    ran = "1 pass" if value.passes == 1 else f"{value.passes} passes"
    yield "drafting", f"{ran}, {people(value.draft_s, 's')}"
    yield (
        "round",
        f"{people(value.round_s, 's')}, {value.round_s / value.plain.time_s:.2f} plain steps for "
        f"{value.tokens_per_round:.2f} tokens",
    )
    target_s, draft_s = value.prefill.target_s_per_token, value.prefill.draft_s_per_token
    added = f"; the drafter adds {percent(draft_s / target_s)}" if draft_s else ""
    yield "prefill", f"{people(target_s, 's')} a prompt token{added}"
    yield "ridge point", f"{value.ridge:,.0f} FLOP/B; verification {value.verify.intensity:,.0f}"


def draft_names(does: Sequence[Does]) -> tuple[str, ...]:
    """What the draft passes of a round are called: the first that is whole apart, where others
    follow it.
    """
    whole = does.count(Does.WHOLE)
    names, seen = [], 0
    for one in does:
        if one is Does.WHOLE:
            names.append("first draft" if whole > 1 and not seen else "draft")
            seen += 1
        else:
            names.append("draft keys" if one is Does.KEYS else "draft tokens")
    return tuple(names)


def _difference(value: Explained) -> Iterator[str]:
    """What lies between the ideal roofline and this engine; a speedup above the tokens of a round
    with its cause.
    """
    if value.paid_alone:
        yield (
            f"{times(value.speedup)} is above the {value.tokens_per_round:.2f} tokens of a round: "
            f"a plain step alone pays {value.paid_alone}."
        )
    if value.longer:
        beyond_s = value.verify.time_s - value.plain.time_s
        most = ", ".join(
            f"{name} {_signed(more_s, beyond_s)}" for name, more_s in value.longer[:MOST]
        )
        than = "more" if beyond_s >= 0 else "less"
        yield f"Verification takes {people(abs(beyond_s), 's')} {than} than a plain step: {most}."
    if value.ideal_speedup == value.speedup:
        return
    plain, verify = value.plain, value.verify
    yield (
        f"The ideal roofline says {times(value.ideal_speedup)}: beyond it a plain step waits "
        f"{people(plain.time_s - plain.ideal_s, 's')}, verification "
        f"{people(verify.time_s - verify.ideal_s, 's')} and drafting "
        f"{people(_drafting_s(value), 's')}."
    )


def _signed(more_s: float, beyond_s: float) -> str:
    """A term's part of the difference; those that go the other way with their sign."""
    sign = "" if (more_s >= 0) == (beyond_s >= 0) else "+" if more_s > 0 else "-"
    return f"{sign}{people(abs(more_s), 's')}"


def _drafting_s(value: Explained) -> float:
    """What draft passes take beyond the ideal roofline; none where only rounding is left."""
    ideal_s = value.round_s - value.waits_s - value.verify.ideal_s
    beyond_s = value.draft_s - ideal_s
    return beyond_s if beyond_s > 1e-9 * value.round_s else 0.0
