"""Candidates of a capacity plan one by one: a place without speculation, then every way with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from specplan.domain.acceptance import Acceptance, Alpha
from specplan.domain.contest import undrafted
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.traffic import Trace
from specplan.errors import SpecplanError
from specplan.questions.capacity_cross import loads_of, stops_of
from specplan.questions.capacity_curves import points_of
from specplan.questions.capacity_figures import costs, figures
from specplan.questions.capacity_parts import closed_loop, parts_of
from specplan.questions.capacity_pools import pooled
from specplan.questions.capacity_row import Row
from specplan.questions.capacity_size import Asked, Desk, Sized, kept_by_dispersion, sized
from specplan.questions.capacity_time import scaled
from specplan.questions.common import kind_of
from specplan.questions.compare_judge import place_of
from specplan.questions.replicas import fixed_replica, gated_replica, plain_replica
from specplan.serving.replica import Replica

NO_DRAFTS = Alpha(0.0)  # of a server that proposes nothing
TRIED = 2  # of the fixed k that are best without a queue, with it


@dataclass(slots=True)
class Planner:
    """Plans candidates and remembers the server without speculation of each place."""

    asked: Asked
    usd: float | None
    pools: bool = False
    bin_s: float = 60.0
    over: Trace | None = None
    plains: dict[tuple[object, ...], Desk] = field(default_factory=dict)

    def rows(self, scenario: Scenario) -> Iterator[Row]:
        """Every candidate under every policy, the one without speculation once a place."""
        for setup in scenario.setups:
            place = place_of(setup)
            if place not in self.plains:
                plain = undrafted(setup)
                server = plain_replica(plain, NO_DRAFTS, self.asked.shape, self.asked.limits)
                self.plains[place] = self._desk(server)
                yield from self._rows(plain, None, self.plains[place])
            if setup.draft.max_k != 0:
                for acceptance in scenario.acceptance:
                    yield from self._drafted(setup, acceptance, scenario)

    def count(self, scenario: Scenario) -> int:
        """How many rows that will be, about: a k that nobody can draft is one less."""
        places = len({place_of(setup) for setup in scenario.setups})
        drafted = sum(setup.draft.max_k != 0 for setup in scenario.setups)
        ways = len(scenario.k or (1,)) + 1  # each k, and the gate
        return (places + drafted * len(scenario.acceptance) * ways) * (2 if self.pools else 1)

    def _desk(self, server: Replica) -> Desk:
        return Desk(server, self.asked.traffic.lengths)

    def _drafted(self, setup: Setup, acceptance: Acceptance, scenario: Scenario) -> Iterator[Row]:
        """One k after the other, or the best, and all of them by load."""
        longest = setup.draft.max_k or max(scenario.candidates)
        k = tuple(n for n in scenario.candidates if n <= longest)
        asked = self.asked
        try:
            gated = gated_replica(
                *(setup, acceptance, asked.shape, k, asked.limits),
                tax=asked.gate_tax,
                hysteresis=asked.hysteresis,
            )
            few = k[1:] if scenario.k else nearly_best(gated, asked, k[1:])
            fixed = [fixed_replica(setup, acceptance, asked.shape, n, asked.limits) for n in few]
        except SpecplanError as error:
            yield replace(self._named(setup, acceptance, "gated"), reason=error.said)
            return
        desks = [self._desk(server) for server in fixed]
        for desk in desks if scenario.k else [min(desks, key=lambda desk: needed(desk, asked))]:
            yield from self._rows(setup, acceptance, desk)
        if len(k) > 1:
            alike = (desk for desk in desks if desk.replica.policy.k == gated.policy.k == k[-1:])
            same = next(alike, None)  # known already, but for its name
            renamed = same and replace(same, replica=replace(same.replica, policy=gated.policy))
            yield from self._rows(setup, acceptance, renamed or self._desk(gated))

    def _rows(self, setup: Setup, acceptance: Acceptance | None, desk: Desk) -> Iterator[Row]:
        """One server for all, and with its pools apart if they are asked for."""
        named = self._named(setup, acceptance, desk.replica.policy.name)
        yield self._row(named, setup, desk)
        if self.pools:
            yield pooled(named, setup, desk, self.asked, self.usd)

    def _row(self, named: Row, setup: Setup, desk: Desk) -> Row:
        found, server, asked = sized(desk, self.asked), desk.replica, self.asked
        if isinstance(found, str):
            return replace(named, reason=found)
        alone, trace = self.plains[place_of(setup)], self.over
        full = server.gpus * asked.traffic.rate_per_s / found.saturation_per_s
        row = replace(
            named,
            **figures(server, found, asked),
            **costs(setup, found.replicas * server.gpus, full, asked, self.usd),
            parts=parts_of(desk, alone, asked, found),
            kept_by_dispersion=kept_by_dispersion(desk, asked),
        )
        if trace is not None and len(trace.arrival_s) > 1:
            kept = found.largest_per_s * (1 - asked.margin)
            row = replace(row, **asdict(scaled(trace, self.bin_s, kept, server.gpus)))
        place = self._spread(alone, found)
        if server.policy.drafts:
            row = self._compared(row, desk, alone, place)
        else:
            with suppress(SpecplanError):  # arrivals in bursts may be too many a little sooner
                for load in loads_of(desk):
                    desk.at(load, place)
        return replace(row, by_rate=points_of(desk, place, asked))

    def _spread(self, alone: Desk, found: Sized) -> float:
        """The dispersion at which loads are compared: of arrivals at a replica of the place's plan
        without speculation, where it has one.
        """
        plain = sized(alone, self.asked)
        return found.dispersion if isinstance(plain, str) else plain.dispersion

    def _compared(self, row: Row, desk: Desk, alone: Desk, dispersion: float) -> Row:
        """With what it saves over the server without speculation, and up to which load."""
        plain = sized(alone, self.asked)
        if not isinstance(plain, str):
            row = replace(
                row,
                gpus_saved=plain.replicas * alone.replica.gpus - (row.gpus or 0),
            )
        stops = stops_of(desk, alone, dispersion)
        if stops is None:
            return row
        crossings = ", ".join(f"{rate:.4g}" for rate in stops.at_per_s)
        return replace(
            row,
            lambda_star_per_s=stops.lambda_star,
            crossings_per_s=crossings or None,
            sustains=stops.sustains,
        )

    def _named(self, setup: Setup, acceptance: Acceptance | None, policy: str) -> Row:
        """Who it is, without figures."""
        return Row(
            target=setup.target.name,
            draft=setup.draft.label,
            hardware=setup.hardware.name,
            tp=setup.tp,
            dtype=str(setup.dtype),
            draft_dtype=str(setup.draft_dtype) if acceptance else None,
            kv_dtype=str(setup.kv_dtype),
            draft_tp=setup.draft_tp if acceptance else None,
            engine=setup.serving.engine,
            engine_version=setup.serving.engine_version,
            attention_dp=setup.attention_dp,
            ep=setup.ep,
            served_by=setup.serving.served_by,
            acceptance=str(acceptance) if acceptance else None,
            policy=policy,
            pools="shared",
            basis=kind_of(setup),
        )


def nearly_best(server: Replica, asked: Asked, k: Sequence[int]) -> list[int]:
    """The fixed k that are best for a server that is never without requests."""
    loops = {n: loop for n in k if (loop := closed_loop(server, asked, k=n))}
    order = sorted(loops, key=lambda n: (not loops[n].keeps, -loops[n].rate_per_s, n))
    return order[:TRIED] or list(k[:1])


def needed(desk: Desk, asked: Asked) -> float:
    """GPUs before replicas are whole; endless without a plan."""
    found = sized(desk, asked)
    return math.inf if isinstance(found, str) else desk.replica.gpus / found.largest_per_s
