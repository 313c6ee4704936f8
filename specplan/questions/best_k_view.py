"""How a best k is told: the verdict first, then margins, acceptance, load, memory, what binds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from specplan.domain.answer import Facts, Lines, Rows, Section, View
from specplan.questions.common import acceptance_words, alpha_words, dtype_words, percent, times
from specplan.questions.cost import cost_words
from specplan.questions.memory_view import drafter_words, misfit_words, sequences_words
from specplan.questions.yields import yield_words
from specplan.units import people, significant

if TYPE_CHECKING:
    from specplan.physics.choose import Crossing
    from specplan.physics.estimate import Uncertain
    from specplan.questions.best_k import BestK, Choice, Load
    from specplan.questions.need import Need
    from specplan.questions.weigh import Weighed

SCORED = {"latency": "speedup", "throughput": "throughput", "cost": "flops_per_token"}
CANDIDATES = (
    "k",
    "speedup",
    "tokens_per_round",
    "draft_s",
    "verify_s",
    "round_s",
    "tpot_s",
    "verify_bound_by",
)
WIDEST = 58  # of words beside the longest label of a gate, on a page of 80
WIDE = 64  # of words beside a label of a best k


def one(value: BestK, w: Weighed) -> View:
    """One workload in full."""
    if value.need:
        return _needed(value, value.need, w)
    choice, setup = value.choice, w.point.setup
    sections: list[Section] = [Facts(tuple(_facts(value)))]
    if value.uncertain:
        sections.append(Facts(tuple(_uncertain(value.uncertain, w))))
    scored = SCORED[choice.objective]
    columns = (*CANDIDATES[:2], *((scored,) if scored != "speedup" else ()), *CANDIDATES[2:])
    sections.append(Rows(columns=columns, where="near", mark="best", marked=scored))
    if not choice.fits:
        sections.insert(0, Lines((misfit_words(value.memory, choice.batch, value.fitting_tp),)))
    return View(
        title=_verdict(choice),
        caption=(f"{setup.label}, {dtype_words(setup)}", _workload(w)),
        sections=tuple(sections),
    )


def _verdict(choice: Choice) -> str:
    if choice.k == 0:
        for_what = "" if choice.objective == "latency" else f" for {choice.objective}"
        return f"k = 0: plain decoding is best{for_what}"
    aim = "" if choice.objective == "latency" else f" (best for {choice.objective})"
    return f"k = {choice.k}: {times(choice.speedup)}{aim}"


def _rate(per_s: float) -> str:
    """Tokens a second of one sequence, which may be less than one."""
    return f"{per_s:,.0f}" if per_s >= 10 else significant(per_s)


def _facts(value: BestK) -> list[tuple[str, str]]:
    choice = value.choice
    facts = [
        ("TPOT", f"{people(choice.tpot_s, 's')}   (plain {people(choice.plain_tpot_s, 's')})"),
        (
            "throughput",
            f"{choice.tokens_per_s:,.0f} tok/s: {_rate(choice.tokens_per_s_per_sequence)} per "
            f"sequence, {choice.tokens_per_s_per_gpu:,.0f} per GPU",
        ),
        ("tokens/round", f"{choice.tokens_per_round:.2f}"),
        *yield_words(value.tokens, choice.batch),
        ("margin", _margin(choice)),
        ("acceptance", _acceptance(value)),
        *zip(("load", ""), load_lines(value.load, drafts=choice.k > 0), strict=False),
        ("memory", f"drafter {drafter_words(value.memory)}"),
        ("", sequences_words(value.memory)),
        ("binds", _binds(choice)),
        ("arithmetic", f"{times(value.flops_per_token)} the FLOP per token of plain decoding"),
    ]
    if value.cost is not None:
        facts += zip(("cost", ""), cost_words(value.cost), strict=True)
    if value.throughput is not None:
        capacity = f"{times(value.throughput)} with each arm at its own largest batch"
        facts.append(("at capacity", capacity))
    if choice.at_k_max:
        place = [label for label, _ in facts].index("margin")
        facts.insert(place, ("limit", f"k = {choice.k} is the longest tried; raise --k-max"))
    return facts


def _margin(choice: Choice) -> str:
    sides = [
        f"k={choice.k + step} {-loss:+.1%}"
        for step, loss in ((-1, choice.margin_below), (1, choice.margin_above))
        if loss is not None
    ]
    near = choice.k_within_1_percent
    extra = f"   (k={near} is within 1 %)" if near < choice.k else ""
    return "   ".join(sides) + extra if sides else "no other candidate"


def _acceptance(value: BestK) -> str:
    choice = value.choice
    if choice.objective == "cost":
        return "whatever alpha is, plain decoding needs the least arithmetic per token"
    if value.alpha_low is None or value.alpha_high is None:
        return _other_acceptance(choice)
    if choice.k == 0:
        return f"no k pays for alpha up to {alpha_words(value.alpha_high)}"
    if choice.break_even_alpha is None:
        lost = "even a perfect drafter loses"
    else:
        lost = (
            f"loses below {choice.break_even_tokens:.2f} tok/round "
            f"(alpha {alpha_words(choice.break_even_alpha)})"
        )
    span = f"{alpha_words(value.alpha_low)}-{alpha_words(value.alpha_high)}"
    return f"{lost}; k={choice.k} at alpha {span}"


def _other_acceptance(choice: Choice) -> str:
    """The same where no single alpha says what is accepted: in tokens per round."""
    if choice.k == 0:
        return "no k pays"
    return (
        f"loses below {choice.break_even_tokens:.2f} tok/round (now {choice.tokens_per_round:.2f})"
    )


def load_lines(load: Load, *, drafts: bool) -> tuple[str, ...]:
    """Up to which batch it pays, in words; only the memory limit where nothing is drafted. What is
    wider than a page is two lines.
    """
    end = f"memory ends at batch {load.largest_batch:,}"
    if load.largest_batch < 1:
        return ("no sequence fits",)
    capped = load.scanned_to if load.scanned_to < load.largest_batch else 0
    if not drafts:
        return (end,)
    words = crossing_words(load.crossings, capped)
    whole = f"{words}; {end}"
    return (whole,) if len(whole) <= WIDE else (words, end)


def crossing_words(found: tuple[Crossing, ...], capped: int = 0) -> str:
    """Where the speedup crosses 1; `capped` is the last batch tried where larger ones fit."""
    if not found and capped:
        return f"pays up to batch {capped:,}, the last tried"
    if not found:
        return "pays at every batch that fits"
    if len(found) <= 2:  # it loses first: before the first batch every k pays
        return ", ".join(f"{'pays' if c.pays else 'loses'} from batch {c.batch:,}" for c in found)
    return _but_for(found)


def _but_for(found: tuple[Crossing, ...]) -> str:
    """Where it loses, but for a few ranges of batches; of more the first, and where they end."""
    first, last = f"loses from batch {found[0].batch:,}", found[-1]
    paying = [
        _range(begin.batch, end.batch - 1)
        for begin, end in zip(found[1::2], found[2::2], strict=False)
    ]
    if last.pays:
        paying.append(f"from {last.batch:,} on")
    some = f"{first} on, but for {' and '.join(paying)}"
    if len(paying) <= 2 and len(some) <= WIDEST:
        return some
    until = f"and so on to {last.batch:,}{', then pays' if last.pays else ''}"
    some = f"{first} on, but for {paying[0]} {until}"
    if len(some) <= WIDEST:
        return some
    return f"{first} on, with gaps to batch {last.batch:,}{', then pays' if last.pays else ''}"


def _range(first: int, last: int) -> str:
    return f"{first:,}-{last:,}" if last > first else f"{first:,}"


def _binds(choice: Choice) -> str:
    if choice.k == 0:
        return f"the plain step, by {choice.verify_bound_by}"
    drafting, verifying = choice.draft_share, 1 - choice.draft_share
    if drafting > verifying:
        return f"drafting: {percent(drafting, 0)} of the round"
    return (
        f"verification, by {choice.verify_bound_by}: {percent(verifying, 0)} of the round; "
        f"drafting {percent(drafting, 0)}"
    )


def _uncertain(found: Uncertain, w: Weighed) -> list[tuple[str, str]]:
    same = f"k={found.least_regret_k}"
    return [
        (
            "speedup",
            f"{times(found.low)} to {times(found.high)} in 90 % of cases "
            f"(alpha {w.point.acceptance}, one standard deviation)",
        ),
        ("loss", f"{percent(found.loss_probability)} probability that speculation loses"),
        ("least regret", f"{same}, {found.least_regret:.3f}x forgone on average"),
    ]


def _needed(value: BestK, need: Need, w: Weighed) -> View:
    """The requirements, and how far the drafter is from them if there is one."""
    setup, alpha = w.point.setup, w.point.acceptance.iid
    said = acceptance_words(alpha, str(w.point.acceptance))
    free = setup.draft.model is None and setup.draft.ratio == 0
    pairs = [
        ("alpha", _alpha_needed(need, "free drafts" if free else setup.draft.label)),
        ("draft step", _step_needed(need, said)),
    ]
    if not free and alpha != 1:
        pairs.append(("now", f"{_verdict(value.choice)} at {said}"))
    sections: list[Section] = [Facts(tuple(pairs))]
    if not value.choice.fits:
        sections.append(Lines((misfit_words(value.memory, value.choice.batch, value.fitting_tp),)))
    title = f"For {times(need.speedup)} a drafter must reach one of"
    return View(
        title=title if need.reachable else f"{times(need.speedup)} is out of reach",
        caption=(f"{setup.label}, {dtype_words(setup)}", _workload(w)),
        sections=tuple(sections),
    )


def _alpha_needed(need: Need, draft: str) -> str:
    if need.alpha is None:
        return f"no alpha is enough at the cost of {draft}"
    up = math.ceil(need.alpha * 1000) / 1000  # rounded so that it is enough
    return f"at least {up:.3f} at the cost of {draft} (k={need.alpha_k})"


def _step_needed(need: Need, said: str) -> str:
    if need.draft_step_s is None or need.cost_ratio is None:
        return f"none is fast enough at {said}"
    ratio = math.floor(need.cost_ratio * 1000) / 1000  # rounded so that it is enough
    step_s = need.draft_step_s * ratio / need.cost_ratio if need.cost_ratio else 0.0
    return f"at most {people(step_s, 's', 4)}, cost ratio {ratio:.3f}, at {said} (k={need.draft_k})"


def _workload(w: Weighed) -> str:
    point = w.point
    return (
        f"batch {point.batch:,.0f}, context {people(point.context, 'tokens')}, "
        f"acceptance {point.acceptance}"
    )
