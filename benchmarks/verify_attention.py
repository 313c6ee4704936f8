"""Times of attention and of matrix products as wide as verification, measured on your GPU.

    python benchmarks/verify_attention.py -g h100-sxm -o verify.csv

Decode and verify attention (1 to 16 query tokens over a long cache) by every backend that can be
imported, matrix products of 1 to 512 rows, and draft steps of a 1B model captured in a CUDA graph.
Writes rows in the layout of measurements/ (`specplan schema measurements`), under five minutes on
one GPU. Needs torch alone; uses FlashAttention and FlashInfer where they are. `--plan` says what
would be measured and for how long. `--cpu` runs a few shapes on the CPU, to try the script itself.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import importlib.util
import io
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

BUDGET_S: Final = 280.0  # of wall time; what is not reached by then is left out, and said
CALL_BYTES: Final = 1e9  # one graph reads about as much: long beside its launch and beyond any L2
MOST_CALLS: Final = 128  # 128 of the smallest caches are 0.5 GB
WARM, REPEATS = 3, 20  # replays of a graph
LLAMA: Final = (32, 8, 128)  # heads, KV heads, head width of an 8B model
QUERIES: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16)
BATCHES: Final = (1, 4, 16, 64)
CONTEXTS: Final = (1024, 4096, 16_384, 32_768)
ROWS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
PRODUCTS: Final = ((6144, 4096), (4096, 4096), (28_672, 4096), (4096, 14_336))  # n, inner
FIXED: Final = {"source": "benchmarks/verify_attention.py", "licence": "Apache-2.0", "unit": "s"}
COLUMNS: Final = (
    *("kind", "source", "licence", "url", "engine", "version", "gpu", "gpus", "attention_dp"),
    *("ep", "target", "draft", "dtype", "kv_dtype", "batch", "tokens", "context", "isl", "osl"),
    *("k", "tau", "rows", "n", "inner", "heads", "kv_heads", "head_dim", "experts", "active"),
    *("hidden", "width", "touched", "value", "unit", "fold", "assumed", "note"),
)
"""The header of all files of measurements; written out, so that a GPU host needs torch alone."""

Row = dict[str, object]
Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where to measure: torch, a device and its name, and the memory that calls read there."""

    torch: Any
    device: str
    title: str
    pool: Any

    @property
    def cuda(self) -> bool:
        """Whether a GPU is measured."""
        return self.device == "cuda"

    def tensor(self, *shape: int) -> Any:  # noqa: ANN401 - torch's
        """Random numbers in bf16, in which all is measured."""
        return self.torch.randn(*shape, device=self.device, dtype=self.torch.bfloat16)

    def cold(self, calls: int, *shape: int) -> list[Any]:
        """As many such tensors side by side in the pool: no call reads what another one read."""
        size = calls * math.prod(shape)
        return list(self.pool[:size].view(calls, *shape).unbind())


@dataclass(frozen=True, slots=True)
class Case:
    """A figure to measure: its columns, the bytes that one call reads from memory, and what gives
    a number of such calls.
    """

    columns: Row
    note: str
    read_bytes: float
    prepare: Callable[[Bench, int], list[Call]]

    @property
    def calls(self) -> int:
        """How many are timed together."""
        return min(MOST_CALLS, math.ceil(CALL_BYTES / self.read_bytes))


