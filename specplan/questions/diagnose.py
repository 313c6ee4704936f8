"""Is speculation paying now, by how much, which k would be best, and what is to be changed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specplan.dialects.habits import habits_of
from specplan.domain.answer import Answer, Basis, Column, Scalar, table_of
from specplan.domain.observed import Observed
from specplan.domain.scenario import Input, Scenario
from specplan.errors import UsageError
from specplan.physics.prefill import prefill
from specplan.questions import diagnose_view as view
from specplan.questions.bills import MemoryBill, bill_of
from specplan.questions.common import basis_of, one_setup, refuse_mix
from specplan.questions.deployment import Priced, priced, schedule
from specplan.questions.gate import Range
from specplan.questions.weigh import Point
from specplan.rules.deployed import TIE, Deployed, Symptom
from specplan.rules.deployments import symptoms
from specplan.rules.drafting import broken
from specplan.visible import visible

COLUMNS = (
    Column("rule", "", "rule", "text", "id of the rule: specplan check --rule ID explains it"),
    Column("level", "", "level", "text", "error, warning or note"),
    Column("title", "", "finds", "text", "what is wrong, in a few words"),
    Column("evidence", "", "evidence", "text", "the figures that say so"),
    Column("consequence", "", "consequence", "text", "what follows, in numbers"),
    Column("remedy", "", "remedy", "text", "what to do, in the engine's own words where short"),
    Column("found", "", "found", "precise", "the figure"),
    Column("limit", "", "limit", "precise", "what it breaks, if there is one"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The answer, in SI. `paying` is None where nothing says so; `by` is measured, predicted,
    acceptance (a drafter that keeps nothing), or "". `gap` is seen over predicted tokens a second,
    minus one; `gap_s` what a round takes beyond the prediction, of it `gap_prefill_s` prompts.
    `predicted_at_batches` are tokens a second at the least and the largest batch seen. `loads` are
    the batches at which one k loses no more than 2 % against the best.
    """

    paying: bool | None
    by: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    predicted_speedup: float | None
    engine: str
    engine_version: str | None
    k: int | None
    best_k: int | None
    best_speedup: float | None
    best_adds_tokens: float | None
    best_adds_steps: float | None
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    break_even_tokens_per_round: float | None
    batch: float | None
    context: float | None
    seen_tokens_per_s: float | None
    predicted_tokens_per_s: float | None
    plain_tokens_per_s: float | None
    predicted_plain_tokens_per_s: float | None
    gap: float | None
    gap_s: float | None
    gap_prefill_s: float | None
    predicted_host_s: float | None
    predicted_at_batches: tuple[tuple[float, float], ...]
    loads: tuple[Range, ...]
    draft_memory_bytes: float | None
    memory: MemoryBill | None
    errors: int
    warnings: int
    notes: int


def diagnose(
    seen: Observed,
    scenario: Scenario | None = None,
    *,
    inputs: Mapping[str, Input] | None = None,
    notes: Sequence[str] = (),
    files: Sequence[str] = (),
) -> Answer:
    """What is wrong with a deployment, and whether it gains from speculation; exit 1 where not.

    `scenario` names its one setup and its one batch, context and acceptance; its k are not used:
    the one in use is that of `seen`, and all are candidates. Without it nothing is predicted, and
    what was measured has to answer. `files` are those that were read.
    """
    model = None if scenario is None else _priced(scenario, seen)
    found = None if model is None else model.predicted
    deployed = Deployed(seen=seen, habits=habits_of(seen.engine, seen.version), model=found)
    told = symptoms(deployed)
    if model is None and seen.kept is None and seen.measured is None and not told:
        raise _nothing(files)
    loads = schedule(model.weighed) if model else ()
    value = _value(deployed, told, model, scenario, loads)
    return Answer(
        command="diagnose",
        value=value,
        table=table_of(COLUMNS, list(map(_record, told))),
        view=view.shown(value, told, scenario),
        basis=basis_of(scenario) if scenario else Basis(kind="exact", says="as measured"),
        inputs={**(scenario.inputs if scenario else {}), **(inputs or {})},
        notes=(*(scenario.notes if scenario else ()), *notes),
        ok=value.paying is not False,
    )


def _nothing(files: Sequence[str]) -> UsageError:
    what = "nothing to diagnose"
    if files:
        names = " and ".join(visible(name, 60) for name in files)
        what = f"no round of speculation is counted in {names}: nothing to diagnose"
    return UsageError(
        what,
        expected="a log, an acceptance (-a), or measured rates",
        hint="specplan diagnose --help has examples",
    )


