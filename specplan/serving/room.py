"""Where the caches of running sequences lie: a pool of blocks, and what a server runs at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.physics.tokens import FloatArray


@dataclass(frozen=True, slots=True)
class Room:
    """The pool of one replica as its engine counts it, drafter's cache included.

    A sequence is given blocks of `block` tokens, for its own and for those `ahead` that a round may
    write before it knows what is kept. `held_bytes` (N + 1,) is what a sequence with 0..N blocks
    takes of `pool_bytes`. At most `sequences` run at once, and a step carries `step_tokens` at
    most, prompt and verification together.
    """

    pool_bytes: float
    held_bytes: FloatArray
    block: int
    ahead: int
    sequences: int
    step_tokens: int

    def blocks(self, tokens: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Blocks of a sequence that holds `tokens` (any shape), those ahead included."""
        whole = np.ceil((np.asarray(tokens, np.float64) + self.ahead) / self.block)
        return whole.astype(np.int64)

    def bytes_of(self, tokens: npt.ArrayLike) -> FloatArray:
        """Bytes that such a sequence takes; beyond the table as much more as its last block."""
        asked = self.blocks(tokens)
        last = len(self.held_bytes) - 1
        more = np.maximum(asked - last, 0) * (self.held_bytes[-1] - self.held_bytes[-2])
        found: FloatArray = self.held_bytes[np.minimum(asked, last)] + more
        return found

    def fits(self, tokens: float) -> bool:
        """Whether a sequence of so many tokens could run alone."""
        return float(self.bytes_of(tokens)) <= self.pool_bytes
