"""The habits of an engine's version, from the table in its folder."""

from __future__ import annotations

from importlib import import_module

from specplan.domain.habits import Habits
from specplan.domain.version import ordered

KNOWN = ("vllm", "sglang", "trtllm", "llamacpp")


def habits_of(engine: str, version: str | None = None) -> Habits:
    """The habits of a version, of the newest where none is named; of an engine without a table
    nothing but its name. Tables begin with version 0.
    """
    if engine not in KNOWN:
        return Habits(title=engine)
    table: tuple[Habits, ...] = import_module(f"specplan.dialects.{engine}.habits").HABITS
    if version is None:
        return table[-1]
    wanted = ordered(version)
    return [habits for habits in table if ordered(habits.since) <= wanted][-1]
