"""The columns of a file of step times: what each holds, and what a header may get wrong."""

from __future__ import annotations

from typing import Final

from specplan.catalogue.explain import SHOWN
from specplan.catalogue.lines import cells, starts
from specplan.domain.runs import STEP, THROUGHPUT, TPOT
from specplan.errors import InputError, Where, did_you_mean
from specplan.visible import visible

TIMES: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
VALUES: Final = {
    **{f"step_{unit}": (STEP, factor) for unit, factor in TIMES.items()},
    **{f"tpot_{unit}": (TPOT, factor) for unit, factor in TIMES.items()},
    "tokens_per_s": (THROUGHPUT, 1.0),
}
"""The columns that hold what was measured: what it is, and its unit in SI."""
COLUMNS: Final = ("batch", "context", "k", "width", "tau", *VALUES, "note")
NEEDED: Final = "batch, k (0 is plain) and one of step_s, tpot_s, tokens_per_s"
OTHERS: Final = {
    **dict.fromkeys(("batch_size", "bs", "concurrency", "max_concurrency"), "batch"),
    **dict.fromkeys(("num_speculative_tokens", "num_steps", "gamma", "draft_length"), "k"),
    **dict.fromkeys(("ctx", "context_length", "context_len", "seq_len"), "context"),
    **dict.fromkeys(("acceptance_length", "accept_length", "accept_len", "al"), "tau"),
    **dict.fromkeys(("throughput", "tok_s", "tokens_s", "output_throughput"), "tokens_per_s"),
    **{f"itl_{unit}": f"step_{unit}" for unit in TIMES},
    **{f"latency_{unit}": f"step_{unit}" for unit in TIMES},
    **{f"time_{unit}": f"step_{unit}" for unit in TIMES},
}
"""What others call these columns; a gap between chunks (ITL) is a round, and holds its tokens."""


def columns_of(header: str, where: Where) -> list[str]:
    """The names of the columns, those that are needed among them, none of ours twice. Names that
    are near to one of ours are refused; others stay, for the rows to leave unread.
    """
    if ";" in header and "," not in header:
        raise InputError("semicolons between cells", where=where, hint="separate them by commas")
    columns = [_ours(name) for name in cells(header, where)] if header else []
    if columns and all(name.replace(".", "", 1).isdigit() for name in columns):
        what, hint = "numbers where the names of columns should be", "add a first line of names"
        raise InputError(what, where=where, expected=NEEDED, hint=hint)
    for place, (column, start) in enumerate(zip(columns, starts(header), strict=False)):
        at = Where(where.name, where.line, start)
        guess = "" if column in COLUMNS else _guess(column)
        if guess:
            raise InputError(f"unknown column '{visible(column, SHOWN)}'", where=at, hint=guess)
        if column in columns[:place]:
            raise InputError(f"column '{visible(column, SHOWN)}' twice", where=at, hint="keep one")
    _needed(columns, where)
    return columns


def _ours(name: str) -> str:
    """A name as we write it, whatever its case; others as they are."""
    return name.lower() if name.lower() in COLUMNS else name


def _guess(name: str) -> str:
    """Which of our columns is meant, if any is."""
    plain = "_".join(name.lower().replace("-", " ").split())
    meant = OTHERS.get(plain)
    return f"did you mean '{meant}'?" if meant else did_you_mean(plain, COLUMNS)


def _needed(columns: list[str], where: Where) -> None:
    values = [column for column in columns if column in VALUES]
    if len(values) != 1:
        what = f"{' and '.join(values)} in one file" if values else "no column of times"
        raise InputError(what, where=where, expected="one of step_s, tpot_s, tokens_per_s")
    if "batch" not in columns or not {"k", "width"} & set(columns):
        missing = "batch" if "batch" not in columns else "k"
        raise InputError(f"missing column '{missing}'", where=where, expected=NEEDED)
