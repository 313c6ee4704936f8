"""How a capacity plan is told: what speculation saves, then a line for each plan, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Lines, Rows, Section, View
from specplan.questions.capacity_curves import charts
from specplan.questions.capacity_row import PARTS, Row, percentile_name
from specplan.questions.capacity_size import Asked
from specplan.questions.common import percent
from specplan.units import people

if TYPE_CHECKING:
    from specplan.questions.capacity import Capacity

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
ROOM = 40  # characters that names may take in every block; longer ones give way to a number


def page(value: Capacity, rows: Sequence[Row], asked: Asked, *, explain: bool) -> View:
    """The page of rows in order: plans, then what has none."""
    planned = [row for row in rows if row.reason is None]
    return View(
        title=_verdict(value),
        caption=tuple(_caption(rows, asked)),
        sections=(
            *_plans(planned, asked),
            *(_causes(planned) if explain and planned else ()),
            *_pays(planned),
            *_left(rows),
        ),
        chart=charts(planned, asked) if planned else None,
    )


def _verdict(value: Capacity) -> str:
    best, without, drafted = value.cheapest, value.without, value.speculating
    if best is None:
        return "SLO cannot be met"
    if drafted is None or without is None:
        alone = "without speculation" if drafted is None else "with speculation alone"
        return f"{_gpus(best)} {alone}"
    if value.gpus_saved is None:  # on different accelerators
        return f"{_gpus(best)}: {'no speculation' if best.plain else who(best)} is cheapest"
    both = f"{drafted.gpus:,} with, {without.gpus:,} without"
    if value.barely:
        return f"Speculation barely changes the GPUs: {both}"
    if value.gpus_saved > 0:
        return f"{who(drafted)} saves {value.gpus_saved:,} of {without.gpus:,} GPUs"
    if value.gpus_saved < 0:
        return f"Speculation costs GPUs: {both}"
    return f"Speculation saves no GPU: {both}"


def who(row: Row) -> str:
    """What drafts, and how many tokens when."""
    if row.plain:
        return "no speculation"
    how = f" with {row.policy}" if row.policy.startswith("k=") else f", {row.policy},"
    return f"{row.draft}{how}"


def _gpus(row: Row) -> str:
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
        yield ", ".join([" ".join(what), *drafted])
    lengths, traffic = asked.traffic.lengths, asked.traffic
    mean = {
        n: sum(x * w for x, w in zip(getattr(lengths, n), lengths.weight, strict=True))
        for n in ("isl", "osl", "hit")
    }
    words = f"{traffic.rate_per_s:.4g} requests/s of {mean['isl']:,.0f} + {mean['osl']:,.0f} tokens"
    if mean["hit"]:
        words += f", {mean['hit']:,.0f} of them cached"
    if abs(traffic.dispersion - 1) > 0.005:
        words += f", dispersion {traffic.dispersion:.3g}"
    yield words
    promises = ", ".join(f"{one} {people(one.limit_s, 's')}" for one in asked.slo.limits)
    head = f"head-room {percent(asked.margin, 0)}" if asked.margin else ""
    told = ", ".join(filter(None, (promises, head)))
    if told:
        yield f"{asked.slo.name}: {told}" if asked.slo.name else told


def several(rows: Sequence[Row], name: str) -> bool:
    """Whether plans with this figure differ in it."""
    return len({getattr(row, name) for row in rows} - {None}) > 1


def heads(rows: Sequence[Row]) -> list[str]:
    """The names that tell plans apart; what a plan without speculation lacks tells nothing."""
    drafted = [row for row in rows if not row.plain]
    mine = {"draft", "draft_tp", "draft_dtype", "acceptance"}
    return [
        name
        for name in NAMES
        if name == "policy" or several(drafted if name in mine else rows, name)
    ]


def _plans(rows: Sequence[Row], asked: Asked) -> Iterator[Section]:
    if not rows:
        return
    names = heads(rows)
    told = sorted({percentile_name((one.metric, one.percentile)) for one in asked.slo.limits})
    if not told:
        told = ["tpot_p95_s", "ttft_p95_s"]
    given = [
        name
        for name in (*FIGURES, *STATE, *MONEY)
        if any(getattr(r, name) is not None for r in rows)
    ]
    at = given.index("k_mean") + 1 if "k_mean" in given else len(given)
    wide = sum(2 + max(len(str(getattr(row, n) or "-")) for row in rows) for n in names) > ROOM
    money = any(row.usd_per_hour is not None for row in rows)
    yield Rows(
        columns=(*(("rank",) if wide else ()), *names, *given[:at], *told, *given[at:]),
        mark="cheapest",
        marked="usd_per_million_output_tokens" if money else "gpus",
        where="planned",
        heads=1 if wide else len(names),
    )
    yield Lines(("* cheapest",))


def _causes(rows: Sequence[Row]) -> Iterator[Section]:
    """Where the GPUs go, by cause."""
    yield Lines(("GPUs by cause, which add up:",))
    parts = [f"gpus_{name}" for name in PARTS]
    names = heads(rows)
    yield Rows(columns=(*names, *parts, "gpus"), where="parted", heads=len(names))


def _pays(rows: Sequence[Row]) -> Iterator[Section]:
    """Up to which load of a replica each drafted plan pays."""
    told = dict.fromkeys(filter(None, map(_pays_words, rows)))
    if told:
        yield Lines(
            ("Requests/s a replica at which it pays (mean TPOT below that without):", *told)
        )


def _pays_words(row: Row) -> str:
    if row.plain or row.sustains is None or row.pools == "apart":
        return ""
    star, place = row.lambda_star_per_s, f"{row.draft} {row.policy}"
    full = f"{row.saturation_per_s:.3g}"
    if star == 0:
        words = "none"
    elif star is None:
        words = f"all, up to the {full} that it can carry at most"
    else:
        words = f"up to {star:.3g} of {full}"
    if row.crossings_per_s and "," in row.crossings_per_s:
        words += f" (crosses at {row.crossings_per_s})"
    return f"  {place}: {words}; carries {row.sustains:.2f}x"


def _left(rows: Sequence[Row]) -> Iterator[Section]:
    """Who has no plan and why, each reason once."""
    groups: dict[str, dict[str, None]] = {}
    names = heads(rows)
    for row in rows:
        if row.reason:
            said = [str(getattr(row, n)) for n in names if getattr(row, n) is not None]
            groups.setdefault(row.reason, {})[" ".join(said)] = None
    if groups:
        told = (f"{', '.join(whose)}: {reason}" for reason, whose in groups.items())
        yield Lines(("No plan:", *told), wrap=True)
