"""The files of a check: each is read before any verdict, and what cannot be read is an outcome."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from specplan.catalogue.folders import first_bytes
from specplan.catalogue.ledger import read_rows
from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.catalogue.search import HEAD_BYTES, search
from specplan.catalogue.store import KINDS, AnyLoaded, Catalogue
from specplan.cli.cases import Library, case_of
from specplan.cli.kin import Kin
from specplan.cli.plans import PLAN_HEADER, plan_in
from specplan.domain.bands import Bands
from specplan.domain.measurement import HeldOut
from specplan.errors import InputError, Refused, SpecplanError, Where, unknown
from specplan.questions.check import Seen
from specplan.questions.expectations import Outcome
from specplan.questions.verdicts import Judged, judged
from specplan.rules import Finding
from specplan.rules.cards import check_card
from specplan.rules.plans import REFUSED, UNREADABLE
from specplan.rules.registry import RULES
from specplan.visible import visible

CARDS: dict[str, Callable[[Catalogue, str], AnyLoaded]] = {
    "hardware/1": Catalogue.hardware,
    "model/1": Catalogue.model,
    "engine/1": Catalogue.engine_alone,
    "curve/1": Catalogue.curve,
}
ROWS = "measurements/1"  # what a CSV file would say of itself
CONSTANTS: dict[str, type[HeldOut | Bands]] = {"held-out/1": HeldOut, "bands/1": Bands}
HEADERS = (PLAN_HEADER, *CARDS)
_HEADED = re.compile(rb"^[\"']?schema[\"']?[ ]*:[ ]*[\"']?([a-z-]+/[0-9]+)", re.MULTILINE)


@dataclass(slots=True)
class Checking:
    """What has been read: plans with their paths, cards, and findings about anything else; dates in
    cards are held against `today`.
    """

    catalogue: Catalogue
    library: Library
    today: date | None = None
    files: list[str] = field(default_factory=list)
    plans: list[tuple[Path, Judged]] = field(default_factory=list)
    cards: list[AnyLoaded] = field(default_factory=list)
    measured: int = 0
    others: list[Outcome] = field(default_factory=list)
    unread_by_kind: Counter[str] = field(default_factory=Counter)

    @property
    def unread(self) -> int:
        """How many files and folders could not be read."""
        return self.unread_by_kind.total()

    @property
    def seen(self) -> Seen:
        """The same for the question."""
        return Seen(
            files=tuple(self.files),
            plans=tuple(plan for _, plan in self.plans),
            cards=len(self.cards) + sum(self.unread_by_kind[header] for header in CARDS),
            unread=self.unread_by_kind[PLAN_HEADER],
            others=tuple(self.others),
            measured=self.measured + sum(self.unread_by_kind[kind] for kind in (ROWS, *CONSTANTS)),
        )

    def read(self, paths: Sequence[Path]) -> None:
        """Every file that the paths lead to."""
        for found in search(paths):
            if isinstance(found, InputError):
                self.others.append(unreadable(found, Where("")))
                self.unread_by_kind[""] += 1
            else:
                self.files.append(visible(str(found)))
                self._file(found)
        kin = Kin(self.catalogue, self.cards)
        for loaded in self.cards:
            self.others += _of_card(loaded, kin, self.today)

    def _file(self, path: Path) -> None:
        head, kind = Where(visible(str(path))), ROWS if path.suffix.lower() == ".csv" else ""
        try:
            if kind == ROWS:
                tuple(read_rows(path))
                self.measured += 1
                return
            kind = _headed(path)
            document = read_file(path)
            head, kind = document.where(()), _kind(document)
            if kind == PLAN_HEADER:
                case, others = case_of(plan_in(document, path.parent), self.library)
                self.plans.append((path, judged(case)))
                self.others += others
            elif kind in CONSTANTS:
                bind(document, CONSTANTS[kind])
                self.measured += 1
            else:
                here = os.path.join(".", path)  # noqa: PTH118 - keeps the dot
                self.cards.append(CARDS[kind](self.catalogue, here))
        except SpecplanError as error:
            self.others.append(unreadable(error, head))
            self.unread_by_kind[kind] += 1


def checking(paths: Sequence[Path], catalogue: Catalogue, today: date | None = None) -> Checking:
    """All that lies at the paths, read and judged."""
    found = Checking(catalogue, Library(catalogue), today)
    found.read(paths)
    return found


def unreadable(error: SpecplanError, head: Where) -> Outcome:
    """SP101, or SP107 of what has no answer, at the place that the error knows, or at the head of
    the file.
    """
    known = error.where is not None and (error.where.line or not head.name)
    where = error.where if known and error.where else head
    said = str(error).removeprefix(f"{error.where}: ")
    if where.name != head.name and head.name:
        said += f" (for {head.name})"
    rule = REFUSED if isinstance(error, Refused) else UNREADABLE
    return Outcome(finding=Finding(rule.id, rule.level, said), where=where, name=rule.title)


def _kind(document: Document) -> str:
    """What the document calls itself, if that is something to check."""
    header = document.data.get("schema")
    if header in (*HEADERS, *CONSTANTS):
        return str(header)
    where = document.where(("schema",))
    if header is None:
        raise InputError("schema is missing", where=where, expected=f"one of {', '.join(HEADERS)}")
    raise unknown("schema", visible(str(header), 60), HEADERS, where=where)


def _headed(path: Path) -> str:
    """What a file calls itself, as far as that can be seen before it is read."""
    with suppress(SpecplanError, OSError):
        found = _HEADED.search(first_bytes(path, HEAD_BYTES)) if path.is_file() else None
        return found[1].decode() if found else ""
    return ""


def _of_card(loaded: AnyLoaded, kin: Kin, today: date | None) -> Iterator[Outcome]:
    """What the rules say of one card."""
    card = loaded.card
    overrides = _overrides(loaded, kin.catalogue)
    found = check_card(card, overrides=overrides, also=kin.beside(loaded), today=today)
    for finding in (*found, *kin.clashes(card)):
        where = loaded.document.where(finding.path)
        yield Outcome(finding=finding, where=where, name=RULES[finding.rule].title)


def _overrides(loaded: AnyLoaded, catalogue: Catalogue) -> bool:
    """Whether it is this card that its name finds, in the place of a packaged one."""
    card = loaded.card
    kind = next(kind for kind, of in KINDS.items() if isinstance(card, of))
    if card.name not in catalogue.entries(kind):
        return False  # asked for it, the catalogue would read all cards for what is near
    with suppress(SpecplanError):  # the one that its name finds is another, and broken
        named = CARDS[card.schema](catalogue, card.name)
        return named.hides_packaged and named.origin.path == loaded.origin.path
    return False
