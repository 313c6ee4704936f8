"""Guard and share: init, check, report."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from specplan.cli.demand import Demand
from specplan.cli.help import Command
from specplan.cli.options import Axes, Folders, Out, What, command
from specplan.cli.report import EXAMPLES as REPORTING
from specplan.cli.report import report

EXAMPLES = {
    "init": """\
specplan init plan.yaml -t llama-3-8b -d llama-3.2-1b -g h100 -b 1,16 -a 0.8
specplan init -t qwen3-32b -d qwen3-0.6b -g h200 -c 8k -a 0.7 > plan.yaml
specplan init -t llama-3.1-8b -d eagle3 -g l4 -e vllm -a .7 --trace azure.csv""",
    "check": """\
specplan check
specplan check plans/ --strict -f junit -o report.xml
specplan check plans/ --lock
specplan check --rule SP004""",
    "report": REPORTING,
}
Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH...", help="Plans, cards, or folders of them; . if absent."),
]
Target = Annotated[
    Path | None, typer.Argument(metavar="PLAN", help="File to write; standard output if absent.")
]


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command({**globals(), "report": report}[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)


def init(
    plan: Target = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes on stderr.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001
    what: What,
    load: Axes,
    demand: Demand,
) -> int:
    """Write a commented plan that passes.

    With traffic it holds GPUs and cost too, and k follows the load where none is named.
    """
    from specplan.cli.threads import one_thread

    one_thread()
    from specplan.cli.show import show
    from specplan.cli.starting import started

    _refuse_file(plan, force=force)
    answer = started(plan or Path("plan.yaml"), what, load, demand, str(plan) if plan else None)
    if not answer.ok:
        return show(answer, Out(format="plain"))
    return show(answer, Out(format="plain", output=str(plan) if plan else None, quiet=quiet))


def _refuse_file(plan: Path | None, *, force: bool) -> None:
    """A plan that someone wrote is not to be lost, nor one to be written that check passes over."""
    from specplan.errors import UsageError
    from specplan.visible import visible

    if plan is None:
        return
    shown = visible(str(plan), 200)
    if plan.suffix not in {".yaml", ".yml"}:
        raise UsageError(f"'{shown}' is no name of a plan", expected="one that ends in .yaml")
    if os.path.exists(plan) and not force:  # noqa: PTH110 - what it cannot see, writing refuses
        raise UsageError(f"{shown} exists", hint="--force replaces it")


def check(
    paths: Paths = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Remember the cards, if all holds, in specplan.lock.")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules.")] = False,
    rule: Annotated[
        str | None, typer.Option("--rule", metavar="ID", help="Explain one rule.")
    ] = None,
    folders: Folders,
    out: Out,
) -> int:
    """Do our plans and cards still hold? For CI."""
    from specplan.cli.threads import one_thread

    one_thread()
    from datetime import datetime

    from specplan.cli import locks
    from specplan.cli.checking import checking
    from specplan.cli.scenario import load
    from specplan.cli.show import format_name, show
    from specplan.questions.check import check as question
    from specplan.questions.check import verdict
    from specplan.questions.rules import every_rule, one_rule

    if rules or rule is not None:
        return show(every_rule() if rule is None else one_rule(rule), out)
    asked = paths or [Path()]
    today = datetime.now().astimezone().date()
    found = checking(asked, load(*(folders.catalogue or ())), today)
    _refuse_nothing(found.files, found.unread, asked)
    if not lock:
        locks.compare(found)
    answer = question(found.seen, strict=strict)
    notes = [*answer.notes]
    if lock and answer.ok:
        notes += [f"wrote {path}" for path in locks.write(found)]
    elif lock:
        notes.append("nothing was locked, because not all holds")
    planless = not (found.plans or found.cards or found.measured or found.others)
    if planless:
        notes.append("no plan was found")
    if format_name(out, _usual_format()) == "github":  # a log without findings needs a verdict too
        notes.append(verdict(answer))
    code = show(replace(answer, notes=tuple(notes)), out, auto=_usual_format())
    unread = any(outcome.unreadable or outcome.refused for outcome in found.others)
    return 2 if planless or unread else code


def _usual_format() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


def _refuse_nothing(files: list[str], unread: int, asked: list[Path]) -> None:
    """A check of nothing would pass whatever happens."""
    from specplan.errors import InputError
    from specplan.visible import visible

    if not files and not unread:
        where = ", ".join(visible(str(path), 60) for path in asked)
        raise InputError(
            f"no plan in {where}",
            expected="YAML that begins with schema: plan/1",
            hint="specplan init writes one",
        )
