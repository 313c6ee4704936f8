"""Requests as they are read, kept as plain arrays, and the trace that they make in the end."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Final

from specplan.domain.lengths import MOST_TOKENS
from specplan.domain.traffic import Trace
from specplan.errors import InputError
from specplan.importers.traces.lines import Lines
from specplan.opening import place
from specplan.visible import visible

MAX_ROWS: Final = 20_000_000
_SHOWN: Final = 40
_KEPT: Final = 100_000  # texts of tokens


class Rows:
    """The requests of one file so far; those without a prompt or an output are counted alone."""

    def __init__(self, lines: Lines, form: str, *, timed: bool = True, hits: bool = False) -> None:
        self.lines = lines
        self.form = form
        self.arrival_s = array("d")
        self.isl = array("q")
        self.osl = array("q")
        self.hit = array("q")
        self.order: list[int] = []
        self._timed = timed
        self._hits = hits
        self._silent = 0
        self._empty = 0

    def take(self, arrival_s: float, isl: int, osl: int, hit: int = 0) -> bool:
        """Takes one request; False where it is left out."""
        if osl < 1:
            self._silent += 1
            return False
        if isl < 1:
            self._empty += 1
            return False
        if len(self.isl) >= MAX_ROWS:
            what = f"more than {MAX_ROWS:,} requests"
            raise InputError(what, where=self.lines.where(), hint="cut it into parts")
        if self._timed:
            self.arrival_s.append(arrival_s)
        if self._hits:
            self.hit.append(min(hit, isl))
        self.isl.append(isl)
        self.osl.append(osl)
        return True

    def trace(self) -> Trace:
        """The requests in order of arrival, the first at 0."""
        dropped = list(self._left_out())
        if not self.isl:
            where = place(self.lines.path)
            what = "holds no requests" if not dropped else f"holds no requests: {dropped[0]}"
            raise InputError(what, where=where)
        if self._timed and self._sorted():
            dropped.append("the rows were not in order of arrival; they were sorted")
        start_s = self.arrival_s[0] if self.arrival_s else 0.0
        return Trace(
            arrival_s=array("d", (at - start_s for at in self.arrival_s)),
            isl=self.isl,
            osl=self.osl,
            hit=self.hit,
            form=self.form,
            source=str(place(self.lines.path)),
            dropped=tuple(dropped),
        )

    def _left_out(self) -> list[str]:
        read = len(self.isl) + self._silent + self._empty
        pairs = ((self._silent, "no output tokens"), (self._empty, "an output and no prompt"))
        return [f"{n:,} of {read:,} rows have {what}; left out" for n, what in pairs if n]

    def _sorted(self) -> bool:
        """Puts the rows in order; whether they were not. `order` is then where each one stood."""
        times = self.arrival_s
        if all(earlier <= later for earlier, later in pairwise(times)):
            return False
        self.order = sorted(range(len(times)), key=times.__getitem__)
        for name in ("arrival_s", "isl", "osl", "hit"):
            kept: array[float] = getattr(self, name)
            if kept:
                setattr(self, name, array(kept.typecode, (kept[i] for i in self.order)))
        return True


def tokens(text: str) -> int:
    """A count of tokens: whole, not negative; 374.0 is 374. ValueError for others."""
    if text.isdigit() and text.isascii() and len(text) <= 9:
        value = int(text)
    else:
        number = float(text)
        if number < 0:
            raise ValueError("negative")
        if not number.is_integer() or "_" in text or not text.isascii():
            raise ValueError("not a whole number")
        value = int(number)
    if value > MOST_TOKENS:
        raise ValueError(f"more than {MOST_TOKENS:,}")
    return value


class Counted(dict[str, int]):
    """What texts of tokens are worth, read once each: lengths repeat."""

    def __missing__(self, text: str) -> int:
        value = tokens(text)
        if len(self) < _KEPT:
            self[text] = value
        return value


def wrong(name: str, text: str, error: ValueError | OverflowError, expected: str) -> InputError:
    """The error for a value that is none; whoever knows the place adds it."""
    shown = visible(text, _SHOWN)
    reason = str(error)
    told = "" if "could not convert" in reason or "cannot convert" in reason else f": {reason}"
    return InputError(f"{name} is '{shown}'{told}", expected=expected)