def seconds(bench: Bench, case: Case) -> float:
    """Median seconds of one of the calls of a CUDA graph; on a CPU those of calls one by one."""
    runs = case.prepare(bench, case.calls)
    if not bench.cuda:
        return statistics.median([_elapsed(run) for run in (runs * 4)[:4]][1:])
    torch = bench.torch
    graph = _captured(torch, runs)
    events = [
        [torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(WARM + REPEATS)
    ]
    for start, end in events:  # all queued at once: no time is spent waiting for the host
        start.record()
        graph.replay()
        end.record()
    torch.cuda.synchronize()
    times_ms = [float(start.elapsed_time(end)) for start, end in events[WARM:]]
    return 1e-3 * statistics.median(times_ms) / len(runs)


def _elapsed(run: Call) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _captured(torch: Any, runs: list[Call]) -> Any:  # noqa: ANN401 - torch's
    """A CUDA graph of all calls, one after another, warmed up on the stream that it is made on."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for run in runs:
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for run in runs:
            run()
    return graph


# --- attention -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """The last `tokens` of the `context` cached tokens of each of `batch` sequences ask."""

    batch: int
    tokens: int
    context: int

    @property
    def cache_bytes(self) -> float:
        """Keys and values in bf16."""
        _, kv_heads, width = LLAMA
        return 2.0 * 2 * kv_heads * width * self.batch * self.context


Backend = Callable[[Shape, Bench, int], list[Call]]


def sdpa(shape: Shape, bench: Bench, calls: int) -> list[Call]:
    """FlashAttention of torch itself: causal from the end of the cache, KV heads shared."""
    heads, kv_heads, width = LLAMA
    lower_right = importlib.import_module("torch.nn.attention.bias").causal_lower_right
    q = bench.tensor(shape.batch, heads, shape.tokens, width)
    mask = lower_right(shape.tokens, shape.context) if shape.tokens > 1 else None
    attend = bench.torch.nn.functional.scaled_dot_product_attention
    caches = bench.cold(calls, 2, shape.batch, kv_heads, shape.context, width)
    return [partial(attend, q, k, v, attn_mask=mask, enable_gqa=True) for k, v in caches]


def flash_attention(library: str, shape: Shape, bench: Bench, calls: int) -> list[Call]:
    """FlashAttention 2 or 3 over a contiguous cache; its causal mask is aligned to the end."""
    attend = importlib.import_module(library).flash_attn_with_kvcache
    heads, kv_heads, width = LLAMA
    q = bench.tensor(shape.batch, shape.tokens, heads, width)
    caches = bench.cold(calls, 2, shape.batch, shape.context, kv_heads, width)
    return [partial(attend, q, k, v, causal=True) for k, v in caches]


def flashinfer(shape: Shape, bench: Bench, calls: int) -> list[Call]:
    """FlashInfer over a paged cache of 16 tokens a page: decode kernels for one query, else the
    prefill kernels that engines verify with, causal from the end.
    """
    library, torch = importlib.import_module("flashinfer"), bench.torch
    heads, kv_heads, width = LLAMA
    page = 16
    pages = shape.context // page
    whole = {"dtype": torch.int32, "device": bench.device}
    starts = torch.arange(0, shape.batch * pages + 1, pages, **whole)
    indices = torch.arange(shape.batch * pages, **whole)
    last = torch.full((shape.batch,), page, **whole)
    room = torch.zeros(128 << 20, dtype=torch.uint8, device=bench.device)
    cache = (starts, indices, last, heads, kv_heads, width, page)
    if shape.tokens == 1:
        wrapper = library.BatchDecodeWithPagedKVCacheWrapper(room, "NHD", use_tensor_cores=True)
        wrapper.plan(*cache, q_data_type=torch.bfloat16)
    else:
        wrapper = library.BatchPrefillWithPagedKVCacheWrapper(room, "NHD")
        queries = torch.arange(0, shape.batch * shape.tokens + 1, shape.tokens, **whole)
        wrapper.plan(queries, *cache, causal=True, q_data_type=torch.bfloat16)
    q = bench.tensor(shape.batch * shape.tokens, heads, width)
    caches = bench.cold(calls, shape.batch * pages, 2, page, kv_heads, width)
    return [partial(wrapper.run, q, paged) for paged in caches]


BACKENDS: Final[dict[str, tuple[str, Backend]]] = {
    "torch sdpa": ("torch", sdpa),
    "flash_attn": ("flash_attn", partial(flash_attention, "flash_attn")),
    "flash_attn 3": ("flash_attn_interface", partial(flash_attention, "flash_attn_interface")),
    "flashinfer": ("flashinfer", flashinfer),
}
"""What to call a backend in a note -> the library it needs, and its calls."""


def attention(name: str, shape: Shape) -> Case:
    """One layer of attention by a backend."""
    library, backend = BACKENDS[name]
    heads, kv_heads, width = LLAMA
    columns: Row = {"kind": "attention", "kv_dtype": "bf16"}
    columns |= {"batch": shape.batch, "tokens": shape.tokens, "context": shape.context}
    columns |= {"heads": heads, "kv_heads": kv_heads, "head_dim": width}
    version = getattr(sys.modules.get(library), "__version__", "") if library != "torch" else ""
    return Case(columns, f"{name} {version}".strip(), shape.cache_bytes, partial(backend, shape))


# --- products and draft steps ----------------------------------------------------------------


def product(rows: int, n: int, inner: int) -> Case:
    """A bf16 matrix product."""

    def prepare(bench: Bench, calls: int) -> list[Call]:
        left, multiply = bench.tensor(rows, inner), bench.torch.nn.functional.linear
        return [partial(multiply, left, weights) for weights in bench.cold(calls, n, inner)]

    columns: Row = {"kind": "gemm", "dtype": "bf16", "rows": rows, "n": n, "inner": inner}
    return Case(columns, "", 2.0 * n * inner, prepare)


@dataclass(frozen=True, slots=True)
class Small:
    """Llama-3.2-1B: layers, hidden width, heads, KV heads, head width, MLP width, vocabulary."""

    layers: int = 16
    hidden: int = 2048
    heads: int = 32
    kv_heads: int = 8
    width: int = 64
    mlp: int = 8192
    vocab: int = 128_256

    def shapes(self, batch: int, context: int) -> list[tuple[int, ...]]:
        """What a step reads: the head, then six tensors of each layer."""
        queries, keys = self.heads * self.width, self.kv_heads * self.width
        cache = (batch, self.kv_heads, context, self.width)
        products = (
            (queries + 2 * keys, self.hidden),
            (self.hidden, queries),
            (2 * self.mlp, self.hidden),
            (self.hidden, self.mlp),
        )
        return [(self.vocab, self.hidden), *(*products, cache, cache) * self.layers]


def draft_step(batch: int, context: int) -> Case:
    """A plain step of a 1B drafter as one graph: no host between its kernels. About as many kernels
    as an engine runs: additions stand alone, but nothing is rotated or written to the cache.
    """
    model = Small()
    shapes = model.shapes(batch, context)
    sizes = [math.prod(shape) for shape in shapes]

    def prepare(bench: Bench, calls: int) -> list[Call]:
        pieces = (flat.split(sizes) for flat in bench.cold(calls, sum(sizes)))
        tensors = [[p.view(s) for p, s in zip(some, shapes, strict=True)] for some in pieces]
        start = bench.tensor(batch, model.hidden)
        return [partial(_forward, bench.torch.nn.functional, model, start, t) for t in tensors]

    columns: Row = {"kind": "step", "target": "llama-3.2-1b", "gpus": 1, "dtype": "bf16"}
    columns |= {"kv_dtype": "bf16", "batch": batch, "tokens": 1, "context": context}
    note = "gpu; torch kernels, no rotary embedding, cache write or sampler"
    return Case(columns, note, 2.0 * sum(sizes), prepare)


def _forward(functional: Any, model: Small, x: Any, tensors: list[Any]) -> object:  # noqa: ANN401
    """Logits of the next token of each sequence. Queries of one KV head stand side by side."""
    batch, queries = len(x), model.heads * model.width
    grouped = (batch, model.kv_heads, model.heads // model.kv_heads, model.width)
    norm = partial(functional.rms_norm, normalized_shape=(model.hidden,))
    head, *layers = tensors
    for at in range(0, len(layers), 6):
        qkv, out, up, down, k, v = layers[at : at + 6]
        q = functional.linear(norm(x), qkv)[:, :queries].view(grouped)
        seen = functional.scaled_dot_product_attention(q, k, v)
        x = x + functional.linear(seen.reshape(batch, queries), out)
        gate, value = functional.linear(norm(x), up).chunk(2, -1)
        x = x + functional.linear(functional.silu(gate) * value, down)
    return functional.linear(norm(x), head)


# --- all of it -------------------------------------------------------------------------------


def cases(backends: Iterable[str], *, cpu: bool) -> list[Case]:
    """Everything to measure, small caches before large ones; with `cpu` five figures."""
    names = tuple(backends)
    if cpu:
        few = [attention("torch sdpa", Shape(1, q, 1024)) for q in (1, 4)]
        return [*few, *(product(m, 4096, 4096) for m in (1, 4)), draft_step(1, 1024)]
    shapes = [Shape(b, q, c) for b in BATCHES for c in CONTEXTS for q in QUERIES]
    shapes.sort(key=lambda shape: shape.cache_bytes)
    return [
        *(draft_step(batch, context) for context in (1024, 8192) for batch in (1, 8, 64)),
        *(product(m, n, inner) for n, inner in PRODUCTS for m in ROWS),
        *(attention(name, shape) for shape in shapes for name in names),
    ]


def installed() -> list[str]:
    """The backends whose library is there."""
    return [name for name, (library, _) in BACKENDS.items() if importlib.util.find_spec(library)]


def running(bench: Bench) -> list[str]:
    """The backends that run: each is tried, which compiles FlashInfer's kernels the first time."""
    names = []
    for name in installed() if bench.cuda else ["torch sdpa"]:
        try:
            for tokens in (1, 4):
                seconds(bench, attention(name, Shape(1, tokens, 1024)))
        except Exception as error:  # noqa: BLE001 - each library fails in its own way
            say(f"{name} does not run: {_first_line(error)}")
        else:
            names.append(name)
    return names


def measured(bench: Bench, wanted: list[Case], deadline: float) -> Iterator[tuple[Case, float]]:
    """Each case with its seconds; one that does not fit or is refused is said and passed over."""
    said: set[str] = set()
    for place, case in enumerate(wanted):
        if time.monotonic() > deadline:
            say(f"the time was spent: {len(wanted) - place} of {len(wanted)} figures are missing")
            return
        try:
            if case.calls * case.read_bytes > 2 * len(bench.pool):
                raise MemoryError("larger than the memory at hand")
            yield case, seconds(bench, case)
        except (RuntimeError, ValueError, TypeError, MemoryError) as error:
            why = f"{case.columns['kind']} ({case.note or 'torch'}): {_first_line(error)}"
            if why not in said:
                say(f"left out, {why}; the first is {case.columns}")
            said.add(why)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0][:160]


