"""The ledger as tables and as the page that people see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from specplan.domain.answer import (
    Column,
    Facts,
    Lines,
    Rows,
    Scalar,
    Section,
    Table,
    View,
    table_of,
)
from specplan.physics.accuracy import FEWEST, GAIN, LOSS, Errors, Slowdowns
from specplan.questions.ledger import ALL, Accuracy, GroupErrors
from specplan.questions.predict import Predicted

_MEANINGS = {
    "n": "rows",
    "signed": "median error; above zero the prediction is too long",
    "median": "median absolute error",
    "p90": "90th percentile of the absolute error",
    "within_10": "share of rows within 10 %",
    "within_20": "share of rows within 20 %",
}
_TITLES = {"within_10": "in 10 %", "within_20": "in 20 %", "p90": "90th"}
FITTED = "fitted_"
_OWN = f"{FITTED}median"  # the one of these that people see


def _error_columns(prefix: str, word: str) -> Iterator[Column]:
    for name, meaning in _MEANINGS.items():
        title = "fitted" if prefix + name == _OWN else word + _TITLES.get(name, name)
        unit, form = ("1", "count") if name == "n" else ("1", "percent")
        yield Column(prefix + name, unit, title, form, meaning)  # type: ignore[arg-type]


GROUP_COLUMNS = (
    Column("kind", "", "kind", "text", "what was measured"),
    Column("engine", "", "engine", "text", "engine, or all of them"),
    Column("gpu", "", "GPU", "text", "accelerator, or all of them"),
    Column("dtype", "", "dtype", "text", "of weights; of the cache for attention"),
    Column("cases", "", "cases", "text", "which rows of those"),
    Column("drafter", "", "drafter", "text", "kind of drafter of a round, or all of them"),
    Column("rows", "", "rows", "text", "every row, or those alone that assume nothing"),
    *_error_columns("", ""),
    Column("band", "", "9 of 10 within", "text", "band of a prediction, where n is enough"),
    *_error_columns(FITTED, "fitted "),
    Column("every", "", "every row", "flag", "whether nothing is left out, of no one drafter"),
    Column("drafted", "", "one drafter", "flag", "whether these are rounds of one kind of drafter"),
    Column(
        "stated", "", "stated", "flag", "whether rows that assume something are, and some remain"
    ),
)
SHOWN = (
    *("kind", "engine", "gpu", "dtype", "cases", "n", "signed", "median", "p90"),
    *("within_10", "within_20", _OWN),
)
DRAFTED_SHOWN = ("drafter", *SHOWN[SHOWN.index("n") :], "band")
WORST_COLUMNS = (
    Column("kind", "", "kind", "text", "what was measured"),
    Column("engine", "", "engine", "text"),
    Column("version", "", "version", "text"),
    Column("gpu", "", "GPU", "text"),
    Column("what", "", "what", "text", "shape or setting of the row"),
    Column("unit", "", "unit", "text", "s, or 1 for plain steps per round"),
    Column("measured", "", "measured", "precise"),
    Column("predicted", "", "predicted", "precise", "by constants that have not met the row"),
    Column("error", "1", "error", "percent", "of what was measured"),
    Column("fitted", "", "fitted", "precise", "by the card's own constants"),
    Column("assumed", "", "assumed", "text", "columns that the source left out"),
    Column("note", "", "note", "text"),
    Column("source", "", "source", "text"),
)
WORST_SHOWN = ("kind", "engine", "gpu", "what", "measured", "predicted", "error", "assumed")
_SHAPES = {
    "gemm": ("dtype", "rows", "n", "inner"),
    "attention": ("kv_dtype", "batch", "tokens", "context", "heads", "kv_heads"),
    "experts": ("dtype", "rows", "experts", "active", "hidden", "width", "gpus"),
    "step": ("target", "gpus", "batch", "context"),
    "tpot": ("target", "dtype", "gpus", "batch", "isl", "osl"),
    "round": ("target", "draft", "dtype", "gpus", "batch", "tokens", "k"),
}


_NAMES = frozenset({"target", "draft", "dtype"})  # cells that need no column's name beside them


def group_table(value: Accuracy) -> Table:
    """A row for each group; where some rows assume something, a second without them."""
    return table_of(GROUP_COLUMNS, [_group_row(group) for group in value.groups])


def _group_row(one: GroupErrors) -> dict[str, Scalar]:
    group = {field.name: getattr(one.group, field.name) for field in fields(one.group)}
    drafted = one.group.drafter != ALL
    return {
        **group,
        "rows": one.rows,
        **_figures(one.held_out, ""),
        "band": band_words(one.held_out),
        **_figures(one.fitted, FITTED),
        "every": one.rows == "every" and not drafted,
        "drafted": one.rows == "every" and drafted,
        "stated": one.rows == "stated" and one.fitted.n > 0 and not drafted,
    }


def _figures(errors: Errors, prefix: str) -> dict[str, Scalar]:
    return {prefix + name: getattr(errors, name) for name in _MEANINGS}


def band_words(errors: Errors) -> str:
    """How far 9 of 10 predictions are off at most, or that too few rows say."""
    if errors.p90 is None:
        return f"n < {FEWEST}: no band"
    return f"{100 * errors.p90:.0f} %"


def groups_view(value: Accuracy) -> View:
    """Held-out errors, the median of the fitted ones beside them."""
    whole = [group for group in value.groups if group.group.drafter == ALL]
    partly = any(group.rows == "stated" and group.fitted.n for group in whole)
    by_drafter: tuple[Section, ...] = (
        Lines(("Rounds by the kind of drafter, all engines together:",)),
        Rows(columns=DRAFTED_SHOWN, where="drafted"),
    )
    stated: tuple[Section, ...] = (
        Lines(("Without rows that assume what their source left out:",)),
        Rows(columns=SHOWN, where="stated"),
    )
    return View(
        title=f"{value.predicted:,} of {value.measured:,} measured rows predicted",
        caption=(
            "Errors of constants fitted without the row; the median of the card's own beside them.",
            f"A group of fewer than {FEWEST} rows has medians and no band.",
        ),
        sections=(
            Rows(columns=SHOWN, where="every"),
            *(stated if partly else ()),
            *(by_drafter if len(whole) < len(value.groups) else ()),
            Facts(tuple(_facts(value))),
        ),
    )


def worst_view(value: Accuracy, shown: int) -> View:
    """Row by row."""
    return View(
        title=f"The {shown:,} of {value.predicted:,} rows farthest from their prediction",
        caption=("Seconds; of a round, its cost in plain steps (tau / speedup).",),
        sections=(Rows(columns=WORST_SHOWN), Facts(tuple(_facts(value)))),
    )


def _facts(value: Accuracy) -> Iterator[tuple[str, str]]:
    warnings = value.warnings
    if warnings.losses or warnings.gains:
        yield f"speedups below {LOSS:g}", _caught(warnings)
        yield (
            f"speedups above {GAIN:g}",
            f"{warnings.alarms} of {warnings.gains} predicted below 1 (always faster: 0)",
        )
    if value.unmeasured:
        yield "no round of", ", ".join(value.unmeasured)
    if value.doubtful:
        yield "doubtful", f"{value.doubtful:,} rows, by their own note: in no group"
    for reason, count in value.missing.items():
        yield "not predicted", f"{count:,} rows: {reason}"


def _caught(warnings: Slowdowns) -> str:
    return f"{warnings.caught} of {warnings.losses} predicted at most 1 (always faster: 0)"


def worst_table(found: Sequence[Predicted]) -> Table:
    """A row for each."""
    return table_of(WORST_COLUMNS, [_worst_row(one) for one in found])


def _worst_row(one: Predicted) -> Mapping[str, Scalar]:
    row, predicted = one.row, one.held_out or 0.0
    shape = ((name, getattr(row, name)) for name in _SHAPES[row.kind])
    words = (
        str(value) if name in _NAMES else f"{name} {value}"
        for name, value in shape
        if value is not None
    )
    return {
        "kind": row.kind,
        "engine": row.engine,
        "version": row.version,
        "gpu": row.gpu,
        "what": ", ".join(words),
        "unit": row.unit,
        "measured": one.measured,
        "predicted": predicted,
        "error": predicted / one.measured - 1,
        "fitted": one.fitted,
        "assumed": " ".join(row.assumed) or None,
        "note": row.note,
        "source": row.source,
    }
