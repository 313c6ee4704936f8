"""What a plan's traffic comes to on each of its candidates: the facts that expectations about GPUs,
cost and promises are held against.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from specplan.domain.acceptance import Acceptance
from specplan.domain.contest import undrafted
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.errors import SpecplanError
from specplan.questions.capacity_figures import mean
from specplan.questions.capacity_plan import NO_DRAFTS, nearly_best, needed
from specplan.questions.capacity_size import IDLE, Asked, Desk, sized
from specplan.questions.compare_judge import place_of
from specplan.questions.cost import MILLION, SECONDS_PER_HOUR, price_of
from specplan.questions.emit_k import asks_gate
from specplan.questions.facts import telling
from specplan.questions.replicas import fixed_replica, gated_replica, plain_replica, shape_of
from specplan.questions.weigh import lengths
from specplan.rules.demanded import PERCENTILES, TrafficFacts
from specplan.serving.replica import Replica

WITHOUT = "without"
GATED = "gated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The traffic of a plan, what is promised of it, and the price of a GPU if it says one."""

    traffic: Traffic
    slo: Slo = field(default_factory=Slo)
    usd_per_gpu_hour: float | None = None

    @property
    def asked(self) -> Asked:
        """The same for sizing: no head-room, as capacity has it by default."""
        return Asked(traffic=self.traffic, slo=self.slo, shape=shape_of(self.traffic.lengths))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Servers of a plan's candidates, each sized once, however many points and findings ask."""

    scenario: Scenario
    demand: Demand
    _known: dict[tuple[object, ...], Desk | str] = field(default_factory=dict)

    def others(self, facts: TrafficFacts) -> TrafficFacts:
        """The same with the GPUs that other policies need in its place."""
        setup = self.scenario.setups[facts.candidate]
        acceptance = next(a for a in self.scenario.acceptance if str(a) == facts.acceptance)
        found = []
        for policy in (GATED, WITHOUT):
            if policy != facts.policy and (policy == WITHOUT or setup.draft.max_k != 0):
                desk = self._desk(setup, acceptance, policy)
                size = desk if isinstance(desk, str) else sized(desk, self.demand.asked)
                if not isinstance(size, str) and not isinstance(desk, str):
                    found.append((policy, float(size.replicas * desk.replica.gpus)))
        return replace(facts, others=tuple(found))

    def facts(self) -> Iterator[TrafficFacts]:
        """Every candidate at every point: one for each acceptance and k of the plan."""
        k: tuple[int | None, ...] = self.scenario.k or (None,)
        points = [(acceptance, n) for acceptance in self.scenario.acceptance for n in k]
        for point, (acceptance, n) in enumerate(points):
            for number, setup in enumerate(self.scenario.setups):
                policy = self._policy(setup, acceptance, n)
                yield replace(self._facts(setup, acceptance, policy), candidate=number, point=point)

    def _policy(self, setup: Setup, acceptance: Acceptance, k: int | None) -> str:
        """What the plan runs there: its k, k by load, or the best single one."""
        if k == 0 or setup.draft.max_k == 0:
            return WITHOUT
        if k is not None:
            return f"k={k}"
        return GATED if asks_gate(self.scenario) else f"k={self._best(setup, acceptance)}"

    def _best(self, setup: Setup, acceptance: Acceptance) -> int:
        """The fixed k with the fewest GPUs, as capacity finds it."""
        asked = self.demand.asked
        gated = self._desk(setup, acceptance, GATED)
        k = lengths(setup, self.scenario.candidates)[1:]
        if isinstance(gated, str):
            return k[0]
        few = nearly_best(gated.replica, asked, k)
        desks = {n: self._desk(setup, acceptance, f"k={n}") for n in few}
        return min(
            few,
            key=lambda n: math.inf if isinstance(d := desks[n], str) else needed(d, asked),
        )

    def _facts(self, setup: Setup, acceptance: Acceptance, policy: str) -> TrafficFacts:
        facts = TrafficFacts(
            setup=telling(self.scenario.setups)(setup),
            candidate=0,
            point=0,
            alphas=len(self.scenario.acceptance) > 1,
            lengths=len(self.scenario.k) > 1,
            target=setup.target.name,
            draft=setup.draft.label,
            hardware=setup.hardware.name,
            tp=setup.tp,
            alpha=acceptance.iid,
            acceptance=str(acceptance),
            k=int(policy[2:]) if policy.startswith("k=") else 0 if policy == WITHOUT else None,
            policy=policy,
            gpus=math.inf,
            usd_per_million_output_tokens=self._usd(setup, math.inf),
            strain=math.inf,
            band=setup.band,
        )
        desk = self._desk(setup, acceptance, policy)
        if isinstance(desk, str):
            return replace(facts, reason=desk)
        try:
            return self._kept(facts, desk, setup)
        except SpecplanError as error:
            return replace(facts, reason=error.said)

    def _kept(self, facts: TrafficFacts, desk: Desk, setup: Setup) -> TrafficFacts:
        """With what a server of which enough replicas keep the promises comes to."""
        size = sized(desk, self.demand.asked)
        if isinstance(size, str):
            return replace(facts, reason=size)
        gpus = float(size.replicas * desk.replica.gpus)
        return replace(
            facts,
            strain=self._strain(desk),
            gpus=gpus,
            usd_per_million_output_tokens=self._usd(setup, gpus),
            latency_s={f"itl_p{p}": float(size.at.itl.percentile(p)) for p in PERCENTILES},
        )

    def _desk(self, setup: Setup, acceptance: Acceptance, policy: str) -> Desk | str:
        """One server, asked for its state at any rate, or why it cannot be had."""
        place = place_of(setup), WITHOUT
        key = place if policy == WITHOUT else (id(setup), acceptance, policy)
        if key not in self._known:
            try:
                server = self._server(setup, acceptance, policy)
                self._known[key] = Desk(server, self.demand.traffic.lengths)
            except SpecplanError as error:
                self._known[key] = error.said
        return self._known[key]

    def _server(self, setup: Setup, acceptance: Acceptance, policy: str) -> Replica:
        shape = self.demand.asked.shape
        if policy == WITHOUT:
            return plain_replica(undrafted(setup), NO_DRAFTS, shape)
        if policy == GATED:
            k = lengths(setup, self.scenario.candidates)
            return gated_replica(setup, acceptance, shape, k)
        return fixed_replica(setup, acceptance, shape, int(policy[2:]))

    def _usd(self, setup: Setup, gpus: float) -> float | None:
        """Per million output tokens, at the price that the plan says or the card's lowest."""
        price = price_of(setup.hardware, self.demand.usd_per_gpu_hour)
        if price is None:
            return None
        traffic = self.demand.traffic
        per_s = traffic.rate_per_s * mean(traffic.lengths, "osl")
        return MILLION * price[0] / SECONDS_PER_HOUR * gpus / per_s

    def _strain(self, desk: Desk) -> float:
        """The worst latency of a request alone over its limit; 0 where nothing is promised."""
        if not self.demand.slo.limits:
            return 0.0
        alone = desk.at(IDLE * desk.saturation(), 1.0)
        return max(
            float(alone.law(one.metric).percentile(one.percentile)) / one.limit_s
            for one in self.demand.slo.limits
        )
