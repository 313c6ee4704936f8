"""Predictions sorted into groups, and the errors of each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np

from specplan.domain.bands import Band, BandOf
from specplan.domain.drafters import CARDS, DRAFTERS
from specplan.physics.accuracy import Errors, Slowdowns, relative, slowdowns, summary
from specplan.questions.predict import Predicted
from specplan.questions.timed import on_gpu_alone

ALL = "all"
DENSE, EXPERTS, EVERY = "dense", "experts", "every"
DRAFTED = tuple(dict.fromkeys((*CARDS, *DRAFTERS)))
"""The kinds of drafter that there are, in order."""
UNMEASURED = frozenset(("ratio", "free", "none"))
"""Kinds of which nobody can measure a round, or whose rounds are a replay."""
LOOKED_UP = frozenset(("ngram", "suffix"))
"""Kinds whose share of rounds with a draft was chosen on rounds (timed.LOOKED_UP_KEPT)."""
WIDEST = 512  # rows of products that decoding and verification are held to
VERIFY = "several tokens"  # attention as wide as verification
KINDS = ("gemm", "attention", "experts", "step", "tpot", "round")
_CASES = (
    *(
        "rows up to 64",
        f"rows up to {WIDEST}",
        f"rows above {WIDEST}",
        "batch from 8",
        "batch below 8",
        VERIFY,
        EVERY,
    ),
    *("kernels alone", "with host", DENSE, EXPERTS),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows whose errors are counted together; `all` where a column does not matter."""

    kind: str
    engine: str
    gpu: str
    dtype: str
    cases: str
    drafter: str = ALL


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Errors of one group: with constants that have not met its rows, and with the card's own.
    `rows` says which: every row, or those alone whose source states every column.
    """

    group: Group
    rows: str
    held_out: Errors
    fitted: Errors


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The whole ledger. `doubtful` rows are in no group, nor those that no card predicts.
    `unmeasured` are the kinds of drafter of which no round was predicted, where any was.
    """

    measured: int
    predicted: int
    doubtful: int
    missing: dict[str, int]
    warnings: Slowdowns
    warnings_fitted: Slowdowns
    groups: tuple[GroupErrors, ...]
    unmeasured: tuple[str, ...] = ()


def ledger(found: Sequence[Predicted]) -> Accuracy:
    """Every figure about the rows that were asked for."""
    counted = usable(found)
    missing = Counter(one.missing for one in found if one.missing)
    return Accuracy(
        measured=len(found),
        predicted=sum(not one.missing for one in found),
        doubtful=sum(one.row.doubtful for one in found if not one.missing),
        missing=dict(missing.most_common()),
        warnings=_warnings(counted, fitted=False),
        warnings_fitted=_warnings(counted, fitted=True),
        groups=tuple(group_errors(counted)),
        unmeasured=tuple(_unmeasured(counted)),
    )


def _unmeasured(counted: Iterable[Predicted]) -> Iterator[str]:
    """Kinds of drafter without a round, where there is one of another."""
    found = {one.drafter for one in counted if one.drafter}
    return (kind for kind in DRAFTED if found and kind not in found | UNMEASURED)


def usable(found: Iterable[Predicted]) -> tuple[Predicted, ...]:
    """Rows that were predicted and that nothing speaks against."""
    return tuple(one for one in found if not one.missing and not one.row.doubtful)


def farthest(found: Iterable[Predicted], most: int) -> tuple[Predicted, ...]:
    """The rows farthest from their prediction, the farthest first, doubtful ones left out."""
    known = [one for one in usable(found) if one.held_out is not None]
    return tuple(sorted(known, key=lambda one: -abs(_error(one)))[:most])


def _error(one: Predicted) -> float:
    return (one.held_out or 0.0) / one.measured - 1


def group_errors(found: Sequence[Predicted]) -> Iterator[GroupErrors]:
    """Each group in order, all its rows first, then those that assume nothing if there are both."""
    together: dict[Group, list[Predicted]] = {}
    for one in found:
        for group in dict.fromkeys(groups_of(one)):
            together.setdefault(group, []).append(one)
    for group in sorted(together, key=_order):
        every = together[group]
        stated = [one for one in every if not one.row.assumed]
        yield GroupErrors(group, "every", *_both(every))
        if 0 < len(stated) < len(every):
            yield GroupErrors(group, "stated", *_both(stated))


