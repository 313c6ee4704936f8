"""models import: a foreign config, checkpoint or header becomes a card."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specplan.cli import complete
from specplan.cli.made import Force, card_file, card_name, clash, put, refuse_source, text_of
from specplan.cli.options import Folders, Out
from specplan.errors import InputError, SpecplanError, UsageError, Where, placed

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue
    from specplan.domain.imported import Imported
    from specplan.domain.model import Model

IMPORT_EXAMPLES = """\
specplan models import config.json
specplan models import ./checkpoint/ -o my-model.yaml
specplan models import ./head/config.json --for llama-3.1-8b
specplan models import --report configs/"""

OWN_BITS = "the file's own types hold other bits a weight, as the notes say"

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", help="config.json, checkpoint folder, .gguf file or hub:ORG/NAME."
    ),
]
For = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TARGET",
        help="The model that it drafts for, by its card.",
        autocompletion=complete.models,
    ),
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the card.")]
Mtp = Annotated[bool, typer.Option("--mtp", help="The card of its module that drafts (MTP).")]
ReportOf = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="DIR",
        help="Import every .json of a folder; hold counts against its index.csv.",
    ),
]


def models_import(
    source: Source = None,
    *,
    target: For = None,
    name: Name = None,
    mtp: Mtp = False,
    report: ReportOf = None,
    force: Force = False,
    folders: Folders,
    out: Out,
) -> int:
    """Make a card of a model's own files, and say where each figure is from.

    Reads config.json, hf_quant_config.json and the headers of weights; loads no weights, runs no
    code of theirs, and fetches nothing unless SOURCE begins with hub:. What it cannot derive it
    refuses by name. The card goes to standard output or to -o NAME.yaml; -f shows the figures.
    """
    from specplan.cli.scenario import load

    catalogue = load(*(folders.catalogue or ()))
    if report is not None:
        given = {"SOURCE": source, "--for": target, "--name": name, "--mtp": mtp}
        stray = next((flag for flag, value in given.items() if value), None)
        if stray:
            raise UsageError(f"{stray} beside --report", hint="a report takes the folder alone")
        return _report(report, catalogue, out)
    if source is None:
        raise UsageError(
            "no SOURCE",
            expected="a config.json, a checkpoint folder, a .gguf file or hub:ORG/NAME",
        )
    return _import(source, target, name, catalogue, out, mtp=mtp, force=force)


def _import(
    source: str,
    target: str | None,
    name: str | None,
    catalogue: Catalogue,
    out: Out,
    *,
    mtp: bool,
    force: bool,
) -> int:
    from specplan.importers.card import Wish, imported
    from specplan.importers.source import open_source
    from specplan.questions.imports import imported_answer, told

    path = card_file(out, "model", force=force)
    refuse_source(out, Path(source))
    called = card_name(name, path)
    where = Where("--for")
    drafted = catalogue.model(target, where).card if target is not None else None
    if drafted is not None and drafted.drafts and drafted.drafts.kind != "model":
        what = f"{drafted.name} drafts itself ({drafted.drafts.kind})"
        raise UsageError(what, where=where, expected="the model that a drafter is for")
    foreign = open_source(source)
    made = imported(foreign, Wish(name=called, target=drafted, mtp=mtp))
    if foreign.kind == "gguf":
        made = _accepting(made)
    doubts = _unfit(made.card, drafted) if drafted is not None else ()
    doubts += (*_unlike(made), *clash(made.card, catalogue, path))
    text = text_of(made.card, "what was imported")
    answer = imported_answer(made, foreign.origin)
    answer = replace(answer, notes=(*answer.notes, *doubts))
    notes = [note for note in made.notes if note not in made.card.notes]
    figures = (*told(made), "all figures: -f table")
    file = path or Path(f"{made.card.name}.yaml")
    then = f"next: {'' if path else f'-o {file} writes it; then '}{_next(made.card, file)}"
    return put(answer, text, path, out, aside=(*figures, *notes, *doubts, then), then=(then,))


def _next(card: Model, file: Path) -> str:
    """What to do with a card in its file."""
    plain = shlex.quote(str(file))
    path = plain if file.is_absolute() else shlex.quote(f"./{file}")
    asked = f"-t {path}"
    if card.drafts is not None:
        asked = f"-t {next(iter(card.drafts.targets), 'TARGET')} -d {path}"
    return f"specplan check {plain}; specplan sweep {asked}"


def _accepting(made: Imported) -> Imported:
    """A GGUF file's card, which accepts that its exact bytes are not those of the nearest types:
    its reader has held every tensor to the header, so that nothing else can differ.
    """
    from specplan.rules.models import UNSUMMED, unsummed

    accept = {found.rule: OWN_BITS for found in unsummed(made.card) if found.rule == UNSUMMED.id}
    return replace(made, card=replace(made.card, accept=accept))


def _unlike(made: Imported) -> Iterator[str]:
    """Bytes of the files that the parts of the card do not come to."""
    from specplan.rules.models import unsummed

    card = made.card
    for finding in () if card.accept else unsummed(card):
        parts = replace(card, stored_bytes=None).weights_bytes(card.dtype)
        held = ", ".join(extra.what for extra in made.extras) or "parts that no key names"
        beyond = f"; they may hold {held}" if (card.stored_bytes or 0) > parts else ""
        yield f"{finding.message} on the card{beyond}"


def _unfit(card: Model, target: Model) -> tuple[str, ...]:
    """What speaks against the pair; another width is no pair at all."""
    from specplan.rules.drafters import MISFIT, unfit

    found = tuple(unfit(card, target))
    for finding in found:
        if finding.rule == MISFIT.id:
            hint = "name the target that it was trained for"
            raise InputError(finding.message, where=Where("--for"), hint=hint)
    return tuple(finding.message for finding in found)


def _report(folder: str, catalogue: Catalogue, out: Out) -> int:
    from specplan.cli.show import show
    from specplan.importers.report import INDEX, reports
    from specplan.questions.imports import report_answer
    from specplan.visible import visible

    path, where = Path(folder), Where("--report")
    refuse_source(out, path / INDEX)  # and the configs beside it
    shown = visible(folder, 200)
    with placed(where):
        if not path.is_dir():
            raise UsageError(f"'{shown}' is no folder", expected="a folder of .json configs")
        checked = list(reports(path, _finder(catalogue)))
        if not checked:
            raise UsageError(f"no .json file in '{shown}'", expected="configs")
    return show(report_answer(shown, checked), out)


def _finder(catalogue: Catalogue) -> Callable[[str], Model | None]:
    """Gives the card of a model by the name that a foreign file gives it, if there is one."""

    @cache
    def find(name: str) -> Model | None:
        with suppress(SpecplanError):
            return catalogue.model(name).card
        return None

    return find
