"""What measured rows are predicted from: cards of a catalogue and constants that left rows out."""

from __future__ import annotations

from functools import cached_property

from specplan.catalogue.ledger import held_out
from specplan.catalogue.store import Catalogue
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.measurement import HeldOut
from specplan.domain.model import Model


class Workbench:
    """Cards by name, each read once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._hardware: dict[str, Hardware] = {}
        self._models: dict[str, Model] = {}
        self._engines: dict[str, Engine] = {}

    @cached_property
    def held(self) -> HeldOut:
        """Those that ship with specplan."""
        return held_out()

    def hardware(self, name: str) -> Hardware:
        """The accelerator of that name."""
        if name not in self._hardware:
            self._hardware[name] = self._catalogue.hardware(name).card
        return self._hardware[name]

    def model(self, name: str) -> Model:
        """The model of that name."""
        if name not in self._models:
            self._models[name] = self._catalogue.model(name).card
        return self._models[name]

    def engine(self, name: str) -> Engine:
        """The engine of that name."""
        if name not in self._engines:
            self._engines[name] = self._catalogue.engine(name).card
        return self._engines[name]