def bench_on(torch: Any, wanted: list[Case], *, cpu: bool) -> Bench:  # noqa: ANN401 - torch's
    """The device with memory for the largest case, or 7 tenths of what is free."""
    need = max(case.calls * case.read_bytes for case in wanted)
    device, title = "cpu", "timed on a CPU"
    if not cpu:
        need = min(need, 0.7 * torch.cuda.mem_get_info()[0])
        device, title = "cuda", f"{torch.cuda.get_device_name()}, CUDA graphs"
        # The other kernels copy the cache for every query head, or read a mask as long as it.
        torch.backends.cuda.enable_math_sdp(False)  # noqa: FBT003
        torch.backends.cuda.enable_mem_efficient_sdp(False)  # noqa: FBT003
        torch.backends.cuda.enable_cudnn_sdp(False)  # noqa: FBT003
    some = torch.randn(1 << 20, device=device, dtype=torch.bfloat16)
    pool = some.repeat(math.ceil(need / 2 / len(some)))
    return Bench(torch, device, f"torch {torch.__version__}; {title}", pool)


def plan(wanted: list[Case]) -> str:
    """What would be measured, and a guess at how long it takes."""
    read = sum(case.calls * case.read_bytes * (WARM + REPEATS + 1) for case in wanted)
    guess_s = read / (0.3 * 3.35e12) + 0.1 * len(wanted)
    most = max(case.calls * case.read_bytes for case in wanted)
    return (
        f"{len(wanted)} figures, {read / 1e12:.1f} TB read from {most / 1e9:.1f} GB\n"
        f"about {guess_s:.0f} s on an H100, at 30 % of its bandwidth and 0.1 s to prepare each\n"
        f"no figure is begun after {BUDGET_S:.0f} s"
    )


