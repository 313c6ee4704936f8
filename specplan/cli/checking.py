"""The files of a check: each is read before any verdict, and what cannot be read is an outcome."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from specplan.catalogue.read import Document, read_file
from specplan.catalogue.search import search
from specplan.catalogue.store import Catalogue, Loaded
from specplan.cli.cases import Library, case_of, findings_of
from specplan.cli.plans import PLAN_HEADER, plan_in
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import InputError, SpecplanError, Where, unknown
from specplan.questions.check import Seen
from specplan.questions.verdicts import Judged, Outcome, judged
from specplan.rules import Finding
from specplan.rules.cards import check_aliases
from specplan.rules.plans import UNREADABLE
from specplan.rules.registry import RULES
from specplan.visible import visible

HEADERS = (PLAN_HEADER, "hardware/1", "model/1")

AnyCard = Loaded[Hardware] | Loaded[Model]


@dataclass(slots=True)
class Checking:
    """What has been read: plans with their paths, cards, and findings about anything else."""

    catalogue: Catalogue
    library: Library
    files: list[str] = field(default_factory=list)
    plans: list[tuple[Path, Judged]] = field(default_factory=list)
    cards: list[AnyCard] = field(default_factory=list)
    others: list[Outcome] = field(default_factory=list)
    unread: int = 0

    @property
    def seen(self) -> Seen:
        """The same for the question."""
        return Seen(
            files=tuple(self.files),
            plans=tuple(plan for _, plan in self.plans),
            cards=len(self.cards),
            unread=self.unread,
            others=tuple(self.others),
        )

    def read(self, paths: Sequence[Path]) -> None:
        """Every file that the paths lead to."""
        for found in search(paths):
            if isinstance(found, InputError):
                self.others.append(unreadable(found, Where("")))
                self.unread += 1
            else:
                self.files.append(visible(str(found)))
                self._file(found)
        catalogue = self.catalogue
        known: dict[type, list[Hardware | Model]] = {}

        def every(cls: type[Hardware | Model]) -> Sequence[Hardware | Model]:
            if cls not in known:
                known[cls] = [other.card for other in catalogue.every(cls)]
            return known[cls]

        for loaded in self.cards:
            self.others += _of_card(loaded, catalogue, self.cards, every)

    def _file(self, path: Path) -> None:
        head, kind = Where(visible(str(path))), PLAN_HEADER
        try:
            document = read_file(path)
            head, kind = document.where(()), _kind(document)
            if kind == PLAN_HEADER:
                case, others = case_of(plan_in(document, path.parent), self.library)
                self.plans.append((path, judged(case)))
                self.others += others
            else:
                look_up = self.catalogue.hardware if kind == "hardware/1" else self.catalogue.model
                self.cards.append(look_up(os.path.join(".", path)))  # noqa: PTH118 - keeps the dot
        except SpecplanError as error:
            self.others.append(unreadable(error, head))
            self.unread += kind == PLAN_HEADER


def checking(paths: Sequence[Path], catalogue: Catalogue) -> Checking:
    """All that lies at the paths, read and judged."""
    found = Checking(catalogue, Library(catalogue))
    found.read(paths)
    return found


def unreadable(error: SpecplanError, head: Where) -> Outcome:
    """SP101 at the place that the error knows, or at the head of the file."""
    known = error.where is not None and (error.where.line or not head.name)
    where = error.where if known and error.where else head
    said = str(error).removeprefix(f"{error.where}: ")
    if where.name != head.name and head.name:
        said += f" (for {head.name})"
    finding = Finding(UNREADABLE.id, UNREADABLE.level, said)
    return Outcome(finding=finding, where=where, name=UNREADABLE.title)


def _kind(document: Document) -> str:
    """What the document calls itself, if that is something to check."""
    header = document.data.get("schema")
    if header in HEADERS:
        return str(header)
    where = document.where(("schema",))
    if header is None:
        raise InputError("schema is missing", where=where, expected=f"one of {', '.join(HEADERS)}")
    raise unknown("schema", visible(str(header), 60), HEADERS, where=where)


def _of_card(
    loaded: AnyCard,
    catalogue: Catalogue,
    checked: Sequence[AnyCard],
    every: Callable[[type[Hardware | Model]], Sequence[Hardware | Model]],
) -> Iterator[Outcome]:
    """What the rules say of one card."""
    card = loaded.card
    others = [other.card for other in checked if type(other.card) is type(card)]
    overrides = False
    with suppress(SpecplanError):  # another card is broken, or this one is in no catalogue
        others += every(type(card))
        named = (catalogue.hardware if isinstance(card, Hardware) else catalogue.model)(card.name)
        overrides = named.hides_packaged and named.origin.path == loaded.origin.path
    for finding in (*findings_of(card, overrides=overrides), *check_aliases(card, others)):
        where = loaded.document.where(finding.path)
        yield Outcome(finding=finding, where=where, name=RULES[finding.rule].title)
