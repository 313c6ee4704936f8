"""What measured rows are predicted from: cards of a catalogue and constants that left rows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from specplan.catalogue.ledger import held_out
from specplan.catalogue.store import Catalogue
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.measurement import RATIO, HeldOut, Measurement
from specplan.domain.model import Model
from specplan.errors import SpecplanError, UnknownName
from specplan.questions.timed import FREE

Card = TypeVar("Card", Hardware, Model, Engine)


class Workbench:
    """Cards by name, each looked for once, found or not."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._hardware: dict[str, Hardware | SpecplanError] = {}
        self._models: dict[str, Model | SpecplanError] = {}
        self._engines: dict[str, Engine | SpecplanError] = {}

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

    def named(self, row: Measurement) -> tuple[Measurement, tuple[str, UnknownName] | None]:
        """A row with its cards by their own names, and the first column whose name has no card."""
        names: dict[str, str] = {}
        error: tuple[str, UnknownName] | None = None
        for column, find in self._columns.items():
            name = getattr(row, column)
            if name is None or (column == "draft" and (name in FREE or name.startswith(RATIO))):
                continue
            try:
                names[column] = find(name).name
            except UnknownName as unknown:
                error = error or (column, unknown)
            except SpecplanError:  # a broken card: the answer says so of its rows
                continue
        changed = {c: name for c, name in names.items() if name != getattr(row, c)}
        return (replace(row, **changed) if changed else row), error  # type: ignore[arg-type]

    @property
    def _columns(self) -> Mapping[str, Callable[[str], Hardware | Model | Engine]]:
        """Where the names in a column of a row are looked for."""
        return {
            "engine": self.engine,
            "gpu": self.hardware,
            "target": self.model,
            "draft": self.model,
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