def _priced(scenario: Scenario, seen: Observed) -> Priced:
    refuse_mix(scenario, "diagnose")
    setup = one_setup(scenario, "diagnose")
    (context,), (batch,), (acceptance,) = scenario.context, scenario.batch, scenario.acceptance
    point = Point(setup, context, batch, acceptance, scenario.growth)
    return priced(point, seen, range(scenario.k_max + 1))


def _value(
    d: Deployed,
    told: Sequence[Symptom],
    model: Priced | None,
    scenario: Scenario | None,
    loads: tuple[Range, ...],
) -> Diagnosis:
    seen, found, kept = d.seen, d.model, d.seen.kept
    paying, by, speedup = _paying(d)
    measured = by == "measured"
    adds = _last_draft(model) if model else (None, None)
    gap_s, prefill_s = _gap(d, scenario)
    levels = [symptom.level for symptom in told]
    rate = seen.rate
    return Diagnosis(
        paying=paying,
        by=by,
        speedup=speedup,
        speedup_low=None if measured or found is None else found.low,
        speedup_high=None if measured or found is None else found.high,
        predicted_speedup=found.speedup if found else None,
        engine=seen.engine,
        engine_version=seen.version,
        k=seen.k,
        best_k=found.best_k if found else None,
        best_speedup=found.best_speedup if found else None,
        best_adds_tokens=adds[0],
        best_adds_steps=adds[1],
        tau=kept.tau if kept else None,
        tau_low=kept.low if kept else None,
        tau_high=kept.high if kept else None,
        break_even_tokens_per_round=d.round_cost,
        batch=seen.batch if seen.batch is not None else found.batch if found else None,
        context=seen.context if seen.context is not None else found.context if found else None,
        seen_tokens_per_s=rate,
        predicted_tokens_per_s=found.tokens_per_s if found else None,
        plain_tokens_per_s=seen.plain_rate,
        predicted_plain_tokens_per_s=found.plain_tokens_per_s if found else None,
        gap=rate / found.tokens_per_s - 1 if rate and found else None,
        gap_s=gap_s,
        gap_prefill_s=prefill_s,
        predicted_host_s=found.host_s if found else None,
        predicted_at_batches=model.ends if model else (),
        loads=loads,
        draft_memory_bytes=found.draft_bytes if found else None,
        memory=_bill(scenario, seen) if scenario else None,
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        notes=levels.count("note"),
    )


def _paying(d: Deployed) -> tuple[bool | None, str, float | None]:
    """Whether it pays, what says so, and by how much; what was measured comes first."""
    measured = d.seen.measured
    if measured is not None:
        return measured >= 1 - TIE, "measured", measured
    if d.model is not None:
        return d.model.speedup >= 1, "predicted", d.model.speedup
    return (False, "acceptance", None) if broken(d) else (None, "", None)


def _last_draft(model: Priced) -> tuple[float | None, float | None]:
    """What the last draft token of the best k adds to a round: tokens, and plain steps."""
    w, best = model.weighed, model.best
    if not best or w.k[best] - w.k[best - 1] != 1:
        return None, None
    cost = 1 / w.gain
    return float(w.tokens[best] - w.tokens[best - 1]), float(cost[best] - cost[best - 1])


def _gap(d: Deployed, scenario: Scenario | None) -> tuple[float | None, float | None]:
    """What a round takes beyond the prediction, and what of it are prompts running in between:
    B prompts for every B outputs, where their lengths are known.
    """
    found, seen = d.model, d.seen
    if found is None or scenario is None or seen.round_s is None or seen.kept is None:
        return None, None
    gap_s = seen.round_s - found.round_s
    output = 2 * scenario.growth
    if not output:
        return gap_s, None
    prompt = max(found.context - scenario.growth, 1.0)
    each = prefill(scenario.setups[0], prompt)
    request_s = prompt * (each.target_s_per_token + each.draft_s_per_token)
    return gap_s, found.batch * request_s * seen.kept.tau / output


def _bill(scenario: Scenario, seen: Observed) -> MemoryBill:
    setup, end = scenario.setups[0], scenario.context[0] + scenario.growth
    return bill_of(setup, end, scenario.batch[0], (seen.k or 0,))


def _record(symptom: Symptom) -> dict[str, Scalar]:
    return dict(_cells(symptom))


def _cells(symptom: Symptom) -> Iterator[tuple[str, Scalar]]:
    yield from (("rule", symptom.rule), ("level", symptom.level), ("title", symptom.title))
    for name in ("evidence", "consequence", "remedy", "found", "limit"):
        yield name, getattr(symptom.told, name, None)
