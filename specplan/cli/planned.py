"""What a plan says of each axis, in the grammar of the flags, with its places in the file.

Cards named by path are looked for from the plan's folder, and never outside what it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specplan.catalogue.store import is_path
from specplan.cli import grammar
from specplan.errors import InputError, Where, placed
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.catalogue.read import Document
    from specplan.domain.plan import MixPart, Plan


@dataclass(frozen=True, slots=True)
class Given:
    """The texts of one axis, and who gave them; `places` are those of the texts, if they differ,
    and files that a plan names are looked for from its `folder`.
    """

    texts: tuple[str, ...]
    origin: str
    where: Where
    places: tuple[Where, ...] = ()
    folder: Path | None = None

    def each(self) -> Iterator[tuple[str, Where]]:
        """Every text with its place."""
        return zip(self.texts, self.places or repeat(self.where), strict=False)


@dataclass(frozen=True, slots=True)
class PlanRead:
    """A plan, the document that it was read from, and the folder that its paths start from."""

    plan: Plan
    document: Document
    folder: Path


_PLAIN_KEYS = (
    *("tp", "draft_tp", "engine", "attention_dp", "ep", "k"),
    *("dtype", "draft_dtype", "kv_dtype"),
)


def planned(plan: PlanRead) -> dict[str, Given]:
    """The axes of a plan, each with its place in the file."""
    found: dict[str, Given] = {}
    document = plan.document

    def take(key: str, texts: tuple[str, ...] | None, path: tuple[str | int, ...]) -> None:
        if texts is not None:
            places = tuple(document.where((*path, number)) for number in range(len(texts)))
            found[key] = Given(texts, document.name, document.where(path), places)

    for key in ("target", "draft", "hardware"):
        take(key, getattr(plan.plan, key), (key,))
        if key in found:
            found[key] = _beside_plan(found[key], plan.folder)
    for key in _PLAIN_KEYS:
        take(key, getattr(plan.plan, key), (key,))
    workload = plan.plan.workload
    if workload is not None:
        take("batch", workload.batch, ("workload", "batch"))
        take("context", workload.context, ("workload", "context"))
        for key in ("isl", "osl"):
            text = getattr(workload, key)
            take(key, None if text is None else (str(text),), ("workload", key))
        take("acceptance", workload.alpha, ("workload", "alpha"))
        if workload.acceptance is not None:
            take("acceptance", (workload.acceptance,), ("workload", "acceptance"))
        if "acceptance" in found:
            found["acceptance"] = replace(found["acceptance"], folder=plan.folder)
    return found


def _beside_plan(given: Given, folder: Path) -> Given:
    """Each name by itself; paths lead from the plan's folder."""
    named = []
    for text, where in given.each():
        with placed(where):
            names = grammar.names((text,))
        named += [(beside(folder, n, where) if is_path(n) else n, where) for n in names]
    texts, places = zip(*named, strict=True)
    return replace(given, texts=texts, places=places)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One value that somebody gave, who, and where; `folder` is where a plan's files lie."""

    value: Any
    origin: str
    where: Where
    folder: Path | None = None


def planned_traffic(plan: PlanRead | None) -> dict[str, Spoken]:
    """What a plan says of its traffic, by key, each with its place in the file."""
    traffic = plan.plan.traffic if plan else None
    if plan is None or traffic is None:
        return {}
    pairs = ((field.name, getattr(traffic, field.name)) for field in fields(traffic))
    return {
        key: Spoken(value, plan.document.name, plan.document.where(("traffic", key)), plan.folder)
        for key, value in pairs
        if value is not None
    }


def mixes(plan: PlanRead | None) -> tuple[MixPart, ...]:
    """The workloads of a plan's traffic mix, if it has one."""
    workload = plan.plan.workload if plan else None
    return workload.mix or () if workload else ()


def beside(folder: Path, text: str, where: Where, *, what: str = "card") -> str:
    """The path of a card, or of what else, that a plan in `folder` names `text`.

    Plans are checked on pull requests of strangers: links resolved, it must lie below the plan's
    folder or the repository around it.
    """
    path = folder / text
    if not path.resolve().is_relative_to(_root(folder.resolve())):
        raise InputError(
            f"'{visible(text, 60)}' is outside the plan's folder and repository",
            where=where,
            expected=f"a {what} below one of them",
        )
    return str(path)


def _root(folder: Path) -> Path:
    """The nearest folder that holds .git, or the folder itself."""
    return next((up for up in (folder, *folder.parents) if (up / ".git").exists()), folder)
