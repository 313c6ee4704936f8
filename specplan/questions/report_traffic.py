"""The traffic of a report: what comes, what is promised, and the GPUs that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from specplan.domain.answer import Answer, Lines
from specplan.domain.slo import Slo
from specplan.domain.traffic import Traffic
from specplan.errors import SpecplanError
from specplan.questions.capacity import Capacity
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
    recorded = f", as in {traffic.source}" if traffic.trace and traffic.source else ""
    yield "traffic", traffic_words(traffic) + recorded
    if promises := promise_words(coming.slo):
        yield "promises", promises
    if isinstance(coming.sized, Answer) and not coming.unserved:
        yield "GPUs", coming.sized.view.title


def unserved_words(coming: Coming) -> str:
    """That no plan keeps what is promised, as a verdict begins."""
    traffic, promises = traffic_words(coming.traffic), promise_words(coming.slo)
    if not promises:
        return f"The traffic cannot be served: no number of GPUs takes {traffic}"
    one = len(coming.slo.limits) == 1
    said = "The promise is not kept" if one else "The promises are not kept"
    return f"{said}: no number of GPUs serves {traffic} with {promises}"


def gpus_words(coming: Coming) -> str:
    """What speculation does to the GPUs, as a verdict ends; "" where that is not known."""
    found = coming.value
    if found is None or found.cheapest is None:
        return ""
    without, drafted = found.without, found.speculating
    if drafted is None:
        return (
            f", but the traffic is served without speculation alone: {_gpus(found.cheapest.gpus)}"
        )
    if without is None:
        return f"; the traffic is served with speculation alone: {_gpus(drafted.gpus)}"
    if found.gpus_saved is None:  # on different accelerators
        return f"; the traffic takes {found.cheapest.gpus:,} {found.cheapest.hardware}"
    if found.gpus_saved == 0:
        return f"; {_gpus(drafted.gpus)} with it and without"
    joined = ";" if found.gpus_saved > 0 else ", but"
    return f"{joined} {_gpus(drafted.gpus)} instead of {without.gpus:,}"


def _gpus(count: int) -> str:
    return f"{count:,} GPU{'' if count == 1 else 's'}"
