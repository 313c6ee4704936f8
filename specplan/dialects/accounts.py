"""Which accounting an engine keeps: tables by release, one for each engine's folder."""

from __future__ import annotations

from importlib import import_module

from specplan.domain.accounting import Accounting
from specplan.domain.engine import Engine
from specplan.domain.version import ordered

COUNTED = ("vllm", "sglang", "trtllm", "llamacpp")
"""Engines whose folder has a table."""
UNCOUNTED = frozenset({"transformers"})
"""Engines that follow another's kernels and keep no pool."""


def accounting_of(engine: Engine, version: str | None) -> Accounting | None:
    """The accounting of an engine's version, of its newest where none is named. A card of yours
    counts as the engine that it follows; None for one that keeps no account of its own.
    """
    name = next((name for name in (engine.name, engine.follows) if name in COUNTED), None)
    if name is None or engine.kind == "bound" or engine.name in UNCOUNTED:
        return None
    releases: tuple[Accounting, ...] = import_module(f"specplan.dialects.{name}.memory").RELEASES
    if version is None:
        return releases[-1]
    wanted = ordered(version)
    known = [release for release in releases if ordered(release.since) <= wanted]
    return known[-1] if known else releases[0]