def refusal(torch: Any, asked: argparse.Namespace) -> str:  # noqa: ANN401 - torch's
    """Why nothing can be measured; empty where it can."""
    old = [int(part) for part in torch.__version__.split(".")[:2]] < [2, 5]
    names = [name for name in (asked.gpu, asked.engine) if name is not None]
    folder = asked.output.parent if asked.output else Path()
    reasons = (
        (old, f"torch {torch.__version__} is too old: 2.5 or newer"),
        (
            not asked.cpu and not torch.cuda.is_available(),
            "torch sees no GPU; --cpu tries the script on a few shapes",
        ),
        (
            not asked.cpu and not asked.gpu,
            "which GPU is this? name its card with -g, such as -g h100-sxm",
        ),
        (
            not all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name) for name in names),
            f"cards are named in lower case letters, digits, dots, hyphens: not {' '.join(names)}",
        ),
        (not folder.is_dir(), f"no such folder: {folder}"),
    )
    return next((why for wrong, why in reasons if wrong), "")


def torch_or_why() -> Any:  # noqa: ANN401 - torch's
    """torch, or in words why it cannot be had."""
    if not importlib.util.find_spec("torch"):
        return "this benchmark needs torch: pip install torch (and, if you like, flashinfer-python)"
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:
        return f"torch does not load: {_first_line(error)}"


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-g", "--gpu", help="name of its hardware card, such as h100-sxm")
    parser.add_argument("-e", "--engine", default="vllm", help="engine to hold the rows against")
    parser.add_argument("-o", "--output", type=Path, help="CSV file; standard output by default")
    parser.add_argument("--cpu", action="store_true", help="a few shapes, to try the script")
    parser.add_argument("--plan", action="store_true", help="say what it would do, and stop")
    return parser.parse_args()


