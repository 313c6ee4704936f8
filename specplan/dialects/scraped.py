"""What readers of /metrics pages share: totals of one scrape, or their growth between two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from specplan.dialects.documents import Exposition
from specplan.domain.capture import Found, Noted, Span

Totals = Mapping[str, float]


class Scraped:
    """Counters of one engine over a series of scrapes.

    The first scrape waits: if a second comes, what grew in between is told, scrape by scrape; a
    single one is told whole, as the lifetime that it is. A counter that fell has started again,
    and its value is then its growth.
    """

    format: ClassVar[str]
    marks: ClassVar[tuple[str, ...]]  # names, with `_` for `:`, of which one is there

    def __init__(self) -> None:
        self._last: Totals | None = None
        self._alone: tuple[Exposition, int] | None = None
        self._told: set[str] = set()

    def claims(self, document: object) -> bool:
        """Whether a scrape has one of the engine's series."""
        if not isinstance(document, Exposition):
            return False
        names = {sample.name.replace(":", "_") for sample in document.samples}
        return not names.isdisjoint(self.marks)

    def read(self, document: object, place: int) -> Iterator[Found]:
        """What has grown since the scrape before."""
        if not isinstance(document, Exposition):
            return
        now, before = self.totals(document), self._last
        self._last = now
        yield from self.once(document, place)
        if before is None:
            self._alone = (document, place)
            return
        self._alone = None
        fell = [name for name in now if now[name] < before.get(name, 0.0)]
        if fell:
            yield from self.note("counter-reset", place)
        grown = now if fell else {name: now[name] - before.get(name, 0.0) for name in now}
        yield from self.spans(grown, document, place)

    def finish(self) -> Iterable[Found]:
        """A scrape that stayed alone."""
        if self._alone is None or self._last is None:
            return
        document, place = self._alone
        found = list(self.spans(self._last, document, place))
        if any(isinstance(one, Span) and one.drafts is not None for one in found):
            yield from self.note("lifetime", place)  # a gauge is of the last interval
        yield from found

    def note(self, trap: str, place: int) -> Iterator[Noted]:
        """A trap, the first time."""
        if trap not in self._told:
            self._told.add(trap)
            yield Noted(trap=trap, line=place)

    def warn(self, warning: str, place: int) -> Iterator[Noted]:
        """A warning, the first time."""
        if warning not in self._told:
            self._told.add(warning)
            yield Noted(warning=warning, line=place)

    def totals(self, document: Exposition) -> Totals:
        """The counters of a scrape, summed over what they are labelled with."""
        raise NotImplementedError

    def spans(self, grown: Totals, document: Exposition, place: int) -> Iterator[Found]:
        """What so much growth means."""
        raise NotImplementedError

    def once(self, document: Exposition, place: int) -> Iterator[Found]:
        """What a scrape says besides its counters; nothing, unless an engine's reader knows."""
        del document, place
        return iter(())


def summed(document: Exposition, name: str) -> float | None:
    """A series summed over its labels; None where it is not there."""
    values = [sample.value for sample in document.named(name) if 0 <= sample.value < 1e18]
    return sum(values) if values else None


def positions(document: Exposition, name: str, label: str) -> dict[int, float]:
    """A counter by the position in its label, summed over the rest."""
    found: dict[int, float] = {}
    for sample in document.named(name):
        at = sample.labels.get(label, "")
        if at.isascii() and at.isdigit() and len(at) <= 3 and 0 <= sample.value < 1e18:
            found[int(at)] = found.get(int(at), 0.0) + sample.value
    return found


def numbered(prefix: str, found: Mapping[int, float]) -> dict[str, float]:
    """Positions as totals: prefix0, prefix1, ..."""
    return {f"{prefix}{at}": value for at, value in found.items()}


def in_order(prefix: str, totals: Totals) -> tuple[float, ...]:
    """The totals of prefix0, prefix1, ... up to the last there is, zero where one is missing."""
    at = [int(name.removeprefix(prefix)) for name in totals if name.startswith(prefix)]
    return tuple(totals.get(f"{prefix}{place}", 0.0) for place in range(max(at, default=-1) + 1))
