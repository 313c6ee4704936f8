"""A card that a command made, on its way out: YAML to standard output or to a file of its name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from specplan.cli.options import Out
from specplan.errors import SpecplanError, UsageError, Where

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue
    from specplan.domain.answer import Answer
    from specplan.domain.engine import Engine
    from specplan.domain.hardware import Hardware
    from specplan.domain.model import Model

    Card = TypeVar("Card", bound=Engine | Hardware | Model)

YAML = (".yaml", ".yml")
Force = Annotated[bool, typer.Option("--force", help="Replace the card in -o FILE.yaml.")]


def card_file(out: Out, kind: str, *, force: bool) -> Path | None:
    """The file that the card is for, if -o names one; refused before anything is done. Only a card
    of the same kind is replaced.
    """
    from specplan.visible import visible

    path = Path(out.output or "-")
    if path.suffix not in YAML:
        return None
    shown, where = visible(str(path), 200), Where("--output")
    if not path.parent.is_dir():
        folder = visible(str(path.parent), 200)
        hint = f"mkdir {'' if path.parent.parent.is_dir() else '-p '}{shlex.quote(folder)}"
        raise UsageError(f"no folder '{folder}'", where=where, hint=hint)
    if path.is_dir():
        raise UsageError(f"{shown} is a folder", where=where)
    if os.path.lexists(path) and not force:
        raise UsageError(f"{shown} exists", where=where, hint="--force replaces it")
    if os.path.lexists(path) and not _holds(path, kind):
        raise UsageError(f"{shown} is no {kind} card", where=where, hint="name another file")
    return path


def refuse_source(out: Out, source: Path) -> None:
    """Refuses an output that is what is read: the file, or one of those in the folder."""
    path = Path(out.output or "-")
    if out.output in {None, "-"} or not path.is_file():
        return
    if any(file.is_file() and file.samefile(path) for file in _files(source)):
        from specplan.visible import visible

        shown = visible(str(path), 200)
        raise UsageError(f"{shown} is an input of this answer", where=Where("--output"))


def _files(source: Path) -> Iterator[Path]:
    if source.is_dir():
        yield from source.iterdir()
        return
    yield source
    if source.parent.is_dir():  # what may be read beside it: a sidecar, the parts of a split file
        yield from source.parent.glob("*.gguf")
        yield from source.parent.glob("*.json")


def _holds(path: Path, kind: str) -> bool:
    """Whether a file says that it is a card of the kind."""
    with suppress(OSError), path.open("rb") as file:
        said = re.search(rf"^schema: {kind}/1\b".encode(), file.read(4096), re.MULTILINE)
        return said is not None
    return False


def card_name(wanted: str | None, path: Path | None) -> str:
    """What the card is to be called, "" where nobody says; a file has its card's name."""
    from specplan.domain.card import NAME_PATTERN
    from specplan.visible import visible

    given = [("--name", wanted)] if wanted is not None else []
    given += [("--output", path.stem)] if path is not None else []
    for flag, name in given:
        if not re.fullmatch(NAME_PATTERN.strip("^$"), name):
            raise UsageError(
                f"'{visible(name, 80)}' is no name of a card",
                where=Where(flag),
                expected="lower-case letters, digits and . _ -, at most 64",
            )
    if path is not None and wanted not in {None, path.stem}:
        raise UsageError(
            f"{visible(path.name, 200)} is no file of a card called {wanted}",
            where=Where("--output"),
            expected=f"{wanted}.yaml",
        )
    return given[-1][1] if given else ""


def clash(card: Hardware | Model, catalogue: Catalogue, path: Path | None) -> Iterator[str]:
    """A card of the catalogue that answers to the name of one that was made."""
    from specplan.domain.model import Model

    name, models = card.name, isinstance(card, Model)
    folder, word = ("models", "a model") if models else ("hardware", "an accelerator")
    entry = catalogue.entries(folder).get(name)
    if entry and path and os.path.realpath(str(entry.file)) == os.path.realpath(path):
        entry = entry.hides
    another = "another file name" if path else "--name"
    if entry is not None:
        yield f"the catalogue has {word} of that name, {name}: {another} gives another"
        return
    with suppress(SpecplanError):
        found = catalogue.model(name) if models else catalogue.hardware(name)
        other = found.card.name
        if other != name:
            yield f"{name} is another name of {other} (SC004): {another} gives another"


def text_of(card: Card, what: str) -> str:
    """The card as YAML that was read back and found to be the same kind of card."""
    from specplan.catalogue.read import read_yaml
    from specplan.catalogue.schema import bind
    from specplan.catalogue.write_card import card_text

    text = card_text(card)
    bind(read_yaml(text.encode(), what), type(card))  # refuses implausible figures
    return text


def put(
    answer: Answer,
    text: str,
    path: Path | None,
    out: Out,
    *,
    aside: tuple[str, ...],
    then: tuple[str, ...] = (),
) -> int:
    """Writes the card to its file and shows the answer, with `then` as what to do next; or the card
    alone to standard output with `aside` on stderr; or, where a format was asked for, the answer
    alone.
    """
    from specplan.cli.show import show
    from specplan.domain.answer import Lines, View
    from specplan.files import writing

    if path is not None:
        with writing(path) as file:
            file.write(text)
        notes = (*answer.notes, f"wrote {path}", *then)
        return show(replace(answer, notes=notes), replace(out, output=None))
    if out.format == "auto" and out.output in {None, "-"}:
        view = View(title="", sections=(Lines(tuple(text.splitlines())),))
        return show(replace(answer, view=view, notes=aside), replace(out, format="plain"))
    if out.output not in {None, "-"}:
        only = f"{out.output} gets the figures: the card itself goes to a .yaml"
        answer = replace(answer, notes=(*answer.notes, only))
    return show(answer, out)
