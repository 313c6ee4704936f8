"""Times of attention and of matrix products as wide as verification, measured on your GPU.

    python benchmarks/verify_attention.py -g h100-sxm -o verify.csv

Decode and verify attention (1 to 16 query tokens over a long cache) by every backend that can be
imported, matrix products of 1 to 512 rows, and draft steps of a 1B model captured in a CUDA graph.
Writes rows in the layout of measurements/ (`specplan schema measurements`), under five minutes on
one GPU. Needs torch; uses FlashAttention and FlashInfer where they are. `--cpu` runs a few tiny
shapes on the CPU, to try the script itself: its times mean nothing.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from specplan.domain.measurement import COLUMNS

BUDGET_S: Final = 280.0  # of wall time; what is not reached by then is left out, and said
CACHE_BYTES: Final = 16e9  # largest cache that is allocated at once
LLAMA: Final = (32, 8, 128)  # heads, KV heads, head width of an 8B model
QUERIES: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16)
BATCHES: Final = (1, 4, 16, 64)
CONTEXTS: Final = (1024, 4096, 16_384, 32_768)
ROWS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
PRODUCTS: Final = ((6144, 4096), (4096, 4096), (28_672, 4096), (4096, 14_336))  # n, inner
SOURCE: Final = "benchmarks/verify_attention.py"

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how to measure."""

    torch: Any
    gpu: str
    engine: str
    device: str
    deadline: float

    @property
    def cuda(self) -> bool:
        """Whether a GPU is measured."""
        return self.device == "cuda"

    @property
    def dtype(self) -> Any:  # noqa: ANN401 - torch's
        """bf16, in which all is measured."""
        return self.torch.bfloat16

    @property
    def late(self) -> bool:
        """Whether the time is spent."""
        return time.monotonic() > self.deadline

    def tensor(self, *shape: int) -> Any:  # noqa: ANN401 - torch's
        """Random numbers on the device."""
        return self.torch.randn(*shape, device=self.device, dtype=self.dtype)

    def row(self, kind: str, value: float, **columns: object) -> Row:
        """One measured figure in our layout."""
        fixed = {"kind": kind, "source": SOURCE, "engine": self.engine, "gpu": self.gpu}
        return {**fixed, **columns, "value": f"{value:.6g}", "unit": "s"}


def seconds(bench: Bench, run: Callable[[], object], repeats: int = 20) -> float:
    """Median seconds of `run` in a CUDA graph, with caches that others have used in between."""
    if not bench.cuda:
        run()
        return statistics.median(_elapsed(run) for _ in range(3))
    torch = bench.torch
    captured = _captured(torch, run)
    flush = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")  # more than any L2 of 2025
    times = []
    for _ in range(repeats):
        flush.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        captured.replay()
        end.record()
        end.synchronize()
        times.append(1e-3 * start.elapsed_time(end))
    return statistics.median(times)


