"""What was tried for measured slowdowns: each remedy's errors and verdicts on the rounds that ship.

    python benchmarks/fit/tried_rounds.py

Each remedy changes one thing for every round alike. Host times are those that have not met the
row's fold, as in `specplan accuracy`, unless the remedy fits its own; kappa and graphs met no row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from host import ENGINE, robust

from specplan.catalogue.ledger import packaged_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.domain.model import Model
from specplan.errors import SpecplanError
from specplan.physics.accuracy import relative, slowdowns, summary
from specplan.physics.engine_round import EngineRound
from specplan.physics.tokens import FloatArray
from specplan.questions.predict import known_of, measured, unseen_by
from specplan.questions.timed import Known, round_of

Remedy = Callable[[Known], Known]
EARLY = ("SpecForge issue 339", "AngelSlim issue 163")  # the two threads that hold 12 of 15 losses


def rounds(bench: Workbench) -> list[Known]:
    """Rounds that cards predict, each with constants that have not met it."""
    found = []
    for row in packaged_rows():
        if row.kind != "round" or row.doubtful:
            continue
        try:
            found.extend(unseen_by(known_of((row,), bench), bench.held))
        except SpecplanError:
            continue
    return found


def kappa(value: float) -> Remedy:
    """Draft tokens route more or less like strangers."""
    return lambda one: replace(one, engine=replace(one.engine, expert_overlap=value))


def ungraphed(one: Known) -> Known:
    """Verification is launched kernel by kernel, a plain step is not."""
    if one.release is None or not one.row.batch:
        return one
    return replace(one, release=replace(one.release, graphs=int(one.row.batch)))


def costs(known: Sequence[Known], remedy: Remedy) -> FloatArray:
    """Cost of each round in plain steps."""
    return np.array([remedy(one).figures().item() for one in known])


def with_host(known: Sequence[Known], *, layers: bool) -> FloatArray:
    """Costs with SGLang's host times fitted to all its drafted rounds but the fold's, dense or not:
    constant, or in proportion to the target's layers.
    """
    ours = np.array([one.row.engine == ENGINE and one.drafter.model is not None for one in known])
    out = costs(known, lambda one: one)
    some = [one for one, mine in zip(known, ours, strict=True) if mine]
    out[ours] = _refitted(some, layers=layers)
    return out


def _refitted(known: Sequence[Known], *, layers: bool) -> FloatArray:
    bare = [_bare(one) for one in known]
    gpu_s = np.array([(s.verify.time_s + s.passes_s).item() for s in bare])
    plain_s = np.array([s.plain.time_s.item() for s in bare])
    cost = np.array([measured(one.row) for one in known])
    depth = [_depth(one.target) if layers else 1 for one in known]
    columns = np.stack((depth, [float(one.row.k or 0) for one in known]), axis=1)
    folds = np.array([one.row.fold for one in known])
    out = np.empty(len(known))
    for fold in sorted(set(folds)):
        others, there = folds != fold, folds == fold
        weight = 1 / (plain_s * cost)[others]
        host = robust(columns[others] * weight[:, None], 1 - gpu_s[others] * weight)
        out[there] = ((gpu_s + columns @ host) / plain_s)[there]
    return out


def _depth(target: Model | None) -> int:
    """Layers of a target."""
    return target.architecture.layers if target and target.architecture else 1


def _bare(one: Known) -> EngineRound:
    """A round without its host."""
    release = one.release and replace(one.release, round_host=0.0, draft_host=0.0)
    return round_of(replace(one, release=release))


def told(name: str, cost: FloatArray, known: Sequence[Known]) -> str:
    """Errors of dense and sparse targets, and verdicts, as one line."""
    rows = [one.row for one in known]
    truth, gained = np.array([measured(row) for row in rows]), np.array([r.value for r in rows])
    sparse = np.array([bool(one.target and one.target.expert_groups) for one in known])
    off = relative(cost, truth)
    parts = [name.ljust(46)]
    for some in (~sparse, sparse):
        errors = summary(off[some])
        parts.append(f"{100 * (errors.median or 0):5.1f} {100 * (errors.p90 or 0):5.1f}")
    said = slowdowns(truth * gained / cost, gained)
    parts.append(f"{said.caught:3} of {said.losses}  {said.alarms:3} of {said.gains}")
    return "  ".join(parts)


def early(known: Sequence[Known]) -> None:
    """The rounds of the two threads in milliseconds, where the plain rate was written down."""
    print(
        "\nRounds of Qwen3-30B-A3B in the two threads, ms; plain is batch / the rate written down"
    )
    print("gpus batch tokens  k   plain  predicted   round  predicted")
    for one in known:
        rate = re.search(r"plain ([\d.]+) tok/s", one.row.note or "")
        if one.row.source not in EARLY or rate is None:
            continue
        steps, batch = round_of(one), one.row.batch or 1
        plain_ms = 1e3 * batch / float(rate[1])
        figures = (plain_ms, 1e3 * steps.plain.time_s.item(), plain_ms * measured(one.row))
        whole_ms = 1e3 * (steps.verify.time_s + steps.passes_s).item()
        print(
            f"{one.row.gpus:4} {batch:5.0f} {one.row.tokens:6.0f} {one.row.k:2.0f}"
            f" {figures[0]:7.2f} {figures[1]:10.2f} {figures[2]:7.2f} {whole_ms:10.2f}"
        )


def main() -> None:
    """A line for each remedy, then the rounds that most losses are among."""
    known = rounds(Workbench(Catalogue(())))
    print(f"{'%':46}  dense  90th  experts 90th  losses      false alarms")
    remedies: dict[str, Remedy] = {"as the cards say": lambda one: one}
    for value in (0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0):
        remedies[f"kappa {value:g}"] = kappa(value)
    remedies["verification without CUDA graphs"] = ungraphed
    for name, remedy in remedies.items():
        print(told(name, costs(known, remedy), known))
    for layers in (False, True):
        name = f"host times of all SGLang rounds{', by layer' if layers else ''}"
        print(told(name, with_host(known, layers=layers), known))
    early(known)


if __name__ == "__main__":
    main()
