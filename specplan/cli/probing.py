"""hardware probe: this machine measured, and a card made of it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specplan.cli import complete
from specplan.cli.options import Out
from specplan.cli.values import number
from specplan.errors import UsageError, Where, placed

if TYPE_CHECKING:
    from specplan.domain.answer import Answer
    from specplan.domain.hardware import Hardware
    from specplan.importers.probe.timing import Watch

SECONDS = 20.0
LEAST_SECONDS, MOST_SECONDS = 0.1, 3600.0
PROBE_EXAMPLES = """\
specplan hardware probe
specplan hardware probe -o mine.yaml
specplan hardware probe --device cuda:0 --seconds 60 -o mine.yaml
specplan hardware probe -f json"""
MEASURED_SO = "measured so on this machine"

Name = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", help="Name of the card; that of -o FILE, or the device's."
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="cpu, cuda:0 (ROCm too) or mps; a GPU needs torch. The first GPU, else cpu.",
        autocompletion=complete.among("cpu", "cuda:0", "mps"),
    ),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", help="How long to measure.", parser=number("--seconds")),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the card in -o FILE.yaml.")]


def hardware_probe(
    *,
    name: Name = None,
    device: Device = "",
    seconds: Seconds = SECONDS,
    force: Force = False,
    out: Out,
) -> int:
    """Measure this machine and write a card of what it reached.

    A large copy, products of widths 1 to 512 and the smallest kernel. The card goes to standard
    output, or to -o FILE.yaml while the figures and their noise are shown; -f shows them alone.
    """
    from specplan.cli.show import show
    from specplan.questions.probed import probed, summary

    path = _card_file(out, force=force)
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise UsageError(
            f"{seconds:g} seconds",
            where=Where("--seconds"),
            expected=f"{LEAST_SECONDS:g} to {MOST_SECONDS:g}",
        )
    called = _name(name, path)
    card = _measured(called, device, seconds, out)
    assert card.measured is not None  # noqa: S101 - just measured
    answer, text = probed(card, card.measured), _text(card)
    if path is not None:
        _write(path, text)
        notes = (*answer.notes, f"wrote {path}")
        return show(replace(answer, notes=notes), replace(out, output=None))
    if out.format == "auto" and out.output in {None, "-"}:
        saved = f"the card is found in a file of its name, {card.name}.yaml"
        notes = (summary(card.measured), *answer.notes, saved)
        return show(_as_lines(answer, text, notes), replace(out, format="plain"))
    return show(answer, out)


def _card_file(out: Out, *, force: bool) -> Path | None:
    """The file that the card is for, if -o names one; refused before anything is measured."""
    from specplan.cli.show import format_name
    from specplan.visible import visible

    path = Path(out.output or "-")
    if path.suffix not in {".yaml", ".yml"}:
        _try_format(format_name(out), out)
        return None
    _try_format(format_name(replace(out, output=None)), out)
    shown, where = visible(str(path), 200), Where("--output")
    if not path.parent.is_dir():
        raise UsageError(f"no folder '{visible(str(path.parent), 200)}'", where=where)
    if path.is_dir():
        raise UsageError(f"{shown} is a folder", where=where)
    if os.path.lexists(path) and not force:
        raise UsageError(f"{shown} exists", where=where, hint="--force replaces it")
    return path


def _try_format(name: str, out: Out) -> None:
    """Refuses a format that cannot show what will be measured."""
    from specplan.cli.show import look
    from specplan.questions.probed import unmeasured
    from specplan.render import renderer

    nowhere = io.StringIO()
    renderer(name)(unmeasured(), nowhere, look(out, nowhere))


def _name(wanted: str | None, path: Path | None) -> str:
    """What the card is to be called, "" for the device's name; it must agree with its file's."""
    from specplan.importers.probe.card import checked_name
    from specplan.visible import visible

    called = ""
    if wanted is not None:
        with placed(Where("--name")):
            called = checked_name(wanted)
    if path is None:
        return called
    if called and called != path.stem:
        shown = visible(path.name, 200)
        raise UsageError(
            f"{shown} is no file of a card called {called}",
            where=Where("--output"),
            expected=f"{called}.yaml",
        )
    with placed(Where("--output")):
        return checked_name(path.stem)


def _measured(name: str, device: str, seconds: float, out: Out) -> Hardware:
    """The card of this machine, with reasons for what the rules would doubt of it."""
    from specplan import __version__
    from specplan.importers.probe.bench import measure
    from specplan.importers.probe.card import card_of, device_name
    from specplan.importers.probe.choose import bench_of
    from specplan.rules.cards import check_hardware

    with placed(Where("--device")) if device else nullcontext():
        bench = bench_of(device)
    with _watching(seconds, out) as watch:
        measured = measure(bench, seconds, watch=watch)
    card = card_of(measured, bench.machine, name or device_name(bench.machine), __version__)
    doubted = [finding.rule for finding in check_hardware(card) if finding.level == "warning"]
    return replace(card, accept=dict.fromkeys(doubted, MEASURED_SO))


def _text(card: Hardware) -> str:
    """The card as YAML that reads back as what was measured."""
    from specplan.catalogue.read import read_yaml
    from specplan.catalogue.schema import bind
    from specplan.catalogue.write_card import card_text
    from specplan.domain.hardware import Hardware

    text = card_text(card)
    bind(read_yaml(text.encode(), "what was measured"), Hardware)  # refuses implausible figures
    return text


def _write(path: Path, text: str) -> None:
    from specplan.files import writing

    with writing(path) as file:
        file.write(text)


def _as_lines(answer: Answer, text: str, notes: tuple[str, ...]) -> Answer:
    """The card alone, line by line."""
    from specplan.domain.answer import Lines, View

    view = View(title="", sections=(Lines(tuple(text.splitlines())),))
    return replace(answer, view=view, notes=notes)


@contextmanager
def _watching(seconds: float, out: Out) -> Iterator[Watch]:
    """A bar on a terminal's stderr while it lasts."""
    from specplan.cli.progress import lasting
    from specplan.cli.show import coloured

    if out.quiet or not sys.stderr.isatty():
        yield lambda _gone, _says: None
        return
    with lasting(seconds, colour=coloured(out.color, terminal=True)) as watch:
        yield watch
