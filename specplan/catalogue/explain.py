"""What pydantic says of plain data, as one line of ours at its place in the document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import ValidationError

from specplan.catalogue.read import Document, KeyPath
from specplan.domain.card import NAME_PATTERN
from specplan.domain.measurement import DRAFT_PATTERN
from specplan.domain.version import SINCE_PATTERN, VERSION_PATTERN
from specplan.errors import InputError, Misfit, Where, did_you_mean
from specplan.visible import visible

SHOWN = 60  # characters of a wrong value or name that a message repeats

_KINDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "string_type": "text",
}
_PATTERNS = {
    NAME_PATTERN: "a name such as h100-sxm: a-z, 0-9 and . _ -, at most 64 of them",
    SINCE_PATTERN: "a version such as 0.27: digits and dots",
    VERSION_PATTERN: "a version such as 0.27 or 0.5.6.post2",
    DRAFT_PATTERN: (
        "a model card, a kind of drafter such as ngram, oracle, or a cost of 0 to 10 such as "
        "ratio:0.05"
    ),
}
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
_LENGTHS = {
    "too_short": ("min_length", "at least", "items"),
    "too_long": ("max_length", "at most", "items"),
    "string_too_short": ("min_length", "at least", "characters"),
    "string_too_long": ("max_length", "at most", "characters"),
}


def label(path: KeyPath) -> str:
    """The last named key of a path, as messages call it."""
    named = (part for part in reversed(path) if isinstance(part, str))
    return next((visible(part, SHOWN) for part in named), "file")


def within(path: KeyPath) -> str:
    """` in sources` for what is inside a named key, nothing at the top."""
    return f" in {label(path)}" if path else ""


def explain(document: Document, error: ValidationError) -> InputError:
    """The first complaint as an error; a value is never quoted at length."""
    found = error.errors(include_url=False, include_context=True)
    first = found[0]
    path: KeyPath = first["loc"]
    if first["type"] == "missing":
        parent = path[:-1]
        lost = [e["loc"] for e in found if e["type"] == "missing" and e["loc"][:-1] == parent]
        keys = ", ".join(f"'{label(one)}'" for one in lost)
        what = f"missing key{'s' * (len(lost) > 1)} {keys}{within(parent)}"
        return InputError(what, where=document.where(parent))
    unfit = first.get("ctx", {}).get("error")
    if isinstance(unfit, Misfit):
        unfit.where = document.where((*path, *unfit.key))
        return unfit
    what, expected, hint = _words(first["type"], first["input"], first.get("ctx", {}))
    where: Where = document.where(path)
    expected = expected or first["msg"].removeprefix("Input should be ")
    return InputError(f"{label(path)} {what}", where=where, expected=expected, hint=hint)


def _words(kind: str, value: object, context: Mapping[str, object]) -> tuple[str, str, str]:
    """What is wrong with the value, what was expected ("" as pydantic says it), and a hint."""
    if kind in {"literal_error", "enum"}:
        choices = str(context["expected"])
        guess = did_you_mean(str(value), re.findall(r"'([^']*)'", choices))
        return f"{_shown(value)} is not known", choices, guess
    if kind == "string_pattern_mismatch":
        wanted = str(context["pattern"])
        return f"{_shown(value)} is malformed", _PATTERNS.get(wanted, f"text like {wanted}"), ""
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{_shown(value)} is out of range", f"{words} {_bound(context[name])}", ""
    if kind in _LENGTHS:
        name, words, things = _LENGTHS[kind]
        size = len(value) if isinstance(value, str | list | dict) else 0
        return f"has {size} {things}", f"{words} {context[name]}", ""
    what = "is empty" if value is None else f"{_shown(value)} does not fit"
    return what, _KINDS.get(kind, ""), ""


def _bound(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else f"{value:g}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else visible(repr(value), SHOWN)
