"""The traffic of a report: what comes, what is promised, and the GPUs that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from specplan.domain.answer import Answer, Lines, Table
from specplan.domain.scenario import Scenario
from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.errors import SpecplanError
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.capacity import Best, Capacity
from specplan.questions.traffic_view import promise_words, traffic_words


@dataclass(frozen=True, slots=True)
class Coming:
    """The traffic, what is promised of it, and the GPUs that it takes, or why nobody can say."""

    traffic: Traffic
    slo: Slo
    sized: Answer | SpecplanError

    @property
    def value(self) -> Capacity | None:
        """The GPUs, where they are known."""
        found = self.sized.value if isinstance(self.sized, Answer) else None
        return found if isinstance(found, Capacity) else None

    @property
    def unserved(self) -> bool:
        """Whether no plan keeps what is promised."""
        return self.value is not None and self.value.cheapest is None


def running(sized: Answer | SpecplanError) -> int | None:
    """Sequences that decode together on a server of the cheapest plan, on average by time; None
    where there is no plan.
    """
    if isinstance(sized, SpecplanError):
        return None
    for row in sized.table.records():
        if row["cheapest"] and row["batch_mean"] is not None:
            return max(round(float(row["batch_mean"])), 1)
    return None


def holds(scenario: Scenario) -> bool:
    """Whether every setup holds the largest batch at every context, beside its drafter."""
    ends, most = [context + scenario.growth for context in scenario.context], max(scenario.batch)
    bills = (bill_at(setup, ends, usual_k(setup, scenario.k)) for setup in scenario.setups)
    return all(bool((bill.largest >= most).all()) for bill in bills)


def capacity_of(coming: Coming) -> Answer:
    """The GPUs, with what they are for among the lines; raises what kept them from being known."""
    if isinstance(coming.sized, SpecplanError):
        raise coming.sized
    view = coming.sized.view
    sections = (Lines(view.caption, wrap=True), *view.sections)
    return replace(coming.sized, view=replace(view, caption=(), sections=sections))


def facts(coming: Coming) -> Iterator[tuple[str, str]]:
    """What comes and what is promised, and the GPUs, as the head of a report has them."""
    traffic = coming.traffic
    drawn = len(traffic.lengths.weight) > 1 and traffic.source
    yield "traffic", traffic_words(traffic) + (f", from {traffic.source}" if drawn else "")
    if promises := promise_words(coming.slo):
        yield "promises", promises
    if not coming.unserved and (gpus := ", ".join(_by_policy(coming))):
        yield "GPUs", gpus


def _by_policy(coming: Coming) -> Iterator[str]:
    """The fewest GPUs under each policy that was sized."""
    table = coming.sized.table if isinstance(coming.sized, Answer) else Table()
    policies = list(dict.fromkeys(str(row["policy"]) for row in table.records()))
    kinds = {row["hardware"] for row in table.records()}
    named = {"none": "without speculation", "gated": "gated"}
    for policy in policies:
        best, how = _sized(coming, policy)[0], named.get(policy, f"with {policy}")
        kind = f" {best.hardware}" if len(kinds) > 1 else ""
        yield f"no number will do {how}" if best.gpus is None else f"{best.gpus:,}{kind} {how}"


def unserved_words(coming: Coming) -> str:
    """That no plan keeps what is promised, as a verdict begins."""
    traffic, promises = traffic_words(coming.traffic), promise_words(coming.slo)
    if not promises:
        return f"The traffic cannot be served: no number of GPUs takes {traffic}"
    one = len(coming.slo.limits) == 1
    said = "The promise is not kept" if one else "The promises are not kept"
    return f"{said}: no number of GPUs serves {traffic} with {promises}"


def gpus_words(coming: Coming, k: int | None) -> str:
    """What speculation with k draft tokens (None: by batch) does to the GPUs, as a verdict ends; ""
    where that is not known. Where nobody sized for that k, or it is not to be had, the cheapest one
    that speculates speaks for it, by name.
    """
    found = coming.value
    if found is None or found.cheapest is None:
        return ""
    without = found.without
    if k == 0:
        return f"; it takes {_gpus(without.gpus)}" if without else ""
    sized = _sized(coming, "gated" if k is None else f"k={k}")
    drafted, how, failed = next((one for one in sized if one.planned), None), "with it", ""
    if sized and drafted is None:
        kept = "keeps no promise" if coming.slo.limits else "cannot take the traffic"
        failed = f", but {'gating' if k is None else f'k = {k}'} {kept}"
    if drafted is None and found.speculating:
        best = found.speculating
        drafted = _Plan(best.hardware, best.gpus)
        how = best.policy if best.policy == "gated" else f"with {best.policy}"
    if drafted is None:
        return f"{failed}; {_gpus(found.cheapest.gpus)} without speculation"
    return failed + _compared(drafted, how, without)


@dataclass(frozen=True, slots=True)
class _Plan:
    """GPUs of a kind; None where no number of them will do."""

    hardware: str
    gpus: int | None

    @property
    def planned(self) -> bool:
        """Whether some number will do."""
        return self.gpus is not None


def _sized(coming: Coming, policy: str) -> list[_Plan]:
    """What was sized under a policy, the cheapest first."""
    table = coming.sized.table if isinstance(coming.sized, Answer) else Table()
    rows = [row for row in table.records() if row["policy"] == policy]
    return [_Plan(str(r["hardware"]), None if r["gpus"] is None else int(r["gpus"])) for r in rows]


def _compared(drafted: _Plan, how: str, without: Best | None) -> str:
    """GPUs with speculation beside those without."""
    gpus, kind = drafted.gpus or 0, drafted.hardware
    if without is None:
        return f"; {_gpus(gpus)} {how}, and none will do without"
    if kind != without.hardware:
        return f"; {gpus:,} {kind} {how}, {without.gpus:,} {without.hardware} without"
    if gpus == without.gpus:
        return f"; {_gpus(gpus)} {how} and without"
    named = "" if how == "with it" else f" {how}"
    return f"; {_gpus(gpus)}{named} instead of {without.gpus:,}"


def _gpus(count: int) -> str:
    return f"{count:,} GPU{'' if count == 1 else 's'}"
