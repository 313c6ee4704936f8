"""Which drafter, GPU or tp: every candidate at its own best k, and why others are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specplan.domain.answer import Answer, Basis, table_from
from specplan.domain.contest import Candidate, Contest, candidate_of, undrafted
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import Refused, UsageError, Where, unknown
from specplan.questions import compare_view as view
from specplan.questions.bills import fitting_tp
from specplan.questions.common import basis_of, refuse_mix
from specplan.questions.compare_entry import ASIDE, COLUMNS, SORTS, Entry, figure_of, ranked
from specplan.questions.compare_judge import Judge, place_of
from specplan.questions.compare_picture import drawn
from specplan.questions.compare_reasons import UNKNOWN
from specplan.questions.cost import refuse_price

MOST_SHOWN = 20  # rows for people, unless they say how many
FEW_PLACES = 4  # of which plain decoding is shown in any case


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many candidates there are, how many of them are compared, and the best in the order that
    was asked for; none where nothing fits.
    """

    candidates: int
    compared: int
    sort: str
    best: Entry | None


def compare(
    asked: Contest | Scenario,
    *,
    sort: str = "speedup",
    reverse: bool = False,
    top: int | None = None,
    usd_per_gpu_hour: float | None = None,
) -> Answer:
    """Every candidate of a contest, or every setup of a scenario, at its own best k.

    `sort` is speedup, tpot, throughput (per GPU, at the largest batch that fits), cost, memory or
    tokens (per round); people see the first `top`. `usd_per_gpu_hour` is used instead of the price
    on each card. Exit 1 where nothing fits in memory.
    """
    if sort not in SORTS:
        raise unknown("order", sort, SORTS)
    if top is not None and top < 1:
        raise UsageError(f"{top} rows", where=Where("--top"), expected="a whole number above 0")
    if usd_per_gpu_hour is not None:
        refuse_price(usd_per_gpu_hour, several=False)
    contest = asked if isinstance(asked, Contest) else contest_of(asked)
    _one_workload(contest.scenario)
    judge = Judge(contest, usd_per_gpu_hour)
    entries = [judge.entry(candidate) for candidate in contest.candidates]
    if not judge.priced:
        raise Refused(entries[0].reason or "no candidates")
    drafted = [entry for entry in entries if not entry.plain]
    _refuse_unknown(drafted)
    order = ranked([entry for entry in entries if entry.compared], sort, reverse=reverse)
    best = _best(order, sort, reverse=reverse)
    left = [entry for entry in entries if not entry.compared]
    placed = [
        replace(entry, best=entry is best, shown=seen, rank=number)
        for number, (entry, seen) in enumerate(zip(order, _shown(order, top), strict=True), 1)
    ]
    winner = next((entry for entry in placed if entry.best), None)
    answered = Comparison(len(entries), len(order), sort, winner)
    return Answer(
        command="compare",
        value=answered,
        table=table_from(COLUMNS, (*placed, *left), ASIDE),
        view=replace(
            view.page(answered, [*placed, *left], contest.scenario),
            picture=(lambda: drawn(placed, sort)) if best else None,
        ),
        basis=_basis(contest, judge.setups(order)),
        inputs=contest.scenario.inputs,
        notes=(
            *contest.scenario.notes,
            *_shared(contest),
            *dict.fromkeys(judge.beyond),
            *(() if best else _wider(contest)),
        ),
        ok=best is not None and not _none_fits(drafted),
    )


def _refuse_unknown(drafted: Sequence[Entry]) -> None:
    """Refuses drafters of none of which anybody said what is accepted."""
    if drafted and all(UNKNOWN in (entry.reason or "") for entry in drafted):
        raise UsageError(
            "how likely is a draft token accepted?",
            where=Where("--acceptance"),
            expected="alpha such as 0.7, for all or for one as -a eagle3=0.7",
        )


def _none_fits(drafted: Sequence[Entry]) -> bool:
    """Whether no drafter is compared, and some for want of memory."""
    return not any(e.compared for e in drafted) and any(e.fits is False for e in drafted)


def _best(order: Sequence[Entry], sort: str, *, reverse: bool) -> Entry | None:
    """The first, or the last the other way round, of those that have the figure."""
    having = [entry for entry in order if figure_of(entry, sort) is not None]
    if order and not having:  # a price: nothing else is missing from what is compared
        hint = "give --usd-per-gpu-hour"
        raise UsageError("no candidate has a price", where=Where("--sort"), hint=hint)
    return having[-1 if reverse else 0] if having else None


def _shown(order: Sequence[Entry], top: int | None) -> list[bool]:
    """The first for people, and plain decoding of few places however slow."""
    if top is not None:
        return [number < top for number in range(len(order))]
    few = sum(entry.plain for entry in order) <= FEW_PLACES
    return [number < MOST_SHOWN or (few and e.plain) for number, e in enumerate(order)]


def _wider(contest: Contest) -> Iterator[str]:
    """On how many GPUs plain decoding would fit, where nothing does."""
    scenario = contest.scenario
    end = scenario.context[0] + scenario.growth
    for candidate in contest.candidates:
        setup = candidate.setup
        tp = (
            fitting_tp(setup, end, scenario.batch[0], scenario.k)
            if setup and candidate.plain
            else None
        )
        if tp and setup:
            yield f"{setup.target.name} would fit on {setup.hardware.name} with --tp {tp}"


def contest_of(scenario: Scenario) -> Contest:
    """The setups of a scenario with its acceptance, each place with plain decoding too."""
    found: dict[tuple[object, ...], list[Candidate]] = {}
    for setup in scenario.setups:
        here = found.setdefault(place_of(setup), [])
        if not here:
            here.append(candidate_of(undrafted(setup), None))
        if setup.draft.max_k != 0:
            here.append(candidate_of(setup, next(iter(scenario.acceptance), None)))
    return Contest(scenario=scenario, candidates=tuple(c for here in found.values() for c in here))


def _one_workload(scenario: Scenario) -> None:
    """Refuses several workloads: a candidate has one row."""
    refuse_mix(scenario, "compare")
    sizes = len(scenario.batch), len(scenario.context), max(len(scenario.acceptance), 1)
    if max(sizes) > 1:
        batches, contexts, acceptances = sizes
        raise UsageError(
            f"compare is about one workload, not {batches * contexts * acceptances}",
            expected="one batch, one context, and one acceptance for those without their own",
            hint="best-k gives a line to each of several",
        )


def _basis(contest: Contest, setups: Sequence[Setup]) -> Basis:
    """What the figures of the drafters rest on, or of plain decoding where nothing is drafted; what
    is assumed for the first setups first.
    """
    drafted = [setup for setup in setups if setup.draft.max_k != 0]
    served = {place_of(setup) for setup in drafted}
    alone = [setup for setup in setups if place_of(setup) not in served]
    used = dict.fromkeys(c.acceptance for c in contest.candidates if c.acceptance is not None)
    scenario = replace(contest.scenario, setups=(*drafted, *alone), acceptance=tuple(used))
    return basis_of(scenario, ranked=True)


def _shared(contest: Contest) -> Iterator[str]:
    """That several drafters were given one acceptance."""
    shared = [c for c in contest.candidates if c.acceptance is not None and not c.own]
    labels = list(dict.fromkeys(candidate.label for candidate in shared))
    if len(labels) > 1:
        yield (
            f"one acceptance, {shared[0].acceptance}, for all: drafters differ; give each its own: "
            f"-a {labels[0]}=0.72"
        )
