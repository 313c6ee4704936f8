"""Foreign configs with figures small enough to count their weights by hand, and their import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specplan.domain.imported import Imported
from specplan.domain.model import Model
from specplan.importers.card import Wish, imported
from specplan.importers.source import Foreign

# Two layers, 8 wide: 4 heads and 2 KV heads of 2 values, a feed-forward of 16, 32 tokens.
SMALL: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 32,
    "torch_dtype": "bfloat16",
}


def small(kind: str = "llama", **changes: Any) -> dict[str, Any]:
    """The small config as another family, with keys changed; a key set to `...` is left out."""
    made = {**SMALL, "model_type": kind, **changes}
    return {key: value for key, value in made.items() if value is not ...}


def foreign(config: Mapping[str, Any], **more: Any) -> Foreign:
    """A config as if it had been read from a file small.json."""
    return Foreign("config", "small", config, "config small.json", "0" * 64, **more)


def made(config: Mapping[str, Any], **wish: Any) -> Imported:
    """What importing a config comes to."""
    return imported(foreign(config), Wish(**wish))


def card(config: Mapping[str, Any], **wish: Any) -> Model:
    """Its card."""
    return made(config, **wish).card


def figures(config: Mapping[str, Any], **wish: Any) -> tuple[int, int, int]:
    """Parameters stored, parameters multiplied, values cached per token."""
    model = card(config, **wish)
    assert model.shape is not None
    cached = sum(group.elements_per_token for group in model.kv_groups)
    return model.shape.stored_params, model.shape.matmul_params, int(cached)


def bases(result: Imported) -> dict[str, tuple[str, str]]:
    """Of each figure its value and where it is from."""
    return {figure: (value, basis) for figure, value, basis in result.derived}
