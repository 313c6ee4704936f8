"""What was measured of a run, and how its engine was set: flags of diagnose, and keywords."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from specplan.cli.mixes import flag_of
from specplan.cli.values import duration
from specplan.domain.scenario import Input
from specplan.errors import UsageError, Where, placed
from specplan.units import parse_axis

COUNTS = ("topk", "draft_tokens", "max_batch", "graphs_up_to", "modules")
NONE = ("graphs_up_to",)  # may be 0: there are none
MOST = {"seen_speedup": 1000.0, "topk": 64, "draft_tokens": 65}  # of a flag; others a billion


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Flags about what was measured and how the engine was set; times in seconds."""

    seen_tokens_per_s: float | None = None
    seen_tpot: float | None = None
    seen_itl: float | None = None
    seen_ttft: float | None = None
    seen_speedup: float | None = None
    plain_tokens_per_s: float | None = None
    plain_tpot: float | None = None
    plain_ttft: float | None = None
    plain_eager: bool = False
    before: str | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    max_batch: int | None = None
    graphs_up_to: int | None = None
    schedule: str | None = None
    dataset: str | None = None
    same_prompt: bool = False
    trained_context: float | None = None
    modules: int | None = None

    def __post_init__(self) -> None:
        """Refuses what cannot have been measured."""
        for each in fields(self):
            value = getattr(self, each.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if each.name in NONE and value == 0:
                continue
            if number and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{value:g} is not above 0", where=Where(flag_of(each.name)))
            if number and value > MOST.get(each.name, 1e9):
                most = f"at most {MOST.get(each.name, 1e9):,g}"
                raise UsageError(
                    f"{value:g} is out of range", where=Where(flag_of(each.name)), expected=most
                )
            if number and each.name in COUNTS and value != int(value):
                raise UsageError(f"{value:g} is no whole number", where=Where(flag_of(each.name)))

    @classmethod
    def read(cls, values: Mapping[str, object]) -> Figures:
        """From Python: numbers in SI, or texts as they are typed."""
        return cls(**{name: _figure(name, value) for name, value in values.items()})  # type: ignore[arg-type]

    def inputs(self) -> dict[str, Input]:
        """Those that were given."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: Input(value=value, origin="flag")
            for name, value in given.items()
            if value is not None and value is not False
        }


FIGURES = tuple(each.name for each in fields(Figures))
_TIMES = ("_tpot", "_itl", "_ttft")
_WORDS = ("before", "schedule", "dataset")


def _figure(name: str, value: object) -> object:
    """One of them as its option reads it."""
    if not isinstance(value, str) or name in _WORDS:
        return value
    if name.endswith(_TIMES):
        return duration(flag_of(name))(value)
    with placed(Where(flag_of(name))):
        (number,) = parse_axis(value, tokens=name == "trained_context")
        return number