def _order(group: Group) -> tuple[int, int, str, str, str, int]:
    """Kinds, drafters and cases as they are listed here; groups of all first."""
    dtype = "" if group.dtype == ALL else group.dtype
    listed = (ALL, *DRAFTED)
    drafter = listed.index(group.drafter) if group.drafter in listed else len(listed)
    case = _CASES.index(group.cases)
    return KINDS.index(group.kind), drafter, group.engine, group.gpu, dtype, case


def bands(found: Iterable[Predicted]) -> Iterator[Band]:
    """What rounds say about predictions of their like. Those of lookups say nothing: what share of
    their drafts is kept was chosen on some of them.
    """
    together: dict[BandOf, list[Predicted]] = {}
    for one in usable(found):
        unseen = one.held_out is not None and one.drafter not in LOOKED_UP
        if one.like is not None and unseen:
            together.setdefault(one.like, []).append(one)
    for like, some in sorted(together.items(), key=lambda pair: astuple(pair[0])):
        errors, _ = _both(some)
        if errors.p90 is not None:
            yield Band(**asdict(like), share=round(errors.p90, 3), n=errors.n)


def _both(some: Sequence[Predicted]) -> tuple[Errors, Errors]:
    unseen = [(one.held_out, one.measured) for one in some if one.held_out is not None]
    fitted = [(one.fitted, one.measured) for one in some]
    return _errors(unseen), _errors(fitted)


def _errors(pairs: Sequence[tuple[float | None, float]]) -> Errors:
    predicted, measured = np.array(pairs, np.float64).reshape(-1, 2).T
    return summary(relative(predicted, measured))


def groups_of(one: Predicted) -> Iterator[Group]:
    """The groups that a row belongs to."""
    row = one.row
    if row.kind == "gemm":
        for widest in (64, WIDEST):
            if (row.rows or 0) <= widest:
                yield Group("gemm", row.engine, row.gpu, str(row.dtype), f"rows up to {widest}")
        if (row.rows or 0) > WIDEST:
            yield Group("gemm", row.engine, row.gpu, str(row.dtype), f"rows above {WIDEST}")
    elif row.kind == "attention":
        wide = (row.tokens or 1) > 1
        cases = VERIFY if wide else "batch from 8" if (row.batch or 0) >= 8 else "batch below 8"
        yield Group("attention", row.engine, row.gpu, str(row.kv_dtype), cases)
    elif row.kind == "experts":
        yield Group("experts", row.engine, row.gpu, str(row.dtype), EVERY)
    elif row.kind == "step":
        cases = "kernels alone" if on_gpu_alone(row) else "with host"
        yield Group("step", row.engine, row.gpu, str(row.dtype or ALL), cases)
    else:
        yield from _served(one)


def _served(one: Predicted) -> Iterator[Group]:
    """Servers and rounds: by engine and dtype, by engine; rounds altogether and by drafter."""
    row, cases = one.row, EXPERTS if one.sparse else DENSE
    if row.dtype:
        yield Group(row.kind, row.engine, ALL, str(row.dtype), cases)
    yield Group(row.kind, row.engine, ALL, ALL, cases)
    if row.kind == "round":
        yield Group("round", ALL, ALL, ALL, cases)
    if one.drafter:
        yield Group("round", ALL, ALL, ALL, EVERY, one.drafter)


def _warnings(found: Iterable[Predicted], *, fitted: bool) -> Slowdowns:
    """Speedups below 1 that were foreseen, and those that were feared."""
    pairs = [
        (row.tau / cost, row.value)
        for one in found
        for row, cost in [(one.row, one.fitted if fitted else one.held_out)]
        if row.kind == "round" and row.tau and cost
    ]
    predicted, measured = np.array(pairs, np.float64).reshape(-1, 2).T
    return slowdowns(predicted, measured)
