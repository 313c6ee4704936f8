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
    and stamps have told the interval, so that all weigh alike.
    """

    def __init__(self, stated: float | None = None) -> None:
        self._steps = stated
        self._waiting: list[Span] = []
        self._times: dict[str, float] = {}  # when each group printed last
        self._seconds = self._rounds = self._batches = 0.0

    def rounds(
        self, group: str, stamp: float | None, running: float | None, a_second: float
    ) -> float | None:
        """Rounds behind a line of a group, which made so many a second; None if they will be known
        only when more lines have come.
        """
        before, batch = self._times.get(group), max(running or 0.0, 1.0)
        if stamp is None:
            self._steps = self._steps or self._clocked()
        else:
            self._times[group] = stamp
            if self._steps is None and before is not None and 0 <= stamp - before <= FAR:
                self._seconds += stamp - before
                self._rounds += a_second * (stamp - before)
                self._batches += batch
            if self._seconds >= LONG or len(self._waiting) >= MOST:
                self._steps = self._steps or self._clocked()
        return None if self._steps is None else max(self._steps * batch, 1.0)

    def wait(self, span: Span) -> None:
        """Takes a span whose rounds are not known yet."""
        self._waiting.append(span)

    def end(self) -> list[Span]:
        """All that waited, by what is known of the interval."""
        spans, self._waiting = self._waiting, []
        if spans:
            self._steps = self._steps or self._clocked()
        steps = self._steps or INTERVAL
        return [replace(s, weight=max(steps * max(s.running or 0.0, 1.0), 1.0)) for s in spans]

    def _clocked(self) -> float:
        if self._seconds < LONG or not self._rounds:
            return INTERVAL
        steps = self._rounds / self._batches
        return INTERVAL if INTERVAL / NEAR < steps < INTERVAL * NEAR else steps
