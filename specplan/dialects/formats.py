"""All formats that are read, by the module and name of their readers: an engine adds its lines.

Imported when something is read and not before.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final, cast

from specplan.dialects.reading import DocumentReader, LineReader

LINE_READERS: Final[tuple[str, ...]] = (
    "specplan.dialects.vllm.log:Log",
    "specplan.dialects.vllm.console:Console",
    "specplan.dialects.sglang.read_log:Log",
    "specplan.dialects.sglang.read_bench:Console",
    "specplan.dialects.llamacpp.read_log:Log",
)

DOCUMENT_READERS: Final[tuple[str, ...]] = (
    "specplan.dialects.harness.aiperf:Records",
    "specplan.dialects.harness.aiperf:Summary",
    "specplan.dialects.harness.guidellm:Guidellm",
    "specplan.dialects.vllm.page:Page",
    "specplan.dialects.vllm.bench:Bench",
    "specplan.dialects.vllm.request:Requests",
    "specplan.dialects.sglang.read_metrics:Metrics",
    "specplan.dialects.sglang.read_bench:Bench",
    "specplan.dialects.sglang.read_responses:ServerInfo",
    "specplan.dialects.sglang.read_responses:Responses",
    "specplan.dialects.trtllm.read_iterations:Iterations",
    "specplan.dialects.trtllm.read_metrics:Metrics",
    "specplan.dialects.trtllm.read_responses:Responses",
    "specplan.dialects.llamacpp.read_timings:Timings",
    "specplan.dialects.llamacpp.read_metrics:Metrics",
)

STEMS: Final = ("ccept", "throughput")
"""Byte strings that many marks share, searched for in their stead: each search costs time."""


def line_readers() -> list[LineReader]:
    """A new reader of each format of lines."""
    return [cast("LineReader", _class(name)()) for name in LINE_READERS]


def document_readers() -> list[DocumentReader]:
    """A new reader of each format of documents."""
    return [cast("DocumentReader", _class(name)()) for name in DOCUMENT_READERS]


def starts(readers: list[LineReader]) -> tuple[bytes, ...]:
    """The marks of lines with which an engine starts."""
    return tuple(mark.encode() for reader in readers for mark in getattr(reader, "starts", ()))


def opening(readers: list[LineReader]) -> tuple[bytes, ...]:
    """The marks that are looked for near a start."""
    return tuple(mark.encode() for reader in readers for mark in getattr(reader, "opening", ()))


def needles(readers: list[LineReader]) -> tuple[bytes, ...]:
    """What to search for so that no line with a mark is missed."""
    marks = {mark for reader in readers for mark in reader.marks}
    marks |= {mark for reader in readers for mark in getattr(reader, "starts", ())}
    alone = {mark for mark in marks if not any(stem in mark for stem in STEMS)}
    shared = {stem for stem in STEMS if any(stem in mark for mark in marks)}
    return tuple(needle.encode() for needle in sorted(alone | shared))


@cache
def _class(name: str) -> type:
    module, _, attribute = name.partition(":")
    return cast("type", getattr(import_module(module), attribute))
