"""Host times from the measurements that ship with specplan, each group of rows left out once.

    python benchmarks/fit/host.py

SGLang's `round_host` and `draft_host` from its dense rounds: verify + drafts + round_host + passes
x draft_host, while a plain step hides its host. vLLM's `host_per_sequence` up to 0.13 from the
servers of one model, beside the host time that is published. And, for n-gram drafts, the share of
a draft that is kept in rounds that have one (timed.LOOKED_UP_KEPT).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from forms import errors

from specplan.catalogue.ledger import packaged_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.domain.engine import Release
from specplan.domain.measurement import Measurement
from specplan.physics.tokens import FloatArray
from specplan.questions import timed
from specplan.questions.predict import known_of, measured

ENGINE = "sglang"
DENSE = ("llama-3.1-8b", "llama-3.3-70b", "qwen3-8b")
SCALE = 0.04  # error beyond which a row pulls in proportion to its error, not to its square
SHARES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0)


def parts(rows: Sequence[Measurement], bench: Workbench) -> FloatArray:
    """For each round: GPU seconds without its host, a plain step's, draft passes, cost measured."""
    found = []
    for row in rows:
        known = known_of((row,), bench)
        bare = replace(_release(known), round_host=0.0, draft_host=0.0)
        steps = timed.round_of(replace(known, release=bare))
        gpu_s = (steps.verify.time_s + steps.passes_s).item()
        found.append((gpu_s, steps.plain.time_s.item(), row.k, measured(row)))
    return np.array(found)


def _release(known: timed.Known) -> Release:
    """The host habits that a row was timed under."""
    if known.release is None:
        raise SystemExit(f"{known.engine.name} states no host times")
    return known.release


def robust(columns: FloatArray, wanted: FloatArray) -> FloatArray:
    """Factors, none below zero, of columns that add up to what is wanted: least squares, rows far
    off weighed down.
    """
    weight: FloatArray = np.ones(len(wanted))
    factors: FloatArray = np.zeros(columns.shape[1])
    for _ in range(50):
        factors = np.linalg.lstsq(columns * weight[:, None], wanted * weight, rcond=None)[0]
        if factors.min() < 0:
            kept = [int(factors.argmax())]
            alone = np.linalg.lstsq(columns[:, kept] * weight[:, None], wanted * weight, rcond=None)
            factors = np.zeros(len(factors))
            factors[kept] = np.maximum(alone[0], 0.0)
        weight = (1 + ((wanted - columns @ factors) / SCALE) ** 2) ** -0.25
    return factors


def fit(rounds: FloatArray) -> tuple[float, float]:
    """round_host and draft_host, for the least relative error."""
    gpu_s, plain_s, passes, cost = rounds.T
    per_second = 1 / (plain_s * cost)
    columns = np.stack((per_second, passes * per_second), axis=1)
    round_host, draft_host = robust(columns, 1 - gpu_s * per_second)
    return float(round_host), float(draft_host)


def predicted(rounds: FloatArray, host: tuple[float, float]) -> FloatArray:
    """Cost in plain steps."""
    gpu_s, plain_s, passes, _ = rounds.T
    cost: FloatArray = (gpu_s + host[0] + passes * host[1]) / plain_s
    return cost


def by_fold(rows: Sequence[Measurement], bench: Workbench) -> None:
    """Constants of each fold left out, and their errors on it."""
    rounds, folds = parts(rows, bench), np.array([row.fold for row in rows])
    out = np.empty(len(rows))
    for fold in sorted(set(folds)):
        host = fit(rounds[folds != fold])
        out[folds == fold] = predicted(rounds[folds == fold], host)
        print(f'- {{engine: {ENGINE}, fold: "{fold}", host: {{{_written(*host)}}}}}')
    every = fit(rounds)
    print(f"# all rows: {_written(*every)}")
    print("# held out:", errors(out, rounds[:, 3]))
    print("# fitted:", errors(predicted(rounds, every), rounds[:, 3]))


def _written(round_host: float, draft_host: float) -> str:
    return (
        f"host: 0 s, round_host: {round_host * 1e3:.3f} ms, draft_host: {draft_host * 1e6:.1f} us"
    )


def per_sequence(rows: Sequence[Measurement], bench: Workbench) -> None:
    """Host time of each request, for each pair of lengths left out."""
    knowns = [known_of((row,), bench) for row in rows]
    release = _release(knowns[0])
    none = replace(release, host_per_sequence=0.0)
    gpu_s = np.array([replace(one, release=none).figures().item() for one in knowns])
    value, batch = np.array([(row.value, row.batch) for row in rows], np.float64).T
    folds, out = np.array([row.fold for row in rows]), np.empty(len(rows))
    for fold in sorted(set(folds)):
        there, others = folds == fold, folds != fold
        (each,) = robust((batch / value)[others, None], (1 - gpu_s / value)[others])
        out[there] = gpu_s[there] + each * batch[there]
        host = f"host: {release.host * 1e3:g} ms, host_per_sequence: {each * 1e6:.1f} us"
        rest = f"round_host: {release.round_host * 1e3:g} ms, draft_host: 0 s"
        print(f'- {{engine: vllm, fold: "{fold}", host: {{{host}, {rest}}}}}')
    print("# held out:", errors(out, value))


def by_data_set(rows: Sequence[Measurement], bench: Workbench) -> None:
    """The kept share that suits the other data sets best, for each data set."""
    sets = np.array([(row.note or "").split(";")[0] for row in rows])
    known = [known_of((row,), bench) for row in rows]
    cost = np.array([measured(row) for row in rows])
    off = {}
    for share in SHARES:
        timed.LOOKED_UP_KEPT = share
        off[share] = np.abs(np.array([one.figures().item() for one in known]) / cost - 1)
    out = np.empty(len(rows))
    for left in sorted(set(sets)):
        best = min(SHARES, key=lambda share: float(np.median(off[share][sets != left])))
        there = 100 * np.median(off[best][sets == left])
        out[sets == left] = off[best][sets == left]
        print(f"# n-gram without {left}: {best}, median error on it {there:.1f}")
    print(f"# n-gram held out: median {100 * np.median(out):.1f}")


def main() -> None:
    """Prints constants, and errors on the rows that were left out."""
    bench = Workbench(Catalogue(()))
    rows = [row for row in packaged_rows() if row.kind == "round" and not row.doubtful]
    drafted = [r for r in rows if r.engine == ENGINE and str(r.draft).startswith("eagle3")]
    by_fold([r for r in drafted if r.target in DENSE], bench)
    served = [r for r in packaged_rows() if r.kind == "tpot" and r.fold and not r.doubtful]
    per_sequence(served, bench)
    by_data_set([r for r in rows if r.draft == "ngram" and r.engine == "vllm"], bench)


if __name__ == "__main__":
    main()
