"""Everything that can go wrong, as one tree; each error is one line for people and one exit code.

SpecplanError               exit 2
├── UsageError              a flag, or flags that contradict each other
├── InputError              a file: card, plan, capture
│   └── Misfit              values that are fine one by one and not together
├── UnknownName             no such card, column, rule or format; says what is near
├── Refused                 the question has no honest answer with these figures
│   └── Unfit               exit 1: it has one, and it is no: nothing fits in memory
└── OutputError             exit 3: an answer could not be written
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Where(NamedTuple):
    """Where a value came from: a place in a file, or (line 0) the option that carried it."""

    name: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}" if self.line else self.name


class SpecplanError(Exception):
    """One line: where; what is wrong; what was expected; what to do."""

    exit_code = 2

    def __init__(
        self, what: str, *, where: Where | None = None, expected: str = "", hint: str = ""
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.said}" if self.where else self.said

    @property
    def said(self) -> str:
        """The line without its place, for whoever has said that already."""
        expected = f"expected {self.expected}" if self.expected else ""
        return "; ".join(part for part in (self.what, expected, self.hint) if part)


class UsageError(SpecplanError):
    """The command line asks for something that cannot be."""


class InputError(SpecplanError):
    """A file cannot be read as what it should be."""


class Misfit(InputError, ValueError):
    """What a record says does not fit together. `key` leads from the record to the value at fault;
    as a ValueError it reaches whoever builds the record from a file, who knows the place.
    """

    def __init__(
        self, what: str, *, key: tuple[str | int, ...] = (), expected: str = "", hint: str = ""
    ) -> None:
        super().__init__(what, expected=expected, hint=hint)
        self.key = key


class UnknownName(SpecplanError):
    """A name that nothing answers to."""


class Refused(SpecplanError):
    """The figures at hand allow no answer: a missing rate, a drafter that cannot be priced."""


class Unfit(Refused):
    """The answer is no: the workload does not fit, and there is nothing to show."""

    exit_code = 1


class OutputError(SpecplanError):
    """An answer was computed and could not be written."""

    exit_code = 3


@contextmanager
def placed(where: Where) -> Iterator[None]:
    """Gives errors raised inside a place, unless they know a better one."""
    try:
        yield
    except SpecplanError as error:
        error.where = error.where or where
        raise


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the nearest known name, or nothing."""
    spelt = {text.lower(): text for text in known}
    asked = name.lower()
    within = [text for text in spelt if len(text) > 3 and text in asked]  # h100 in nvidia-h100-sxm
    near = difflib.get_close_matches(asked, list(spelt), n=8, cutoff=0.6)
    head = asked.split("-")[0]
    alike = [text for text in near if text.split("-")[0] == head]  # h100-80gb is no a100-80gb
    best = alike[:1] or sorted(within, key=len)[-1:] or near[:1]
    return f"did you mean '{spelt[best[0]]}'?" if best else ""


def unknown(
    kind: str,
    name: str,
    known: Iterable[str],
    *,
    also: Iterable[str] = (),
    where: Where | None = None,
    hint: str = "",
) -> UnknownName:
    """The error for a name that is not among the known ones; `also` are other names for them."""
    names = sorted(known)
    guess = did_you_mean(name, [*names, *also])
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return UnknownName(
        f"unknown {kind} '{name[:60]}'",
        where=where,
        expected="" if guess else f"one of {listed}",
        hint=guess or hint,
    )