def _elapsed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _captured(torch: Any, run: Callable[[], object]) -> Any:  # noqa: ANN401 - torch's
    """A CUDA graph of `run`, warmed up on a stream of its own."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


# --- attention -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """`tokens` queries of each of `batch` sequences over `context` cached tokens."""

    batch: int
    tokens: int
    context: int

    @property
    def cache_bytes(self) -> float:
        """Keys and values in bf16."""
        _, kv_heads, width = LLAMA
        return 2.0 * 2 * kv_heads * width * self.batch * self.context


def sdpa(bench: Bench, shape: Shape) -> Callable[[], object]:
    """Attention of torch itself; query rows of one KV head stand side by side, so that the cache is
    read once (no mask: the few causal scores that this adds take no time that can be seen).
    """
    heads, kv_heads, width = LLAMA
    rows = heads // kv_heads * shape.tokens
    q = bench.tensor(shape.batch, kv_heads, rows, width)
    k = bench.tensor(shape.batch, kv_heads, shape.context, width)
    v = bench.tensor(shape.batch, kv_heads, shape.context, width)
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v)


def flash_attention(bench: Bench, shape: Shape) -> Callable[[], object]:
    """FlashAttention over a contiguous cache."""
    library = importlib.import_module("flash_attn")
    heads, kv_heads, width = LLAMA
    q = bench.tensor(shape.batch, shape.tokens, heads, width)
    k = bench.tensor(shape.batch, shape.context, kv_heads, width)
    v = bench.tensor(shape.batch, shape.context, kv_heads, width)
    return lambda: library.flash_attn_with_kvcache(q, k, v, causal=True)


def flashinfer(bench: Bench, shape: Shape) -> Callable[[], object]:
    """FlashInfer over a paged cache of 16 tokens a page: decode kernels for one query, else the
    prefill kernels that engines verify with.
    """
    library, torch = importlib.import_module("flashinfer"), bench.torch
    heads, kv_heads, width = LLAMA
    page = 16
    pages = shape.context // page
    whole = {"dtype": torch.int32, "device": bench.device}
    starts = torch.arange(0, (shape.batch + 1) * pages, pages, **whole)
    indices = torch.arange(shape.batch * pages, **whole)
    last = torch.full((shape.batch,), page, **whole)
    room = torch.empty(128 << 20, dtype=torch.uint8, device=bench.device)
    cache = bench.tensor(shape.batch * pages, 2, page, kv_heads, width)
    q = bench.tensor(shape.batch * shape.tokens, heads, width)
    if shape.tokens == 1:
        wrapper = library.BatchDecodeWithPagedKVCacheWrapper(room, "NHD", use_tensor_cores=True)
        wrapper.plan(starts, indices, last, heads, kv_heads, width, page, q_data_type=bench.dtype)
    else:
        wrapper = library.BatchPrefillWithPagedKVCacheWrapper(room, "NHD")
        queries = torch.arange(0, (shape.batch + 1) * shape.tokens, shape.tokens, **whole)
        wrapper.plan(
            *(queries, starts, indices, last, heads, kv_heads, width, page),
            causal=True,
            q_data_type=bench.dtype,
        )
    return lambda: wrapper.run(q, cache)


BACKENDS: Final = {
    "torch sdpa": ("torch", sdpa),
    "flash_attn": ("flash_attn", flash_attention),
    "flashinfer": ("flashinfer", flashinfer),
}
"""What to call a backend in a note -> the library it needs, and how it is run."""


def present(bench: Bench) -> dict[str, Callable[[Bench, Shape], Callable[[], object]]]:
    """The backends that can run here."""
    found = {
        name: run for name, (library, run) in BACKENDS.items() if importlib.util.find_spec(library)
    }
    return found if bench.cuda else {"torch sdpa": sdpa}


def attention(bench: Bench, shapes: list[Shape]) -> Iterator[Row]:
    """A row for each backend and shape; a shape that a backend refuses is said and passed over."""
    heads, kv_heads, width = LLAMA
    for shape in shapes:
        for name, prepare in present(bench).items():
            if bench.late:
                return
            try:
                value = seconds(bench, prepare(bench, shape))
            except (RuntimeError, ValueError, TypeError) as error:
                first = str(error).partition("\n")[0][:120]
                print(f"{name} at {shape}: {first}", file=sys.stderr)
                continue
            yield bench.row(
                "attention",
                value,
                batch=shape.batch,
                tokens=shape.tokens,
                context=shape.context,
                heads=heads,
                kv_heads=kv_heads,
                head_dim=width,
                kv_dtype="bf16",
                note=name,
            )


# --- products and draft steps ----------------------------------------------------------------


def products(
    bench: Bench, rows: tuple[int, ...], shapes: tuple[tuple[int, int], ...]
) -> Iterator[Row]:
    """bf16 matrix products of an 8B model at each number of rows."""
    for n, inner in shapes:
        weights = bench.tensor(n, inner)
        for m in rows:
            if bench.late:
                return
            left = bench.tensor(m, inner)
            value = seconds(bench, lambda left=left, weights=weights: left @ weights.T)
            yield bench.row("gemm", value, dtype="bf16", rows=m, n=n, inner=inner)


@dataclass(frozen=True, slots=True)
class Small:
    """A Llama of 1B: layers, hidden width, heads, KV heads, head width, MLP width, vocabulary."""

    layers: int = 16
    hidden: int = 2048
    heads: int = 32
    kv_heads: int = 8
    width: int = 64
    mlp: int = 8192
    vocab: int = 128_256


TINY: Final = Small(layers=1, hidden=64, heads=4, kv_heads=2, width=16, mlp=128, vocab=1000)


def draft_step(bench: Bench, model: Small, batch: int, context: int) -> Callable[[], object]:
    """One token of each sequence through all layers, head and argmax; weights are random, and one
    set a layer, so that none comes from L2.
    """
    functional = bench.torch.nn.functional
    queries = model.heads * model.width
    keys = model.kv_heads * model.width
    layers = [
        (
            bench.tensor(queries + 2 * keys, model.hidden),
            bench.tensor(model.hidden, queries),
            bench.tensor(2 * model.mlp, model.hidden),
            bench.tensor(model.hidden, model.mlp),
            bench.tensor(batch, model.kv_heads, context, model.width),
            bench.tensor(batch, model.kv_heads, context, model.width),
        )
        for _ in range(model.layers)
    ]
    head, start = bench.tensor(model.vocab, model.hidden), bench.tensor(batch, model.hidden)
    group = model.heads // model.kv_heads

    def run() -> object:
        x = start
        for qkv, out, up, down, k, v in layers:
            q = functional.linear(functional.rms_norm(x, (model.hidden,)), qkv)[:, :queries]
            q = q.reshape(batch, model.kv_heads, group, model.width)
            seen = functional.scaled_dot_product_attention(q, k, v)
            x = x + functional.linear(seen.reshape(batch, queries), out)
            gate, value = functional.linear(functional.rms_norm(x, (model.hidden,)), up).chunk(
                2, -1
            )
            x = x + functional.linear(functional.silu(gate) * value, down)
        return functional.linear(x, head).argmax(-1)

    return run


def draft_steps(
    bench: Bench, model: Small, batches: tuple[int, ...], contexts: tuple[int, ...]
) -> Iterator[Row]:
    """Steps of the 1B model as one graph: GPU time, no host between its kernels."""
    for context in contexts:
        for batch in batches:
            if bench.late:
                return
            value = seconds(bench, draft_step(bench, model, batch, context))
            yield bench.row(
                "step",
                value,
                target="llama-3.2-1b",
                gpus=1,
                dtype="bf16",
                kv_dtype="bf16",
                batch=batch,
                context=context,
                note="GPU time of one draft step in a CUDA graph",
            )


# --- all of it -------------------------------------------------------------------------------


def wide_shapes() -> list[Shape]:
    """Every width of verification at every cache that fits, small ones first."""
    every = [Shape(b, q, c) for b in BATCHES for c in CONTEXTS for q in QUERIES]
    return sorted((s for s in every if s.cache_bytes <= CACHE_BYTES), key=lambda s: s.cache_bytes)


def measured(bench: Bench) -> Iterator[Row]:
    """All rows; with `--cpu` a handful of tiny ones."""
    if not bench.cuda:
        yield from attention(bench, [Shape(1, q, 64) for q in (1, 4)])
        yield from products(bench, (1, 4), ((128, 64),))
        yield from draft_steps(bench, TINY, (1,), (32,))
        return
    yield from draft_steps(bench, Small(), (1, 8, 64), (1024, 8192))
    yield from products(bench, ROWS, PRODUCTS)
    yield from attention(bench, wide_shapes())


def torch_or_none() -> Any:  # noqa: ANN401 - torch's
    """torch, where it is installed."""
    return importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-g", "--gpu", help="name of its hardware card, such as h100-sxm")
    parser.add_argument("-e", "--engine", default="vllm", help="engine that the rows are for")
    parser.add_argument("-o", "--output", help="CSV file to write; standard output by default")
    parser.add_argument("--cpu", action="store_true", help="tiny shapes, to try the script")
    return parser.parse_args()


def refusal(torch: Any, *, cpu: bool, gpu: str | None) -> str:  # noqa: ANN401 - torch's
    """Why nothing can be measured; empty where it can."""
    if torch is None:
        return "this benchmark needs torch: pip install torch (and, if you like, flashinfer-python)"
    if cpu:
        return ""
    if not torch.cuda.is_available():
        return "torch sees no GPU; --cpu tries the script on tiny shapes"
    return "" if gpu else "which GPU is this? name its card with -g, such as -g h100-sxm"


def main() -> int:
    """Write the rows; 2 where something is missing."""
    asked = arguments()
    torch = torch_or_none()
    missing = refusal(torch, cpu=asked.cpu, gpu=asked.gpu)
    if missing:
        print(missing, file=sys.stderr)
        return 2
    start = time.monotonic()
    device = "cpu" if asked.cpu else "cuda"
    bench = Bench(torch, asked.gpu or "cpu", asked.engine, device, start + BUDGET_S)
    with torch.inference_mode():
        if asked.output:
            with open(asked.output, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
                count = write(measured(bench), file)
        else:
            count = write(measured(bench), sys.stdout)
    print(f"{count} rows in {time.monotonic() - start:.0f} s", file=sys.stderr)
    if bench.late:
        print("the time was spent before all shapes were measured", file=sys.stderr)
    return 0


def write(rows: Iterator[Row], file: Any) -> int:  # noqa: ANN401 - a text stream
    """Rows under the header of all files of measurements; returns their number."""
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        writer.writerow(row)
        file.flush()
        count += 1
    return count


if __name__ == "__main__":
    sys.exit(main())
