"""What a checkpoint's header says of its tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tensor:
    """A stored tensor: `dtype` as its file names it, `shape` outermost first, `bytes` on disk.

    Packed weights (two 4-bit values in a U8) stand as they are stored, scales as tensors of theirs.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """The elements of its stored dtype."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Stored:
    """All tensors of one stored dtype together."""

    dtype: str
    tensors: int
    elements: int
    bytes: int


def stored(tensors: Iterable[Tensor]) -> tuple[Stored, ...]:
    """Exact counts per stored dtype, most bytes first."""
    sums: dict[str, tuple[int, int, int]] = {}
    for tensor in tensors:
        count, elements, size = sums.get(tensor.dtype, (0, 0, 0))
        sums[tensor.dtype] = (count + 1, elements + tensor.elements, size + tensor.bytes)
    each = (Stored(dtype, *numbers) for dtype, numbers in sums.items())
    return tuple(sorted(each, key=lambda s: (-s.bytes, s.dtype)))
