"""Why a stated figure differs from a derived one: each cause is known by its size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.agreement import likely
from specplan.domain.architecture import Architecture
from specplan.domain.card import Source
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import Model

ATTENTION = Attention(heads=8, kv_heads=2, head_dim=16)
TIED = Architecture(
    hidden=64,
    vocab=1000,
    tied_embeddings=True,
    blocks=(Block(repeat=4, attention=ATTENTION, mlp=Mlp(width=256)),),
)
UNTIED = replace(TIED, tied_embeddings=False)
SPARSE = replace(
    TIED,
    blocks=(Block(repeat=4, attention=ATTENTION, experts=Experts(experts=8, active=2, width=256)),),
)
TABLE = 64_000
KV = 4 * 2 * (16 + 16) * 2  # layers, heads, keys and values, bytes


def cause(shape: Architecture, **stated: float) -> str:
    """What is said of the one figure that disagrees."""
    card = Model(
        schema="model/1",
        name="lm",
        title="A model",
        family="acme",
        architecture=shape,
        sources=(Source(of=("architecture",), kind="config", cite="config.json"),),
        **stated,
    )
    (wrong,) = card.disagreements()
    return likely(card, wrong)


@pytest.mark.parametrize(
    ("shape", "stated", "said"),
    [
        (TIED, {"stored_params": TIED.stored_params + TABLE}, "a tied head is stored twice"),
        (UNTIED, {"stored_params": UNTIED.stored_params + TABLE}, "another table is stored"),
        (UNTIED, {"stored_params": UNTIED.stored_params - TABLE}, "tied_embeddings may be true"),
        (TIED, {"stored_params": TIED.stored_params * 2.0}, "bytes in 16 bits"),
        (TIED, {"stored_params": TIED.stored_params * 1.1}, "an MTP layer, a vision tower"),
        (TIED, {"stored_params": TIED.stored_params * 0.6}, "packed weights"),
        (UNTIED, {"matmul_params": UNTIED.matmul_params + TABLE}, "an embedding is counted"),
        (TIED, {"matmul_params": TIED.matmul_params - TABLE}, "the head is left out"),
        (TIED, {"matmul_params": TIED.matmul_params + TABLE}, "an embedding is counted"),
        (SPARSE, {"matmul_params": float(SPARSE.stored_params)}, "every expert, and not the act"),
        (TIED, {"kv_bytes_per_token": KV * 4.0}, "every query head is counted"),
        (TIED, {"kv_bytes_per_token": KV * 2.0}, "a cache of 32 bits"),
        (TIED, {"kv_bytes_per_token": KV / 2.0}, "keys alone, or a cache of 8 bits"),
        (TIED, {"kv_bytes_per_token": KV / 4.0}, "it is of one layer"),
        (TIED, {"kv_bytes_per_token": KV * 0.8}, "another cache type"),
    ],
)
def test_causes(shape, stated, said):
    assert said in cause(shape, **stated)
