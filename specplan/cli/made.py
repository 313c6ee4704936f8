"""A card that a command made, on its way out: YAML to standard output or to a file of its name."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from specplan.cli.options import Out
from specplan.errors import UsageError, Where

if TYPE_CHECKING:
    from specplan.domain.answer import Answer
    from specplan.domain.hardware import Hardware
    from specplan.domain.model import Model

    Card = TypeVar("Card", bound=Hardware | Model)

YAML = (".yaml", ".yml")
Force = Annotated[bool, typer.Option("--force", help="Replace the card in -o FILE.yaml.")]


def card_file(out: Out, *, force: bool) -> Path | None:
    """The file that the card is for, if -o names one; refused before anything is done."""
    from specplan.visible import visible

    path = Path(out.output or "-")
    if path.suffix not in YAML:
        return None
    shown, where = visible(str(path), 200), Where("--output")
    if not path.parent.is_dir():
        raise UsageError(f"no folder '{visible(str(path.parent), 200)}'", where=where)
    if path.is_dir():
        raise UsageError(f"{shown} is a folder", where=where)
    if os.path.lexists(path) and not force:
        raise UsageError(f"{shown} exists", where=where, hint="--force replaces it")
    return path


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


def text_of(card: Card, what: str) -> str:
    """The card as YAML that was read back and found to be the same kind of card."""
    from specplan.catalogue.read import read_yaml
    from specplan.catalogue.schema import bind
    from specplan.catalogue.write_card import card_text

    text = card_text(card)
    bind(read_yaml(text.encode(), what), type(card))  # refuses implausible figures
    return text


def put(answer: Answer, text: str, path: Path | None, out: Out, *, aside: tuple[str, ...]) -> int:
    """Writes the card to its file and shows the answer; or the card alone to standard output with
    `aside` on stderr; or, where a format was asked for, the answer alone.
    """
    from specplan.cli.show import show
    from specplan.domain.answer import Lines, View
    from specplan.files import writing

    if path is not None:
        with writing(path) as file:
            file.write(text)
        notes = (*answer.notes, f"wrote {path}")
        return show(replace(answer, notes=notes), replace(out, output=None))
    if out.format == "auto" and out.output in {None, "-"}:
        view = View(title="", sections=(Lines(tuple(text.splitlines())),))
        return show(replace(answer, view=view, notes=aside), replace(out, format="plain"))
    return show(answer, out)
