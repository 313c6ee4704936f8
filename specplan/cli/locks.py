"""The locks beside plans: read to say what changed since, written when everything holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from specplan.catalogue.lock import NAME, lock_text, read_lock
from specplan.cli.checking import Checking, unreadable
from specplan.domain.lock import Lock
from specplan.errors import InputError, Where
from specplan.files import writing
from specplan.questions.drift import drifted, locked
from specplan.questions.verdicts import Judged
from specplan.visible import visible


def compare(found: Checking) -> None:
    """Adds what changed since the plans were locked; a lock that cannot be read is a finding."""
    for folder, plans in _by_folder(found):
        if not (folder / NAME).exists():
            continue
        try:
            before = read_lock(folder / NAME).plans
        except InputError as error:
            found.others.append(unreadable(error, Where(visible(str(folder / NAME)))))
            continue
        for name, plan in plans.items():
            if name in before:
                found.others += drifted(plan, before[name])


def write(found: Checking) -> list[str]:
    """Writes the locks and returns their names; plans that were not checked keep what they have."""
    written = []
    for folder, plans in _by_folder(found):
        path = folder / NAME
        kept = read_lock(path).plans if path.exists() else {}
        kept = {name: plan for name, plan in kept.items() if (folder / name).is_file()}
        now = {name: locked(plan) for name, plan in plans.items()}
        with writing(path) as file:
            file.write(lock_text(Lock(schema="lock/1", plans=kept | now)))
        written.append(str(path))
    return written


def _by_folder(found: Checking) -> Iterator[tuple[Path, dict[str, Judged]]]:
    folders: dict[Path, dict[str, Judged]] = {}
    for path, plan in found.plans:
        folders.setdefault(path.parent, {})[path.name] = plan
    yield from folders.items()
