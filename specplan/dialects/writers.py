"""Who writes for which engine: one module each, with `write(deployment) -> Written`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from specplan.dialects.spans import Span
from specplan.domain.deployment import Deployment, Written

WRITERS = {
    "vllm": "specplan.dialects.vllm.write",
    "sglang": "specplan.dialects.sglang.write",
    "trtllm": "specplan.dialects.trtllm.write",
    "llamacpp": "specplan.dialects.llamacpp.write",
}
"""The name of an engine's card -> its writer; EXAMPLE in it is a version, as people type it, NEWEST
the newest whose words were read.
"""


def writer(engine: str) -> Callable[[Deployment], Written]:
    """The function that writes for an engine of WRITERS."""
    return cast("Callable[[Deployment], Written]", import_module(WRITERS[engine]).write)


def outgrown(engine: str, version: str) -> str:
    """The newest version whose words were read, where another is newer; else ""."""
    last = newest(engine)
    return "" if Span("", "0", last).holds(version) else last


def newest(engine: str) -> str:
    """The newest version of the engine whose words were read."""
    return str(import_module(WRITERS[engine]).NEWEST)


def example(engine: str) -> str:
    """A version of the engine as people type it after the @."""
    return str(import_module(WRITERS[engine]).EXAMPLE)
