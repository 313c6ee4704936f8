"""What a config says, held to what the headers of the weights say: the files are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specplan.domain.card import Dtype
from specplan.domain.model import Model
from specplan.errors import InputError
from specplan.importers.tensor import Stored

CLOSE = 0.005  # of a count: what a checkpoint may lack and still be the model of its config
WIDE = {"F32": Dtype.FP32, "BF16": Dtype.BF16, "F16": Dtype.FP16}
"""Types of weights that are stored one by one."""
_FOURS = ("U8", "I8", "F4")
PACKED = {
    Dtype.FP8: ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"),
    Dtype.INT8: ("I8", "U8", "I32"),
    Dtype.INT4: ("I32", "U8", "I8"),
    Dtype.NVFP4: _FOURS,
    Dtype.MXFP4: _FOURS,
}
"""Types in which files store quantised weights, two or eight to an element where they are packed.
"""


def held_to(card: Model, sums: Sequence[Stored]) -> Model:
    """The card in the type that its files hold. Refused where they lack part of what the config
    describes, or are not quantised as it says.
    """
    most = max(sums, key=lambda each: each.bytes).dtype
    narrow = card.dtype.bytes_per_element < 2
    if narrow and all(each.dtype in WIDE for each in sums):
        raise InputError(
            f"the config says {card.dtype} and every weight is {most}",
            hint="the weights of another checkpoint lie beside this config",
        )
    if narrow:
        _quantised(card, sums)
        return card
    _complete(card, sum(each.elements for each in sums))
    dtype = WIDE.get(most)
    if dtype is None:
        what = f"most weights are {most} and the config says nothing of quantisation"
        raise InputError(what, hint="its hf_quant_config.json or quantization_config is missing")
    if dtype is card.dtype:
        return card
    note = f"The config says {card.dtype} and the weights are stored as {dtype}, which counts."
    return replace(card, dtype=dtype, notes=(*card.notes, note))


def _quantised(card: Model, sums: Sequence[Stored]) -> None:
    """Refuses files without at least half of what the card stores in its type: modules that differ
    from most of their part are counted as it is.
    """
    kept = PACKED.get(card.dtype)
    if kept is None:
        return
    held = sum(each.bytes for each in sums if each.dtype in kept)
    stored = card.weights_as(card.dtype)
    due = sum(weights.params for weights, dtype in stored if dtype is card.dtype)
    bits = 8 if card.dtype in {Dtype.FP8, Dtype.INT8} else 4
    if held < due * bits / 16:
        raise InputError(
            f"the config says {card.dtype} and the files hold {held:,} bytes in types that store "
            f"it, of {due * bits // 8:,}",
            expected=", ".join(kept),
            hint="weights are missing, or are those of another checkpoint",
        )


def _complete(card: Model, elements: int) -> None:
    shape = card.shape
    if shape is not None and elements < (1 - CLOSE) * shape.stored_params:
        raise InputError(
            f"the files hold {elements:,} elements and the config describes "
            f"{shape.stored_params:,}",
            hint="weights are missing, or are those of another model",
        )
