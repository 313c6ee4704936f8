"""What a drafter costs in memory: sequences that no longer fit.

Ideal form: weights and KV cache against a fixed fraction of what the driver shows; no
activations, graphs or block rounding. Figures are bytes on the fullest GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.scenario import Setup
from specplan.physics.roofline import kv_bytes
from specplan.physics.tokens import FloatArray

USABLE_FRACTION = 0.9  # of the memory shown, the share that serving engines fill by default


@dataclass(frozen=True, slots=True)
class Bill:
    """Bytes on the fullest GPU of a setup; `*_sequence_bytes` are for one sequence, per context."""

    usable_bytes: float
    target_bytes: float
    draft_bytes: float
    target_sequence_bytes: FloatArray
    draft_sequence_bytes: FloatArray

    @property
    def largest_plain(self) -> FloatArray:
        """Largest batch without the drafter, per context; 0 when nothing fits."""
        return _largest(self.usable_bytes - self.target_bytes, self.target_sequence_bytes)

    @property
    def largest(self) -> FloatArray:
        """Largest batch with the drafter, per context; 0 when nothing fits."""
        sequence = self.target_sequence_bytes + self.draft_sequence_bytes
        return _largest(self.usable_bytes - self.target_bytes - self.draft_bytes, sequence)

    def needed_bytes(self, batch: npt.ArrayLike, *, drafted: bool) -> FloatArray:
        """Bytes that `batch` sequences need, with or without the drafter."""
        sequences = np.asarray(batch, np.float64)
        plain = self.target_bytes + sequences * self.target_sequence_bytes
        extra = self.draft_bytes + sequences * self.draft_sequence_bytes
        return plain + extra if drafted else plain


def _largest(left_bytes: float, sequence_bytes: FloatArray) -> FloatArray:
    """Whole sequences in the bytes left; a sequence without cache is priced as one byte."""
    return np.maximum(np.floor(left_bytes / np.maximum(sequence_bytes, 1.0)), 0.0)


def memory_bill(setup: Setup, context: npt.ArrayLike) -> Bill:
    """The bill of a setup over contexts (tokens, any shape)."""
    length = np.asarray(context, np.float64)
    draft = setup.draft.model
    nothing = np.zeros(length.shape)
    return Bill(
        usable_bytes=setup.hardware.memory * USABLE_FRACTION,
        target_bytes=setup.target.resident_params * setup.dtype.bytes_per_element / setup.tp,
        draft_bytes=setup.draft.weights_bytes(setup.draft_dtype) / setup.draft_tp,
        target_sequence_bytes=kv_bytes(setup.target, length, setup.kv_dtype, setup.tp),
        draft_sequence_bytes=kv_bytes(draft, length, setup.kv_dtype, setup.draft_tp)
        if draft
        else nothing,
    )
