"""The picture of the ledger: measured points over the predicted line, and errors by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from specplan.domain.picture import Band, Bar, Bars, Curve, Panel, Picture, Piece, Plot
from specplan.questions.common import percent
from specplan.questions.ledger import ALL, EVERY, KINDS, Accuracy, GroupErrors, usable
from specplan.questions.pictures import left_out, thinned
from specplan.questions.predict import Predicted

POINTS = 300  # of a panel: more of them nobody tells apart
GROUPS = 16
SAID = (ALL, EVERY)  # what a name need not say
NEAR = 0.1  # of a prediction, shown as a band
WHAT = {
    "gemm": "a product",
    "attention": "attention",
    "experts": "experts",
    "step": "a step",
    "tpot": "TPOT",
    "round": "a round",
}


def picture_of(found: Sequence[Predicted], value: Accuracy) -> Callable[[], Picture] | None:
    """What draws the rows and the groups; None where no row is predicted."""
    known = [one for one in usable(found) if one.held_out and one.measured > 0]
    return (lambda: Picture(panels=tuple(_panels(known, value)), columns=2)) if known else None


def _panels(known: Sequence[Predicted], value: Accuracy) -> Iterator[Panel]:
    for kind in KINDS:
        rows = [one for one in known if one.row.kind == kind]
        if rows:
            yield _rows(kind, rows)
    groups = [one for one in value.groups if _is_whole(one)]
    if groups:
        yield _errors(groups)


def _rows(kind: str, rows: Sequence[Predicted]) -> Plot:
    """Measured over predicted; a point on the line was predicted as it was measured."""
    ordered = sorted(rows, key=lambda one: (one.held_out or 0.0, one.measured))
    shown = thinned(ordered, POINTS)
    unit = "plain steps" if kind == "round" else "s"
    ends = [one.held_out or 0.0 for one in shown] + [one.measured for one in shown]
    low, high = min(ends), max(ends)
    line = ((low, low), (high, high))
    band = tuple((x, x * (1 - NEAR), x * (1 + NEAR)) for x, _ in line)
    points = tuple((one.held_out or 0.0, one.measured) for one in shown)
    return Plot(
        title=", ".join((WHAT[kind], *left_out("rows", shown, rows))),
        x_label=f"predicted, {unit}",
        y_label=f"measured {WHAT[kind].removeprefix('a ')}, {unit}",
        curves=(Curve("as predicted", line), Curve("measured", points, style="points")),
        bands=(Band(f"within {percent(NEAR, 0)}", band),),
    )


def _is_whole(one: GroupErrors) -> bool:
    """Whether a group leaves out no row, accelerator or type."""
    group = one.group
    known = one.held_out.median is not None
    return one.rows == EVERY and group.gpu == group.dtype == ALL and known


def _errors(groups: Sequence[GroupErrors]) -> Bars:
    """The median error of each group, those of most rows where there are many, and how far 9 of 10
    of its rows are off.
    """
    most = sorted(groups, key=lambda one: one.held_out.n, reverse=True)[:GROUPS]
    shown = [one for one in groups if one in most]
    return Bars(
        title=", ".join(("errors by group", *left_out("groups", shown, groups))),
        label="absolute error, 1",
        bars=tuple(map(_bar, shown)),
    )


def _bar(one: GroupErrors) -> Bar:
    group, errors = one.group, one.held_out
    words = [
        WHAT[group.kind],
        *(w for w in (group.engine, group.dtype, group.cases) if w not in SAID),
    ]
    words += [group.drafter] if group.drafter != ALL else []
    median = errors.median or 0.0
    pieces = [Piece("median", median, percent(median, 0))]
    if errors.p90 is not None:
        rest = max(errors.p90 - median, 0.0)
        pieces.append(Piece("to the 90th percentile", rest, percent(errors.p90, 0)))
    return Bar(", ".join(dict.fromkeys(words)), tuple(pieces), f"{errors.n:,} rows")
