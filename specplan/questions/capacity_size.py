"""How many replicas a traffic needs: the fewest whose share of it keeps every promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from specplan.domain.accounting import Limits
from specplan.domain.slo import METRICS, Limit, Slo
from specplan.domain.traffic import Lengths, Traffic
from specplan.errors import Refused
from specplan.physics.schedule import HYSTERESIS
from specplan.questions.bills import NO_LIMITS
from specplan.questions.replicas import Shape
from specplan.serving.replica import Replica
from specplan.serving.server import Role, Server, server_of
from specplan.serving.steady import Largest, Steady, at_rate, highest, largest_rate
from specplan.units import people

MOST_REPLICAS = 1 << 20
STABLE = 0.999  # of the rate at which queues only grow: nearer to it no wait is foreseen
NEARLY = 1e-9  # of a replica: a rate that is a whole number of largest ones needs no more
IDLE = 1e-3  # of the rate at which a replica becomes unstable: what a request alone sees


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What all candidates are sized for. `margin` is the share of a replica's largest rate that
    stays unused; `gate_tax` and `hysteresis` are of gated ones (`serving.policy`).
    """

    traffic: Traffic
    slo: Slo = field(default_factory=Slo)
    shape: Shape
    limits: Limits = NO_LIMITS
    margin: float = 0.0
    gate_tax: float = 0.0
    hysteresis: float = HYSTERESIS

    def limit(self, metric: str) -> Limit | None:
        """The tightest promise about a metric."""
        found = [one for one in self.slo.limits if one.metric == metric]
        return min(found, key=lambda one: one.limit_s, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """`replicas` that take `rate_per_s` each, out of `largest_per_s` that one could under the
    promises (`bound_by`) and `saturation_per_s` at which it becomes unstable; what they are like
    at that rate. `dispersion` is that of the arrivals at one of them.
    """

    largest_per_s: float
    bound_by: str
    saturation_per_s: float
    replicas: int
    rate_per_s: float
    dispersion: float
    at: Steady


@dataclass(slots=True)
class Desk:
    """One replica under these lengths, asked for its state at many rates, each worked out once."""

    replica: Replica
    lengths: Lengths
    servers: dict[Role, Server] = field(default_factory=dict)
    tops: dict[Role, float] = field(default_factory=dict)
    largests: dict[tuple[object, ...], Largest] = field(default_factory=dict)
    states: dict[tuple[object, ...], Steady] = field(default_factory=dict)

    def saturation(self, role: Role = "both") -> float:
        """Requests a second from which queues only grow."""
        if role not in self.tops:
            self.tops[role] = highest(self._server(role))
        return self.tops[role]

    def largest(self, slo: Slo, dispersion: float, role: Role = "both") -> Largest:
        """The largest rate under promises."""
        key = slo, dispersion, role
        if key not in self.largests:
            self.largests[key] = largest_rate(self.replica, self.lengths, slo, dispersion, role)
        return self.largests[key]

    def at(self, rate_per_s: float, dispersion: float, role: Role = "both") -> Steady:
        """The state at one rate."""
        key = rate_per_s, dispersion, role
        if key not in self.states:
            self.states[key] = at_rate(self._server(role), rate_per_s, dispersion)
        return self.states[key]

    def _server(self, role: Role) -> Server:
        if role not in self.servers:
            self.servers[role] = server_of(self.replica, self.lengths, role)
        return self.servers[role]


def at_one_of(dispersion: float, replicas: float) -> float:
    """The dispersion of arrivals at one of so many replicas, requests being sent to any of them
    with equal chance: 1 + (D - 1) / R, for thinning brings every stream of arrivals nearer to
    Poisson's (Cox and Isham, Point Processes, 1980, section 4.3).
    """
    return 1 + (dispersion - 1) / replicas


def sized(desk: Desk, asked: Asked, role: Role = "both") -> Sized | str:
    """The fewest replicas, or why no number of them is enough, in words."""
    slo, traffic = _slo_of(asked.slo, role), asked.traffic
    if not desk.replica.room.fits(asked.shape.longest):
        return f"a request of {asked.shape.longest:,.0f} tokens does not fit beside the weights"
    try:
        most = desk.saturation(role)
        replicas = _fewest(lambda count: traffic.rate_per_s / kept(desk, asked, slo, count, role))
        if replicas is None:
            return _missed(desk.at(IDLE * most, 1.0, role), slo)
        dispersion, each = at_one_of(traffic.dispersion, replicas), traffic.rate_per_s / replicas
        found, at = desk.largest(slo, dispersion, role), desk.at(each, dispersion, role)
    except Refused as error:
        return error.said
    return Sized(
        largest_per_s=found.rate_per_s,
        bound_by=found.bound_by,
        saturation_per_s=most,
        replicas=replicas,
        rate_per_s=each,
        dispersion=dispersion,
        at=at,
    )


def kept(desk: Desk, asked: Asked, slo: Slo, replicas: float, role: Role) -> float:
    """Requests a second that one of so many replicas is given at most; above 0, if only just."""
    found = desk.largest(slo, at_one_of(asked.traffic.dispersion, replicas), role)
    return _given(desk, asked, found, role)


def _given(desk: Desk, asked: Asked, found: Largest, role: Role) -> float:
    rate = min(found.rate_per_s * (1 - asked.margin), STABLE * desk.saturation(role))
    return max(rate, 1e-300)


def kept_by_dispersion(desk: Desk, asked: Asked) -> tuple[tuple[float, float], ...]:
    """Requests a second that a replica is given at most, by the dispersion of its arrivals: at all
    that the search for the fewest replicas came by.
    """
    known = {
        dispersion: _given(desk, asked, found, "both")
        for (slo, dispersion, role), found in desk.largests.items()
        if isinstance(dispersion, float) and (slo, role) == (_slo_of(asked.slo, "both"), "both")
    }
    return tuple(sorted(known.items()))


def _missed(alone: Steady, slo: Slo) -> str:
    """By how much the worst promise is missed by requests that come one at a time."""
    ratio = {
        one: float(getattr(alone, one.metric).percentile(one.percentile)) / one.limit_s
        for one in slo.limits
    }
    worst = max(ratio, key=lambda one: ratio[one], default=None)
    if worst is None or ratio[worst] <= 1:
        return f"no {MOST_REPLICAS:,} replicas are enough"
    found, asked = (people(x * worst.limit_s, "s") for x in (ratio[worst], 1.0))
    over = f"{100 * (ratio[worst] - 1):.0f} % over"
    return f"{worst} is {found} for a request alone: {over} the {asked} promised"


def _slo_of(slo: Slo, role: Role) -> Slo:
    """The promises that a pool answers for: the first token is of the one that reads prompts, all
    further ones of the other.
    """
    mine: dict[Role, tuple[str, ...]] = {
        "both": METRICS,
        "prefill": ("ttft",),
        "decode": ("tpot", "itl"),
    }
    return Slo(
        limits=tuple(one for one in slo.limits if one.metric in mine[role]),
        name=slo.name,
        cite=slo.cite,
    )


def _fewest(needed: Callable[[float], float]) -> int | None:
    """The smallest number of replicas that needs no more than there are. More of them take less
    each, and of smoother arrivals if those come in bursts: what endlessly many would need is the
    least, and whether a number is enough is monotone.
    """

    def enough(replicas: int) -> bool:
        return needed(replicas) <= replicas * (1 + NEARLY)

    least = needed(math.inf)
    if not least <= MOST_REPLICAS:
        return None
    high = max(math.ceil(least / (1 + NEARLY)), 1)
    low = high - 1
    while not enough(high):
        if high >= MOST_REPLICAS:
            return None
        more = needed(high)
        low, high = high, math.ceil(more) if more <= MOST_REPLICAS else min(2 * high, MOST_REPLICAS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
