"""How many GPUs a traffic needs under its promises: without speculation, with one k, with k by
load; what their tokens cost, and up to which load speculation pays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from specplan.domain.accounting import Limits
from specplan.domain.answer import Answer, table_of
from specplan.domain.scenario import Scenario
from specplan.domain.slo import Slo
from specplan.domain.traffic import Trace, Traffic
from specplan.errors import UsageError, Where
from specplan.physics.schedule import HYSTERESIS
from specplan.questions import capacity_view as view
from specplan.questions.bills import NO_LIMITS
from specplan.questions.capacity_figures import mean
from specplan.questions.capacity_notes import notes, wider
from specplan.questions.capacity_plan import Planner
from specplan.questions.capacity_row import ASIDE, Row, asked_percentiles, columns_of
from specplan.questions.capacity_size import Asked
from specplan.questions.common import basis_of, refuse_mix
from specplan.questions.cost import refuse_price
from specplan.questions.replicas import shape_of

BARELY = 0.03  # of the GPUs before replicas are whole: what speculation saves less is nothing much
BIN_S = 60.0  # of a trace, for GPUs over time


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The cheapest of some plans, in short."""

    target: str
    draft: str
    hardware: str
    tp: int
    served_by: str
    policy: str
    pools: str
    replicas: int
    gpus: int
    gpus_exact: float
    bound_by: str | None
    usd_per_hour: float | None
    usd_per_million_output_tokens: float | None
    usd_per_million_tokens: float | None

    @property
    def plain(self) -> bool:
        """Whether it never speculates."""
        return self.policy == "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The traffic, the cheapest plan, the cheapest one without speculation and the cheapest one
    with it (None where no candidate keeps the promises), and what speculation saves: GPUs, and the
    share of GPUs before replicas are whole. `decode_share` is the part of the work without it that
    decoding is, which is all that it can save.
    """

    rate_per_s: float
    isl_mean: float
    osl_mean: float
    dispersion: float
    candidates: int
    margin: float
    cheapest: Best | None
    without: Best | None
    speculating: Best | None
    gpus_saved: int | None
    share_saved: float | None
    decode_share: float | None

    @property
    def barely(self) -> bool:
        """Whether speculation hardly changes the GPUs, as they are or before they are whole."""
        return self.gpus_saved == 0 or abs(self.share_saved or 0.0) < BARELY

    @property
    def hidden(self) -> bool:
        """Whether it is whole replicas alone that let it change nothing."""
        return self.gpus_saved == 0 and abs(self.share_saved or 0.0) >= BARELY


def capacity(
    scenario: Scenario,
    traffic: Traffic,
    slo: Slo,
    *,
    limits: Limits = NO_LIMITS,
    margin: float = 0.0,
    usd_per_gpu_hour: float | None = None,
    gate_tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
    pools: bool = False,
    bin_s: float = BIN_S,
    over: Trace | None = None,
    explain: bool = False,
    told: Callable[[int, int], None] = lambda _done, _all: None,
) -> Answer:
    """GPUs and cost of every setup for the traffic: without speculation once a place, with each k
    of the scenario (else the best one), and with k by load.

    `margin` is the share of a replica's largest rate that stays unused. `gate_tax` is the share by
    which a plain step is longer on a server that could speculate; another k is taken where it gains
    more than `hysteresis` over a doubling of the batch. `pools` sizes prefill and decode apart too.
    `bin_s` are the bins of a trace over which replicas could follow the load: of the traffic's, or
    of `over`, of which it may be the peak. `told` of rows as they are done, of about so many. Exit
    1 where no candidate keeps the promises.
    """
    _refuse(scenario, traffic, margin, gate_tax, hysteresis)
    if pools and any(limit.metric == "e2e" for limit in slo.limits):
        what = "an e2e promise is not divided between pools"
        raise UsageError(what, where=Where("--pools"), expected="promises about ttft, tpot and itl")
    if usd_per_gpu_hour is not None:
        refuse_price(usd_per_gpu_hour, several=False)
    shape = shape_of(traffic.lengths)
    asked = Asked(
        traffic=traffic,
        slo=slo,
        shape=shape,
        limits=limits,
        margin=margin,
        gate_tax=gate_tax,
        hysteresis=hysteresis,
    )
    sized = replace(scenario, context=(shape.context,), growth=shape.longest - shape.context)
    planner = Planner(asked, usd_per_gpu_hour, pools=pools, bin_s=bin_s, over=over or traffic.trace)
    found: list[Row] = []
    told(0, planner.count(sized))
    for row in planner.rows(sized):
        found.append(row)
        told(len(found), planner.count(sized))
    rows = ordered(found)
    value = _value(asked, rows)
    percentiles = asked_percentiles(slo)
    return Answer(
        command="capacity",
        value=value,
        table=table_of(columns_of(percentiles), [row.record(percentiles) for row in rows], ASIDE),
        view=view.page(value, rows, asked, bin_s, explain=explain),
        basis=basis_of(sized, ranked=True),
        inputs=scenario.inputs,
        notes=(
            *scenario.notes,
            *traffic.notes,
            *notes(rows, asked, bin_s),
            *(() if value.cheapest else wider(sized)),
        ),
        ok=value.cheapest is not None,
    )


def _refuse(
    scenario: Scenario, traffic: Traffic, margin: float, gate_tax: float, hysteresis: float
) -> None:
    """Refuses what nobody can size for."""
    refuse_mix(scenario, "capacity")
    bound = next((s.engine.name for s in scenario.setups if s.engine.kind == "bound"), None)
    if bound:
        raise UsageError(
            f"{bound} is a bound: servers are slower, so GPUs would be too few",
            where=Where("--engine"),
            expected="an engine with kernels, such as vllm",
        )
    if not traffic.rate_per_s > 0:
        raise UsageError(f"{traffic.rate_per_s:g} requests a second", where=Where("--rate"))
    for name, share in (("margin", margin), ("hysteresis", hysteresis)):
        if not 0 <= share < 1:
            what = f"{share:g} is out of range"
            raise UsageError(what, where=Where(f"--{name}"), expected="0 to below 1")
    if not 0 <= gate_tax <= 1:
        what = f"{gate_tax:g} is out of range"
        raise UsageError(what, where=Where("--gate-tax"), expected="0 to 1")


def ordered(rows: Sequence[Row]) -> list[Row]:
    """The cheapest first (by GPUs where no price is known), equal ones by what they would need
    before replicas are whole, the simpler first; then those without a plan.
    """

    def key(row: Row) -> tuple[float, ...]:
        spent = row.gpus if row.usd_per_hour is None else row.usd_per_hour
        whole = (row.usd_per_hour is None, spent or 0.0, row.gpus or 0)
        return (*whole, not row.plain, row.gpus_exact or 0.0)

    planned = sorted((row for row in rows if row.reason is None), key=key)
    order = [
        replace(row, rank=number, cheapest=number == 1) for number, row in enumerate(planned, 1)
    ]
    return [*order, *(row for row in rows if row.reason is not None)]


def _value(asked: Asked, rows: Sequence[Row]) -> Capacity:
    """The cheapest of all, without and with speculation, and what it saves."""
    lengths = asked.traffic.lengths
    names = [one.name for one in fields(Best)]
    planned = [
        Best(**{name: getattr(row, name) for name in names}) for row in rows if row.reason is None
    ]
    without = next((row for row in planned if row.plain), None)
    drafted = next((row for row in planned if not row.plain), None)
    saved = share = None
    if without and drafted and without.hardware == drafted.hardware:
        saved = without.gpus - drafted.gpus
        share = 1 - drafted.gpus_exact / without.gpus_exact
    return Capacity(
        rate_per_s=asked.traffic.rate_per_s,
        isl_mean=mean(lengths, "isl"),
        osl_mean=mean(lengths, "osl"),
        dispersion=asked.traffic.dispersion,
        candidates=len(rows),
        margin=asked.margin,
        cheapest=planned[0] if planned else None,
        without=without,
        speculating=drafted,
        gpus_saved=saved,
        share_saved=share,
        decode_share=next((_decode_share(row) for row in rows if row.plain and row.parts), None),
    )


def _decode_share(row: Row) -> float | None:
    """The part of the work without speculation that decoding is."""
    parts = row.parts
    return parts.decode / (parts.prefill + parts.decode) if parts else None
