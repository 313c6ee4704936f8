"""How a capacity plan is told: what speculation saves, then a line for each plan, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from specplan.domain.answer import Lines, Rows, Section, View
from specplan.questions.capacity_curves import charts
from specplan.questions.capacity_notes import peaks
from specplan.questions.capacity_row import PARTS, Row, percentile_name
from specplan.questions.capacity_size import Asked
from specplan.questions.common import percent
from specplan.questions.traffic_view import promise_words, traffic_words

if TYPE_CHECKING:
    from specplan.questions.capacity import Best, Capacity

NAMES = (
    *("target", "draft", "hardware", "tp", "draft_tp", "served_by", "attention_dp", "ep"),
    *("dtype", "draft_dtype", "kv_dtype", "acceptance", "policy", "pools"),
)
"""What may tell plans apart, in the order of the columns."""
FIGURES = ("largest_per_s", "replicas", "prefill_replicas", "decode_replicas", "gpus")
STATE = ("utilisation", "batch_mean", "k_mean")
MONEY = (
    *("usd_per_million_output_tokens", "usd_per_million_tokens"),
    *("usd_per_million_output_tokens_saturated", "wh_per_million_output_tokens"),
    *("lambda_star_per_s", "peak_gpus", "mean_gpus", "gpu_hours", "bound_by"),
)
OF_DRAFTERS = {"draft", "draft_tp", "draft_dtype", "acceptance"}
FOLLOWS: dict[str, tuple[str, ...]] = {
    "dtype": ("target",),
    "draft_tp": ("target", "draft", "hardware", "tp"),
    "draft_dtype": ("target", "draft"),
}
"""What each follows from unless it was asked for: told where it differs among those that agree."""
NEARLY = 0.97  # of the most that a replica carries: a load that is all of it
HALF = 0.5  # of the work: where decoding is less, outputs are short
ROOM = 40  # characters that names may take in every block; longer ones give way to a number
LINE = 80  # characters


def page(
    value: Capacity, rows: Sequence[Row], asked: Asked, bin_s: float, *, explain: bool
) -> View:
    """The page of rows in order: plans, then what has none; of a trace, what its busiest bin takes
    where that is more.
    """
    planned = [row for row in rows if row.reason is None]
    names = heads(rows)
    words = {row.rank or 0: called(row, names) for row in planned}
    return View(
        title=_verdict(value, placed=several(rows, "hardware")),
        caption=tuple(_caption(rows, asked)),
        sections=(
            *_plans(planned, names, asked),
            *(Lines((line,), wrap=True) for line in peaks(planned, asked, bin_s)),
            *(_causes(planned, names) if explain else ()),
            *_pays(planned, words),
            *_unrounded(value),
            *_short(value),
            *_left(rows, names),
        ),
        picture=partial(charts, planned, asked, words)
        if any(row.pools == "shared" for row in planned)
        else None,
    )


def called(row: Row, names: Sequence[str]) -> str:
    """What tells a plan from the others, in a few words."""
    said = {
        name: getattr(row, name)
        for name in names
        if getattr(row, name) is not None and not (row.plain and name == "draft")
    }
    if "tp" in said:
        said["tp"] = f"tp {said['tp']}"
    if said["policy"] == "none":
        said["policy"] = "no speculation"
    return " ".join(map(str, said.values()))


def _verdict(value: Capacity, *, placed: bool) -> str:
    """How many GPUs, and what speculation does to them; `placed`: which ones has to be said."""
    best, without, drafted = value.cheapest, value.without, value.speculating
    if best is None:
        return "SLO cannot be met"
    if drafted is None or without is None:
        alone = "without speculation" if drafted is None else "with speculation alone"
        return f"{_gpus(best)} {alone}"
    if value.gpus_saved is None:  # on different accelerators
        return f"{_gpus(best)} of {best.hardware}: {who(best)} is cheapest"
    words = _saved(value.gpus_saved, without, drafted, barely=value.barely)
    gpus = f"{drafted.gpus:,} {drafted.hardware}" if placed else _gpus(drafted)
    return f"{gpus}: {words}" if value.gpus_saved > 0 and not value.barely else words


def _saved(saved: int, without: Best, drafted: Best, *, barely: bool) -> str:
    """What speculation does to the GPUs."""
    both = f"{drafted.gpus:,} with, {without.gpus:,} without"
    if barely:
        return f"Speculation barely changes the GPUs: {both}"
    if saved > 0:
        return f"{who(drafted)} saves {saved:,} of {without.gpus:,}"
    return f"Speculation costs {-saved:,} GPU{'s' if saved < -1 else ''}: {both}"


def who(row: Best) -> str:
    """What drafts, and how many tokens when."""
    if row.plain:
        return "no speculation"
    how = f" with {row.policy}" if row.policy.startswith("k=") else f", {row.policy},"
    return f"{row.draft}{how}"


def _gpus(row: Best) -> str:
    return f"{row.gpus:,} GPU{'s' if row.gpus != 1 else ''}"


def _caption(rows: Sequence[Row], asked: Asked) -> Iterator[str]:
    """What all plans share: who, the traffic, the promises."""
    first = rows[0]
    what = [] if several(rows, "target") else [first.target]
    if not several(rows, "hardware"):
        what.append(
            f"on {first.hardware}"
            if several(rows, "tp") or first.tp == 1
            else f"on {first.tp}x {first.hardware}"
        )
    if not several(rows, "served_by"):
        what.append(f"under {first.served_by}")
    drafts = {row.draft for row in rows if not row.plain}
    accepted = {row.acceptance for row in rows if row.acceptance}
    drafted = [f"drafter {drafts.pop()}"] if len(drafts) == 1 else []
    drafted += [f"acceptance {accepted.pop()}"] if len(accepted) == 1 else []
    if what:
        who = ", ".join([" ".join(what), *drafted])
        yield from [who] if len(who) <= LINE else filter(None, (" ".join(what), ", ".join(drafted)))
    yield traffic_words(asked.traffic)
    head = f"head-room {percent(asked.margin, 0)}" if asked.margin else ""
    told = ", ".join(filter(None, (promise_words(asked.slo), head)))
    if told:
        yield told


def several(rows: Sequence[Row], name: str) -> bool:
    """Whether plans that agree in what a figure follows from differ in it."""
    found: dict[tuple[object, ...], set[object]] = {}
    for row in rows:
        value = getattr(row, name)
        if value is not None:
            found.setdefault(tuple(getattr(row, n) for n in FOLLOWS.get(name, ())), set()).add(
                value
            )
    return any(len(values) > 1 for values in found.values())


def heads(rows: Sequence[Row]) -> list[str]:
    """The names that tell plans apart; what one without speculation lacks tells nothing."""
    drafted = [row for row in rows if not row.plain]
    return [
        name
        for name in NAMES
        if name == "policy" or several(drafted if name in OF_DRAFTERS else rows, name)
    ]


def _plans(rows: Sequence[Row], names: Sequence[str], asked: Asked) -> Iterator[Section]:
    if not rows:
        return
    told = [percentile_name((one.metric, one.percentile)) for one in asked.slo.limits]
    told = list(dict.fromkeys(told)) or ["tpot_p95_s", "ttft_p95_s"]
    state, money = (
        [name for name in some if any(getattr(row, name) is not None for row in rows)]
        for some in ((*FIGURES, *STATE), MONEY)
    )
    wide = sum(2 + max(len(str(getattr(row, n) or "-")) for row in rows) for n in names) > ROOM
    priced = any(row.usd_per_hour is not None for row in rows)
    yield Rows(
        columns=(*(("rank",) if wide else ()), *names, *state, *told, *money),
        mark="cheapest",
        marked="usd_per_million_output_tokens" if priced else "gpus",
        where="planned",
        heads=1 if wide else len(names),
    )
    yield Lines(("* cheapest",))


def _causes(rows: Sequence[Row], names: Sequence[str]) -> Iterator[Section]:
    """Where the GPUs go, by cause."""
    if any(row.parts for row in rows):
        yield Lines(("GPUs by cause, which add up:",))
        parts = [f"gpus_{name}" for name in PARTS]
        yield Rows(columns=(*names, *parts, "gpus"), where="parted", heads=len(names))


def _pays(rows: Sequence[Row], words: Mapping[int, str]) -> Iterator[Section]:
    """Up to which load of a replica each drafted plan pays."""
    told = [
        f"  {words[row.rank or 0]}: {_pays_words(row)}"
        for row in rows
        if row.sustains is not None and row.pools == "shared"
    ]
    if told:
        yield Lines(("A token takes less with speculation, requests/s a replica:", *told))


def _pays_words(row: Row) -> str:
    """Below which load it pays, and beyond which its queue only grows."""
    star, most = row.lambda_star_per_s, row.saturation_per_s or 0.0
    if star == 0:
        words = "never"
    elif star is None or star >= NEARLY * most:
        words = "at every load"
    else:
        words = f"below {star:.3g}"
    if row.crossings_per_s and "," in row.crossings_per_s:
        words += f" (they cross at {row.crossings_per_s})"
    alone = most / row.sustains if row.sustains else 0.0
    return f"{words}; queues only grow beyond {most:.3g}, {alone:.3g} without"


def _unrounded(value: Capacity) -> Iterator[Section]:
    """What speculation would save of more traffic, where whole replicas hide it."""
    without, drafted, share = value.without, value.speculating, value.share_saved or 0.0
    if without and drafted and value.hidden:
        both = f"{drafted.gpus_exact:.3g} GPUs with, {without.gpus_exact:.3g} without"
        words = f"{percent(abs(share), 0)} {'fewer' if share > 0 else 'more'} with speculation"
        yield Lines((f"Before replicas are whole: {both}, {words}",), wrap=True)


def _short(value: Capacity) -> Iterator[Section]:
    """Why speculation changes little, where outputs are short."""
    share = value.decode_share
    if value.gpus_saved is not None and share is not None and share < HALF:
        yield Lines(
            (
                f"Outputs are short ({value.osl_mean:,.0f} tokens): decoding, which is all that "
                f"speculation speeds up, is {percent(share, 0)} of the work",
            ),
            wrap=True,
        )


def _left(rows: Sequence[Row], names: Sequence[str]) -> Iterator[Section]:
    """Who has no plan and why, each reason once."""
    groups: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason:
            groups.setdefault(row.reason, {})[called(row, names)] = None
    if groups:
        told = (f"{', '.join(whose)}: {reason}" for reason, whose in groups.items())
        yield Lines(("No plan:", *told), wrap=True)
