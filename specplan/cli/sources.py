"""The files of a diagnosis, told apart by content: captures, and a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from specplan.catalogue.folders import first_bytes
from specplan.catalogue.search import HEAD_BYTES
from specplan.cli.captures import MOST, Held, Moved, captures
from specplan.cli.planned import PlanRead, planned
from specplan.cli.plans import plan_of
from specplan.domain.capture import Capture
from specplan.errors import SpecplanError, UsageError
from specplan.visible import visible

_PLAN = re.compile(rb"^[\"']?schema[\"']?[ ]*:[ ]*[\"']?plan/", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Files:
    """Captures in the order given, the plan without its k, and that k as it is written."""

    captures: tuple[Held, ...]
    plan: PlanRead | None
    plan_k: str | None


def sorted_out(
    sources: Sequence[Capture | str | PathLike[str]],
    *,
    k: int | None = None,
    moved: Moved | None = None,
) -> Files:
    """The sources, read: of captures one, or the earlier and the later of two; scrapes of a
    /metrics page go in pairs. `k` is the draft length in use, where nothing says it.
    """
    plans = [str(s) for s in sources if not isinstance(s, Capture) and is_plan(str(s))]
    if len(plans) > 1:
        raise UsageError(
            f"{visible(plans[0], 60)} and {visible(plans[1], 60)} are both plans", hint="keep one"
        )
    made = [Held(s, ((s.source, s.sha256),)) for s in sources if isinstance(s, Capture)]
    files = [str(s) for s in sources if not isinstance(s, Capture) and str(s) not in plans]
    held = (*made, *(captures(files, k=k, moved=moved) if files else ()))
    if len(held) > MOST:
        raise UsageError(
            f"{len(held)} captures", expected="one, or two to compare", hint="the earlier first"
        )
    if not plans:
        return Files(held, None, None)
    return Files(held, plan_of(plans[0], without=("k",)), planned_k(plan_of(plans[0])))


def planned_k(plan: PlanRead | None) -> str | None:
    """The k of a plan, as it is written."""
    said = planned(plan).get("k") if plan else None
    return ",".join(said.texts) if said else None


def is_plan(text: str) -> bool:
    """Whether a file is YAML that begins as a plan does."""
    path = Path(text)
    with suppress(SpecplanError, OSError):
        return path.is_file() and _PLAN.search(first_bytes(path, HEAD_BYTES)) is not None
    return False
