"""The frozen grid of engine predictions: computes it, writes it, says what changed.

    python tests/golden/freeze_engine_grid.py

Rewrites tests/golden/engine_grid.csv and prints its SHA-256 and the largest change, both of which
belong in an entry of CHANGELOG.md under "Changed numbers".
"""

from __future__ import annotations

import csv
import hashlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.drafter import Drafter
from specplan.domain.drafters import drafter_of
from specplan.domain.scenario import Setup
from specplan.domain.weightless import RatioDrafter
from specplan.physics.round import time_rounds

FILE = Path(__file__).parent / "engine_grid.csv"
COLUMNS = ("engine", "gpu", "target", "draft", "dtype", "tp", "batch", "context", "k", "seconds")


class Pair(NamedTuple):
    """A target in a storage type on `tp` GPUs, and its drafter: a card or a cost ratio."""

    target: str
    draft: str | float
    dtype: str
    tp: int


ENGINES = ("roofline", "vllm@0.10", "vllm", "sglang", "trtllm", "transformers", "llamacpp")
GPUS = ("h100-sxm", "a100-sxm-80gb", "b200-sxm", "l40s", "mi300x")
PAIRS = (
    Pair("llama-3.1-8b", "llama-3.2-1b", "bf16", 1),
    Pair("llama-3.1-8b", "eagle3-llama-3.1-8b", "fp8", 1),
    Pair("llama-3.3-70b", "eagle3-llama-3.3-70b", "fp8", 4),
    Pair("qwen3-30b-a3b", "eagle3-qwen3-30b-a3b", "bf16", 2),
    Pair("deepseek-r1", "mtp-deepseek-r1", "fp8", 8),
    Pair("qwen3-8b", "dflash-qwen3-8b", "bf16", 1),
    Pair("gpt-oss-120b", 0.1, "mxfp4", 1),
)
WORKLOADS = ((1.0, 1000.0), (16.0, 16_000.0), (128.0, 2000.0))
LENGTHS = (0, 1, 5)


def predictions() -> Iterator[dict[str, str]]:
    """Seconds of a round, to six digits, at every point of the grid; k = 0 is a plain step."""
    store = Catalogue()
    for engine in ENGINES:
        for gpu in GPUS:
            for pair in PAIRS:
                setup = _setup(store, engine, gpu, pair)
                fixed = (engine, gpu, pair.target, str(pair.draft), pair.dtype, str(pair.tp))
                for batch, context in WORKLOADS:
                    times = time_rounds(setup, (context,), (batch,), LENGTHS).round_s[0, 0]
                    for k, seconds in zip(LENGTHS, times, strict=True):
                        point = (f"{batch:g}", f"{context:g}", str(k), f"{seconds:.6g}")
                        yield dict(zip(COLUMNS, (*fixed, *point), strict=True))


def _setup(store: Catalogue, engine: str, gpu: str, pair: Pair) -> Setup:
    name, _, version = engine.partition("@")
    card = store.engine(name).card
    draft: Drafter = (
        drafter_of(store.model(pair.draft).card)
        if isinstance(pair.draft, str)
        else RatioDrafter(pair.draft)
    )
    return Setup(
        target=store.model(pair.target).card,
        draft=draft,
        hardware=store.hardware(gpu).card,
        tp=pair.tp,
        draft_tp=pair.tp,
        engine=card,
        dtype=Dtype(pair.dtype),
        draft_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        release=card.release(version or None),
    )


def frozen() -> list[dict[str, str]]:
    """The grid as it stands in the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def digest() -> str:
    """SHA-256 of the file."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()


def largest_change(before: list[dict[str, str]], after: list[dict[str, str]]) -> str:
    """The point that moved most, in words."""
    old = {_point(row): float(row["seconds"]) for row in before}
    moved = {
        _point(row): float(row["seconds"]) / old[_point(row)] - 1
        for row in after
        if _point(row) in old
    }
    if not moved:
        return "no point was there before"
    where = max(moved, key=lambda point: abs(moved[point]))
    changed = sum(1 for value in moved.values() if value)
    return f"{changed:,} of {len(after):,} moved, at most {moved[where]:+.2%}: {' '.join(where)}"


def _point(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[column] for column in COLUMNS[:-1])


def main() -> int:
    """Write the file; print its hash and the largest change."""
    before = frozen() if FILE.is_file() else []
    after = list(predictions())
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(after)
    FILE.write_text(out.getvalue(), encoding="utf-8")
    sys.stdout.write(f"sha256 {digest()}\n{largest_change(before, after)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
