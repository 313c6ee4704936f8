"""What measured rows are predicted from: cards of a catalogue and constants that left rows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from specplan.catalogue.ledger import held_out
from specplan.catalogue.store import Catalogue
from specplan.cli.kinds import only_one
from specplan.domain.drafter import Drafter
from specplan.domain.drafters import drafter_of, plugged_drafter, typed_drafter
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.heads import WAYS
from specplan.domain.measurement import ORACLE, HeldOut, Measurement
from specplan.domain.model import Model
from specplan.domain.weightless import FREE
from specplan.errors import SpecplanError, UnknownName, UsageError, Where

Card = TypeVar("Card", Hardware, Model, Engine, Drafter)


class Workbench:
    """Cards by name, each looked for once, found or not."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._hardware: dict[str, Hardware | SpecplanError] = {}
        self._models: dict[str, Model | SpecplanError] = {}
        self._engines: dict[str, Engine | SpecplanError] = {}
        self._drafters: dict[str, Drafter | SpecplanError] = {}

    @cached_property
    def held(self) -> HeldOut:
        """Those that ship with specplan."""
        return held_out()

    def hardware(self, name: str) -> Hardware:
        """The accelerator of that name."""
        return _once(self._hardware, name, lambda: self._catalogue.hardware(name).card)

    def model(self, name: str) -> Model:
        """The model of that name."""
        return _once(self._models, name, lambda: self._catalogue.model(name).card)

    def engine(self, name: str) -> Engine:
        """The engine of that name."""
        return _once(self._engines, name, lambda: self._catalogue.engine(name).card)

    def drafter(self, name: str, target: str) -> Drafter:
        """What drafts for a target: a card by name, a kind, or the target's only card of one."""
        return _once(self._drafters, f"{name} {target}", lambda: self._drafter(name, target))

    def _drafter(self, name: str, target: str) -> Drafter:
        weightless = FREE if name == ORACLE else typed_drafter(name) or plugged_drafter(name)
        if weightless is not None:
            return weightless
        if name not in WAYS:
            return drafter_of(self.model(name))
        try:
            only = only_one(name, (self.model(target),), self._catalogue, Where("draft"))
        except UsageError as error:
            raise UnknownName(error.what, expected=error.expected, hint=error.hint) from None
        return drafter_of(self.model(only))

    def named(self, row: Measurement) -> tuple[Measurement, tuple[str, UnknownName] | None]:
        """A row with its cards by their own names, and the first column whose name has no card."""
        names: dict[str, str] = {}
        error: tuple[str, UnknownName] | None = None
        for column, find in self._columns(row.target or "").items():
            name = getattr(row, column)
            if name is None:
                continue
            try:
                names[column] = find(name)
            except UnknownName as unknown:
                error = error or (column, unknown)
            except SpecplanError:  # a broken card: the answer says so of its rows
                continue
        changed = {c: name for c, name in names.items() if name != getattr(row, c)}
        return (replace(row, **changed) if changed else row), error  # type: ignore[arg-type]

    def _columns(self, target: str) -> Mapping[str, Callable[[str], str]]:
        """What a name in a column of a row stands for."""

        def drafter(name: str) -> str:
            found = self.drafter(name, target).model
            return found.name if found else name

        return {
            "engine": lambda name: self.engine(name).name,
            "gpu": lambda name: self.hardware(name).name,
            "target": lambda name: self.model(name).name,
            "draft": drafter,
        }


def _once(known: dict[str, Card | SpecplanError], name: str, find: Callable[[], Card]) -> Card:
    """What is found under a name; whoever asks again for what is not there gets the same error."""
    if name not in known:
        try:
            known[name] = find()
        except SpecplanError as error:
            known[name] = error
    found = known[name]
    if isinstance(found, SpecplanError):
        raise found.with_traceback(None)  # else it grows with every row
    return found
