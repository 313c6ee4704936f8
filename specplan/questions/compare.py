"""Which drafter, GPU or tp: every candidate at its own best k, and why others are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from specplan.domain.acceptance import Alpha
from specplan.domain.answer import Answer, Basis, table_from
from specplan.domain.contest import Candidate, Contest, candidate_of, undrafted
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import Refused, SpecplanError, UsageError, Where, unknown
from specplan.physics.choose import best_index
from specplan.physics.round import time_rounds
from specplan.questions import compare_view as view
from specplan.questions.beyond import beyond_words, paid_alone
from specplan.questions.common import basis_of, kind_of, refuse_mix
from specplan.questions.compare_entry import ASIDE, COLUMNS, SORTS, Entry, figure_of, ranked
from specplan.questions.compare_reasons import reason_against, too_large
from specplan.questions.cost import cost_of, refuse_price
from specplan.questions.memory import bill_of, fitting_tp
from specplan.questions.weigh import Point, Rounds, rounds_at

MOST_SHOWN = 20  # rows for people, unless they say how many
FEW_PLACES = 4  # of which plain decoding is shown in any case
NO_DRAFTS = Alpha(0.0)  # of plain decoding, which proposes nothing


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
    judge = _Judge(contest, usd_per_gpu_hour)
    entries = [judge.entry(candidate) for candidate in contest.candidates]
    if not judge.priced:
        raise Refused(entries[0].reason or "no candidates")
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
        view=view.page(answered, [*placed, *left], contest.scenario),
        basis=_basis(contest, judge.setups(order)),
        inputs=contest.scenario.inputs,
        notes=(
            *contest.scenario.notes,
            *_shared(contest),
            *dict.fromkeys(judge.beyond),
            *(() if best else _wider(contest)),
        ),
        ok=best is not None,
    )


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
        tp = fitting_tp(setup, end, scenario.batch[0]) if setup and candidate.plain else None
        if tp and setup:
            yield f"{setup.target.name} would fit on {setup.hardware.name} with --tp {tp}"


def contest_of(scenario: Scenario) -> Contest:
    """The setups of a scenario with its acceptance, each place with plain decoding too."""
    found: dict[tuple[object, ...], list[Candidate]] = {}
    for setup in scenario.setups:
        here = found.setdefault(_place(setup), [])
        if not here:
            here.append(candidate_of(undrafted(setup), None))
        if setup.draft.max_k != 0:
            here.append(candidate_of(setup, next(iter(scenario.acceptance), None)))
    return Contest(scenario=scenario, candidates=tuple(c for here in found.values() for c in here))


@dataclass(frozen=True, slots=True)
class _Plain:
    """Plain decoding in a place: what the batch lacks in memory, and tokens per second at the
    largest batch that fits.
    """

    shortfall_bytes: float
    largest: int
    largest_tokens_per_s: float


@dataclass(slots=True)
class _Judge:
    """Prices candidates one by one and remembers what they share: plain decoding of their places,
    the setups that had a price, notes on speedups beyond the tokens of a round.
    """

    contest: Contest
    usd: float | None
    priced: list[tuple[Entry, Setup]] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    plains: dict[tuple[object, ...], _Plain] = field(default_factory=dict)

    @property
    def scenario(self) -> Scenario:
        """The workload."""
        return self.contest.scenario

    def setups(self, order: Sequence[Entry]) -> list[Setup]:
        """The setups of what is compared, in its order; of what is too large where nothing is."""
        found = {id(entry): setup for entry, setup in self.priced}
        return [found[id(entry)] for entry in order] or [*found.values()]

    def entry(self, candidate: Candidate) -> Entry:
        """The candidate's figures, or why it has none."""
        scenario, setup = self.scenario, candidate.setup
        (context,), (batch,) = scenario.context, scenario.batch
        entry = _unpriced(candidate, scenario)
        reason = reason_against(candidate, context + scenario.growth)
        if reason or setup is None:
            return replace(entry, reason=reason)
        acceptance = candidate.acceptance or NO_DRAFTS
        try:
            entry = self._priced(entry, Point(setup, context, batch, acceptance, scenario.growth))
        except SpecplanError as error:
            return replace(entry, reason=error.said)
        self.priced.append((entry, setup))
        return entry

    def _priced(self, entry: Entry, point: Point) -> Entry:
        rounds = rounds_at(point, self.scenario.candidates)
        setup, best = rounds.point.setup, int(best_index(rounds.speedup))
        k = rounds.k[best]
        bill = bill_of(setup, point.end, point.batch, setup.draft.slots(k))
        plain = self._plain(setup)
        self._note(rounds)
        lacking = bill.shortfall_bytes if k else plain.shortfall_bytes
        entry = replace(
            entry,
            draft_weights_bytes=bill.draft_weights_bytes,
            draft_kv_bytes_per_sequence=bill.draft_kv_bytes_per_sequence,
            draft_bytes=bill.draft_weights_bytes + point.batch * bill.draft_kv_bytes_per_sequence,
            largest_batch_plain=bill.largest_batch_plain,
            largest_batch=bill.largest_batch,
            sequences_lost=bill.sequences_lost,
            fits=not lacking,
            shortfall_bytes=lacking,
            basis=kind_of(setup),
            band=setup.band,
        )
        if lacking:
            return replace(entry, reason=too_large(bill, point.batch, lacking))
        full = self._largest_tokens_per_s(rounds, best, bill.largest_batch)
        return self._with_times(replace(entry, largest_tokens_per_s=full), rounds, best)

    def _with_times(self, entry: Entry, rounds: Rounds, best: int) -> Entry:
        """With the figures of the best k at the batch asked, and what its tokens cost."""
        setup, batch = rounds.point.setup, rounds.point.batch
        tpot_s, plain_s = float(rounds.tpot_s[best]), float(rounds.timing.plain_s.flat[0])
        cost = cost_of(setup, batch / tpot_s, batch / plain_s, self.usd)
        full = entry.largest_tokens_per_s or 0.0
        return replace(
            entry,
            k=rounds.k[best],
            speedup=float(rounds.speedup[best]),
            tokens_per_round=float(rounds.tokens[best]),
            tpot_s=tpot_s,
            plain_tpot_s=plain_s,
            tokens_per_s=batch / tpot_s,
            tokens_per_s_per_gpu=batch / tpot_s / setup.gpus,
            largest_tokens_per_s_per_gpu=full / setup.gpus,
            throughput=full / self._plain(setup).largest_tokens_per_s,
            usd_per_gpu_hour=cost.usd_per_gpu_hour if cost else None,
            price=cost.price if cost else None,
            usd_per_million_tokens=cost.usd_per_million_tokens if cost else None,
        )

    def _largest_tokens_per_s(self, rounds: Rounds, best: int, largest: int) -> float:
        """Tokens per second at its own largest batch, at the k that is best at the batch asked."""
        point, k = rounds.point, rounds.k[best]
        if k == 0:
            return self._plain(point.setup).largest_tokens_per_s
        timing = time_rounds(point.setup, (point.context,), (largest,), (k,))
        return largest * float(rounds.tokens[best]) / float(timing.round_s.flat[0])

    def _plain(self, setup: Setup) -> _Plain:
        """Plain decoding in the place of a setup, priced once."""
        place = _place(setup)
        if place not in self.plains:
            scenario, alone = self.scenario, undrafted(setup)
            (context,), (batch,) = scenario.context, scenario.batch
            bill = bill_of(alone, context + scenario.growth, batch)
            largest, rate = bill.largest_batch_plain, 0.0
            if largest:
                rate = largest / float(
                    time_rounds(alone, (context,), (largest,), (0,)).plain_s.flat[0]
                )
            self.plains[place] = _Plain(bill.shortfall_bytes, largest, rate)
        return self.plains[place]

    def _note(self, rounds: Rounds) -> None:
        """Remembers speedups above the tokens of a round."""
        setup = rounds.point.setup
        cause = paid_alone(rounds.timing) if setup.engine.kind != "bound" else None
        if cause:
            self.beyond.append(
                beyond_words(setup, setup.serving.served_by, rounds.point.batch, cause)
            )


