"""Why a figure that a card states may lie beside the one that its architecture gives."""

from __future__ import annotations

from specplan.domain.architecture import Architecture
from specplan.domain.model import Disagreement, Model

NEAR = 0.01  # of a difference or a ratio that has a name

_USUAL = {
    ("matmul_params", True): "the embedding, an MTP layer or every expert is counted",
    ("matmul_params", False): "the head or a shared expert is left out",
    (
        "stored_params",
        True,
    ): "an MTP layer, a vision tower or block scales are counted",
    ("stored_params", False): "packed weights are counted as they are stored, or parts left out",
    ("kv_bytes_per_token", True): "layers without cache are counted, or query heads for kv_heads",
    ("kv_bytes_per_token", False): "it is of another cache type, or of some of the layers",
}


def likely(model: Model, wrong: Disagreement) -> str:
    """What most likely explains the difference: a cause whose size it has, else the usual ones."""
    shape, above = model.architecture, wrong.relative > 0
    found = None
    if shape is not None:
        found = _cached(shape, wrong) if wrong.key.startswith("kv") else _counted(shape, wrong)
    return found or _USUAL[wrong.key, above]


def _counted(shape: Architecture, wrong: Disagreement) -> str | None:
    """Of a count of parameters."""
    off, wide = wrong.stated - wrong.derived, shape.vocab * shape.hidden
    experts = wrong.key == "matmul_params" and shape.expert_groups
    if experts and _near(wrong.stated, shape.stored_params):
        return "it counts every expert, and not the active ones"
    if _near(abs(off), wide):
        return f"the difference is vocab x hidden, {wide:,}: {_table(shape, wrong)}"
    if _near(wrong.stated, 2 * wrong.derived):
        return "twice as much: bytes in 16 bits, and not parameters"
    return None


def _table(shape: Architecture, wrong: Disagreement) -> str:
    """What a difference of one table of vocab x hidden is."""
    above = wrong.relative > 0
    if wrong.key == "matmul_params":
        return "an embedding is counted" if above else "the head is left out"
    if not above:
        return "tied_embeddings may be true"
    tied = "a tied head is stored twice, or tied_embeddings is false"
    return tied if shape.tied_embeddings else "another table is stored"


def _cached(shape: Architecture, wrong: Disagreement) -> str | None:
    """Of bytes of a token in the cache."""
    ratio = wrong.stated / wrong.derived
    shared = {b.attention.heads / b.attention.kv_heads for b in shape.blocks if b.attention}
    if any(share > 1 and _near(ratio, share) for share in shared):
        return "every query head is counted, and kv_heads share theirs"
    if _near(1 / ratio, shape.layers) and shape.layers > 1:
        return "it is of one layer"
    if _near(ratio, 2):
        return "twice as much: a cache of 32 bits, and this is stated at 16"
    if _near(ratio, 0.5):
        return "half as much: keys alone, or a cache of 8 bits, and this is stated at 16"
    return None


def _near(value: float, named: float) -> bool:
    return abs(value - named) <= NEAR * named
