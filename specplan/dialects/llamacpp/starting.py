"""What llama.cpp prints while it starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specplan.dialects.figures import written, written_whole
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Told

STARTS: Final = ("loading model",)
OPENING: Final = (
    "speculative implementation",
    " n_max=",
    "loading draft model",
    "loaded meta data",
    "n_ctx_slot",
    "new slot, n_ctx",
    "[spec]",
    "build: ",
    "build_info: ",
    "synthetic speculative",
)
MIB: Final = 2.0**20

_NAMED: Final[tuple[tuple[re.Pattern[str], str, str], ...]] = (
    (re.compile(r"adding speculative implementation '([\w-]+)'"), "method", "text"),
    (re.compile(r"\bn_max=(\d+)", re.ASCII), "k", "count"),
    (re.compile(r"\bn_min=(\d+)", re.ASCII), "n_min", "count"),
    (re.compile(r"\bp_min=([\d.]+)", re.ASCII), "p_min", "figure"),
    (re.compile(r"load_model: loading model '([^']+)'"), "target", "text"),
    (re.compile(r"loading draft model '([^']+)'"), "draft", "text"),
    (re.compile(r"\bn_slots = (\d+)", re.ASCII), "max_batch", "count"),
    (re.compile(r"\bn_ctx_slot = (\d+)", re.ASCII), "max_context", "count"),
    (re.compile(r"new slot,? n_ctx = (\d+)", re.ASCII), "max_context", "count"),
    (re.compile(r"\bbuild(?:_info)?: (?:b)?(\d{3,6})\b", re.ASCII), "version", "build"),
    (
        re.compile(r"estimated memory usage of \w+ context is ([\d.]+) MiB", re.ASCII),
        "draft_context_bytes",
        "mib",
    ),
    (
        re.compile(r"adding ([\d.]+) MiB to fit_params_target", re.ASCII),
        "draft_context_bytes",
        "mib",
    ),
)
_META: Final = re.compile(r"loaded meta data with .* from (\S.*?) \(version")
_SYNTHETIC: Final = "synthetic speculative acceptance is enabled"


def said(line: str, known: dict[str, Scalar], place: int) -> Iterator[Found]:
    """What a line says of the deployment; `known` gathers it."""
    facts: dict[str, Scalar] = {}
    for pattern, name, form in _NAMED:
        match = pattern.search(line)
        value = _value(match[1], form) if match else None
        if value is not None:
            facts[name] = value
    if match := _META.search(line):  # the target's file comes first, then the drafter's
        facts["draft" if "target" in known else "target"] = match[1]
    if facts:
        known |= facts
        yield Told(facts=facts, line=place)
    if _varies(facts):
        yield Noted(trap="short-drafts", line=place)
    if _SYNTHETIC in line:
        yield Noted(warning="acceptance is synthetic: it was given, not measured", line=place)


def _varies(facts: dict[str, Scalar]) -> bool:
    """Whether drafts may stop before k."""
    p_min = facts.get("p_min")
    return str(facts.get("method", "")).startswith("ngram") or bool(p_min)


def _value(word: str, form: str) -> Scalar:
    if form == "count":
        return written_whole(word)
    if form == "build":
        return f"b{word}"
    if form == "text":
        return word
    value = written(word)
    return None if value is None else value * (MIB if form == "mib" else 1.0)
