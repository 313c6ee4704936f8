"""emit: a plan's k, its drafter and its GPUs in the words of the engine that is to run them."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specplan.cli import complete
from specplan.cli.complete import CHOSEN_K
from specplan.cli.gate_options import Worth
from specplan.cli.options import Candidates, Load, Out, PlanFile, What, typed
from specplan.errors import UsageError, Where

if TYPE_CHECKING:
    from specplan.domain.answer import Answer
    from specplan.domain.deployment import TreeShape

SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".sh": "shell"}
"""What the name of an output file says about the engine's text, where no -f does."""

Form = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="FORM",
        help="The engine's text as shell, flags, json or yaml; by default as it is usually given.",
        autocompletion=complete.among(*complete.FORMS),
    ),
]
Synthetic = Annotated[
    bool,
    typer.Option(
        "--synthetic", help="Have the engine pretend the plan's acceptance, for trying it out."
    ),
]
TargetPath = Annotated[
    str | None,
    typer.Option(
        "--target-path",
        metavar="PATH",
        help="What the engine loads as the target: a folder, a .gguf file or ORG/NAME.",
    ),
]
DraftPath = Annotated[
    str | None,
    typer.Option("--draft-path", metavar="PATH", help="What it loads as the drafter."),
]
ShapeText = Annotated[
    str | None,
    typer.Option(
        "--shape",
        metavar="SHAPE",
        help="A tree in place of a chain of k: eagle:5,4,8 (steps, topk, total).",
        autocompletion=complete.among("eagle:"),
    ),
]
EXAMPLES = """\
specplan emit -t llama-3.1-8b -d eagle3 -g h100 -k 3 -e vllm@0.33
specplan emit -t llama-3.1-8b -d eagle3 -g h100 -a 0.7 -k gate -e trtllm@1.4
specplan emit -t qwen3-8b -d ngram -g h100 -a 0.5 -k 4 -e sglang@0.5.23"""


def emit(
    plan: PlanFile = None,
    *,
    form: Form = None,
    synthetic: Synthetic = False,
    target_path: TargetPath = None,
    draft_path: DraftPath = None,
    shape: ShapeText = None,
    hysteresis: Worth = None,
    what: What,
    load: Load,
    candidates: Candidates,
    out: Out,
) -> int:
    """Write the plan as the engine's own flags.

    The engine and its version are asked for: what flags mean depends on both. The text alone goes
    to standard output or to -o FILE; what the engine cannot say, and what to know, to stderr. With
    -f the answer is shown as any other.
    """
    from specplan.cli.plans import catalogue_of, plan_of
    from specplan.cli.scenario import NEEDED, build
    from specplan.physics.schedule import HYSTERESIS
    from specplan.questions.emit import emit as question

    if shape is not None and load.k:
        raise UsageError("--shape and -k are two ways to say one thing", hint="give one of them")
    read = plan_of(plan)
    flags = typed(what, load)
    needs = [name for name in NEEDED if name != "acceptance"]
    said = tuple(flags.get("k") or (read.plan.k if read and read.plan.k else ()))
    if synthetic or not (shape or _is_number(said)):
        needs.append("acceptance")
    if hysteresis is not None and said != (CHOSEN_K[1],):
        raise UsageError(
            "k changes with the batch under -k gate alone", where=Where("--hysteresis")
        )
    plain = _names_none(flags.get("draft") or (read.plan.draft if read and read.plan.draft else ()))
    scenario = build(
        flags,
        catalogue=catalogue_of(what),
        plan=read,
        needs=[name for name in needs if not (plain and name == "acceptance")],
        unused=("k", "batch", "context") if _is_number(said) or shape else ("k",),
        k_max=candidates.k_max,
    )
    answer = question(
        scenario,
        form=form or _form_of(out),
        synthetic=synthetic,
        target=target_path,
        draft=draft_path,
        shape=_shape(shape),
        hysteresis=HYSTERESIS if hysteresis is None else hysteresis,
    )
    return put(answer, out)


def _is_number(said: tuple[str, ...]) -> bool:
    """Whether the k is the plan's own and nothing has to be chosen."""
    return len(said) == 1 and said[0].isdigit()


def _names_none(said: tuple[str, ...]) -> bool:
    return said == ("none",)


def _shape(text: str | None) -> TreeShape | None:
    """steps, topk, total."""
    from specplan.domain.deployment import TreeShape

    if text is None:
        return None
    found = re.fullmatch(r"eagle:([1-9][0-9]{0,2}),([1-9][0-9]{0,2}),([1-9][0-9]{0,2})", text)
    if found is None:
        raise UsageError(
            f"'{text[:60]}' is no tree that an engine takes",
            where=Where("--shape"),
            expected="eagle:STEPS,TOPK,TOTAL such as eagle:5,4,8",
        )
    return TreeShape(*map(int, found.groups()))


def _form_of(out: Out) -> str | None:
    """The form that the name of the output file says, where the engine's text goes there."""
    if out.format != "auto" or out.output in {None, "-"}:
        return None
    return SUFFIXES.get(Path(str(out.output)).suffix)


def put(answer: Answer, out: Out) -> int:
    """The engine's text alone to standard output or to its file, character by character as the
    engine is to read it, notes on stderr; with -f the answer as any other.
    """
    from specplan.cli.show import refuse_inputs, show
    from specplan.files import writing
    from specplan.questions.emit import Emitted

    value = answer.value
    if out.format != "auto" or not isinstance(value, Emitted):
        return show(answer, out)
    if out.output == "":
        raise UsageError("'' is no file", where=Where("--output"), hint="- is standard output")
    if out.output in {None, "-"}:
        sys.stdout.write(value.text)
        sys.stdout.flush()
    else:
        path = Path(str(out.output))
        refuse_inputs(path, answer)
        _refuse_ours(path)
        with writing(path) as file:
            file.write(value.text)
    if not out.quiet:
        _say_notes(answer, out)
    return 0 if answer.ok else 1


def _say_notes(answer: Answer, out: Out) -> None:
    from specplan.cli.streams import say

    for note in (*answer.notes, *answer.basis.assumed, *answer.basis.extrapolated):
        say(note)
    if out.output not in {None, "-"}:
        say(f"wrote {out.output}")


def _refuse_ours(path: Path) -> None:
    """A plan or a card is not replaced by what was made of it."""
    with suppress(OSError), path.open("rb") as file:
        if re.search(rb"^schema: [a-z]+/1\b", file.read(4096), re.MULTILINE):
            from specplan.visible import visible

            shown = visible(os.fspath(path), 200)
            raise UsageError(f"{shown} is a plan or a card", where=Where("--output"))
