"""What a SOURCE may be, and what is said of everything else."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from foreign import gguf, safetensors, written

from specplan.errors import InputError, SpecplanError, UsageError
from specplan.importers.json_ import Bare
from specplan.importers.source import is_sidecar, open_source
from specplan.importers.tensor import Tensor

CONFIG = {"model_type": "llama", "hidden_size": 256}
RAW = json.dumps(CONFIG).encode()


def refusal(source: str | Path) -> str:
    with pytest.raises(SpecplanError) as caught:
        open_source(str(source))
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_config_file(tmp_path):
    path = written(tmp_path / "tiny.json", RAW)
    found = open_source(str(path))
    assert (found.kind, found.name, found.origin) == ("config", "tiny", "config tiny.json")
    assert found.config == CONFIG
    assert found.sha256 == hashlib.sha256(RAW).hexdigest()
    assert (found.quant, found.tensors, found.notes) == (None, (), ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"


@pytest.mark.parametrize(
    ("config", "sidecar"),
    [("config.json", "hf_quant_config.json"), ("a__b.json", "a__b_hf_quant_config.json")],
)
def test_the_sidecar_beside_a_config_is_read(tmp_path, config, sidecar):
    path = written(tmp_path / config, RAW)
    written(tmp_path / sidecar, b'{"quantization": {"quant_algo": "NVFP4"}}')
    found = open_source(str(path))
    assert found.quant == {"quantization": {"quant_algo": "NVFP4"}}
    assert not is_sidecar(path)
    assert is_sidecar(tmp_path / sidecar)


def test_a_checkpoint_folder(tmp_path):
    folder = tmp_path / "Tiny-1B"
    folder.mkdir()
    written(folder / "config.json", RAW)
    written(folder / "hf_quant_config.json", b'{"quantization": {}}')
    written(folder / "model.safetensors", safetensors({"w": ("BF16", (3, 4))}))
    written(folder / "other.safetensors", b"")
    found = open_source(str(folder))
    assert (found.kind, found.name) == ("folder", "Tiny-1B")
    assert found.tensors == (Tensor("w", "BF16", (3, 4), 24),)
    assert found.quant == {"quantization": {}}
    assert found.notes == ("not counted: other.safetensors",)


def test_a_folder_without_weights_says_so(tmp_path):
    written(tmp_path / "config.json", RAW)
    found = open_source(str(tmp_path))
    assert found.tensors == ()
    assert found.notes == ("no safetensors weights: nothing to compare with",)


def test_a_snapshot_of_the_hubs_cache_is_named_for_its_repository(tmp_path):
    folder = tmp_path / "models--org--Tiny-1B" / "snapshots" / "0123abcd"
    folder.mkdir(parents=True)
    written(folder / "config.json", RAW)
    assert open_source(str(folder)).name == "Tiny-1B"
    assert open_source(str(folder / "config.json")).name == "Tiny-1B"


def test_tokens_that_are_no_json_are_noted(tmp_path):
    raw = b'{"model_type": "nemotron_h", "time_step_limit": [0.0, Infinity], "auto_map": {}}'
    found = open_source(str(written(tmp_path / "config.json", raw)))
    assert found.config["time_step_limit"] == [0.0, Bare("Infinity")]
    assert found.notes == (
        "time_step_limit[1] is Infinity, which is no JSON; it is not used",
        "auto_map names code of the repository; it is not run",
    )


def tiny_gguf() -> bytes:
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": 1,
        "llama.feed_forward_length": 128,
        "tokenizer.ggml.tokens": ["a", "b", "c"],
    }
    tensors = {
        "token_embd.weight": (8, (3, 64)),
        "blk.0.attn_q.weight": (1, (64, 64)),
        "blk.0.attn_k.weight": (1, (32, 64)),
    }
    return gguf(metadata, tensors)


@pytest.mark.parametrize("name", ["tiny-Q8_0.gguf", "tiny-Q8_0.bin"])
def test_a_gguf_file_by_its_first_bytes(tmp_path, name):
    raw = tiny_gguf()
    found = open_source(str(written(tmp_path / name, raw)))
    assert (found.kind, found.name) == ("gguf", "tiny-Q8_0")
    assert found.origin == f"GGUF header of {name}"
    assert found.config["model_type"] == "llama"
    assert found.config["vocab_size"] == 3
    assert sum(tensor.bytes for tensor in found.tensors) == 3 * 2 * 34 + 64 * 64 * 2 + 32 * 64 * 2
    data = 224 + 64 * 64 * 2 + 32 * 64 * 2  # the embedding is padded to 32
    header = raw[: len(raw) - data].rstrip(b"\0")  # ends with the last offset, 224 + 8192
    assert found.sha256 == hashlib.sha256(header + bytes(6)).hexdigest()


def test_a_folder_without_a_config_says_what_else_it_holds(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: no config.json"
    written(tmp_path / "adapter_config.json", b"{}")
    assert refusal(tmp_path).endswith("it holds an adapter (LoRA), not a model")
    written(tmp_path / "tiny.gguf", tiny_gguf())
    assert refusal(tmp_path).endswith(f"import the file itself: {tmp_path}/tiny.gguf")


def test_what_is_no_source_is_one_line(tmp_path):
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "config.json").mkdir()
    written(tmp_path / "a.safetensors", safetensors({}))
    written(tmp_path / "list.json", b"[]")
    written(tmp_path / "empty.json", b"")
    written(tmp_path / "bom.json", b"\xef\xbb\xbf{}")
    written(tmp_path / "utf16.json", "{}".encode("utf-16"))
    expected = {
        "fifo.json": "not a regular file",
        "loop": "cannot be read",
        "": "config.json: is a folder; expected a config.json",
        "a.safetensors": f"weights without their config.json; import its folder: {tmp_path}",
        "list.json": "a list at the top; expected a JSON object",
        "empty.json": "is empty",
        "bom.json": "starts with a byte order mark",
        "utf16.json": "is not UTF-8 text",
        "nothing.json": "no such file; expected a config.json, a checkpoint folder",
        "x" * 5000: "cannot be read",
        "a\0b": "cannot be read",
        "a\x1b[31m": "\\x1b[31m: no such file",
    }
    for name, message in expected.items():
        assert message in refusal(tmp_path / name)
    with pytest.raises(UsageError):
        open_source(" ")


def test_a_hub_id_is_never_taken_for_granted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        open_source("org/Tiny-1B")
    assert str(caught.value) == (
        "org/Tiny-1B: no such file; for a model of the hub: hub:org/Tiny-1B"
    )


def test_reading_needs_none_of_the_heavy_libraries():
    probe = "import sys, specplan.importers.source; print(*sys.modules)"
    run = [sys.executable, "-c", probe]
    loaded = set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"pydantic", "yaml", "typer", "rich", "numpy", "huggingface_hub"}
