"""The body of `simulate`: what is asked by flags, a plan or Python, and `specplan.simulate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from specplan.catalogue.store import Catalogue
from specplan.cli.demand import Demand
from specplan.cli.homes import at_home
from specplan.cli.options import What, typed
from specplan.cli.planned import Given, PlanRead
from specplan.cli.plans import catalogue_of, plan_of
from specplan.cli.resolve import Cards
from specplan.cli.scenario import Folder, build, loaded
from specplan.cli.server import Server
from specplan.cli.simulate import Drafts, Gate, Runs
from specplan.cli.sized import told_of
from specplan.cli.values import seconds_of
from specplan.cli.wanted import Wanted, wanted
from specplan.domain.accounting import Limits
from specplan.domain.answer import Answer
from specplan.domain.scenario import Input, Scenario
from specplan.errors import UsageError, Where, placed
from specplan.questions.replicas import shape_of
from specplan.questions.simulate import REQUESTS, Options
from specplan.questions.simulate import simulate as question
from specplan.serving.entries import Gating
from specplan.serving.lock_step import Static
from specplan.serving.simulation import nothing
from specplan.visible import visible

_NONE, _GATE = ("0", "none"), ("gate", "gated")  # as it is typed, and as answers call it
_LARGEST_S = 1e7


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that `questions.simulate` takes, and how many requests that will be, about."""

    scenario: Scenario
    wanted: Wanted
    options: Options
    limits: Limits
    requests: int


def simulate(
    *,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k: int | str | None = None,
    k_max: int | None = None,
    told: Callable[[int], None] = nothing,
    **options: Any,  # noqa: ANN401 - options of several groups, each checked by its own
) -> Answer:
    """Traffic replayed through a simulated engine, as `specplan simulate` answers it.

    Options are those of the command line with underscores: target, draft, hardware, engine,
    acceptance; rate (requests a second, a number), isl, osl, trace, slo; duration ("1h"), requests,
    seed, replications, workers; gate_by, gate_tax, hysteresis, static, static_wait; max_num_seqs,
    max_batched_tokens, memory_fraction. `told` hears of requests as they come.
    """
    texts, (demand, runs, server, gate) = at_home(options, Demand, Runs, Server, Gate)
    if k is not None:
        texts["k"] = (str(k),)
    asked = _asked(texts, None, loaded(catalogue), k_max, gate, demand, runs, server)
    return answered(asked, told)


def planned(
    plan: str | None,
    what: What,
    drafts: Drafts,
    gate: Gate,
    candidates: Any,  # noqa: ANN401 - options.Candidates
    demand: Demand,
    runs: Runs,
    server: Server,
) -> Asked:
    """What a command line asks."""
    flags, catalogue = typed(what, drafts), catalogue_of(what)
    return _asked(flags, plan_of(plan), catalogue, candidates.k_max, gate, demand, runs, server)


def answered(asked: Asked, told: Callable[[int], None] = nothing) -> Answer:
    """The answer."""
    return question(
        asked.scenario,
        asked.wanted.traffic,
        asked.options,
        slo=asked.wanted.slo,
        limits=asked.limits,
        told=told,
    )


def _asked(
    flags: Mapping[str, Sequence[str]],
    plan: PlanRead | None,
    catalogue: Cards,
    k_max: int | None,
    gate: Gate,
    demand: Demand,
    runs: Runs,
    server: Server,
) -> Asked:
    traffic = wanted(demand, plan)
    flags, k = _speculation(flags, plan)
    plain = k == 0
    shape = shape_of(traffic.traffic.lengths)
    scenario = build(
        flags,
        catalogue=catalogue,
        plan=plan,
        needs=["target", "hardware"] if plain else ["target", "draft", "hardware", "acceptance"],
        unused=("k", "batch", "context"),
        k_max=k_max,
        told={"context": Given((f"{shape.context:.0f}",), "traffic", Where("--isl"))},
    )
    limits, said = told_of(server)
    options = _options(k, gate, runs, traffic.seed)
    inputs = {**scenario.inputs, **traffic.inputs, **said, **_more(gate, runs)}
    expected = options.requests or (
        len(traffic.traffic.trace)
        if traffic.traffic.trace is not None
        else int(traffic.traffic.rate_per_s * options.seconds)
        if options.seconds
        else REQUESTS
    )
    return Asked(
        scenario=replace(scenario, inputs=inputs),
        wanted=traffic,
        options=options,
        limits=limits,
        requests=expected * options.replications,
    )


