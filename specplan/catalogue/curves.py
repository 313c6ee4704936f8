"""The acceptance curves measured with a target, found without opening the others, and the series
of a card that a name means.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from specplan.domain.curve import Curve, Series
from specplan.domain.model import Model
from specplan.errors import SpecplanError, UsageError, Where, unknown

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue, Loaded


def curves_of(
    catalogue: Catalogue, target: Model | None, wanted: Callable[[str, str], bool]
) -> list[Loaded[Curve]]:
    """The cards of curves measured with the target, or with any, of drafters whose kind and family
    are `wanted`, by name. Opened are those of which an index says so, and those that none knows.
    """
    names = None if target is None else {target.name, *target.aliases}

    def fits(target: object, drafter: object, family: object) -> bool:
        here = names is None or target in names
        return here and wanted(str(drafter), str(family or ""))

    found = []
    for entry, known in catalogue.known(Curve):
        row = known.row if known else {}
        if known and not fits(row.get("target"), row.get("drafter"), row.get("family")):
            continue
        with suppress(SpecplanError):  # what cannot be read was measured with nobody
            loaded = catalogue.read(entry, Curve)
            card = loaded.card
            if fits(card.target, card.drafter, card.family):
                found.append(loaded)
    return found


def find_series(loaded: Loaded[Curve], text: str, where: Where | None = None) -> Series:
    """The series of a card by its name, or the only one of that task; of a card with one series
    that one where no name is given.
    """
    card = loaded.card
    wanted = text.lower()
    named = [series for series in card.series if series.name == wanted]
    found = named or [series for series in card.series if wanted in {series.task, ""}]
    if len(found) == 1:
        return found[0]
    names = [f"{card.name}/{series.name}" for series in found or card.series]
    if found:
        several = f"{card.name} has {len(found)} series{f' of {wanted}' if wanted else ''}"
        raise UsageError(several, where=where, expected=f"one of {', '.join(names)}")
    raise unknown("series", f"{card.name}/{wanted}", names, where=where)
