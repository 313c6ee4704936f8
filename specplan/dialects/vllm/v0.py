"""V0's totals, in its log and on its /metrics page.

`accepted` counts tokens that the target would have kept one by one, even after one that it did
not (vllm#9565): no share of accepted drafts follows from it. `emitted` counts what came out, the
bonus token included, and every draft has k tokens; so drafts = drafted / k and the drafts
accepted are emitted - drafts. Formats: vllm/engine/metrics.py, vllm/spec_decode/metrics.py.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from specplan.dialects.patterns import DECIMAL, WHOLE
from specplan.domain.capture import Span

_LINE = re.compile(
    rf"System efficiency: ({DECIMAL}), Number of speculative tokens: ({WHOLE}), "
    rf"Number of accepted tokens: [0-9]+, Number of draft tokens(?: tokens)?: ({WHOLE}), "
    rf"Number of emitted tokens(?: tokens)?: ({WHOLE})\."
)
EFFICIENCY_HALF: Final = 0.0005


class Totals:
    """The last totals of one process; `restarted` if the newest were below those before."""

    def __init__(self) -> None:
        self.restarted = False
        self._drafted = self._emitted = 0

    def difference(self, line: str, span: Span) -> Span | None:
        """What happened since the line before; None if the line is cut off."""
        match = _LINE.search(line)
        if not match or not int(match[2]):
            return None
        efficiency, k = float(match[1]), int(match[2])
        drafted, emitted = int(match[3]), int(match[4])
        if drafted < self._drafted or emitted < self._emitted:
            self.restarted = True
            self._drafted = self._emitted = 0
        is_first = not self._drafted
        drafts = (drafted - self._drafted) / k
        tokens = emitted - self._emitted
        self._drafted, self._emitted = drafted, emitted
        # the efficiency is of the totals, so only the first line's can be held against these
        tau = ("tau", efficiency * (k + 1), EFFICIENCY_HALF * (k + 1))
        return replace(
            span,
            drafts=drafts,
            drafted=drafts * k,
            accepted=tokens - drafts,
            stated=(tau,) if is_first and drafts else (),
            k=k,
        )
