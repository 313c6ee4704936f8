"""A pace for a loop in plain Python: lists and straight lines, which cost less than array calls."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from specplan.serving.pace import Pace, Prompts
from specplan.serving.policy import Policy

Line = tuple[float, float]
"""Seconds of a step = first + second times the mean context."""


@dataclass(slots=True)
class _Beside:
    """`Prompts` as lists."""

    rows: list[float]
    wide_s: list[float]
    context: list[float]
    attend_s: list[float]

    @classmethod
    def of(cls, prompts: Prompts) -> _Beside:
        arrays = (prompts.rows, prompts.wide_s, prompts.context, prompts.attend_s)
        return cls(*(np.asarray(array, np.float64).tolist() for array in arrays))

    def at(self, before: float, new: float, attended: float) -> float:
        more_s = self._of(before + new) - self._of(before)
        return more_s + new * _between(self.context, self.attend_s, attended)

    def _of(self, rows: float) -> float:
        place = bisect_left(self.rows, rows - 1e-9)
        return self.wide_s[min(place, len(self.rows) - 1)]


class Clock:
    """Times of the steps of a replica under its policy: the same as `Pace` tells, call by call.

    `ends` are the contexts at which one line ends and the next begins; `lines[k][batch - 1]` has a
    line for each range between them.
    """

    def __init__(self, pace: Pace, policy: Policy) -> None:
        self.ends: list[float] = [*pace.context[1:].tolist(), float("inf")]
        self.lines: dict[int, list[list[Line]]] = {}
        for i, k in enumerate(pace.k):
            table = pace.round_s[i] * (1 + policy.tax if k == 0 and policy.drafts else 1)
            slope = np.diff(table, axis=1) / np.diff(pace.context)
            start = table[:, :-1] - slope * pace.context[:-1]
            start = np.concatenate((start, table[:, -1:]), axis=1)
            slope = np.concatenate((slope, np.zeros((len(table), 1))), axis=1)
            rows = zip(start.tolist(), slope.tolist(), strict=True)
            self.lines[k] = [list(zip(*row, strict=True)) for row in rows]
        self.width = {k: float(width) for k, width in zip(pace.k, pace.width, strict=True)}
        self._groups = pace.groups
        self._models = [_Beside.of(prompts) for prompts in (pace.target, pace.draft) if prompts]
        self._last_s = pace.target.last_s
        self._idle_s, self._hidden = pace.idle_s, pace.host_hidden

    def round_s(self, k: int, batch: int, context: float) -> float:
        """Seconds of a round of a batch whose sequences have `context` tokens on average."""
        start, slope = self.lines[k][batch - 1][bisect_right(self.ends, context)]
        return start + slope * context

    def prompt_s(self, rows: float, prompt: int, attended: float) -> float:
        """Seconds that prompt tokens add to a step that verifies so many rows."""
        before, new = rows / self._groups, prompt / self._groups
        found = sum(model.at(before, new, attended) for model in self._models)
        if rows:
            return found
        waits = max(self._idle_s - found, 0.0) if self._hidden else self._idle_s
        return found + self._last_s + waits


def _between(x: list[float], y: list[float], at: float) -> float:
    """As numpy.interp."""
    right = bisect_right(x, at)
    if right == len(x):
        return y[-1]
    if right == 0:
        return y[0]
    left = right - 1
    return y[left] + (y[right] - y[left]) * (at - x[left]) / (x[right] - x[left])