def _unpriced(candidate: Candidate, scenario: Scenario) -> Entry:
    """Who is a candidate, without figures."""
    setup, serving, acceptance = candidate.setup, candidate.serving, candidate.acceptance
    return Entry(
        target=candidate.target.name,
        draft=candidate.label,
        hardware=candidate.hardware.name,
        tp=candidate.tp,
        dtype=str(setup.dtype) if setup else None,
        draft_dtype=str(setup.draft_dtype) if setup else None,
        kv_dtype=str(setup.kv_dtype) if setup else None,
        draft_tp=setup.draft_tp if setup else None,
        engine=serving.engine,
        engine_version=serving.engine_version,
        attention_dp=serving.attention_dp,
        ep=serving.ep,
        served_by=serving.served_by,
        kind=None if isinstance(candidate.draft, str) else candidate.draft.kind,
        batch=int(scenario.batch[0]),
        context=scenario.context[0],
        alpha=acceptance.iid if acceptance else None,
        acceptance=str(acceptance) if acceptance else None,
    )


def _place(setup: Setup) -> tuple[object, ...]:
    """Where a drafter is compared with none: all that decides plain decoding. Cards are one object
    each.
    """
    cards = (id(setup.target), id(setup.hardware), id(setup.engine))
    return (*cards, setup.tp, setup.serving, setup.dtype, setup.kv_dtype)


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
    served = {_place(setup) for setup in drafted}
    alone = [setup for setup in setups if _place(setup) not in served]
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
