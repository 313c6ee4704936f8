"""Named curves: CARD/SERIES, or the target's only one of a kind of drafter (eagle3/mt-bench)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from specplan.catalogue.curves import find_series
from specplan.catalogue.folders import SUFFIXES
from specplan.catalogue.store import Loaded
from specplan.cli.kinds import meant
from specplan.domain.acceptance import Named
from specplan.domain.curve import Curve, Series, is_kind
from specplan.domain.drafter import Drafter
from specplan.domain.model import Model
from specplan.errors import UsageError, Where, did_you_mean

MOST_SHOWN = 8
Wanted = Callable[[str, str], bool]  # of a kind and a family


class Curves(Protocol):
    """Where curves are looked up."""

    def curve(self, name: str, where: Where | None = None) -> Loaded[Curve]:
        """The card of that name, alias or path."""

    def curves(self, target: Model | None, wanted: Wanted) -> list[Loaded[Curve]]:
        """The cards measured with the target, or with any, of drafters that are wanted."""


class Found(NamedTuple):
    """A series and the card that holds it."""

    curve: Loaded[Curve]
    series: Series

    @property
    def name(self) -> str:
        """What finds it whatever the target."""
        return f"{self.curve.card.name}/{self.series.name}"

    @property
    def named(self) -> Named:
        """What planning reads."""
        return Named(self.name, self.series.acceptance)


def named_curve(
    text: str,
    targets: Sequence[Model],
    drafts: Collection[str] | None,
    catalogue: Curves,
    where: Where,
) -> Named:
    """The acceptance that a name stands for; see `found_curve`."""
    return found_curve(text, targets, drafts, catalogue, where).named


def found_curve(
    text: str,
    targets: Sequence[Model],
    drafts: Collection[str] | None,
    catalogue: Curves,
    where: Where,
) -> Found:
    """The series that CARD/SERIES, CARD, KIND/SERIES or KIND/TASK stands for. Of a kind it is the
    only one that was measured with the only target; where there are several, the one whose
    drafter's card is among `drafts`.
    """
    head, tail = _split(text)
    kind = _kind(head)
    if kind and tail:
        return _only_one(kind, tail, targets, drafts, catalogue, where)
    if kind:
        raise UsageError(
            f"{kind} is a kind of drafter, and what it drafts decides what is kept",
            where=where,
            expected=f"a task too, such as {kind}/mt-bench",
        )
    loaded = catalogue.curve(head, where)
    return Found(loaded, find_series(loaded, tail, where))


def series_of(text: str, catalogue: Curves) -> tuple[Loaded[Curve], tuple[Series, ...]]:
    """The card in CARD or CARD/SERIES, and those of its series that are meant."""
    head, tail = _split(text)
    loaded = catalogue.curve(head)
    return loaded, (find_series(loaded, tail),) if tail else loaded.card.series


def _split(text: str) -> tuple[str, str]:
    """A card's name or file, and what follows its slash."""
    for suffix in SUFFIXES:
        file, found, tail = text.rpartition(f"{suffix}/")
        if found or text.endswith(suffix):
            return (f"{file}{suffix}", tail) if found else (text, "")
    head, _, tail = text.partition("/")
    return head, tail


def _kind(head: str) -> str:
    """The kind of drafter that stands in the place of a card's name, or nothing."""
    return head.lower() if is_kind(head.lower()) else meant(head)


def _only_one(
    kind: str,
    tail: str,
    targets: Sequence[Model],
    drafts: Collection[str] | None,
    catalogue: Curves,
    where: Where,
) -> Found:
    if len(targets) != 1:
        named = " and ".join(target.name for target in targets[:2])
        raise UsageError(
            f"{kind} is a kind of drafter, and whose curves it means depends on the target",
            where=where,
            expected=f"one target, not {len(targets)} ({named})" if targets else "a target",
            hint="name the curve's card: CARD/SERIES",
        )
    (target,) = targets

    def wanted(drafter: str, family: str) -> bool:
        return kind in {drafter, family}

    every = catalogue.curves(target, wanted)
    found = _matching(every, tail)
    if len(found) > 1:
        found = [one for one in found if one.curve.card.draft in (drafts or ())] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} curves of {kind} for {tail} were measured with {target.name}",
            where=where,
            expected=f"one of {_listed(found)}",
        )
    known = [Found(curve, series) for curve in every for series in curve.card.series]
    words = {word for one in known for word in (one.series.name, one.series.task) if word}
    raise UsageError(
        f"no curve of {kind} for {tail} was measured with {target.name}",
        where=where,
        expected=f"one of {_listed(known)}" if known else "",
        hint=did_you_mean(tail, words)
        or _elsewhere(_matching(catalogue.curves(None, wanted), tail), target),
    )


def _matching(curves: Iterable[Loaded[Curve]], tail: str) -> list[Found]:
    """The series of that name, or where none has it those of that task."""
    every = [Found(curve, series) for curve in curves for series in curve.card.series]
    named = [one for one in every if one.series.name == tail.lower()]
    return named or [one for one in every if one.series.task == tail.lower()]


def _elsewhere(found: Sequence[Found], target: Model) -> str:
    """A curve of another target, one of a name that begins as this one's if there is any."""
    if not found:
        return "specplan curves list shows all"
    stem = target.name.partition("-")[0]
    near = [one for one in found if (one.curve.card.target or "").partition("-")[0] == stem]
    first = (near or found)[0]
    card = first.curve.card
    return f"{first.name} was measured with {card.target or card.of}: name it to take it"


def _listed(found: Sequence[Found]) -> str:
    more = ", ..." if len(found) > MOST_SHOWN else ""
    return ", ".join(one.name for one in found[:MOST_SHOWN]) + more


def unlike(curve: Curve, targets: Sequence[Model], drafts: Sequence[Drafter]) -> Iterator[str]:
    """A note where a curve was measured with another target, or of another kind of drafter."""
    whose = [target for target in targets if curve.target not in {target.name, *target.aliases}]
    if curve.target is not None and whose:
        names = ", ".join(target.name for target in whose)
        yield f"{curve.name} was measured with {curve.target}, not with {names}"
    other = [draft.label for draft in drafts if draft.kind not in {curve.drafter, "none"}]
    if other:
        yield f"{curve.name} was measured of {curve.drafter}, not of {', '.join(other)}"