def _speculation(
    flags: Mapping[str, Sequence[str]], plan: PlanRead | None
) -> tuple[dict[str, Sequence[str]], int | None]:
    """The flags as a scenario takes them, and the k that is meant: None for that of each batch."""
    found = dict(flags)
    said = tuple(found.get("k") or (plan.plan.k if plan else None) or ())
    draft = tuple(found.get("draft") or (plan.plan.draft if plan else None) or ())
    if draft == ("none",) or said in {(word,) for word in _NONE}:
        found["k"] = ("0",)
        found["draft"] = draft or ("none",)
        return found, 0
    if said in {(word,) for word in _GATE}:
        return found | {"k": _GATE[:1]}, None
    where = Where("-k")
    if not said or said == ("best",):
        raise UsageError("how many tokens are drafted?", where=where, expected="3, none or gate")
    if len(said) != 1 or not said[0].isdigit():
        word = visible(",".join(said), 60)
        raise UsageError(f"k '{word}' is no single number", where=where, expected="3, none or gate")
    return found, int(said[0])


def _options(k: int | None, gate: Gate, runs: Runs, seed: int) -> Options:
    if runs.static_wait is not None and runs.static is None:
        raise UsageError(
            "only static batches wait", where=Where("--static-wait"), hint="--static 8"
        )
    if runs.static is not None and not 1 <= runs.static <= 100_000:
        what = f"{runs.static:,} is out of range"
        raise UsageError(what, where=Where("--static"), expected="1 to 100,000")
    wait_s = 1.0 if runs.static_wait is None else float(runs.static_wait)
    return Options(
        k=k,
        seconds=None if runs.duration is None else _time(str(runs.duration), "--duration"),
        requests=runs.requests,
        seed=seed,
        replications=runs.replications,
        workers=runs.workers,
        gating=_gating(gate, k),
        gate_tax=gate.gate_tax or 0.0,
        static=None if runs.static is None else Static(runs.static, wait_s),
    )


def _gating(gate: Gate, k: int | None) -> Gating:
    by, _, queue = (gate.gate_by or "batch").partition(":")
    waiting = queue or "0"
    right = (by == "batch" and not queue) or (by == "queue" and waiting.isdigit())
    if not right or len(waiting) > 9:
        word = visible(str(gate.gate_by), 40)
        expected = "batch, queue, or queue:4"
        raise UsageError(f"no gate goes by '{word}'", where=Where("--gate-by"), expected=expected)
    if k == 0 or (k is not None and by == "batch"):
        _refuse_ungated(gate)
    sequences, dwell_s = _hysteresis(gate.hysteresis or "")
    return Gating(
        by="queue" if by == "queue" else "batch",
        queue=int(waiting),
        sequences=sequences,
        dwell_s=dwell_s,
    )


def _refuse_ungated(gate: Gate) -> None:
    """Refuses what tells a gate how to act, of a server that has none."""
    for option, value in (("--gate-tax", gate.gate_tax), ("--hysteresis", gate.hysteresis)):
        if value:
            raise UsageError(
                "is of a gate, and one k has none", where=Where(option), hint="write -k gate"
            )


def _hysteresis(text: str) -> tuple[int, float]:
    """Sequences and seconds of `4`, `2s` or `4,2s`, each 0 where it is absent."""
    sequences, dwell_s = 0, 0.0
    parts = [part for part in (p.strip() for p in text.split(",")) if part]
    for part in parts:
        if part.isdigit() and len(part) <= 9:
            sequences = int(part)
        else:
            dwell_s = _time(part, "--hysteresis")
    if len(parts) > (sequences > 0) + (dwell_s > 0) and parts != ["0"]:
        what = f"'{visible(text, 40)}' says the same twice"
        raise UsageError(what, where=Where("--hysteresis"), expected="4, 2s or 4,2s")
    return sequences, dwell_s


def _time(text: str, option: str) -> float:
    """Seconds of a time with its unit, which may be minutes, hours or days too."""
    written = text.strip()
    with placed(Where(option)):
        if written[-1:].isdigit():
            what = f"'{visible(written, 40)}' has no unit"
            raise UsageError(what, expected="a time such as 90s, 10min or 1h")
        seconds = seconds_of(written)
        if not 0 < seconds <= _LARGEST_S:
            what = f"'{visible(written, 40)}' is out of range"
            raise UsageError(what, expected="more than 0, at most 115 days")
    return seconds


def _more(gate: Gate, runs: Runs) -> dict[str, Input]:
    """What an answer rests on beside the scenario and the traffic."""
    said = {**asdict(gate), **asdict(runs)}
    usual = {**asdict(Gate()), **asdict(Runs())}
    return {
        name: Input(value=value, origin="flag")
        for name, value in said.items()
        if value != usual[name] and name != "workers"
    }
