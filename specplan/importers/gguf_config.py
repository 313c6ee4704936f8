"""A GGUF header in the words of a Hugging Face config.json, so that one reader serves both.

Architectures whose keys do not say everything are refused by name, and a header that contradicts
its own tensors is too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from specplan.errors import InputError, Refused
from specplan.importers.gguf import Header
from specplan.importers.gguf_families import FAMILIES, Config
from specplan.importers.gguf_keys import HINT, Keys
from specplan.importers.gguf_values import Items
from specplan.opening import place
from specplan.visible import visible

_BLOCK = re.compile(r"blk\.(\d+)\.")

_OTHER_FILES: Final = {
    "adapter": "an adapter (LoRA), not a model",
    "mmproj": "a projector for images or sound, not a language model",
    "imatrix": "an importance matrix, not a model",
}
_OTHERS: Final = {
    "clip": _OTHER_FILES["mmproj"],
    "eagle3": "a drafter head without its target's embedding",
    "dflash": "a drafter head without its target's embedding",
    "llama4": "chunked attention and interleaved experts are not in its header",
    "deci": "layers differ, some without attention",
    "gemma3n": "its layers share caches and carry per-layer embeddings",
    "gemma4": "its layers differ in head size and share caches",
    "qwen3next": "its linear attention keeps a state per sequence",
    "qwen35": "its linear attention keeps a state per sequence",
    "qwen35moe": "its linear attention keeps a state per sequence",
    "mamba": "a state-space model",
    "mamba2": "a state-space model",
    "t5": "an encoder-decoder",
    "bert": "an encoder",
}
"""Why an architecture that is known is not read."""


def as_config(header: Header, path: Path) -> Config:
    """The model's figures under the keys of a config.json; the path is for messages."""
    arch = _architecture(header, path)
    keys = Keys(header, arch, path)
    heads, hidden = keys.whole("attention.head_count"), keys.whole("embedding_length")
    blocks, draft_blocks = keys.whole("block_count"), keys.maybe("nextn_predict_layers") or 0
    config: Config = {
        "hidden_size": hidden,
        "num_hidden_layers": blocks - draft_blocks,
        "num_attention_heads": heads,
        "vocab_size": _vocabulary(keys, hidden),
        "tie_word_embeddings": "output.weight" not in keys.shapes,
    }
    _optional(config, "max_position_embeddings", keys.maybe("context_length"))
    _optional(config, "intermediate_size", keys.maybe("feed_forward_length"))
    if arch != "deepseek2":
        config |= _heads(keys, heads, hidden)
    _complete(keys, blocks)
    _feed(keys)
    config |= FAMILIES[arch](keys)
    return config


def remarks(header: Header) -> tuple[str, ...]:
    """What a reader of the config should know about the file it comes from."""
    names = {tensor.name for tensor in header.tensors}
    found: list[str] = []
    if header.metadata.get("general.architecture") == "llama":
        found.append("GGUF calls Mistral models llama too and keeps no sliding window for them")
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    rows = next((t.shape[0] for t in header.tensors if t.name == "token_embd.weight"), 0)
    if isinstance(tokens, Items) and tokens.length != rows:
        found.append(f"the tokenizer has {tokens.length} tokens, the embedding {rows} rows")
    if any(name.startswith("rope_f") for name in names):
        found.append("rope_* tensors are tables, not weights; they are counted as stored")
    if any(name.endswith("attn_kv_b.weight") for name in names) and any(
        name.endswith("attn_k_b.weight") for name in names
    ):
        found.append("kv_b is stored twice, whole and split")
    return tuple(found)


