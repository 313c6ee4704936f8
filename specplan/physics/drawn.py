"""What a sequence draws from a pool: units of a layout, or the bytes that its layers keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specplan.domain.accounting import Accounting, Served
from specplan.domain.pooling import Layers, Layout, Table
from specplan.physics.tokens import FloatArray

_LARGEST_BYTES, _HALVINGS = 1e15, 48


def running_units(layout: Layout, tokens: FloatArray, ahead: int) -> FloatArray:
    """Units that a sequence of `tokens` tokens (any shape), those `ahead` included, holds as it
    runs. A window that does not begin with a block reaches into one more.
    """
    return _over(layout, [_held(table, tokens, ahead) for table in layout.tables])


def logged_units(layout: Layout, tokens: FloatArray) -> FloatArray:
    """The same as an engine's log counts them when it starts: a window with all tokens in flight,
    and nothing ahead.
    """
    return _over(layout, [_logged(table, tokens) for table in layout.tables])


def _over(layout: Layout, blocks: list[FloatArray]) -> FloatArray:
    """Units of all tables: their sum, or the most where each has a part of its own."""
    each = [table.units * found for table, found in zip(layout.tables, blocks, strict=True)]
    units: FloatArray = np.max(each, axis=0) if layout.apart else np.sum(each, axis=0)
    return units


def _held(table: Table, tokens: FloatArray, ahead: int) -> FloatArray:
    """Blocks of a table while a sequence runs."""
    if table.states:
        return np.full(tokens.shape, float(table.states))
    blocks: FloatArray = np.ceil(tokens / table.tokens)
    if table.window is None:
        return blocks
    seen = np.ceil((table.window - 1 + ahead) / table.tokens) + table.spare
    held: FloatArray = np.minimum(blocks, seen)
    return held


def _logged(table: Table, tokens: FloatArray) -> FloatArray:
    """Blocks of a table as they are logged."""
    if table.states:
        return np.full(tokens.shape, float(table.states))
    seen = tokens
    if table.window is not None:
        seen = np.minimum(tokens, table.window - 1 + table.flight)
    blocks: FloatArray = np.ceil(seen / table.tokens) + table.spare
    return blocks


def kept_bytes(
    accounting: Accounting, served: Served, layers: tuple[Layers, ...], tokens: npt.ArrayLike
) -> FloatArray:
    """Bytes that layers keep of a sequence of `tokens` tokens (any shape): all, or those of a
    window, and recurrent states.
    """
    length = np.asarray(tokens, np.float64)
    kept = np.zeros(length.shape)
    for kind in layers:
        seen = length
        if kind.window is not None:
            seen = np.minimum(length, accounting.window_tokens(served, kind.window))
        kept = kept + kind.number * kind.token_bytes * seen
        if kind.state_bytes:
            states = accounting.states(served) * accounting.state_bytes(served, kind)
            kept = kept + kind.number * states
    return kept


def pool_for(
    accounting: Accounting, served: Served, state_bytes: float, sequences: float, each_bytes: float
) -> float:
    """The smallest pool (bytes) that holds so many sequences of `each_bytes` beside what is divided
    off it for recurrent states.
    """

    def holds(pool_bytes: float) -> bool:
        aside = accounting.set_aside(served, pool_bytes, state_bytes)
        enough = aside.sequences is None or aside.sequences >= sequences
        return enough and pool_bytes - aside.held_bytes >= sequences * each_bytes

    low, high = 0.0, max(sequences * each_bytes, 1.0)
    while not holds(high):
        if high > _LARGEST_BYTES:  # no pool does: as many never run
            return high
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
