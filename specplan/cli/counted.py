"""An acceptance that a Python caller holds: a text, figures, or an answer of `acceptance`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from os import PathLike, fspath

from specplan.cli.acceptance import UNCERTAIN
from specplan.domain.acceptance import Acceptance, Alpha, Lengths, Unconditional
from specplan.domain.acceptance_text import acceptance_text
from specplan.domain.answer import Answer
from specplan.domain.capture import Capture
from specplan.errors import UsageError, Where
from specplan.questions.acceptance import Counted
from specplan.questions.captured import acceptance_of
from specplan.visible import visible

Option = str | float | Iterable[str | float] | Answer | Counted | Capture
"""What Python callers give for an option; the last three are an acceptance."""
_EXPECTED = "an alpha, a text of -a, a mapping, or the answer of acceptance to one capture"


def acceptance_texts(value: object) -> tuple[str, ...]:
    """Each acceptance in the grammar of -a; numbers of a list are one axis."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return (_one(value),)
    items = tuple(value)
    if not items:
        raise UsageError("acceptance is empty", expected="a value, or several")
    texts = tuple(map(_one, items))
    return (",".join(texts),) if all(isinstance(item, Number) for item in items) else texts


def _one(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        return acceptance_text(value)
    if isinstance(value, str | Number):
        return str(value)
    if isinstance(value, PathLike):
        return str(fspath(value))
    counted = value.value if isinstance(value, Answer) else value
    if isinstance(counted, Acceptance):
        return _text(counted)
    if isinstance(counted, Capture | Counted):
        return _text(acceptance_of(counted))
    raise UsageError(
        f"{visible(type(value).__name__, 60)} is no acceptance",
        where=Where("acceptance"),
        expected=_EXPECTED,
        hint="pass the file's path",
    )


def _text(found: Acceptance) -> str:
    """As somebody could type it; what a capture gives to the last digit."""
    match found:
        case Unconditional(rates):
            return f"unconditional:{','.join(map(repr, rates))}"
        case Alpha(alpha, sd):
            return f"{alpha!r}{UNCERTAIN}{sd!r}" if sd else repr(alpha)
        case Lengths(points):
            return "length:" + ",".join(f"{tau!r}@{k}" for k, tau in points)
    return str(found)
