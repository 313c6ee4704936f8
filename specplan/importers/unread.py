"""Keys that change what layers hold, in a config whose family reads none of them.

A fork under the name of its parent, or a class that grew, would otherwise be counted as what it
no longer is.
"""

from __future__ import annotations

from typing import Final

from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.shape import EXPERTS

TELLING: Final = (
    (EXPERTS, "experts"),
    (("kv_lora_rank",), "latent attention"),
    (("index_topk", "index_n_heads"), "attention that an indexer makes sparse"),
    (("compress_ratios",), "compressed attention"),
    (("block_configs",), "layers of different shapes"),
    (("hybrid_override_pattern", "layers_block_type", "attn_layer_period"), "other mixers"),
    (("linear_num_value_heads", "linear_attn_config"), "linear attention"),
    (("mamba_num_heads", "mamba_d_state", "ssm_state_size"), "state-space mixers"),
    (("cross_attention_layers",), "cross-attention"),
    (("hidden_size_per_layer_input",), "an embedding for every layer"),
    (("num_kv_shared_layers",), "layers that share a cache"),
)
"""Keys by what they add; a family that reads one of a group has read them all."""

PLAIN: Final = frozenset({"attention", "full_attention", "deepseek_sparse_attention"})


def refuse_unread(keys: Keys, kind: str) -> None:
    """Refuses a config that states more than its family knows."""
    for group, adds in TELLING:
        stated = next((name for name in group if keys.data.get(name)), None)
        if stated is not None and not keys.asked.intersection(group):
            raise InputError(
                f"{keys.prefix}{stated}: {adds}, which models of type {kind} do not have",
                hint="a fork under the name of its parent is not modelled",
            )
    if "layer_types" in keys.asked:
        return
    for word in keys.items("layer_types") or ():
        if not isinstance(word, str) or word not in PLAIN:
            expected = f"full_attention, as all layers of type {kind} are"
            raise keys.wrong("layer_types", word, expected)
