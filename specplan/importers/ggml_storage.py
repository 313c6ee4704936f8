"""How a GGUF file stores its weights, in the catalogue's types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from specplan.domain.card import Dtype
from specplan.domain.layers import Part
from specplan.domain.model import UNQUANTISED
from specplan.importers.ggml import KINDS
from specplan.importers.quantised import Storage
from specplan.importers.tensor import Tensor

NAMED = {
    "F32": Dtype.FP32,
    "F16": Dtype.FP16,
    "BF16": Dtype.BF16,
    "Q8_0": Dtype.INT8,
    "Q4_0": Dtype.INT4,
    "Q4_K": Dtype.INT4,
    "MXFP4": Dtype.MXFP4,
    "NVFP4": Dtype.NVFP4,
}
NEAREST = (Dtype.INT4, Dtype.INT8, Dtype.BF16, Dtype.FP32)
# Tensors of a layer by part; the first that matches counts.
PARTS: tuple[tuple[re.Pattern[str], Part], ...] = tuple(
    (re.compile(pattern), part)
    for pattern, part in (
        (r"token_embd\.", Part.EMBEDDING),
        (r"output\.", Part.HEAD),
        (r"blk\.\d+\.ffn_gate_inp", Part.ROUTER),
        (r"blk\.\d+\.ffn_\w+_exps\.", Part.EXPERTS),
        (r"blk\.\d+\.ffn_\w+_shexp\.", Part.SHARED),
        (r"blk\.\d+\.ffn_(gate|up|down)\.", Part.MLP),
        (r"blk\.\d+\.attn_(q|k|v|qkv|output|kv|k_b|v_b)", Part.ATTENTION),
    )
)


def gguf_storage(tensors: Sequence[Tensor]) -> Storage:
    """Each part in the type of most of its bytes. A type without a name here (5 or 6 bits) is the
    nearest that has one, which is said; the bytes of the file are exact beside it.
    """
    weights = [tensor for tensor in tensors if len(tensor.shape) > 1]
    whole = _most(weights)
    by_part = {part: _most(ts) for part, ts in _parted(weights).items()}
    dtype = _dtype(whole)
    parts = {
        part: _dtype(kind)
        for part, kind in by_part.items()
        if _dtype(kind) is not dtype or (part in UNQUANTISED and dtype.bytes_per_element < 2)
    }
    used = sorted({whole, *by_part.values()})
    notes = [
        f"{kind} holds {_bits(kind):.3g} bits a weight and is taken as {_dtype(kind)}"
        for kind in used
        if kind not in NAMED or abs(_bits(kind) / 8 - NAMED[kind].bytes_per_element) > 1e-9
    ]
    return Storage(
        dtype=dtype,
        parts=parts,
        by_layer=(),
        kv_dtype=None,
        basis=f"{whole}, the type of most of its weights",
        notes=tuple(notes),
    )


def _parted(tensors: Iterable[Tensor]) -> dict[Part, list[Tensor]]:
    found: dict[Part, list[Tensor]] = {}
    for tensor in tensors:
        part = next((p for pattern, p in PARTS if pattern.match(tensor.name)), None)
        if part is not None:
            found.setdefault(part, []).append(tensor)
    return found


def _most(tensors: Iterable[Tensor]) -> str:
    """The type that most bytes are stored in."""
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        sizes[tensor.dtype] += tensor.bytes
    return sizes.most_common(1)[0][0] if sizes else "F16"


def _bits(name: str) -> float:
    """Bits of one element, scales included."""
    kind = next(kind for kind in KINDS.values() if kind.name == name)
    return 8 * kind.bytes / kind.elements


def _dtype(name: str) -> Dtype:
    if name in NAMED:
        return NAMED[name]
    return min(NEAREST, key=lambda dtype: abs(_bits(name) - 8 * dtype.bytes_per_element))
