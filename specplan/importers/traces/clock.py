"""When requests came: numbers in a unit, or dates and times with any number of digits.

A stamp without an offset is taken as it stands: no zone is guessed and no clock is set back. Within
one file all stamps have an offset or none has.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Final

UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
EXPECTED: Final = "seconds, or a time such as 2023-11-16 18:17:03.9799600"

_MOST_S: Final = 1e11  # a thousand years, and a century in the unit below
_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2})")
_REST: Final = re.compile(
    r":([0-9]{2}(?:[.,][0-9]{1,18})?) ?(Z|z|([+-])([0-9]{2}):?([0-9]{2}))?\s*"
)
_MINUTE: Final = 16  # characters of 2023-11-16 18:17
_KEPT: Final = 4096


class Clock:
    """Reads the times of one file as seconds since its first one's day; ValueError for others."""

    def __init__(self, unit: str = "s") -> None:
        self._unit_s = UNITS[unit]
        self._minutes: dict[str, int] = {}
        self._origin_s: int | None = None
        self._stamps: bool | None = None
        self._offsets: bool | None = None

    def __call__(self, text: str) -> float:
        """The seconds of one time."""
        if self._stamps is None:
            self._stamps = _DAY.match(text.strip()) is not None
        return self._stamp(text) if self._stamps else self._number(text)

    def _number(self, text: str) -> float:
        value = float(text) * self._unit_s
        if not math.isfinite(value) or "_" in text or not text.isascii():
            raise ValueError("not a finite number")
        if abs(value) > _MOST_S:
            raise ValueError("too far away; is its unit another one, as in arrival=NAME/ms?")
        return value

    def _stamp(self, text: str) -> float:
        minute_s = self._minutes.get(text[:_MINUTE])
        if minute_s is None:
            text = text.lstrip()
            minute_s = self._minute(text[:_MINUTE])
        rest = _REST.fullmatch(text, _MINUTE)
        if rest is None:
            raise ValueError("not a time of day")
        second, offset, sign, hours, minutes = rest.groups()
        second_s = float(second.replace(",", "."))
        if second_s >= 61:  # a leap second is the sixtieth
            raise ValueError("no such second")
        if self._offsets is None:
            self._offsets = offset is not None
        if (offset is not None) is not self._offsets:
            raise ValueError("some times have an offset and others none")
        if sign:
            away_s = 3600 * int(hours) + 60 * int(minutes)
            minute_s += -away_s if sign == "+" else away_s
        return minute_s + second_s

    def _minute(self, text: str) -> int:
        """Whole seconds from the first day to a minute, which many times share."""
        found = _DAY.fullmatch(text)
        if found is None:
            raise ValueError("not a time")
        at = dt.datetime(*map(int, found.groups()), tzinfo=dt.UTC)  # type: ignore[misc, arg-type]
        seconds = int(at.timestamp())
        if self._origin_s is None:
            self._origin_s = seconds
        if len(self._minutes) >= _KEPT:
            self._minutes.clear()
        self._minutes[text] = seconds - self._origin_s
        return seconds - self._origin_s
