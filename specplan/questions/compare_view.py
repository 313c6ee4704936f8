"""How a comparison is told: the winner first, then a line a candidate, then who is none and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Lines, Rows, Section, View
from specplan.domain.scenario import Scenario
from specplan.questions.common import times
from specplan.questions.compare_entry import SORTS, Entry
from specplan.units import people

if TYPE_CHECKING:
    from specplan.questions.compare import Comparison

AXES: dict[str, tuple[str, ...]] = {
    "target": (),
    "hardware": (),
    "tp": (),
    "served_by": (),
    "attention_dp": (),
    "ep": (),
    "dtype": ("target",),
    "kv_dtype": (),
    "draft_tp": ("target", "draft", "hardware", "tp"),
    "draft_dtype": ("target", "draft"),
}
"""What else may tell candidates apart, and what each follows from unless it was asked for."""
FIGURES = (
    *("k", "speedup", "tokens_per_round", "tpot_s", "tokens_per_s_per_gpu"),
    *("usd_per_million_tokens", "draft_weights_bytes", "draft_kv_bytes_per_sequence"),
    *("largest_batch", "sequences_lost", "largest_tokens_per_s_per_gpu", "throughput"),
)
LOSING = (("speedup", "forgone"), ("throughput", "fewer"))
ROOM = 36  # characters that names may take in every block; longer ones give way to a number
MOST_TOLD = 4  # reasons of memory that are told one by one


def page(value: Comparison, entries: Sequence[Entry], scenario: Scenario) -> View:
    """The page of entries in order: those compared, then those that are not."""
    compared = [entry for entry in entries if entry.compared]
    left = [entry for entry in entries if not entry.compared]
    several = ["draft", *(name for name in AXES if _differs(entries, name))]
    return View(
        title=_verdict(value, several, drafted=any(not entry.plain for entry in compared)),
        caption=tuple(_caption(entries, scenario)),
        sections=(
            *_rows(value, compared, several),
            *_legend(value, compared),
            *_left(left, entries),
        ),
    )


def _differs(entries: Sequence[Entry], name: str) -> bool:
    """Whether candidates that agree in what it follows from differ in it."""
    found: dict[tuple[object, ...], set[object]] = {}
    for entry in entries:
        value = getattr(entry, name)
        if value is not None and not (name.startswith("draft") and not entry.draft_weights_bytes):
            found.setdefault(tuple(getattr(entry, n) for n in AXES[name]), set()).add(value)
    return any(len(values) > 1 for values in found.values())


def _verdict(value: Comparison, several: Sequence[str], *, drafted: bool) -> str:
    best = value.best
    if best is None:
        return "Nothing fits in memory"
    where = f" on {_place(best)}" if {"hardware", "tp"}.intersection(several) else ""
    who = f"{best.draft}{where}"
    if best.plain and value.sort == "speedup":
        return f"Plain decoding is best{where}" if drafted else "No drafter is compared"
    told = {
        "speedup": f"{times(best.speedup or 0)} at k = {best.k}",
        "tpot": f"{people(best.tpot_s or 0, 's')} a token",
        "throughput": f"{best.largest_tokens_per_s_per_gpu:,.0f} tok/s a GPU",
        "cost": f"{best.usd_per_million_tokens or 0:.2f} USD per million tokens",
        "memory": f"{people(best.draft_bytes or 0, 'B')} a GPU",
        "tokens": f"{best.tokens_per_round:.2f} tokens a round",
    }
    return f"{who}: {told[value.sort]}"


def _place(entry: Entry) -> str:
    return entry.hardware if entry.tp == 1 else f"{entry.tp}x {entry.hardware}"


def _caption(entries: Sequence[Entry], scenario: Scenario) -> Iterator[str]:
    """What all candidates share."""
    first = entries[0]

    def several(name: str) -> bool:
        return _several(entries, name)

    what = [] if several("target") else [first.target]
    if not several("hardware"):
        what.append(f"on {first.hardware if several('tp') else _place(first)}")
    elif not several("tp") and first.tp > 1:
        what.append(f"at tp {first.tp}")
    if not several("served_by") and first.engine != "roofline":
        what.append(f"under {first.served_by}")
    dtypes = {entry.dtype for entry in entries} - {None}
    words = [" ".join(what), *(dtypes if len(dtypes) == 1 else ())]
    yield ", ".join(filter(None, map(str, words)))
    given = dict.fromkeys(e.acceptance for e in entries if e.acceptance is not None)
    shared = f", acceptance {next(iter(given))}" if len(given) == 1 else ""
    yield (
        f"batch {scenario.batch[0]:,.0f}, context {people(scenario.context[0], 'tokens')}{shared}"
    )


def _rows(
    value: Comparison, compared: Sequence[Entry], several: Sequence[str]
) -> Iterator[Section]:
    if not compared:
        return
    by = SORTS[value.sort].columns[0]
    shown = [entry for entry in compared if entry.shown]
    figures = [name for name in FIGURES if name != by and _any(shown, name)]
    figures.insert(figures.index("k") + (1 if by == "speedup" else 2), by)
    drafted = [entry for entry in shown if not entry.plain]
    more = [name for name in ("acceptance", "basis", "band") if _several(drafted, name)]
    wide = _width(shown, several) > ROOM
    yield Rows(
        columns=(*(("rank",) if wide else ()), *several, *figures, *more),
        where="shown",
        mark="best",
        marked=by,
        losing=LOSING,
        heads=1 if wide else len(several),
    )
    if len(shown) < len(compared):
        every = len(compared)
        yield Lines((f"{len(shown)} of {every:,} candidates; --top {every} or -f json shows all",))


def _width(entries: Sequence[Entry], names: Sequence[str]) -> int:
    """Columns that the names of candidates take."""
    return sum(2 + max(len(str(getattr(entry, name))) for entry in entries) for name in names)


def _any(entries: Sequence[Entry], name: str) -> bool:
    return any(getattr(entry, name) is not None for entry in entries)


def _legend(value: Comparison, compared: Sequence[Entry]) -> Iterator[Section]:
    """What the marks and the last columns mean."""
    shown = [entry for entry in compared if entry.shown]
    if not shown:
        return
    marks = [f"* best by {value.sort}"] if any(entry.best for entry in shown) else []
    if any(entry.forgone or entry.fewer for entry in shown):
        marks.append("! plain decoding is as good or better")
    full = "full: at its own largest batch with this k, over plain decoding at its own"
    yield Lines(("   ".join(marks), full) if marks else (full,))


def _left(left: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[Section]:
    """Who is not compared: what has one reason together, and what is only too large by place."""
    many = sum(entry.fits is False for entry in left) > MOST_TOLD
    large = [entry for entry in left if many and entry.fits is False]
    others = [entry for entry in left if not many or entry.fits is not False]
    told = [*_reasons(others, entries), *_too_large(large, entries)]
    if told:
        yield Lines(("Not compared:", *told), wrap=True)


def _reasons(left: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[str]:
    """Each reason once, after the drafters and places that it holds for."""
    several, served = _several(entries, "target"), _serving(entries)
    places = {served(entry) for entry in entries}
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for entry in left:
        who = f"{entry.draft} for {entry.target}" if several else entry.draft
        groups.setdefault((who, entry.reason or ""), {})[served(entry)] = None
    for (who, reason), here in groups.items():
        where = "" if len(here) == len(places) else f" on {', '.join(here)}"
        said = reason.startswith(f"{who} ") and not where
        yield reason if said else f"{who}{where}: {reason}"


def _too_large(large: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[str]:
    """Places without memory for the target, and those without memory for some drafters."""
    whole: dict[str, str] = {}
    some: dict[str, dict[str, None]] = {}
    several, served = _several(entries, "target"), _serving(entries)

    def where(entry: Entry) -> str:
        return f"{entry.target} on {served(entry)}" if several else served(entry)

    plain = {where(entry) for entry in large if entry.plain}
    for entry in large:
        place = where(entry)
        if entry.plain:
            most = entry.largest_batch_plain
            fit = f" ({most:,} sequences fit)" if most else ""
            whole[place] = f"{people(entry.shortfall_bytes or 0, 'B')}{fit}"
        elif place not in plain:
            some.setdefault(place, {})[entry.draft] = None
    if whole:
        told = ", ".join(f"{place} {lacking}" for place, lacking in whole.items())
        yield f"Too little memory for the target, with what a GPU lacks: {told}"
    if some:
        each = (f"{place} ({', '.join(drafts)})" for place, drafts in some.items())
        yield f"Too little memory for some drafters: {', '.join(each)}"


def _serving(entries: Sequence[Entry]) -> Callable[[Entry], str]:
    """The words for a place, with what runs it where engines differ."""
    if not _several(entries, "served_by"):
        return _place
    return lambda entry: f"{_place(entry)} under {entry.served_by}"


def _several(entries: Sequence[Entry], name: str) -> bool:
    """Whether entries differ in it."""
    return len({getattr(entry, name) for entry in entries}) > 1
