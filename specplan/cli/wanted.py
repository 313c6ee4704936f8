"""From flags and a plan to traffic and its limits: who said what, which files, in which order.

Of a trace a window is cut first; then requests are thinned, the time is scaled, the whole repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specplan.catalogue.folders import recordings
from specplan.cli.planned import Spoken, beside, planned_traffic
from specplan.domain.lengths import Law, is_law, law_of
from specplan.domain.scenario import Input
from specplan.domain.slo import Slo
from specplan.domain.slo_text import slo_of
from specplan.domain.traffic import Lengths, Trace, Traffic
from specplan.domain.windows import window_of
from specplan.errors import SpecplanError, UsageError, Where, placed
from specplan.importers.traces.cdf import read_cdf
from specplan.importers.traces.columns import columns_of
from specplan.importers.traces.read import FORMATS, read_trace
from specplan.importers.traces.servegen import files_of
from specplan.opening import exists, is_folder, opened, place
from specplan.serving.arrivals import compressed, cut, repeated, thinned
from specplan.serving.clients import drawn_of
from specplan.serving.incoming import replayed, steady
from specplan.serving.lengths import divided, independent, recorded, with_hits
from specplan.units import parse_number, people
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.cli.demand import Demand
from specplan.cli.planned import PlanRead

PROMPT_SHARE: Final = 0.8
"""Of a total that nobody divided; so does the simulator whose files these are (vllm-project/
semantic-router@ea229f7, src/fleet-sim, synthetic.py: l_in_frac).
"""
OF_TRACE: Final = ("columns", "window", "thin", "scale", "repeat")
_KINDS: Final = {"trace": ("trace", *OF_TRACE), "lengths": ("lengths",), "laws": ("isl", "osl")}
_BANDS: Final = {
    "rate": (1e-6, 1e6),
    "scale": (1e-3, 1e3),
    "thin": (1e-6, 1.0),
    "repeat": (1, 10_000),
    "prefix_hit": (0.0, 1.0),
    "cv": (0.0, 100.0),
    "seed": (0, 2**32),
}
_PIECE: Final = 2**20
_SUFFIXES: Final = (".json", ".csv", ".tsv", ".txt", ".gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be served, and how well; `inputs` is what an answer then rests on."""

    traffic: Traffic
    slo: Slo
    seed: int
    usd_per_gpu_hour: float | None
    inputs: Mapping[str, Input]


def wanted(demand: Demand, plan: PlanRead | None) -> Wanted:
    """Everything that flags and a plan say of traffic; an error names the flag or the line."""
    given = said(demand, plan)
    _refuse_contrary(given)
    seed = int(given["seed"].value) if "seed" in given else 0
    traffic = _of_trace(given, seed) if "trace" in given else _of_laws(given)
    price = given.get("usd_per_gpu_hour")
    return Wanted(
        traffic=traffic,
        slo=promised_in(given),
        seed=seed,
        usd_per_gpu_hour=float(price.value) if price else None,
        inputs={key: _input(key, one) for key, one in given.items()},
    )


def said(demand: Demand, plan: PlanRead | None) -> dict[str, Spoken]:
    """Every value with who gave it. A flag that says in another way where requests come from takes
    the place of all that the plan says of that.
    """
    pairs = ((field.name, getattr(demand, field.name)) for field in fields(demand))
    flags = {
        name: Spoken(value, "flag", Where(f"--{name.replace('_', '-')}"))
        for name, value in pairs
        if value is not None
    }
    found = planned_traffic(plan)
    told = {kind for kind, keys in _KINDS.items() if any(key in flags for key in keys)}
    if told and "trace" in told and "trace" not in flags and "trace" in found:
        told = {"trace"}
    if told:
        others = [key for kind in _KINDS.keys() - told for key in _KINDS[kind]]
        if "trace" in flags and "trace" not in found:
            others += ["rate", "cv"]  # of arrivals that the trace now has itself
        found = {key: one for key, one in found.items() if key not in others}
    for one, other in (("rate", "scale"), ("scale", "rate")):
        if one in flags and other not in flags:
            found.pop(other, None)
    return found | flags


