"""What vLLM's start-up lines say of the deployment: its configuration, and memory as it counts it.

Formats: vllm/v1/engine/core.py and vllm/engine/llm_engine.py (`Initializing a V1 LLM engine`),
vllm/entrypoints (`non-default args`, `API server version`), vllm/v1/core/kv_cache_utils.py,
vllm/v1/worker, vllm/executor (`# GPU blocks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from specplan.dialects.patterns import DECIMAL, WHOLE
from specplan.domain.answer import Scalar

STARTS: Final = ("API server version", "LLM engine (v")
OPENING: Final = (
    "default args",
    "args: Namespace(",
    "KV cache size",
    "KV cache memory",
    "# CPU blocks",
    "Model loading took",
    "capturing finished in",
    "draft model max model len",
    "cudagraph_mode=",
)

_GIB: Final = 2**30
_VALUE = r"""['"]?\s*[=:]\s*(?:'([^']{0,300})'|"([^"]{0,300})"|([^\s,)}\]]{1,300}))"""
_SPEC = re.compile(
    r"speculative_config['\"]?\s*[=:]\s*(SpeculativeConfig\([^)]{0,2000}\)|'?\{.{0,2000}?\}'?|None)"
)
_ENGINE = re.compile(r"LLM engine \(v([^)]{1,60})\) with config: (.*)")
_ARGS = re.compile(r"(?:non-default args|args): (.*)")
_SERVER = re.compile(r"vLLM API server version (\S{1,60})")
_GRAPHS = re.compile(r"cudagraph_capture_sizes['\"]?\s*[=:]\s*\[([0-9, ]+)")

_GRAPH_MODE = re.compile(
    r"cudagraph_mode(?:'?: <CUDAGraphMode\.|=(?:CUDAGraphMode\.)?)([A-Z_]{1,40})"
)

_TARGET: Final = {  # our name: theirs
    "target": ("model", "model_tag"),
    "tp": ("tensor_parallel_size",),
    "dp": ("data_parallel_size",),
    "dtype": ("dtype",),
    "kv_dtype": ("kv_cache_dtype",),
    "quantization": ("quantization",),
    "max_batch": ("max_num_seqs",),
    "max_context": ("max_seq_len", "max_model_len"),
    "memory_fraction": ("gpu_memory_utilization",),
    "eager": ("enforce_eager",),
    "graphs_up_to": ("max_cudagraph_capture_size", "max_capture_size"),
}
_DRAFT: Final = {
    "method": ("method",),
    "draft": ("model", "draft_model"),
    "k": ("num_speculative_tokens", "num_spec_tokens"),
    "draft_tp": ("draft_tensor_parallel_size",),
    "draft_max_context": ("max_model_len",),
    "lookup_max": ("prompt_lookup_max",),
}
_OLDER: Final = {  # flags of V0, beside the others
    "draft": ("speculative_model",),
    "k": ("num_speculative_tokens",),
    "draft_tp": ("speculative_draft_tensor_parallel_size",),
}
_MEMORY: Final = (
    ("pool_tokens", re.compile(r"KV cache size: ([0-9][0-9,]{0,18}) tokens"), 1),
    (
        "pool_bytes",
        re.compile(rf"Available KV cache memory: ({DECIMAL}) GiB"),
        _GIB,
    ),
    ("pool_blocks", re.compile(rf"# (?:GPU|cuda) blocks: ({WHOLE})"), 1),
    ("weights_bytes", re.compile(rf"Model loading took ({DECIMAL}) Gi?B"), _GIB),
    (
        "graph_bytes",
        re.compile(rf"capturing finished in .{{0,40}} took ({DECIMAL}) GiB"),
        _GIB,
    ),
    ("draft_max_context", re.compile(rf"draft model max model len from [0-9]+ to ({WHOLE})"), 1),
)


def facts(line: str) -> dict[str, Scalar]:
    """What one line says, under the names of `specplan.domain.capture.Told`."""
    told: dict[str, Scalar] = {}
    server, engine, args = _SERVER.search(line), _ENGINE.search(line), _ARGS.search(line)
    if server:
        told["version"] = server[1]
    if engine:
        told["version"] = engine[1]
        told |= _configured(engine[2])
    elif args:
        told |= _configured(args[1])
    mode = _GRAPH_MODE.search(line)
    if mode:
        told["graph_mode"] = mode[1]
    for name, pattern, unit in _MEMORY:
        match = pattern.search(line)
        if match:
            told[name] = round(float(match[1].replace(",", "")) * unit)
    return told


def _configured(text: str) -> dict[str, Scalar]:
    spec = _SPEC.search(text)
    rest = text.replace(spec[0], "") if spec else text
    told = dict(_named(rest, _TARGET))
    told |= _named(rest, _OLDER)
    sizes = _GRAPHS.search(rest)
    if sizes and "graphs_up_to" not in told:
        told["graphs_up_to"] = max(int(size[-9:]) for size in sizes[1].split(",") if size.strip())
    if spec and spec[1] != "None":
        told |= _named(spec[1], _DRAFT)
    if told.get("draft") == told.get("target"):  # heads in the target's own checkpoint
        told.pop("draft", None)
    return told


def _named(text: str, names: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, Scalar]]:
    for ours, theirs in names.items():
        for name in theirs:
            match = re.search(rf"(?<![A-Za-z_.]){name}{_VALUE}", text)
            value = next((one for one in match.groups() if one is not None), "") if match else ""
            if value and value not in {"None", "auto", "null"}:
                yield ours, _scalar(value)
                break


def _scalar(text: str) -> Scalar:
    if text in {"True", "False"}:
        return text == "True"
    if re.fullmatch(WHOLE, text):
        return int(text)
    if re.fullmatch(rf"{WHOLE}\.{WHOLE}", text):
        return float(text)
    return text.removeprefix("torch.")[:200]
