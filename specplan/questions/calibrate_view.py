"""How a calibration looks: constants with their errors, residuals, the best k at each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specplan.domain.answer import Column, Facts, Lines, Rows, Scalar, Section, View
from specplan.questions.calibrated import Calibrated, Chosen, Constant
from specplan.questions.calibrated_card import Naming
from specplan.questions.common import percent, times
from specplan.units import people, significant

Row = dict[str, Scalar]
COLUMNS = (
    Column("batch", "sequences", "batch", "count", "sequences decoded together"),
    Column("context", "tokens", "context", "count", "tokens behind each sequence; absent: unknown"),
    Column("k", "tokens", "k", "count", "draft tokens per round; 0 is a plain step"),
    Column("width", "tokens", "width", "count", "tokens of each sequence in the target's pass"),
    Column("measured_s", "s", "measured", "seconds", "as measured; absent: not measured"),
    Column("form_s", "s", "fitted", "seconds", "what the fitted form says"),
    Column("residual", "1", "residual", "percent", "logarithm of measured over fitted"),
    Column("left_out", "1", "unseen", "percent", "the same of a fit that had not met the figure"),
    Column("time_s", "s", "taken", "seconds", "measured where it was, else the form led through"),
    Column("spread", "1", "error", "percent", "one standard error of it, relative"),
    Column("how", "", "how", "text", "measured, between, beyond, or left out as wrong"),
    Column("tokens_per_round", "tokens", "tok/round", "number", "bonus token included"),
    Column("tokens_per_s", "1/s", "tok/s", "number", "of all sequences"),
    Column("best", "", "best", "flag", "the best k of its batch"),
    Column("was_measured", "", "measured", "flag", "whether a figure stands behind the row"),
)
UNTOLD = "?"  # begins lines on what the steps do not tell
SHOWN = ("batch", "k", "measured_s", "form_s", "residual", "left_out", "how")


def row(place: Sequence[float], *, known: bool, how: str) -> Row:
    """A row at a place (batch, context, width, k), its other columns still blank."""
    batch, context, width, k = place
    blank: Row = {column.name: None for column in COLUMNS}
    return blank | {
        "batch": _whole(batch),
        "context": _whole(context) if known else None,
        "k": int(k),
        "width": int(width),
        "how": how,
        "best": False,
        "was_measured": how in {"measured", "left out"},
    }


def outcome(time_s: float, spread: float) -> Row:
    """The cells of an estimate."""
    return {"time_s": time_s, "spread": spread}


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


def says(value: Calibrated) -> str:
    """How far to trust it, in words."""
    return f"calibrated, within {percent(value.within)} ({value.kept} figures)"


def seconds(value: float) -> str:
    """A time for people."""
    return people(value, "s")


def listed(names: Sequence[str]) -> str:
    """Names as people list them."""
    words = [name.replace("_", " ") for name in names]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def calibrated(value: Calibrated, naming: Naming, *, known: bool) -> View:
    """The whole answer."""
    sections: list[Section] = []
    if value.choices:
        sections.append(Facts((("best k", ""), *(_choice(c, value) for c in value.choices))))
    sections += [
        Facts((("constants", ""), *map(_constant, filter(_shows, value.constants)))),
        Facts(tuple(_errors(value))),
        Rows(
            columns=SHOWN if not known else ("batch", "context", *SHOWN[1:]), where="was_measured"
        ),
    ]
    open_ = tuple(_open(value))
    if open_:
        sections.insert(len(sections) - 2, Lines(open_, wrap=True))
    return View(
        title=f"{naming.name}: {_form(value)}",
        caption=(f"{value.figures} step times of {naming.files}",),
        sections=tuple(sections),
    )


def _form(value: Calibrated) -> str:
    return "step times" if value.form == "steps" else "whole passes and host times"


def _shows(one: Constant) -> bool:
    """Whether a constant has a line: the steps tell it, and tell it from 0."""
    return one.told and one.error <= abs(one.value)


def _constant(one: Constant) -> tuple[str, str]:
    return one.name.replace("_", " "), f"{_shown(one):<24}   {one.says}"


def _shown(one: Constant) -> str:
    if one.unit == "s":
        return f"{seconds(one.value)} +- {seconds(one.error)}"
    return f"{significant(one.value)} +- {significant(one.error, 2)}"


def _errors(value: Calibrated) -> Iterator[tuple[str, str]]:
    yield "residuals", f"median {percent(value.residual)}, noise {percent(value.noise)}"
    yield "unseen", f"median {percent(value.left_out)}, 9 of 10 within {percent(value.within)}"
    yield "rank", f"{value.rank} of {len(value.constants)} constants are told"


def _open(value: Calibrated) -> Iterator[str]:
    for group in value.only_together:
        yield f"{UNTOLD} told only together: {listed(group)}"
    small = tuple(one.name for one in value.constants if one.told and not _shows(one))
    said = [f"left to the prior: {listed(value.not_told)}"] if value.not_told else []
    said += [f"no further from 0 than their errors: {listed(small)}"] if small else []
    if said:
        yield f"{UNTOLD} {'; '.join(said)}"


def _choice(chosen: Chosen, value: Calibrated) -> tuple[str, str]:
    several = len({c.context for c in value.choices}) > 1
    at = f", {chosen.context:,.0f}" if several and chosen.context is not None else ""
    told = f"k = {chosen.k}: {chosen.tokens_per_s:,.0f} tok/s"
    if chosen.speedup is not None:
        told += f", {times(chosen.speedup)}"
    if chosen.next_k is not None and chosen.margin is not None:
        told += f"   (k = {chosen.next_k} loses {percent(chosen.margin)})"
    if chosen.unsure:
        told += " unsure"
    return f"batch {chosen.batch:,.0f}{at}", told
