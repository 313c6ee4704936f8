"""Which columns of a table say when a request came and how long it is, by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from specplan.errors import UsageError
from specplan.importers.traces.clock import UNITS
from specplan.visible import visible

FORM: Final = "arrival=NAME[/ms],isl=NAME,osl=NAME"
_KEYS: Final = ("arrival", "isl", "osl", "hit")
_SAYS_UNIT: Final = re.compile(r"[_ (.-]([mun]s)\)?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of columns; without `arrival` the table has lengths alone. `unit` is that of arrivals
    which are numbers.
    """

    arrival: str
    isl: str
    osl: str
    hit: str = ""
    unit: str = "s"
    form: str = "columns"

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that it needs."""
        return tuple(name for name in (self.arrival, self.isl, self.osl, self.hit) if name)


KNOWN: Final = (
    Columns(
        form="Azure LLM inference trace",
        arrival="TIMESTAMP",
        isl="ContextTokens",
        osl="GeneratedTokens",
    ),
    Columns(form="BurstGPT", arrival="Timestamp", isl="Request tokens", osl="Response tokens"),
    Columns(
        form="Vidur",
        arrival="arrived_at",
        isl="num_prefill_tokens",
        osl="num_decode_tokens",
    ),
    Columns(form="Vidur lengths", arrival="", isl="num_prefill_tokens", osl="num_decode_tokens"),
    Columns(form="requests", arrival="arrival", isl="isl", osl="osl"),
    Columns(form="lengths", arrival="", isl="isl", osl="osl"),
)
"""The layouts that are known by their header, those with arrivals first. Sources:
Azure/AzurePublicDataset (2023, 2024), HPMLL/BurstGPT (with and without a session's columns),
microsoft/vidur data/processed_traces; the last two are our own.
"""


def columns_of(text: str) -> Columns:
    """The columns that a text names, as `--columns` takes it."""
    found: dict[str, str] = {}
    for pair in text.split(","):
        key, sign, name = (part.strip() for part in pair.partition("="))
        if not sign or not name or key not in _KEYS:
            raise UsageError(f"'{visible(pair, 60)}' names no column", expected=FORM)
        if key in found:
            raise UsageError(f"{key} is named twice", expected=FORM)
        found[key] = name
    missing = [key for key in ("isl", "osl") if key not in found]
    if missing:
        raise UsageError(f"no column is named for {missing[0]}", expected=FORM)
    arrival, slash, unit = found.get("arrival", "").rpartition("/")
    if not slash or unit not in UNITS:
        arrival, unit = found.get("arrival", ""), "s"
        _refuse_unit(arrival)
    return Columns(
        arrival=arrival, isl=found["isl"], osl=found["osl"], hit=found.get("hit", ""), unit=unit
    )


def _refuse_unit(arrival: str) -> None:
    """Refuses a name that says a unit which nobody gave: read as seconds, ms are a thousandth of
    the rate and no error.
    """
    ends = _SAYS_UNIT.search(arrival)
    if ends is None:
        return
    unit = ends[1].lower()
    raise UsageError(
        f"'{visible(arrival, 60)}' says {unit} and no unit is given",
        expected=f"arrival={visible(arrival, 60)}/{unit}, or /s",
    )


def in_header(wanted: Columns, header: list[str]) -> Columns | None:
    """The wanted columns as the header spells them, or None where one is missing."""
    spelt = {name.strip().lower(): name for name in reversed(header)}
    exact = set(header)
    names = {}
    for key in ("arrival", "isl", "osl", "hit"):
        asked = getattr(wanted, key)
        if asked and asked not in exact:
            asked = spelt.get(asked.strip().lower(), "")
            if not asked:
                return None
        names[key] = asked
    return replace(wanted, **names)
