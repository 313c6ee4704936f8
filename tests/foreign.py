"""Files of others: safetensors and GGUF bytes as their formats describe them, engines' counters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import generated
import steptimes

FIXTURES = Path(__file__).parent / "counters" / "fixtures"
COUNTED = {
    "server.log": "vllm-0.33.log",
    "before.prom": "vllm-metrics-before.prom",
    "after.prom": "vllm-metrics.prom",
    "creative.log": "vllm-ngram.log",
    "summary.log": "vllm-0.33.log",
    "plain.json": "hand-vllm-bench-plain.json",
}
"""What files of counters on help pages are."""

SIZES = {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "I64": 8}

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
LETTERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
BLOCKS = {0: (1, 4), 1: (1, 2), 8: (32, 34), 12: (256, 144), 30: (1, 2), 39: (32, 17)}
"""Elements and bytes of a block of the ggml types that tests write."""


def safetensors(tensors: Mapping[str, tuple[str, Sequence[int]]], **extra: object) -> bytes:
    """A whole file with zeroes for data; `extra` is laid over the header."""
    header: dict[str, object] = {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        count = SIZES[dtype]
        for size in shape:
            count *= size
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + count]}
        end += count
    return framed(json.dumps(header | extra).encode(), end)


def framed(header: bytes, data_bytes: int = 0) -> bytes:
    """A header with its length before it and zeroes behind it."""
    return struct.pack("<Q", len(header)) + header + bytes(data_bytes)


def text(value: str, order: str = "<") -> bytes:
    raw = value.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def value(found: object, order: str = "<", kind: int | None = None) -> bytes:
    """A typed value: the type's number and the bytes; whole numbers are U32 unless told."""
    if isinstance(found, list):
        of = kind if kind is not None else (STRING if isinstance(found[0], str) else I32)
        items = [text(v, order) if of == STRING else scalar(v, of, order) for v in found]
        return struct.pack(f"{order}IIQ", ARRAY, of, len(found)) + b"".join(items)
    if isinstance(found, str):
        return struct.pack(f"{order}I", STRING) + text(found, order)
    if kind is None:
        kind = BOOL if isinstance(found, bool) else U32 if isinstance(found, int) else F32
    return struct.pack(f"{order}I", kind) + scalar(found, kind, order)


def scalar(found: object, kind: int, order: str) -> bytes:
    return struct.pack(order + LETTERS[kind], found)


def gguf(
    metadata: Mapping[str, object],
    tensors: Mapping[str, tuple[int, Sequence[int]]],
    *,
    order: str = "<",
    version: int = 3,
    alignment: int = 32,
    data: bool = True,
) -> bytes:
    """A whole file; a value that is bytes is taken as it is; shapes are outermost first."""
    out = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    for key, found in metadata.items():
        out += text(key, order) + (found if isinstance(found, bytes) else value(found, order))
    end = 0
    for name, (kind, shape) in tensors.items():
        elements, size = BLOCKS[kind]
        for each in shape:
            size *= each
        end = -(-end // alignment) * alignment
        dims = struct.pack(f"{order}{len(shape)}Q", *reversed(shape))
        out += text(name, order) + struct.pack(f"{order}I", len(shape)) + dims
        out += struct.pack(f"{order}IQ", kind, end)
        end += size // elements
    padding = -len(out) % alignment
    return out + bytes(padding + end) if data else out


def written(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "vocab_size": 1000,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}
"""A small Llama, complete."""
HEAD = LLAMA | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": 4096,
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "draft_vocab_size": 32000,
}
"""An EAGLE-3 head as wide as Llama 3.1 8B."""


CHAT = """\
schema: plan/1
about: Chat on Llama-3.1-8B.
target: llama-3.1-8b
draft: eagle3
hardware: h100-sxm
engine: vllm
k: 3
workload: {acceptance: 0.7}
traffic:
  rate: 20/s
  isl: 1200
  osl: 210
"""


def azure() -> str:
    """Two minutes of requests as Azure recorded them, twice as many in the second."""
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for number in range(90):
        second = 2.0 * number if number < 30 else 60.0 + 1.0 * (number - 30)
        when = f"{18 + int(second) // 60:02}:{second % 60:010.7f}"
        lines.append(f"2023-11-16 18:{when},{900 + 10 * number},{100 + number}")
    return "\n".join(lines)


def examples() -> None:
    """What the examples on help pages read, in the current folder."""
    generated.examples()
    steptimes.examples()
    batches = "batch,share\n1,0.1\n8,0.2\n24,0.3\n64,0.25\n160,0.15\n"
    Path("batches.csv").write_text(batches, "utf-8")
    for name, fixture in COUNTED.items():
        Path(name).write_bytes((FIXTURES / fixture).read_bytes())
    for name, config in (
        ("config.json", LLAMA),
        ("checkpoint/config.json", LLAMA),
        ("head/config.json", HEAD),
        ("configs/small.json", LLAMA),
    ):
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config), encoding="utf-8")
    Path("chat.yaml").write_text(CHAT, encoding="utf-8")
    Path("azure.csv").write_text(azure(), encoding="utf-8")
    raw = safetensors({"all": ("BF16", (202_048,))})  # as many as LLAMA has
    written(Path("checkpoint/model.safetensors"), raw)
