"""How many rounds lie behind a line of SGLang's log: decode steps between lines times the batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from specplan.domain.capture import Span

INTERVAL: Final = 40.0  # --decode-log-interval, unless the server says otherwise
FAR: Final = 10.0  # seconds: a longer gap between lines may hold idle time
LONG: Final = 20.0  # seconds of gaps that tell the interval
MOST: Final = 256  # lines that wait for it
NEAR: Final = 1.5  # from the usual interval, clocks of whole seconds do not tell another


class Clock:
    """Gives lines their rounds. Without a word of the server's, the first wait until throughput
    and stamps have told the interval, so that all weigh alike: `speed` x gap / `length` rounds ran
    between two stamps.
    """

    def __init__(self, stated: float | None = None) -> None:
        self._steps = stated
        self._waiting: list[Span] = []
        self._times: dict[str, float] = {}  # when each group printed last
        self._seconds = self._rounds = self._batches = 0.0

    def take(self, span: Span, stamp: float | None) -> list[Span]:
        """The spans whose rounds are known now, this one among them or not yet."""
        before = self._times.get(span.group)
        if stamp is not None:
            self._times[span.group] = stamp
            if before is not None and 0 <= stamp - before <= FAR and span.tokens_per_s:
                gap = stamp - before
                self._seconds += gap
                self._rounds += span.tokens_per_s * gap / (span.tau or 1.0)
                self._batches += _batch(span)
        self._waiting.append(span)
        enough = self._seconds >= LONG or len(self._waiting) >= MOST
        return self.end() if self._steps or stamp is None or enough else []

    def end(self) -> list[Span]:
        """All that wait, by what is known of the interval."""
        self._steps = self._steps or self._clocked()
        spans, self._waiting = self._waiting, []
        return [replace(span, weight=max(self._steps * _batch(span), 1.0)) for span in spans]

    def _clocked(self) -> float:
        if self._seconds < LONG or not self._batches:
            return INTERVAL
        steps = self._rounds / self._batches
        return INTERVAL if INTERVAL / NEAR < steps < INTERVAL * NEAR else steps


def _batch(span: Span) -> float:
    return max(span.running or 0.0, 1.0)
