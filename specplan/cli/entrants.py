"""Which drafters and accelerators a contest is between: those named, or all of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from specplan.catalogue.store import Catalogue, Loaded
from specplan.cli.kinds import only_one
from specplan.cli.naming import distinct
from specplan.cli.resolve import Resolver
from specplan.domain.drafter import Drafter
from specplan.domain.drafters import drafter_of, typed_drafter
from specplan.domain.hardware import Hardware
from specplan.domain.heads import WAYS
from specplan.domain.model import Model
from specplan.domain.weightless import NONE
from specplan.errors import SpecplanError, UsageError, Where
from specplan.questions.kinds import ways_of
from specplan.questions.models_asked import could_draft
from specplan.questions.models_list import model_row

ALL = "all"
LOOKUPS = ("ngram", "suffix")  # what drafts for any target without a card


class Entrant(NamedTuple):
    """A drafter under the words that name it, the nearest first; or the word that none was found
    by, and why. `named` is false for what nobody asked for by itself.
    """

    draft: Drafter | str
    words: tuple[str, ...]
    reason: str = ""
    named: bool = True

    @property
    def label(self) -> str:
        """As it is typed."""
        return self.draft if isinstance(self.draft, str) else self.draft.label


class Entrants(Resolver):
    """A resolver of names of which some stand for many cards."""

    __slots__ = ("shelves",)

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue, {})
        self.shelves = catalogue

    def accelerators(self) -> list[Hardware]:
        """Those that are named; `all` names every card of the catalogue."""
        found: list[Hardware] = []
        for name, where in self.names("hardware").items():
            if name.lower() != ALL:
                found.append(self._hardware(name, where))
                continue
            shelf = self.shelves.shelf(Hardware)
            for loaded in shelf.cards:
                self._record("hardware", loaded)
                found.append(loaded.card)
            self.notes += [f"not compared: {error}" for error in shelf.broken]
        return distinct(found)

    def drafters(self, target: Model) -> list[Entrant]:
        """Those that are named, each once; `all` names what fits the target. Plain decoding, which
        is everywhere, is none of them.
        """
        found: dict[str, Entrant] = {}
        for name, where in self.names("draft").items():
            every = name.lower() == ALL
            for one in self._fitting(target) if every else self._called(name, target, where):
                if one.label not in found or one.named:
                    found[one.label] = one
        found.pop(NONE.label, None)
        return [*found.values()]

    def _called(self, name: str, target: Model, where: Where) -> Iterator[Entrant]:
        """The drafters of one name: every head of the target, where it is a kind."""
        way = name.lower()
        if way not in WAYS:
            yield _entrant(self._draft(name, where), name)
            return
        heads = self.catalogue.drafters(target, lambda kind, family: way in ways_of(kind, family))
        yield from map(self._carded, heads)
        if not heads:
            try:
                only_one(way, (target,), self.catalogue, where)
            except UsageError as error:
                yield Entrant(name, (way,), error.said)

    def _fitting(self, target: Model) -> Iterator[Entrant]:
        """Heads that were trained for the target, small models of its vocabulary, and lookups."""
        yield from map(self._carded, self.catalogue.drafters(target, lambda *_: True))
        yield from map(self._carded, self._small(target))
        for name in LOOKUPS:
            draft = typed_drafter(name)
            if draft:
                yield _entrant(draft, name)._replace(named=False)

    def _small(self, target: Model) -> Iterator[Loaded[Model]]:
        """Models that engines take as a draft model of the target; no others are opened."""
        wanted = model_row(target)
        for entry, known in self.shelves.known(Model):
            with suppress(SpecplanError):  # what cannot be read drafts for nobody
                row = known.row if known else model_row(self.shelves.read(entry, Model).card)
                if could_draft(row, wanted):
                    yield self.shelves.read(entry, Model)

    def _carded(self, loaded: Loaded[Model]) -> Entrant:
        """The drafter of a card, or why it cannot be priced."""
        self._record("draft", loaded)
        card = loaded.card
        try:
            _ = card.active_params, card.kv_groups
            return _entrant(drafter_of(card))
        except SpecplanError as error:
            return Entrant(card.name, (card.name,), error.said)


def _entrant(draft: Drafter, typed: str = "") -> Entrant:
    """A drafter under all its words: what was typed, its names, how it was made, its kind."""
    card = draft.model
    names = (card.name, *card.aliases) if card else ()
    ways = ways_of(draft.kind, card.family if card else "")
    words = (typed, draft.label, *names, *sorted(ways - {draft.kind}), draft.kind)
    return Entrant(draft, tuple(dict.fromkeys(word.lower() for word in words if word)))
