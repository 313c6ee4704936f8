"""What one k for all batches loses against k by batch, over the batches that a server sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.answer import Answer, Column, table_from
from specplan.domain.histogram import GATED, Histogram, Weighed
from specplan.domain.scenario import Input, Scenario, Setup
from specplan.errors import UsageError, Where
from specplan.physics.choose import BATCH_LIMIT, best_index
from specplan.physics.regret import Policies, policies, speedup_over
from specplan.physics.round import seen_by
from specplan.physics.schedule import HYSTERESIS
from specplan.physics.tokens import FloatArray
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.common import basis_of, one_setup, percent, refuse_mix
from specplan.questions.regret_picture import drawn
from specplan.questions.regret_view import LEAST, view_of
from specplan.questions.weigh import lengths
from specplan.visible import visible

AS_THEY_ARE = (
    "batches are taken as they are; under open traffic a slower server also has larger ones"
)
NEAR = 2  # rows on either side of the best that people see


@dataclass(frozen=True, slots=True)
class Range:
    """Batches first..last at which the schedule drafts k tokens."""

    first_batch: int
    last_batch: int
    k: int


@dataclass(frozen=True, slots=True)
class FixedLoss:
    """One k at every batch. Losses are shares of the tokens a second of the other; below 0 it makes
    more. `worst_loss` is against the best k of one batch, `worst_batch`.
    """

    k: int
    tokens_per_s: float
    speedup: float
    loss: float
    oracle_loss: float
    worst_loss: float
    worst_batch: int
    best: bool = False
    near: bool = False


@dataclass(frozen=True, slots=True)
class Regret:
    """What is lost by the k that runs (`k`; the best single one where none was named).

    Speedups are over plain decoding of the same tokens: of the schedule with its hysteresis and
    tax, of the best k at each batch, and of the most that one k a round could make if it were known
    before each round what it keeps. `counted` is the share of the histogram that is in them,
    `idle` that at batch 0, `beyond` that above `largest_batch`, the largest that fits.
    """

    k: int | None
    loss: float | None
    best_single_k: int | None
    best_single_loss: float | None
    plain_tokens_per_s: float | None
    gated_speedup: float | None
    oracle_speedup: float | None
    foreknown_speedup: float | None
    hysteresis: float
    gate_tax: float
    ranges: tuple[Range, ...]
    weighed_by: Weighed
    recorded: str
    first_batch: int | None
    last_batch: int | None
    batch_mean: float | None
    counted: float
    idle: float
    beyond: float
    largest_batch: int


COLUMNS = (
    Column("k", "tokens", "k", "count", "draft tokens of every round; 0 is plain decoding"),
    Column("tokens_per_s", "1/s", "tok/s", "number", "over all batches of the histogram"),
    Column("speedup", "1", "speedup", "times", "over plain decoding of the same tokens"),
    Column("loss", "1", "vs gated", "percent", "of tokens/s against k by batch; negative: more"),
    Column("oracle_loss", "1", "vs best k", "percent", "against the best k of every batch"),
    Column("worst_loss", "1", "at worst", "percent", "against the best k of one batch"),
    Column("worst_batch", "sequences", "batch", "count", "where it loses that"),
    Column("best", "", "best", "flag", "the single k that loses least"),
    Column("near", "", "near", "flag", "near the best or the one asked about, or plain decoding"),
)


def regret(
    scenario: Scenario,
    over: Histogram,
    *,
    tax: float = 0.0,
    hysteresis: float = HYSTERESIS,
) -> Answer:
    """Every k over the batches of a histogram, against the schedule and against the best k of each.

    A scenario of one k asks about that one, out of all up to its k_max; several are the candidates.
    `tax` (0..10) is how much longer a plain step is on a server that could speculate.
    """
    refuse_mix(scenario, "gate")
    setup = one_setup(scenario, "gate")
    if len(scenario.context) != 1 or len(scenario.acceptance) != 1:
        raise UsageError("gate is about one context and one acceptance", hint="give one of each")
    refuse_gate(tax, hysteresis)
    weighed = _weighed(scenario, setup, over)
    world = _world(scenario, setup, weighed, tax, hysteresis)
    asked = scenario.k[0] if len(scenario.k) == 1 else None
    fixed = tuple(_fixed(world, asked)) if world is not None else ()
    value = _value(scenario, weighed, world, fixed, tax, hysteresis)
    return Answer(
        command="gate",
        value=value,
        table=table_from(COLUMNS, fixed),
        view=replace(
            view_of(scenario, setup, value, over.source),
            picture=(lambda: drawn(value, fixed, over)) if fixed else None,
        ),
        basis=basis_of(scenario),
        inputs={**scenario.inputs, **_inputs(over, tax, hysteresis)},
        notes=(*scenario.notes, *_elsewhere(scenario, over), *_notes(value)),
        ok=world is not None,
    )


def refuse_gate(tax: float, hysteresis: float) -> None:
    """Refuses what no gate costs, and no hysteresis is."""
    for name, value, most in (("--gate-tax", tax, 10.0), ("--hysteresis", hysteresis, 1.0)):
        if not 0 <= value <= most:
            raise UsageError(
                f"{value:g} is out of range", where=Where(name), expected=f"0 to {most:g}"
            )


@dataclass(frozen=True, slots=True)
class _Batches:
    """The histogram in shares of its whole, what of it is counted (B,), and what is not."""

    over: Histogram
    batch: FloatArray
    weight: FloatArray
    counted: float
    idle: float
    beyond: float
    largest: int


def _weighed(scenario: Scenario, setup: Setup, over: Histogram) -> _Batches:
    context = scenario.context[0]
    seen = seen_by(setup, scenario.acceptance[0], context)
    bill = bill_at(seen, context + scenario.growth, usual_k(seen, scenario.k))  # as `gate` counts
    largest = min(int(bill.largest), BATCH_LIMIT)
    batch, weight = np.asarray(over.batch, np.float64), np.asarray(over.weight, np.float64)
    share = weight / weight.sum()
    kept = (batch >= 1) & (batch <= largest) & (share > 0)
    idle, beyond = float(share[batch < 1].sum()), float(share[batch > largest].sum())
    counted = float(share[kept].sum())
    return _Batches(over, batch[kept], share[kept], counted, idle, beyond, largest)


def _world(
    scenario: Scenario, setup: Setup, b: _Batches, tax: float, hysteresis: float
) -> Policies | None:
    """Every policy at every batch that counts; None where no batch of the histogram fits."""
    k = lengths(setup, candidates_of(scenario))
    if b.over.recorded not in {GATED, *k}:
        raise UsageError(
            f"k = {b.over.recorded} is none of the candidates",
            where=Where("--recorded"),
            expected=f"one of {', '.join(map(str, k))} or {GATED}",
        )
    if not len(b.batch):
        return None
    return policies(
        setup,
        scenario.acceptance[0],
        scenario.context[0],
        k,
        replace(b.over, batch=tuple(map(int, b.batch)), weight=tuple(b.weight.tolist())),
        b.largest,
        hysteresis=hysteresis,
        tax=tax,
    )


def _fixed(world: Policies, asked: int | None) -> Iterator[FixedLoss]:
    """What each k comes to."""
    every, gated = speedup_over(world.shares, world.speedup), world.over(world.gated)
    top = world.best
    oracle, lost = world.over(top), 1 - world.speedup / top[:, np.newaxis]
    worst, best = lost.argmax(axis=0).tolist(), int(best_index(every))
    for i, (k, speedup) in enumerate(zip(world.k, every.tolist(), strict=True)):
        yield FixedLoss(
            k=k,
            tokens_per_s=world.plain_tokens_per_s * speedup,
            speedup=speedup,
            loss=1 - speedup / gated,
            oracle_loss=max(1 - speedup / oracle, 0.0),
            worst_loss=float(lost[worst[i], i]),
            worst_batch=int(world.batch[worst[i]]),
            best=i == best,
            near=k in {0, asked} or abs(i - best) <= NEAR,
        )


def candidates_of(scenario: Scenario) -> tuple[int, ...]:
    """What the schedule chooses from: all up to k_max where a scenario of one k asks about it."""
    if len(scenario.k) > 1:
        return scenario.candidates
    return tuple(sorted({*range(scenario.k_max + 1), *scenario.k}))


def _value(
    scenario: Scenario,
    b: _Batches,
    world: Policies | None,
    fixed: tuple[FixedLoss, ...],
    tax: float,
    hysteresis: float,
) -> Regret:
    best = next((one for one in fixed if one.best), None)
    asked = next((one for one in fixed if scenario.k == (one.k,)), best)
    over = b.over
    return Regret(
        k=asked.k if asked else None,
        loss=asked.loss if asked else None,
        best_single_k=best.k if best else None,
        best_single_loss=best.loss if best else None,
        plain_tokens_per_s=world.plain_tokens_per_s if world else None,
        gated_speedup=world.over(world.gated) if world else None,
        oracle_speedup=world.over(world.best) if world else None,
        foreknown_speedup=world.over(world.known) if world else None,
        hysteresis=hysteresis,
        gate_tax=tax,
        ranges=tuple(Range(r.first_batch, r.last_batch, r.k) for r in world.ranges)
        if world
        else (),
        weighed_by=over.of,
        recorded=GATED if over.recorded == GATED else f"k={over.recorded}",
        first_batch=int(b.batch[0]) if world else None,
        last_batch=int(b.batch[-1]) if world else None,
        batch_mean=float(b.weight @ b.batch / b.weight.sum()) if world else None,
        counted=b.counted,
        idle=b.idle,
        beyond=b.beyond,
        largest_batch=b.largest,
    )


def _inputs(over: Histogram, tax: float, hysteresis: float) -> dict[str, Input]:
    given = {"over": Input(value=over.source or "batches", origin="flag", sha256=over.sha256)}
    for name, value, usual in (
        ("recorded", over.recorded, 0),
        ("gate_tax", tax, 0.0),
        ("hysteresis", hysteresis, HYSTERESIS),
    ):
        if value != usual:
            given[name] = Input(value=value, origin="flag")
    return given


def _elsewhere(scenario: Scenario, over: Histogram) -> Iterator[str]:
    """That the batches are those of another server than the one asked about."""
    for name, ran in over.server.items():
        asked = scenario.inputs.get(name)
        if asked is not None and str(asked.value) != ran:
            yield f"these batches are of another server: {name} {visible(ran)}, not {asked.value}"


def _notes(value: Regret) -> Iterator[str]:
    """What of the histogram no figure is about."""
    if value.beyond:
        yield (
            f"{_little(value.beyond)} of the histogram is beyond batch {value.largest_batch:,}, "
            "the largest that fits beside the drafter: not counted"
        )
    if value.idle:
        yield f"{_little(value.idle)} of the histogram is at batch 0, where no token is made"
    if value.k is not None:
        yield AS_THEY_ARE


def _little(share: float) -> str:
    return percent(share) if share >= LEAST else "less than 0.1 %"
