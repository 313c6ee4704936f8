"""Plans and catalogues as commands take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.catalogue.store import Catalogue
from specplan.cli.options import What
from specplan.cli.planned import PlanRead
from specplan.cli.scenario import load
from specplan.domain.plan import Plan
from specplan.errors import InputError, UsageError
from specplan.visible import visible

PLAN_HEADER = "plan/1"


def catalogue_of(what: What) -> Catalogue:
    """The catalogue with the folders of --catalogue."""
    return load(*(what.catalogue or ()))


def plan_of(text: str | None, *, without: Sequence[str] = ()) -> PlanRead | None:
    """The plan in the file named on the command line, if one was; `without` the keys that the
    question is there to answer."""
    if text is None:
        return None
    path = Path(text)
    if not path.exists() and path.suffix not in {".yaml", ".yml"}:
        raise UsageError(
            f"'{visible(text, 60)}' is no plan file",
            hint=f"for hardware write -g {visible(text, 60)}, for a model -t",
        )
    read = read_plan(path)
    cleared: dict[str, Any] = dict.fromkeys(without)
    return replace(read, plan=replace(read.plan, **cleared))


def read_plan(path: Path) -> PlanRead:
    """The plan in a file."""
    return plan_in(read_file(path), path.parent)


def plan_in(document: Document, folder: Path) -> PlanRead:
    """The plan in a document, whose paths start from `folder`."""
    header = document.data.get("schema")
    if header != PLAN_HEADER:
        shown = f"'{visible(str(header), 60)}'" if header is not None else "missing"
        raise InputError(
            f"schema is {shown}", where=document.where(("schema",)), expected=f"'{PLAN_HEADER}'"
        )
    _pasted_list(document.data.get("workload"), document)
    plan = bind(document, Plan)
    if plan.workload and plan.workload.alpha and plan.workload.acceptance:
        raise InputError(
            "alpha and acceptance say the same twice",
            where=document.where(("workload", "acceptance"), key=True),
            hint="keep one",
        )
    return PlanRead(plan, document, folder)


def _pasted_list(workload: object, document: Document) -> None:
    """Refuses a bare list under acceptance: it may be rates given all before, or shares."""
    if isinstance(workload, dict) and isinstance(workload.get("acceptance"), list):
        raise InputError(
            "acceptance is a bare list",
            where=document.where(("workload", "acceptance")),
            expected="one acceptance",
            hint="for several alphas use alpha: [...]; rates per position are not known to this "
            "version",
        )
