"""What the three fits share: tables, cards, folds, and one robust fit over specplan's own kernels.

The tables are CSV files with latencies in ms, one row per timed shape. `src` is engine/version; the
accelerator is in a column `gpu` or in the file's name, as the tables of aiconfigurator call it:
`anything__h100_sxm.csv`. Rows faster than the datasheet's bandwidth found their bytes in a cache:
they are dropped.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype, Source
from specplan.domain.engine import Decode, Engine, Gemm, Grouped, Kernels
from specplan.domain.hardware import Hardware
from specplan.physics.silicon import Silicon
from specplan.physics.tokens import FloatArray

CARDS = {
    "a100_sxm": "a100-sxm-80gb",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200-sxm",
    "b200_sxm": "b200-sxm",
    "l40s": "l40s",
}
FOLDS = 5

Key = tuple[str, str, Dtype]
"""Engine, card of the accelerator, dtype."""
Constants = dict[str, float]


def folder() -> Path:
    """The folder of tables, the only argument."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER")
    return Path(sys.argv[1])


def tables(columns: set[str], *, of: Path) -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """The rows of every table that has these columns, by card, engine and dtype as written."""
    (dtype_column,) = (c for c in columns if c.endswith("_dtype"))
    found = defaultdict[tuple[str, str, str], list[dict[str, str]]](list)
    for file in sorted(of.glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened)
            if not columns <= set(reader.fieldnames or ()):
                continue
            for row in reader:
                card = CARDS.get(row.get("gpu") or file.stem.rpartition("__")[2])
                if card:
                    found[card, row["src"].split("/")[0], row[dtype_column]].append(row)
    return dict(sorted(found.items()))


def hardware(card: str) -> Hardware:
    """The card of an accelerator."""
    return Catalogue().hardware(card).card


def silicon(machine: Hardware, dtype: Dtype, constants: Gemm | Decode | Grouped) -> Silicon:
    """An accelerator under an engine that consists of one kernel."""
    kernels = Kernels(gpus=(machine.name,), basis="measured")
    if isinstance(constants, Gemm):
        kernels = replace(kernels, gemm={dtype: constants})
    elif isinstance(constants, Decode):
        kernels = replace(kernels, attention={dtype: constants})
    else:
        kernels = replace(kernels, experts={dtype: constants})
    engine = Engine(
        schema="engine/1",
        name="fit",
        title="One kernel",
        kind="estimate",
        says="a fit",
        kernels=(kernels,),
        sources=(Source(of=("kernels",), kind="derived", cite="this fit"),),
    )
    return Silicon(machine, engine)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a constant starts and may go."""

    start: float
    low: float
    high: float


def fitted(
    model: Callable[[Constants], FloatArray],
    measured_s: FloatArray,
    bounds: Mapping[str, Bounds],
    weights: FloatArray | None = None,
) -> tuple[Constants, float]:
    """Constants that bring log(model / measured) near zero, outliers counted by their size and
    not its square; and the cost that remains, per row.
    """
    from scipy.optimize import least_squares

    share = np.sqrt(np.ones_like(measured_s) if weights is None else weights)

    def constants(point: FloatArray) -> Constants:
        return dict(zip(bounds, np.exp(point).tolist(), strict=True))

    def residual(point: FloatArray) -> FloatArray:
        off: FloatArray = share * np.log(model(constants(point)) / measured_s)
        return off

    low, start, high = np.log([(b.low, b.start, b.high) for b in bounds.values()]).T
    found = least_squares(
        residual,
        start,
        bounds=(low, high),
        loss="soft_l1",
        f_scale=0.04,
        diff_step=1e-3,
        max_nfev=60,
    )
    return constants(found.x), float(found.cost) / len(measured_s)


def dealt(groups: list[tuple[int, ...]], seed: int = 0) -> dict[tuple[int, ...], int]:
    """Each distinct group's fold."""
    distinct = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(distinct)) % FOLDS
    return dict(zip(distinct, order.tolist(), strict=True))


def yaml(constants: Mapping[str, object]) -> str:
    """Constants as an engine card writes them, three digits each."""
    units = {"launch": "us", "split": "us", "single": "us", "block": "us", "cold": "us"}
    units |= {"expert": "us", "group": "us"}
    return "{" + ", ".join(_pair(*item, units) for item in constants.items()) + "}"


def _pair(name: str, value: object, units: Mapping[str, str]) -> str:
    if not isinstance(value, float):
        return f"{name}: {value}"
    if name == "reduce":
        return f"{name}: {value / 1e12:.3g} TB/s"
    return f"{name}: {value * 1e6:.3g} us" if name in units else f"{name}: {value:.3g}"


def lines(
    key: tuple[str, str, str], what: str, every: Mapping[str, object], left: Mapping[object, object]
) -> Iterator[str]:
    """One comment with the constants from all rows, one line of held-out.yaml per fold."""
    engine, card, dtype = key
    yield f"# {engine} {card} {what} {dtype}: {yaml(every)}"
    for fold, constants in left.items():
        place = f'engine: {engine}, gpu: {card}, dtype: {dtype}, fold: "{fold}"'
        yield f"- {{{place}, {what}: {yaml(constants)}}}"


def errors(predicted_s: FloatArray, measured_s: FloatArray) -> str:
    """Number of rows, median and 90th percentile of the error, its median with sign, in %."""
    off = 100 * (predicted_s / measured_s - 1)
    middle, most = np.percentile(np.abs(off), (50, 90))
    return f"n {len(off)}, median {middle:.1f}, 90th {most:.1f}, signed {np.median(off):+.1f}"
