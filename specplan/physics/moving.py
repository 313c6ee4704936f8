"""Terms that only move bytes: recurrent state, all-reduces, small operations, the sampler."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.physics.tokens import FloatArray
from specplan.physics.work import ACTIVATION_BYTES, Load


class Moving:
    """A term without weights, whose arithmetic is left out: far below its traffic."""

    __slots__ = ()

    @property
    def params(self) -> float:
        """None."""
        return 0.0

    def flops(self, load: Load) -> FloatArray:
        """None that count."""
        return 0.0 * load.rows


@dataclass(frozen=True, slots=True)
class State(Moving):
    """Recurrent state of `count` layers: read and written once for each new token."""

    name: str
    count: int
    state_bytes: float

    @property
    def launches(self) -> float:
        """Convolution, then the recurrence."""
        return 2.0 * self.count

    def traffic_bytes(self, load: Load) -> FloatArray:
        """There and back."""
        return self.count * 2 * self.state_bytes * load.rows


@dataclass(frozen=True, slots=True)
class Exchange(Moving):
    """`count` all-reduces of the hidden state over `gpus`; `groups` attention groups at once."""

    name: str
    count: float
    hidden: int
    gpus: int
    groups: int = 1

    @property
    def launches(self) -> float:
        """One each."""
        return self.count

    def payload_bytes(self, load: Load) -> FloatArray:
        """Of one call."""
        return ACTIVATION_BYTES * self.hidden * self.groups * load.rows

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Payload of all calls."""
        return self.count * self.payload_bytes(load)


@dataclass(frozen=True, slots=True)
class Elementwise(Moving):
    """Norms, rotations, activations: `launches` kernels moving `elements` values per row."""

    name: str
    launches: float
    elements: float

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Values in bf16."""
        return ACTIVATION_BYTES * self.elements * load.rows


@dataclass(frozen=True, slots=True)
class Sample(Moving):
    """Choosing tokens from logits: `passes` sweeps over them in 32 bits; a draft takes one."""

    name: str
    vocab: float
    passes: int
    draft: bool
    launches: float = 6.0

    def traffic_bytes(self, load: Load) -> FloatArray:
        """Logits, there and back."""
        return 4.0 * self.passes * self.vocab * load.rows
