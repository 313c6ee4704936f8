"""What a plan may expect of its traffic: GPUs, cost, promises kept, the gaps that readers see."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from specplan.rules import Finding
from specplan.rules.expected import Keyed, apart, at_most
from specplan.units import people

PERCENTILES = (50, 95, 99)
"""Of the gaps between two tokens, that have a key of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficFacts:
    """One candidate under the plan's traffic and k, unrounded, in SI.

    `setup` tells it from the plan's other candidates, which `candidate` numbers. `point` numbers
    what workload and k say: each has to do, with one candidate at least. `k` is absent where it
    follows the batch; `policy` says it either way. `gpus` and latencies are infinite where no
    number of replicas keeps the promises, and `reason` says why; `strain` is the worst latency of a
    request alone over what is promised of it. `usd_per_million_output_tokens` is absent where no
    price is known. `others` are the GPUs of other policies in the same place. `band` is how far 9
    of 10 of the engine's round costs were off, where that was measured.
    """

    setup: str
    candidate: int
    point: int
    alphas: bool
    lengths: bool
    target: str
    draft: str
    hardware: str
    tp: int
    alpha: float | None
    acceptance: str
    k: int | None
    policy: str
    gpus: float
    usd_per_million_output_tokens: float | None
    strain: float
    latency_s: Mapping[str, float] = field(default_factory=dict)
    others: tuple[tuple[str, float], ...] = ()
    reason: str = ""
    band: float | None = None

    @property
    def place(self) -> str:
        """The candidate and its point in words, the policy last."""
        words = [self.setup] if self.setup else []
        iid = self.acceptance[:1].isdigit()
        said = f"alpha {self.acceptance}" if iid else f"acceptance {self.acceptance}"
        words += [said] if self.alphas else []
        return ", ".join([*words, self.policy])


@dataclass(frozen=True, slots=True, kw_only=True)
class Demanded(Keyed):
    """A key of `expect` that needs `traffic`.

    `found` is what it looks at in the facts of each candidate, None where that is not known, and
    `unknown` what a plan then has to add. `aside` follows the policy in brackets. `doubted` is the
    figure that the engine's band is about, and its own limit. A failure of one that `names_others`
    says what other policies need. `of_every` tells limits that all
    candidates have to keep, not one of them.
    """

    found: Callable[[TrafficFacts], float | None]
    aside: Callable[[TrafficFacts], str] = lambda _: ""
    doubted: Callable[[TrafficFacts, float, float], tuple[float, float]] = lambda _, found, limit: (
        found,
        limit,
    )
    unknown: str = ""
    names_others: bool = False
    of_every: Callable[[float], bool] = lambda _: False


def chosen(
    asked: Sequence[tuple[Demanded, float]], facts: Sequence[TrafficFacts]
) -> list[TrafficFacts]:
    """The points of the one candidate that is to be run: that which fails the fewest of what is
    asked, each with its limit, and of these the one with the fewest GPUs.
    """

    def order(some: list[TrafficFacts]) -> tuple[int, float, int]:
        fails = sum(_lack(rule, _worst(rule, some, limit), limit) > 0 for rule, limit in asked)
        return fails, max(one.gpus for one in some), some[0].candidate

    candidates: dict[int, list[TrafficFacts]] = {}
    for one in facts:
        candidates.setdefault(one.candidate, []).append(one)
    return min(candidates.values(), key=order)


def judge_traffic(
    rule: Demanded, facts: Sequence[TrafficFacts], limit: float, text: str
) -> tuple[TrafficFacts, Finding | None]:
    """The worst of the points, and what the rule says of it; no finding where its figure is not
    known. `text` is the limit as written.

    What holds by less than the engine's band is not sure to.
    """
    worst = _worst(rule, facts, limit)
    found = rule.found(worst)
    return worst, None if found is None else _finding(rule, worst, found, (limit, text))


def _worst(rule: Demanded, facts: Sequence[TrafficFacts], limit: float) -> TrafficFacts:
    return max(facts, key=lambda one: _lack(rule, one, limit))


def _lack(rule: Demanded, facts: TrafficFacts, limit: float) -> float:
    """Endless where the figure is not known."""
    found = rule.found(facts)
    return math.inf if found is None else rule.lack(found, limit)


def _finding(
    rule: Demanded, facts: TrafficFacts, found: float, asked: tuple[float, str]
) -> Finding:
    limit, text = asked
    said = f"{rule.key} {text}: {rule.say(found, limit)} ({facts.place}{rule.aside(facts)})"
    if rule.lack(found, limit) > 0:
        why = f": {facts.reason}" if facts.reason else ""
        return Finding(rule.id, rule.level, said + why)
    doubted, edge = rule.doubted(facts, found, limit)
    if facts.band and doubted <= edge < doubted * (1 + facts.band):
        within = f"holds within the engine's {100 * facts.band:.0f} %: unsure"
        return Finding(rule.id, "warning", f"{said}, {within}")
    return Finding(rule.id, "pass", said)


