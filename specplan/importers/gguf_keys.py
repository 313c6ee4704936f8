"""The figures of a GGUF header under the keys of its architecture, and its tensors' shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from specplan.errors import InputError, Refused
from specplan.importers.gguf import Header
from specplan.importers.gguf_values import Items
from specplan.opening import place

HINT: Final = "import its config.json"


@dataclass(frozen=True)
class Keys:
    """A header's figures by the keys of its architecture."""

    header: Header
    arch: str
    path: Path

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes by tensor name, outermost first."""
        return {tensor.name: tensor.shape for tensor in self.header.tensors}

    def maybe(self, key: str) -> int | None:
        """A whole number, or None. A list that gives every layer the same counts as one number."""
        found = self.header.metadata.get(f"{self.arch}.{key}")
        if isinstance(found, Items):
            several = set(found.items)
            if len(several) != 1 or found.length != len(found.items):
                what = f"{self.arch}.{key} differs from layer to layer"
                raise Refused(what, where=place(self.path), hint=HINT)
            found = found.items[0]
        if found is None:
            return None
        if type(found) is not int or found < 0:
            what = f"{self.arch}.{key} is no whole number"
            raise InputError(what, where=place(self.path))
        return found

    def whole(self, key: str) -> int:
        """A whole number that must be there."""
        found = self.maybe(key)
        if found is None:
            raise self.refused(f"{self.arch}.{key} is missing")
        return found

    def has(self, tensor: str) -> bool:
        """Whether some layer has a tensor of that name."""
        return any(name.endswith(f".{tensor}") for name in self.shapes if name.startswith("blk."))

    def refused(self, why: str) -> Refused:
        """The error that asks for the config.json instead."""
        return Refused(why, where=place(self.path), hint=HINT)
