"""How SGLang divides its memory among kinds of layers: pools of a size that is fixed at the start.

Read in HybridSWAPoolConfigurator (sglang/srt/model_executor/pool_configurator.py) and
_handle_max_mamba_cache (sglang/srt/mem_cache/kv_cache_configurator.py) of 0.5.23, and in
model_runner_kv_cache_mixin.py of 0.5.9 and 0.5.13.
"""

from __future__ import annotations

from typing import NamedTuple

from specplan.domain.pooling import Aside, Layers, Layout, Table

SLIDING = 0.8
"""--swa-full-tokens-ratio: tokens of the sliding layers' pool for each token of the others'."""
STATES = 0.9
"""--mamba-full-memory-ratio: memory of recurrent states over that of keys and values."""


class States(NamedTuple):
    """How a release divides off recurrent states: `slots` for every sequence that runs, those of a
    round's tokens within that part (`joint`) or before it, and `padding` slots of each kind more.
    """

    slots: int = 3
    joint: bool = True
    padding: int = 0

    def aside(self, pool_bytes: float, state_bytes: float, tokens: int, running: int) -> Aside:
        """What is divided off for `running` sequences at most (0: no limit) whose rounds have
        `tokens` tokens.
        """
        part = STATES / (1 + STATES)
        if not self.joint and tokens:
            before = running * tokens * state_bytes
            kept = int(max((pool_bytes - before) * part, 0.0) // state_bytes)
            return Aside(before + kept * state_bytes, min(running, kept // self.slots), kept)
        spare = self.padding * (1 + tokens) * state_bytes
        each = state_bytes * (1 + tokens / self.slots)
        kept = int(max(pool_bytes * part - spare, 0.0) // each)
        run = min(running or kept, kept // self.slots)
        rounds = (run + self.padding) * tokens if tokens else 0
        return Aside((kept + self.padding + rounds) * state_bytes, run, kept)


JOINT = States()
"""As of 0.5.10."""


def divided(target: tuple[Layers, ...], draft_bytes: float, *, apart: bool) -> Layout | None:
    """A pool for layers that see all, and one of `SLIDING` times as many tokens for those that look
    back a window, or where they are not held `apart` one pool for both; `draft_bytes` of the
    drafter for each token of the first. None where all layers are alike.
    """
    sliding = [kind for kind in target if kind.window is not None]
    window_bytes = sum(kind.number * kind.token_bytes for kind in sliding)
    window = max((kind.window or 0 for kind in sliding), default=0)
    whole = sum(kind.number * kind.token_bytes for kind in target) - window_bytes
    if not window or not apart:
        together = whole + window_bytes + draft_bytes
        alike = not window and not any(kind.state_bytes for kind in target)
        return None if alike or not together else Layout(together, 1, (Table(1, 1),))
    if not whole:
        return Layout(window_bytes + draft_bytes, 1, (Table(1, 1, window),))
    unit = whole + draft_bytes + SLIDING * window_bytes
    return Layout(unit, 1, (Table(1, 1), Table(1 / SLIDING, 1, window)), apart=True)