def as_kept(gpus: float, wanted: float) -> float:
    """Above 0 where promises are not kept that should be, or the other way round."""
    return 1.0 if math.isfinite(gpus) is not bool(wanted) else -1.0


def _gpus(found: float, _: float) -> str:
    if not math.isfinite(found):
        return "no number of GPUs keeps the promises"
    return f"{found:,.0f} GPU{'' if found == 1 else 's'}"


def _kept(gpus: float, _: float) -> str:
    kept = math.isfinite(gpus)
    return f"kept with {_gpus(gpus, 0)}" if kept else "kept with no number of GPUs"


def _usd(found: float, other: float) -> str:
    if not math.isfinite(found):
        return "no number of GPUs keeps the promises"
    return apart(lambda value, digits: f"{value:.{digits}f} USD", 2)(found, other)


def _gap(found: float, other: float) -> str:
    if not math.isfinite(found):
        return "no number of GPUs keeps the promises"
    return apart(lambda value, digits: people(value, "s", digits), 3)(found, other)


def _others(facts: TrafficFacts) -> str:
    """`; 22 gated, 31 without` of those that keep the promises."""
    said = [f"{gpus:,.0f} {name}" for name, gpus in facts.others if math.isfinite(gpus)]
    return f"; {', '.join(said)}" if said else ""


def _with_gpus(facts: TrafficFacts) -> str:
    return f"; {_gpus(facts.gpus, 0)}" if math.isfinite(facts.gpus) else ""


def _itl(percentile: int) -> Demanded:
    name = f"itl_p{percentile}"
    return Demanded(
        id=f"SP0{13 + PERCENTILES.index(percentile)}",
        level="error",
        key=f"max_{name}",
        unit="s",
        title=f"gaps between tokens too long (p{percentile})",
        what=f"Time between two tokens as they reach the reader, of {percentile} in 100 gaps at "
        "most, with as many GPUs as the traffic needs.",
        why="A round brings several tokens at once, and then none for as long as it takes: readers "
        "see the longest gaps, which a mean hides.",
        remedy="Take a smaller k, expect more, or promise it: itl_p99 in slo decides the GPUs too.",
        found=lambda facts: facts.latency_s.get(name, math.inf),
        lack=at_most,
        say=_gap,
        aside=_with_gpus,
    )


def _demanded() -> Iterator[Demanded]:
    yield Demanded(
        id="SP010",
        level="error",
        key="max_gpus",
        unit="GPU",
        title="too many GPUs",
        what="GPUs that the plan's traffic needs under its slo, at the plan's k, with the best of "
        "the candidates that lists name.",
        why="GPUs are what is bought; a speedup at one batch is not.",
        remedy="Take the policy that the finding names, another candidate, or relax the slo.",
        found=lambda facts: facts.gpus,
        lack=at_most,
        say=_gpus,
        aside=_others,
        names_others=True,
    )
    yield Demanded(
        id="SP011",
        level="error",
        key="max_usd_per_million_output_tokens",
        unit="USD",
        title="output tokens too dear",
        what="Price of all those GPUs over the output tokens of the traffic as it is, per million.",
        why="Speculation can make tokens faster and dearer: the last replica is idle in part.",
        remedy="Take another candidate, a better price, or fill replicas better.",
        found=lambda facts: (
            facts.usd_per_million_output_tokens if math.isfinite(facts.gpus) else math.inf
        ),
        lack=at_most,
        say=_usd,
        aside=_with_gpus,
        unknown="add usd_per_gpu_hour: 3.80 to traffic",
    )
    yield Demanded(
        id="SP012",
        level="error",
        key="meets_slo",
        unit="GPU",
        title="promises not kept",
        what="Whether any number of replicas keeps every limit of the traffic's slo.",
        why="What a request alone misses, no money mends.",
        remedy="Relax the limit that the finding names, or take a faster candidate.",
        found=lambda facts: facts.gpus,
        lack=as_kept,
        say=_kept,
        of_every=lambda wanted: not wanted,
        doubted=lambda facts, _, wanted: (facts.strain, 1.0) if wanted else (0.0, 1.0),
    )
    yield from map(_itl, PERCENTILES)


DEMANDED: tuple[Demanded, ...] = tuple(_demanded())
BY_DEMAND = {rule.key: rule for rule in DEMANDED}
