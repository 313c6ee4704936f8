"""Is speculation paying now, by how much, which k would be best, and what is to be changed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specplan.dialects.habits import habits_of
from specplan.domain.answer import Answer, Basis, Column, Scalar, table_of
from specplan.domain.drafter import Drafter
from specplan.domain.matched import Both
from specplan.domain.observed import Observed
from specplan.domain.scenario import Input, Scenario
from specplan.errors import UsageError, Where
from specplan.physics.round import LONGEST
from specplan.questions import diagnose_view as view
from specplan.questions.bills import MemoryBill
from specplan.questions.common import basis_of, one_setup, refuse_mix
from specplan.questions.deployment import Priced, priced, schedule
from specplan.questions.gap import Gap, RoundTimes, gap_of, round_times
from specplan.questions.gate import Range
from specplan.questions.weigh import Point
from specplan.rules.claims import incomparable
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
    acceptance (a drafter that keeps nothing), or "". Where nobody knows the model's own scatter,
    `band`, `speedup_low` and `speedup_high` are of acceptance alone. Where `astray`, all that is
    predicted is of something else than what ran; `over_plain` is what was seen over plain decoding
    as predicted, where that makes the verdict unknown. `best_adds_*` are what the last draft of the
    best k adds to a round, in tokens and in plain steps, `next_adds_*` what one more would.
    `round_s` is a round as seen; `gap` holds what was seen against what is predicted. The k in use,
    or the tree, pays from batch 1 to `pays_to`; `loads` are the batches at which one k loses no
    more than `loads_within` of the best. `both` are the loads that a run with and one without had
    in common; `loads_of_one` are the batches that only one had; where none is common, they are
    `apart`. No more than `max_batch` requests run.
    """

    paying: bool | None
    by: str
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    predicted_speedup: float | None
    band: float | None
    astray: bool
    engine: str
    engine_version: str | None
    k: int | None
    tree_tokens: int | None
    best_k: int | None
    best_speedup: float | None
    best_adds_tokens: float | None
    best_adds_steps: float | None
    next_adds_tokens: float | None
    next_adds_steps: float | None
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    tau_before: float | None
    break_even_tokens_per_round: float | None
    batch: float | None
    context: float | None
    round_s: float | None
    seen_tokens_per_s: float | None
    seen_tpot_s: float | None
    predicted_tokens_per_s: float | None
    plain_tokens_per_s: float | None
    plain_tpot_s: float | None
    plain_batch: float | None
    both: tuple[Both, ...]
    loads_of_one: tuple[float, ...]
    apart: bool
    predicted_plain_tokens_per_s: float | None
    over_plain: float | None
    round_times: RoundTimes | None
    gap: Gap | None
    max_batch: int | None
    pays_to: int | None
    pays_from: int | None
    loads: tuple[Range, ...]
    loads_within: float | None
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
    hint: str = "",
) -> Answer:
    """What is wrong with a deployment, and whether it gains from speculation; exit 1 where not.

    `scenario` names its one setup and its one batch, context and acceptance; its k are not used:
    the one in use is that of `seen`, and all are candidates. Without it nothing is predicted, and
    what was measured has to answer. `files` are those that were read,
    and `hint` what they lack.
    """
    model = None if scenario is None else _priced(scenario, seen)
    found = None if model is None else model.predicted
    deployed = Deployed(seen=seen, habits=habits_of(seen.engine, seen.version), model=found)
    told = symptoms(deployed)
    if model is None and seen.kept is None and seen.measured is None and not told:
        raise _nothing(files, hint)
    value = _value(deployed, told, model, scenario)
    return Answer(
        command="diagnose",
        value=value,
        table=table_of(COLUMNS, list(map(_record, told))),
        view=view.shown(value, told, scenario),
        basis=basis_of(scenario) if scenario else Basis(kind="exact", says="as measured"),
        inputs={**(scenario.inputs if scenario else {}), **(inputs or {})},
        notes=(*(scenario.notes if scenario else ()), *notes, *_clipped(seen, model)),
        ok=value.paying is not False,
    )


def _clipped(seen: Observed, model: Priced | None) -> Iterator[str]:
    if model and seen.tree and (seen.verified or 0) > LONGEST + 1:
        yield f"a tree of {seen.verified} tokens is priced as one of {LONGEST + 1}"


def _nothing(files: Sequence[str], hint: str) -> UsageError:
    """What to say of files without a round; `hint` is what their readers said of it."""
    what = "nothing to diagnose"
    if files:
        names = " and ".join(visible(name, 60) for name in files)
        what = f"no round of speculation is counted in {names}: nothing to diagnose"
    return UsageError(
        what,
        expected="a log, an acceptance (-a), or measured rates",
        hint=visible(hint, 200) or "specplan diagnose --help has examples",
    )


def _priced(scenario: Scenario, seen: Observed) -> Priced:
    refuse_mix(scenario, "diagnose")
    setup = one_setup(scenario, "diagnose")
    (context,), (batch,), (acceptance,) = scenario.context, scenario.batch, scenario.acceptance
    batch = max(seen.batch, 1.0) if seen.batch is not None else batch
    _refuse_undrafted(setup.draft, seen.k or 1)
    point = Point(setup, context, batch, acceptance, scenario.growth)
    return priced(point, seen, range(scenario.k_max + 1))


