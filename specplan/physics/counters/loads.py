"""Acceptance and throughput by how many requests were running, where a source tells both."""

from __future__ import annotations

import math

from specplan.domain.capture import AtLoad, Span


class Loads:
    """Sums by powers of two of the batch: 1, 2-3, 4-7, ..."""

    def __init__(self) -> None:
        self._by_step: dict[int, list[float]] = {}

    def add(self, span: Span, rounds: float, accepted: float) -> None:
        """Adds a span of so many rounds."""
        running = span.running
        if running is None or not 1 <= running < math.inf:
            return
        sums = self._by_step.setdefault(int(math.log2(running)), [0.0] * 5)
        flow = span.tokens_per_s
        timed = rounds if flow is not None and math.isfinite(flow) else 0.0
        for place, more in enumerate(
            (rounds, accepted, rounds * running, timed, timed * (flow or 0.0) if timed else 0.0)
        ):
            sums[place] += more

    def seen(self) -> tuple[AtLoad, ...]:
        """What was seen at each load, the smallest first."""
        found = []
        for step, (rounds, accepted, running, timed, flow) in sorted(self._by_step.items()):
            if rounds:
                found.append(
                    AtLoad(
                        batch_low=2.0**step,
                        batch_high=2.0 ** (step + 1) - 1,
                        batch=running / rounds,
                        rounds=rounds,
                        tokens_per_round=1 + accepted / rounds,
                        tokens_per_s=flow / timed if timed else None,
                    )
                )
        return tuple(found)