def _architecture(header: Header, path: Path) -> str:
    kind = header.metadata.get("general.type", "model")
    if kind in _OTHER_FILES:
        raise Refused(f"is {_OTHER_FILES[str(kind)]}", where=place(path))
    arch = header.metadata.get("general.architecture")
    if not isinstance(arch, str):
        raise InputError("general.architecture is missing", where=place(path))
    if arch not in FAMILIES:
        shown = f"GGUF architecture '{visible(arch, 40)}'"
        why = f"{shown}: {_OTHERS[arch]}" if arch in _OTHERS else f"{shown} is not read"
        known = ", ".join(sorted(FAMILIES))
        raise Refused(why, where=place(path), expected=f"one of {known}", hint=HINT)
    return arch


def _vocabulary(keys: Keys, hidden: int) -> int:
    """Rows of the embedding as stored: padding included, what the converter cut off excluded."""
    shape = keys.shapes.get("token_embd.weight")
    if shape is None:
        raise keys.refused("token_embd.weight is missing")
    if len(shape) != 2 or shape[1] != hidden:
        what = f"token_embd.weight is {list(shape)} and {keys.arch}.embedding_length {hidden}"
        raise InputError(what, where=place(keys.path))
    return shape[0]


def _heads(keys: Keys, heads: int, hidden: int) -> Config:
    """Heads and their size; the projections must have that many rows in every layer."""
    kv_heads = keys.maybe("attention.head_count_kv")
    kv_heads = heads if kv_heads is None else kv_heads
    size = keys.maybe("attention.key_length")
    if size is None:
        if not heads or hidden % heads:
            raise keys.refused(f"{keys.arch}.attention.key_length is missing")
        size = hidden // heads
    if keys.maybe("attention.value_length") not in {None, size}:
        raise keys.refused("keys and values differ in length")
    for name, count in (("attn_q.weight", heads), ("attn_k.weight", kv_heads)):
        _held(keys, name, (None, count * size, None), f"{count} heads of {size}")
    return {"num_key_value_heads": kv_heads, "head_dim": size}


def _feed(keys: Keys) -> None:
    """The feed-forward and the experts must be as wide, and as many, as the header says."""
    width = keys.maybe("feed_forward_length") or None
    narrow = keys.maybe("expert_feed_forward_length") or None
    count = keys.maybe("expert_count") or None
    says = f"a feed-forward of {width}"
    # Phi-3 stores gate and up in one tensor.
    fused = keys.arch == "phi3" and not keys.has("ffn_gate.weight")
    whole = 2 * width if width and fused else width
    _held(keys, "ffn_up.weight", (None, whole, None), says)
    _held(keys, "ffn_gate.weight", (None, width, None), says)
    _held(keys, "ffn_down.weight", (None, None, width), says)
    one = narrow or (width if keys.arch == "llama" else None)
    says = f"{count} experts" + (f" of {one}" if one else "")
    _held(keys, "ffn_up_exps.weight", (count, one, None), says)
    _held(keys, "ffn_gate_exps.weight", (count, one, None), says)
    _held(keys, "ffn_down_exps.weight", (count, None, one), says)
    _held(keys, "ffn_gate_inp.weight", (None, count, None), says)


def _held(
    keys: Keys, name: str, sizes: tuple[int | None, int | None, int | None], says: str
) -> None:
    """Refuses a tensor of any layer whose matrices, rows or columns are not these (None: any)."""
    for tensor, shape in keys.shapes.items():
        if not tensor.endswith(f".{name}"):
            continue
        found = (None,) * (3 - len(shape)) + shape if len(shape) <= 3 else shape
        for what, due, size in zip(("matrices", "rows", "columns"), sizes, found, strict=False):
            if due is not None and size != due:
                shown = f"{visible(tensor, 80)} has {size or 0} {what}"
                raise InputError(shown, where=place(keys.path), expected=says)


def _complete(keys: Keys, blocks: int) -> None:
    found = {int(match[1]) for name in keys.shapes if (match := _BLOCK.match(name))}
    if len(found) != blocks or (blocks and max(found) >= blocks):
        what = f"holds tensors of {len(found)} layers and announces {blocks}"
        raise InputError(what, where=place(keys.path))


def _optional(config: Config, key: str, value: int | None) -> None:
    if value is not None:
        config[key] = value
