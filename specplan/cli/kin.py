"""What a card says of others: names that they have too, cards that it names, cards just like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from specplan.catalogue.folders import PACKAGED
from specplan.catalogue.read import Document
from specplan.catalogue.store import AnyLoaded, Catalogue, Loaded, completed
from specplan.domain.answer import Scalar
from specplan.domain.card import Dtype
from specplan.domain.curve import Curve
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import SpecplanError, Where
from specplan.rules import Finding
from specplan.rules.beside import Figures, doubled, figures_of, twins, unlike
from specplan.rules.curves import cardless, unfit_curve
from specplan.rules.drafters import longer, no_target, shorter, targetless, unfit, untargeted
from specplan.rules.lent import lacking, named, strangers, unfollowed
from specplan.rules.names import Called, Card, answering, check_aliases

Kind = TypeVar("Kind", bound=Card)

_RATES = {f"{dtype}_rate": dtype for dtype in Dtype}  # columns of the index
TOLD = ("vendor", "memory", "bandwidth", "link")  # figures of a card that an index tells as well


@dataclass
class Kin:
    """The cards of the catalogue, and those that are checked, which come before them."""

    catalogue: Catalogue
    checked: Sequence[AnyLoaded]
    _answer: dict[type, dict[str, list[str]]] = field(default_factory=dict)

    def clashes(self, card: Card) -> list[Finding]:
        """Names of the card that others of its kind have too, each told of at one card only."""
        cls = type(card)
        if cls not in self._answer:
            self._answer[cls] = self._answering(cls)
        found = check_aliases(card, self._answer[cls])
        if found:
            for name in (card.name, *card.aliases):
                self._answer[cls].pop(name, None)
        return found

    def beside(self, loaded: AnyLoaded) -> Iterator[Finding]:
        """What is wrong with the card beside those that it names; only they are read for it."""
        card = loaded.card
        if isinstance(card, Engine):
            yield from self._lent(loaded)
        elif isinstance(card, Model):
            yield from self._drafted(card, loaded.document)
        elif isinstance(card, Curve):
            yield from self._measured(card)
        else:
            yield from twins(card, self._alike(card))
            yield from doubled(card, self._figures)
            yield from unlike(card, self._figures)

    def _lent(self, loaded: AnyLoaded) -> Iterator[Finding]:
        """Of an engine: its accelerators, and the engine that it follows."""
        engine = _as(loaded, Engine)
        if engine is None:
            return
        checked = (one.card.name for one in self.checked if isinstance(one.card, Hardware))
        names = {*self.catalogue.entries("hardware"), *checked}
        if not names.issuperset(named(engine.card)):
            yield from strangers(engine.card, names, self._answering(Hardware))
        try:
            yield from lacking(completed(engine, self._lender).card)
        except SpecplanError as error:
            yield from unfollowed(engine.card, error)

    def _drafted(self, card: Model, document: Document) -> Iterator[Finding]:
        """Of a drafter: the targets that it names, or none where its file has the key."""
        named = card.drafts.targets if card.drafts else ()
        if not named and ("drafts", "targets") in document.positions:
            yield targetless()
        for number, name in enumerate(named):
            try:
                target = self._first(Model, name) or self.catalogue.model(name)
            except SpecplanError as error:
                yield untargeted(number, name, error)
            else:
                wrong = tuple(no_target(number, card, target.card))
                yield from wrong or _pair(card, target.card)

    def _measured(self, card: Curve) -> Iterator[Finding]:
        """Of a card of curves: the models that it names."""
        found: dict[str, Model] = {}
        for key, name in (("target", card.target), ("draft", card.draft)):
            try:
                if name:
                    found[key] = (self._first(Model, name) or self.catalogue.model(name)).card
            except SpecplanError as error:
                yield cardless(key, str(name), error)
        yield from unfit_curve(card, found.get("draft"), found.get("target"))

    def _lender(self, name: str, where: Where) -> Loaded[Engine]:
        """The card of an engine that is followed."""
        return self._first(Engine, name) or self.catalogue.engine_alone(name, where)

    def _first(self, cls: type[Kind], name: str) -> Loaded[Kind] | None:
        """The checked card of that name or alias."""
        for loaded in self.checked:
            found = _as(loaded, cls)
            if found and name in {found.card.name, *found.card.aliases}:
                return found
        return None

    def _answering(self, cls: type[Kind]) -> dict[str, list[str]]:
        """The cards of a kind that answer to each name; parsed are those that no index knows."""
        every: list[Called] = [one.card for one in self.checked if isinstance(one.card, cls)]
        for entry, known in self.catalogue.known(cls):
            with suppress(SpecplanError):
                every.append(known or self.catalogue.read(entry, cls).card)
        return answering(every)

    def _alike(self, card: Hardware) -> Iterator[Hardware]:
        """Accelerators that may have the figures of this one: what an index knows to differ is left
        unread.
        """
        yield from (one.card for one in self.checked if isinstance(one.card, Hardware))
        for entry, known in self.catalogue.known(Hardware):
            row = known.row if known else {}
            with suppress(SpecplanError):
                if all(row.get(key, getattr(card, key)) == getattr(card, key) for key in TOLD):
                    yield self.catalogue.read(entry, Hardware).card

    @cached_property
    def _figures(self) -> list[Figures]:
        """Of every accelerator, those hidden too: from an index where one knows the card."""
        cards = (one.card for one in self.checked)
        found = [figures_of(card) for card in cards if isinstance(card, Hardware)]
        for entry, known in self.catalogue.known(Hardware, hidden=True):
            trusted = entry.layer == PACKAGED
            with suppress(SpecplanError):
                noted = _noted(known.row, entry.name, trusted=trusted) if known else None
                found.append(
                    noted or figures_of(self.catalogue.read(entry, Hardware).card, trusted=trusted)
                )
        return found


def _noted(row: Mapping[str, Scalar], name: str, *, trusted: bool) -> Figures | None:
    """The figures of an accelerator as an index tells them, if it does."""
    stated = {key: row.get(key) for key in ("bandwidth", "memory", "link", *_RATES)}
    known = {key: float(v) for key, v in stated.items() if isinstance(v, int | float) and v > 0}
    if not {"bandwidth", "memory"} <= known.keys():
        return None
    return Figures(
        name=name,
        vendor=str(row.get("vendor")),
        bandwidth=known["bandwidth"],
        memory=known["memory"],
        link=known.get("link"),
        rates={dtype: known[key] for key, dtype in _RATES.items() if key in known},
        trusted=trusted,
    )


def _pair(draft: Model, target: Model) -> Iterator[Finding]:
    """What speaks against the drafter for that target."""
    yield from unfit(draft, target)
    yield from shorter(draft, target)
    yield from longer(draft, target)


def _as(loaded: AnyLoaded, cls: type[Kind]) -> Loaded[Kind] | None:
    """The same if its card is of that kind."""
    if not isinstance(loaded.card, cls):
        return None
    return Loaded(loaded.card, loaded.origin, loaded.document, loaded.hides)
