"""A part of a trace, as people name it: `peak 10 min`, `peak minute`, `0:600` (seconds)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from specplan.errors import SpecplanError, UsageError
from specplan.units import parse_number
from specplan.visible import visible

FORMS: Final = "peak 10 min, peak minute, peak 1 h, or seconds such as 0:600"
_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
_PEAK: Final = re.compile(r"peak(?:[ -]?([0-9.]+) ?|[ -])([a-z]+)", re.ASCII)
_MOST_S: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From `start_s` for `length_s`; without a start, where most requests come in such a time."""

    length_s: float
    start_s: float | None = None
    text: str = ""


def window_of(text: str) -> Window:
    """The window that a text names."""
    written = text.strip().lower()
    peak = _PEAK.fullmatch(written)
    try:
        if peak and peak[2] in _UNITS:
            length_s = parse_number(peak[1] or "1") * _UNITS[peak[2]]
            start_s = None
        else:
            first, colon, last = written.partition(":")
            if not colon:
                raise _not_a_window(text)
            start_s = parse_number(first.strip() or "0")
            length_s = parse_number(last.strip()) - start_s
    except SpecplanError:
        raise _not_a_window(text) from None
    if not 0 < length_s <= _MOST_S or (start_s or 0.0) > _MOST_S:
        what = f"the window '{visible(text, 40)}' has no length"
        raise UsageError(what, expected=FORMS)
    return Window(length_s=length_s, start_s=start_s, text=written)


def _not_a_window(text: str) -> UsageError:
    return UsageError(f"'{visible(text, 40)}' is no window", expected=FORMS)