def promised_in(given: Mapping[str, Spoken]) -> Slo:
    """The limits that somebody named."""
    if "slo" not in given:
        return Slo()
    with placed(given["slo"].where):
        return slo_of(str(given["slo"].value))


def _refuse_contrary(given: Mapping[str, Spoken]) -> None:
    """Refuses values out of their bands, and what says the same twice or nothing at all."""
    for key, (low, high) in _BANDS.items():
        if key in given and not low <= given[key].value <= high:
            what = f"{given[key].value:g} is out of range"
            raise UsageError(what, where=given[key].where, expected=f"{low:g} to {high:g}")
    for key, other in (
        *(("trace", key) for key in ("isl", "osl", "lengths")),
        *(("lengths", key) for key in ("isl", "osl")),
        ("rate", "scale"),
    ):
        if key in given and other in given:
            what = f"{_flag(key)} and {_flag(other)} say the same twice"
            raise UsageError(what, where=given[other].where, hint="give one of them")
    for key in OF_TRACE:
        if key in given and "trace" not in given:
            raise UsageError(f"{_flag(key)} is of a --trace", where=given[key].where)


def _of_laws(given: Mapping[str, Spoken]) -> Traffic:
    """Requests that are drawn."""
    lengths, notes, source = _lengths(given)
    cv = float(given["cv"].value) if "cv" in given else 1.0
    return steady(_rate(given), lengths, cv=cv, source=source, notes=notes)


def _rate(given: Mapping[str, Spoken]) -> float:
    if "rate" not in given:
        expected = "a rate such as 50/s, or recorded requests: --trace FILE"
        raise UsageError("how many requests come?", where=Where("--rate"), expected=expected)
    return float(given["rate"].value)


def _lengths(given: Mapping[str, Spoken]) -> tuple[Lengths, tuple[str, ...], str]:
    """The lengths that are asked for, what is to be said of them, and where they are from."""
    hit = float(given["prefix_hit"].value) if "prefix_hit" in given else 0.0
    if "lengths" in given:
        return _divided(given["lengths"], hit)
    for key, what in (("isl", "prompts"), ("osl", "outputs")):
        if key not in given and "rate" in given:
            expected = "tokens such as 500, a law, or --trace FILE"
            where = Where(_flag(key))
            raise UsageError(f"how long are the {what}?", where=where, expected=expected)
    _rate(given)
    said_so = " and ".join(f"{key} {given[key].value}" for key in ("isl", "osl"))
    return independent(_law(given["isl"]), _law(given["osl"]), hit), (), said_so


def _divided(one: Spoken, hit: float) -> tuple[Lengths, tuple[str, ...], str]:
    name, share = _named(one)
    law = read_cdf(_file(one, name))
    notes: tuple[str, ...] = ()
    if share is None:
        share = PROMPT_SHARE
        notes = (f"{share:.0%} of each length is taken for the prompt; FILE,0.7 says another one",)
    return divided(law, share, hit), notes, law.source


def _named(one: Spoken) -> tuple[str, float | None]:
    """The file of `FILE` or `FILE,0.7`, and the share if there is one."""
    text = str(one.value)
    name, _, tail = text.rpartition(",")
    with placed(one.where):
        share = _share(tail) if name else None
    return (text, None) if share is None else (name, share)


def _share(text: str) -> float | None:
    try:
        value = parse_number(text.strip())
    except SpecplanError:
        return None
    if not 0 < value < 1:
        what = f"{value:g} is no share of the prompt"
        raise UsageError(what, expected="between 0 and 1")
    return value


def _law(one: Spoken) -> Law:
    text = str(one.value).strip()
    with placed(one.where):
        if is_law(text) or not _is_file(one, text):
            return law_of(text)
    return read_cdf(_file(one, text))


def _is_file(one: Spoken, text: str) -> bool:
    named = text.endswith(_SUFFIXES) or "/" in text
    return named or exists(Path(one.folder or "", text))


def _file(one: Spoken, text: str) -> Path:
    """The file that somebody names; a plan's files lie beside it."""
    if one.folder is None:
        return Path(text)
    return Path(beside(one.folder, text, one.where, what="file"))


