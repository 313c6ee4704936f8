"""Candidates priced one by one at their own best k, plain decoding of each place once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from specplan.domain.acceptance import Alpha
from specplan.domain.contest import Candidate, Contest, undrafted
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import SpecplanError
from specplan.physics.choose import best_index
from specplan.physics.round import time_rounds
from specplan.questions.beyond import beyond_words, paid_alone
from specplan.questions.bills import ahead_of, bill_of
from specplan.questions.common import kind_of
from specplan.questions.compare_entry import Entry
from specplan.questions.compare_reasons import reason_against, too_large
from specplan.questions.cost import cost_of
from specplan.questions.weigh import Point, Rounds, rounds_at

NO_DRAFTS = Alpha(0.0)  # of plain decoding, which proposes nothing


@dataclass(frozen=True, slots=True)
class _Plain:
    """Plain decoding in a place: what the batch lacks in memory, and tokens per second at the
    largest batch that fits.
    """

    shortfall_bytes: float
    largest_tokens_per_s: float


@dataclass(slots=True)
class Judge:
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
        bill = bill_of(setup, point.end, point.batch, self.scenario.k)
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
            slots_ahead=ahead_of(setup, k),
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
        place = place_of(setup)
        if place not in self.plains:
            scenario, alone = self.scenario, undrafted(setup)
            (context,), (batch,) = scenario.context, scenario.batch
            bill = bill_of(alone, context + scenario.growth, batch)
            largest, rate = bill.largest_batch_plain, 0.0
            if largest:
                timing = time_rounds(alone, (context,), (largest,), (0,))
                rate = largest / float(timing.plain_s.flat[0])
            self.plains[place] = _Plain(bill.shortfall_bytes, rate)
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


def place_of(setup: Setup) -> tuple[object, ...]:
    """Where a drafter is compared with none: all that decides plain decoding. Cards are one object
    each.
    """
    cards = (id(setup.target), id(setup.hardware), id(setup.engine))
    return (*cards, setup.tp, setup.serving, setup.dtype, setup.kv_dtype)