def _refuse_undrafted(draft: Drafter, k: int) -> None:
    """Refuses a k in use that the drafter cannot have proposed."""
    most = draft.max_k
    if most is None or k <= most:
        return
    if not most:
        raise UsageError(
            f"{draft.label} drafts nothing: there is no speculation to diagnose",
            where=Where("--draft"),
            expected="the drafter in use",
        )
    raise UsageError(
        f"draft {draft.label} cannot propose k = {k}",
        where=Where("--k"),
        expected=f"at most {most}",
    )


def _value(
    d: Deployed,
    told: Sequence[Symptom],
    model: Priced | None,
    scenario: Scenario | None,
) -> Diagnosis:
    seen, found, kept = d.seen, d.model, d.seen.kept
    paying, by, speedup = _paying(d)
    measured = by == "measured"
    tree = seen.tree
    adds, more = _drafts(model) if model and not tree else ((None, None), (None, None))
    loads, within = schedule(model.weighed, seen.max_batch) if model and not tree else ((), None)
    levels = [symptom.level for symptom in told]
    rate = seen.rate
    return Diagnosis(
        paying=paying,
        by=by,
        speedup=speedup,
        speedup_low=None if measured or found is None else found.low,
        speedup_high=None if measured or found is None else found.high,
        predicted_speedup=found.speedup if found else None,
        band=found.band if found else None,
        astray=d.astray,
        engine=seen.engine,
        engine_version=seen.version,
        k=seen.k,
        tree_tokens=seen.draft_tokens if tree else None,
        best_k=found.best_k if found and not tree else None,
        best_speedup=found.best_speedup if found and not tree else None,
        best_adds_tokens=adds[0],
        best_adds_steps=adds[1],
        next_adds_tokens=more[0],
        next_adds_steps=more[1],
        tau=kept.tau if kept else None,
        tau_low=kept.low if kept else None,
        tau_high=kept.high if kept else None,
        tau_before=seen.before.tau if seen.before else None,
        break_even_tokens_per_round=d.round_cost,
        batch=seen.batch if seen.batch is not None else found.batch if found else None,
        context=seen.context if seen.context is not None else found.context if found else None,
        round_s=seen.round_s,
        seen_tokens_per_s=rate,
        seen_tpot_s=seen.spec.tpot_s,
        predicted_tokens_per_s=found.tokens_per_s if found else None,
        plain_tokens_per_s=seen.plain_rate,
        plain_tpot_s=seen.plain.tpot_s,
        plain_batch=seen.plain_batch,
        both=seen.both,
        loads_of_one=seen.lone,
        apart=seen.apart,
        predicted_plain_tokens_per_s=found.plain_tokens_per_s if found else None,
        over_plain=d.over_plain if d.unsure else None,
        round_times=round_times(d),
        gap=gap_of(d, scenario, model.loads) if model and scenario else None,
        max_batch=seen.max_batch,
        pays_to=found.pays_to if found else None,
        pays_from=found.pays_from if found and found.pays_to < found.batch else None,
        loads=loads,
        loads_within=within,
        draft_memory_bytes=found.draft_bytes if found else None,
        memory=model.memory if model else None,
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        notes=levels.count("note"),
    )


def _paying(d: Deployed) -> tuple[bool | None, str, float | None]:
    """Whether it pays, what says so, and by how much; what was measured comes first, unless it is
    of two things that cannot be compared.
    """
    measured = d.seen.measured
    if measured is None and d.seen.apart:
        return None, "", None
    if measured is not None:
        fair = not incomparable(d)
        return (measured >= 1 - TIE if fair else None), "measured", measured
    if d.model is not None:
        return (None if d.unsure else d.model.speedup >= 1), "predicted", d.model.speedup
    return (False, "acceptance", None) if broken(d) else (None, "", None)


Adds = tuple[float | None, float | None]


def _drafts(model: Priced) -> tuple[Adds, Adds]:
    """What the last draft token of the best k adds to a round, and what one more would: tokens, and
    plain steps.
    """
    return _adds(model, model.best), _adds(model, model.best + 1)


def _adds(model: Priced, at: int) -> Adds:
    w = model.weighed
    if not 0 < at < len(w.k) or w.k[at] - w.k[at - 1] != 1:
        return None, None
    cost = 1 / w.gain
    return float(w.tokens[at] - w.tokens[at - 1]), float(cost[at] - cost[at - 1])


def _record(symptom: Symptom) -> dict[str, Scalar]:
    return dict(_cells(symptom))


def _cells(symptom: Symptom) -> Iterator[tuple[str, Scalar]]:
    yield from (("rule", symptom.rule), ("level", symptom.level), ("title", symptom.title))
    for name in ("evidence", "consequence", "remedy", "found", "limit"):
        yield name, getattr(symptom.told, name, None)