def _recording(one: Spoken) -> Path:
    """The trace that somebody names: a file, or one of those that ship with specplan."""
    text = str(one.value)
    known = recordings()
    if text in known and not exists(Path(one.folder or "", text)):
        return known[text]
    return _file(one, text)


def _of_trace(given: Mapping[str, Spoken], seed: int) -> Traffic:
    """Requests that were recorded, or lengths alone at a rate."""
    trace, notes = _changed(_read(given, seed), given, seed)
    if not len(trace.arrival_s):
        if "rate" not in given:
            what = f"{visible(str(given['trace'].value), 60)} has lengths and no times"
            raise UsageError(what, where=given["trace"].where, hint="add how often: --rate 5/s")
        notes = (*notes, "the trace has lengths and no times: arrivals are drawn")
        cv = float(given["cv"].value) if "cv" in given else 1.0
        return steady(_rate(given), recorded(trace), cv=cv, source=trace.source, notes=notes)
    if "cv" in given:
        what = "--cv is of arrivals that are drawn; the trace has its own"
        raise UsageError(what, where=given["cv"].where)
    if "rate" in given:
        with placed(given["trace"].where):
            now = replayed(trace).rate_per_s
        with placed(given["rate"].where):
            trace = compressed(trace, _rate(given) / now)
        notes = (*notes, f"replayed {_rate(given) / now:.3g} times as fast, at the rate asked for")
    with placed(given["trace"].where):
        return replayed(trace, notes)


def _read(given: Mapping[str, Spoken], seed: int) -> Trace:
    one = given["trace"]
    columns = None
    if "columns" in given:
        with placed(given["columns"].where):
            columns = columns_of(str(given["columns"].value))
    path = _recording(one)
    if not exists(path):
        raise UsageError(
            f"no such file: {place(path)}",
            where=one.where,
            expected=f"a trace of {FORMATS}, or {' or '.join(recordings())}",
        )
    ours = path in recordings().values()
    if one.folder is not None and not ours:
        for other in files_of(path):  # each of them may be a link
            beside(one.folder, str(other.absolute()), one.where, what="file")
    found = read_trace(path, columns)
    if ours and isinstance(found, Trace):
        return replace(found, source=str(one.value))  # wherever it is installed
    with placed(one.where):
        return found if isinstance(found, Trace) else drawn_of(found, seed)


def _changed(trace: Trace, given: Mapping[str, Spoken], seed: int) -> tuple[Trace, tuple[str, ...]]:
    """The trace as it is to be replayed, and what was done to it."""
    notes = list(trace.dropped)
    if "window" in given:
        with placed(given["window"].where):
            window = window_of(str(given["window"].value))
            whole_s = trace.span_s
            trace = cut(trace, window)
        if trace.span_s < window.length_s:
            wide = people(window.length_s, "s")
            notes.append(
                f"the window of {wide} is cut: the trace ends after {people(whole_s, 's')}"
            )
    if "thin" in given:
        with placed(given["thin"].where):
            trace = thinned(trace, float(given["thin"].value), seed)
    if "scale" in given:
        with placed(given["scale"].where):
            trace = compressed(trace, float(given["scale"].value))
    if "repeat" in given:
        with placed(given["repeat"].where):
            trace = repeated(trace, int(given["repeat"].value))
    if "prefix_hit" in given:
        if len(trace.hit):
            notes.append("--prefix-hit stands above the prefixes that the trace has")
        trace = with_hits(trace, float(given["prefix_hit"].value))
    return trace, tuple(notes)


def _input(key: str, one: Spoken) -> Input:
    """A value as an answer cites it, a file with its digest."""
    if key not in {"trace", "isl", "osl", "lengths"}:
        return Input(value=one.value, origin=one.origin)
    text = str(one.value)
    named = _named(one)[0] if key == "lengths" else text
    path = _recording(one) if key == "trace" else _file(one, named)
    if (key in {"isl", "osl"} and is_law(text)) or not exists(path) or is_folder(path):
        return Input(value=text, origin=one.origin)
    with opened(path, "a file") as (file, _):
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    return Input(value=text, origin=one.origin, sha256=digest.hexdigest())


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"
