"""What a plan says of each axis, in the grammar of the flags, with its places in the file.

Cards named by path are looked for from the plan's folder, and never outside what it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specplan.catalogue.store import is_path
from specplan.cli import grammar
from specplan.errors import InputError, Where
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.catalogue.read import Document
    from specplan.domain.plan import MixPart, Plan


@dataclass(frozen=True, slots=True)
class Given:
    """The texts of one axis, and who gave them."""

    texts: tuple[str, ...]
    origin: str
    where: Where


@dataclass(frozen=True, slots=True)
class PlanRead:
    """A plan, the document that it was read from, and the folder that its paths start from."""

    plan: Plan
    document: Document
    folder: Path


def planned(plan: PlanRead) -> dict[str, Given]:
    """The axes of a plan, each with its place in the file."""
    found: dict[str, Given] = {}
    name = plan.document.name

    def take(key: str, texts: tuple[str, ...] | None, path: tuple[str | int, ...]) -> None:
        if texts is not None:
            found[key] = Given(texts, name, plan.document.where(path))

    for key in ("target", "draft", "hardware"):
        take(key, _cards_of(plan, key), (key,))
    for key in ("tp", "draft_tp", "engine", "k", "dtype", "draft_dtype", "kv_dtype"):
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
    return found


def _cards_of(plan: PlanRead, key: str) -> tuple[str, ...] | None:
    """The names under one key of a plan; paths lead from the plan's folder."""
    texts: tuple[str, ...] | None = getattr(plan.plan, key)
    if texts is None:
        return None
    places = [plan.document.where((key, number)) for number in range(len(texts))]
    return tuple(
        _beside(plan.folder, name, where) if is_path(name) else name
        for text, where in zip(texts, places, strict=True)
        for name in grammar.names((text,))
    )


def mixes(plan: PlanRead | None) -> tuple[MixPart, ...]:
    """The workloads of a plan's traffic mix, if it has one."""
    workload = plan.plan.workload if plan else None
    return workload.mix or () if workload else ()


def _beside(folder: Path, text: str, where: Where) -> str:
    """The path of a card that a plan in `folder` names `text`.

    Plans are checked on pull requests of strangers: links resolved, the card must lie below the
    plan's folder or the repository around it.
    """
    path = folder / text
    if not path.resolve().is_relative_to(_root(folder.resolve())):
        raise InputError(
            f"'{visible(text, 60)}' is outside the plan's folder and repository",
            where=where,
            expected="a card below one of them",
        )
    return str(path)


def _root(folder: Path) -> Path:
    """The nearest folder that holds .git, or the folder itself."""
    return next((up for up in (folder, *folder.parents) if (up / ".git").exists()), folder)
