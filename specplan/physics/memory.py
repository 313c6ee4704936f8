"""What a drafter costs in memory: sequences that no longer fit.

Ideal form: weights and KV cache against a fixed fraction of what the driver shows; no
activations, graphs or block rounding. Figures are bytes on the fullest GPU. Attention groups share
experts alone: each holds all other weights, and the cache of its own sequences.
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
    """Bytes on the fullest GPU of a setup; `*_sequence_bytes` are for one sequence on a GPU that
    holds it, per context. Of the target's a GPU holds every `groups`-th, of the drafter's all.
    `ahead_sequence_bytes` are the target's for the tokens that a round is ahead of the context:
    with a drafter alone. `other_bytes` are neither weights nor caches, `other_plain_bytes` those
    without the drafter; the ideal form has none. `limits` are the sequences that a part of memory
    divided off leaves room for, without and with the drafter.
    """

    usable_bytes: float
    target_bytes: float
    draft_bytes: float
    target_sequence_bytes: FloatArray
    draft_sequence_bytes: FloatArray
    ahead_sequence_bytes: FloatArray
    groups: int = 1
    other_bytes: float = 0.0
    other_plain_bytes: float = 0.0
    limits: tuple[float, float] = (np.inf, np.inf)

    @property
    def largest_plain(self) -> FloatArray:
        """Largest batch without the drafter, per context; 0 when nothing fits."""
        left_bytes = self.usable_bytes - self.target_bytes - self.other_plain_bytes
        nothing = np.zeros_like(self.draft_sequence_bytes)
        fitting = self._largest(left_bytes, self.target_sequence_bytes, nothing)
        return np.minimum(fitting, self.limits[0])

    @property
    def largest(self) -> FloatArray:
        """Largest batch with the drafter, per context; 0 when nothing fits."""
        left_bytes = self.usable_bytes - self.target_bytes - self.draft_bytes - self.other_bytes
        held = self.target_sequence_bytes + self.ahead_sequence_bytes
        fitting = self._largest(left_bytes, held, self.draft_sequence_bytes)
        return np.minimum(fitting, self.limits[1])

    def needed_bytes(self, batch: npt.ArrayLike, *, drafted: bool) -> FloatArray:
        """Bytes that `batch` sequences need, with or without the drafter."""
        sequences = np.asarray(batch, np.float64)
        held = np.ceil(sequences / self.groups) if self.groups > 1 else sequences
        plain = self.target_bytes + held * self.target_sequence_bytes
        ahead = held * self.ahead_sequence_bytes
        extra = self.draft_bytes + sequences * self.draft_sequence_bytes
        if drafted:
            return plain + ahead + extra + self.other_bytes
        return plain + self.other_plain_bytes

    def _largest(
        self, left_bytes: float, target_sequence_bytes: FloatArray, draft_sequence_bytes: FloatArray
    ) -> FloatArray:
        """Whole sequences in the bytes left: as many in every group, then one more in some groups
        where only the drafter's cache kept all from it. One without cache is priced as one byte.
        """
        together = target_sequence_bytes + self.groups * draft_sequence_bytes
        together = np.maximum(together, 1.0)
        each = np.maximum(np.floor(left_bytes / together), 0.0)
        spare = left_bytes - each * together - target_sequence_bytes
        some = np.floor(spare / np.maximum(draft_sequence_bytes, 1.0))
        largest: FloatArray = self.groups * each + np.clip(some, 0.0, self.groups - 1)
        return largest


def held_weights_bytes(setup: Setup) -> float:
    """Bytes of the target's weights on a GPU: each attention group beyond the first holds once
    more what is no expert.
    """
    weights = setup.target.weights_bytes(setup.dtype)
    weights += (setup.attention_dp - 1) * (weights - setup.target.expert_bytes(setup.dtype))
    return weights / setup.tp


def memory_bill(setup: Setup, context: npt.ArrayLike, slots: float = 0) -> Bill:
    """The bill of a setup over contexts (tokens, any shape).

    With the drafter, every cache also has room for `slots` tokens (0 or more) of each sequence that
    a round is ahead: engines reserve them before they know what is kept. Not rounded to blocks.
    """
    length = np.asarray(context, np.float64)
    target, draft, groups = setup.target, setup.draft.model, setup.attention_dp
    nothing = np.zeros(length.shape)
    kept = kv_bytes(target, length, setup.kv_dtype, setup.tp // groups)
    drafted = length + slots
    return Bill(
        usable_bytes=setup.hardware.memory * USABLE_FRACTION,
        target_bytes=held_weights_bytes(setup),
        draft_bytes=setup.draft.weights_bytes(setup.draft_dtype) / setup.draft_tp,
        target_sequence_bytes=kept,
        draft_sequence_bytes=setup.draft.caches
        * kv_bytes(draft, drafted, setup.kv_dtype, setup.draft_tp)
        if draft and setup.draft.caches
        else nothing,
        ahead_sequence_bytes=kv_bytes(target, drafted, setup.kv_dtype, setup.tp // groups) - kept
        if slots
        else nothing,
        groups=groups,
    )
