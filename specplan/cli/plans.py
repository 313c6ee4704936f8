"""Plans and catalogues as commands take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from specplan.catalogue.read import Document, read_file
from specplan.catalogue.schema import bind
from specplan.catalogue.store import Catalogue
from specplan.cli import grammar
from specplan.cli.options import What
from specplan.cli.planned import PlanRead
from specplan.cli.scenario import load
from specplan.domain.acceptance import Alpha
from specplan.domain.lengths import is_law, law_of
from specplan.domain.plan import Incoming, MixPart, Plan, Workload
from specplan.domain.slo_text import slo_of
from specplan.domain.windows import window_of
from specplan.errors import InputError, SpecplanError, UsageError, placed
from specplan.visible import visible

PLAN_HEADER = "plan/1"
_PLAIN_PART = {"batch": ("1",), "context": ("1",), "acceptance": ("0",)}


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
    plan = bind(document, Plan)
    if plan.workload:
        _once(plan.workload, document)
        _each_part(plan.workload.mix or (), document)
    if plan.traffic:
        _each_of_traffic(plan.traffic, document)
    return PlanRead(plan, document, folder)


def _once(workload: Workload, document: Document) -> None:
    """Refuses what a workload says in two ways."""
    for one, other in (("alpha", "acceptance"), ("context", "isl"), ("context", "osl")):
        if getattr(workload, one) is not None and getattr(workload, other) is not None:
            raise InputError(
                f"{one} and {other} say the same twice",
                where=document.where(("workload", other), key=True),
                hint="keep one",
            )


def _each_part(mix: Sequence[MixPart], document: Document) -> None:
    """Refuses a value of a mix where it stands, by reading it into an otherwise plain part."""
    for number, part in enumerate(mix):
        said = {f.name: str(v) for f in fields(part) if (v := getattr(part, f.name)) is not None}
        for key, text in said.items():
            with placed(document.where(("workload", "mix", number, key))):
                try:
                    # Names of curves are looked up where the catalogue is at hand.
                    grammar.part({"weight": "1", key: text}, _PLAIN_PART, lambda _: Alpha(0.0))
                except SpecplanError as error:  # its form is that of the option
                    error.expected = error.expected.replace(grammar.MIX_FORM, "")
                    error.hint = error.hint.replace(grammar.MIX_FORM, "")
                    raise


def _each_of_traffic(traffic: Incoming, document: Document) -> None:
    """Refuses what a plan says of traffic where it stands; files are read when they are needed."""
    for key, read in (("slo", slo_of), ("window", window_of), ("isl", law_of), ("osl", law_of)):
        text = getattr(traffic, key)
        with placed(document.where(("traffic", key))):
            if text is not None and (key in {"slo", "window"} or is_law(text)):
                read(text)