def table(found: Iterable[tuple[Case, float]], fixed: Row, title: str) -> str:
    """Rows under the header of all files of measurements."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for case, value in found:
        note = f"{case.note}; {title}" if case.note else title
        writer.writerow(case.columns | fixed | {"value": f"{value:.6g}", "note": note})
    return file.getvalue()


def save(text: str, output: Path | None) -> None:
    """The text where it was asked for; a file appears whole or not at all."""
    if output is None:
        print(text, end="")
        return
    partial_file = output.with_name(f".{output.name}.partial")
    try:
        partial_file.write_text(text, encoding="utf-8", newline="")
        partial_file.replace(output)
    finally:
        partial_file.unlink(missing_ok=True)


def say(words: str) -> None:
    """A line beside the rows."""
    print(words, file=sys.stderr)


def main() -> int:
    """Writes the rows: 0, 1 where none could be measured, 2 where something is missing."""
    asked = arguments()
    if asked.plan:
        print(plan(cases(installed() or ["torch sdpa"], cpu=asked.cpu)))
        return 0
    torch = torch_or_why()
    missing = torch if isinstance(torch, str) else refusal(torch, asked)
    if missing:
        say(missing)
        return 2
    with torch.inference_mode():
        bench = bench_on(torch, cases(BACKENDS, cpu=asked.cpu), cpu=asked.cpu)
        wanted = cases(running(bench), cpu=asked.cpu)
        start = time.monotonic()
        found = list(measured(bench, wanted, start + BUDGET_S))
    assumed = "engine gpu" if asked.cpu else "engine"  # kernels are torch's, not the engine's
    fixed = {**FIXED, "engine": asked.engine, "gpu": asked.gpu or "cpu", "assumed": assumed}
    if found:
        save(table(found, fixed, bench.title), asked.output)
    say(f"{len(found)} rows in {time.monotonic() - start:.0f} s")
    return 0 if found else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("stopped; nothing is written")
        sys.exit(130)
