"""The cards that draft for a target, found without opening the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from specplan.catalogue.compose import MAX_BYTES
from specplan.catalogue.folders import PACKAGED, Entry, first_bytes
from specplan.domain.model import Model
from specplan.errors import SpecplanError

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue, Loaded


def drafters_of(
    catalogue: Catalogue, target: Model, wanted: Callable[[str, str], bool]
) -> list[Loaded[Model]]:
    """The heads trained for the target of which the kind and the family are `wanted`, by name.

    Opened are the packaged cards of which an index says so, and the user's; and where that finds
    none, all that are not as an index says.
    """
    names = {target.name, *target.aliases}
    rows = {known.name: known.row for known in catalogue.indices["models"].cards.values()}

    def told(entry: Entry) -> bool:
        row = rows.get(entry.name)
        if entry.layer != PACKAGED or row is None:
            return True
        targets, kinds = (str(row.get(key) or "").split() for key in ("targets", "kinds"))
        family = str(row.get("family"))
        return not names.isdisjoint(targets) and any(wanted(kind, family) for kind in kinds)

    def drafting(entries: Iterable[Entry]) -> Iterator[Loaded[Model]]:
        for entry in entries:
            with suppress(SpecplanError):  # what cannot be read drafts for nobody
                if b"drafts" in first_bytes(entry.file, MAX_BYTES):
                    loaded = catalogue.read(entry, Model)
                    drafts = loaded.card.drafts
                    trained = drafts and not names.isdisjoint(drafts.targets)
                    if drafts and trained and wanted(drafts.kind, loaded.card.family):
                        yield loaded

    found = [*drafting(entry for entry in catalogue.entries("models").values() if told(entry))]
    changed = (entry for entry, known in catalogue.known(Model) if known is None)
    return found or [*drafting(changed)]


def kindred_of(
    catalogue: Catalogue, target: Model, wanted: Callable[[str, str], bool]
) -> list[tuple[Loaded[Model], str]]:
    """The heads that are `wanted` and trained for other models of the target's family and width,
    with the name of the first such model.
    """
    found: dict[str, tuple[Loaded[Model], str]] = {}
    for entry, known in catalogue.known(Model):
        if known is not None and known.row.get("family") != target.family:
            continue
        with suppress(SpecplanError):
            other = catalogue.read(entry, Model).card
            if other.name != target.name and _alike(other, target):
                for head in drafters_of(catalogue, other, wanted):
                    found.setdefault(head.card.name, (head, other.name))
    return [*found.values()]


def _alike(one: Model, other: Model) -> bool:
    """Whether both are of a family and as wide."""
    own, there = one.architecture, other.architecture
    same = own is not None and there is not None and own.hidden == there.hidden
    return same and one.family == other.family
