"""hardware probe: this machine measured, and a card made of it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from specplan.cli import complete
from specplan.cli.made import Force, card_file, card_name, clash, put, text_of
from specplan.cli.options import Out
from specplan.cli.values import number
from specplan.errors import UsageError, Where, placed

if TYPE_CHECKING:
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
    str | None,
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


def hardware_probe(
    *,
    name: Name = None,
    device: Device = None,
    seconds: Seconds = SECONDS,
    force: Force = False,
    out: Out,
) -> int:
    """Measure this machine and write a card of what it reached.

    A large copy, products of widths 1 to 512 and the smallest kernel. The card goes to standard
    output, or to -o FILE.yaml while the figures and their noise are shown; -f shows them alone.
    """
    from specplan.cli.scenario import load
    from specplan.questions.probed import probed, summary

    path = card_file(out, "hardware", force=force)
    _try_format(out if path is None else replace(out, output=None))
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise UsageError(
            f"{seconds:g} seconds",
            where=Where("--seconds"),
            expected=f"{LEAST_SECONDS:g} to {MOST_SECONDS:g}",
        )
    called = card_name(name, path)
    card = _measured(called, device, seconds, out)
    assert card.measured is not None  # noqa: S101 - just measured
    answer = probed(card, card.measured)
    answer = replace(answer, notes=(*answer.notes, *clash(card, load(), path)))
    saved = f"the card is found in a file of its name, {card.name}.yaml"
    aside = (summary(card.measured), *answer.notes, saved)
    return put(answer, text_of(card, "what was measured"), path, out, aside=aside)


def _try_format(out: Out) -> None:
    """Refuses a format that cannot show what will be measured."""
    from specplan.cli.show import format_name, look
    from specplan.questions.probed import unmeasured
    from specplan.render import renderer

    nowhere = io.StringIO()
    name = format_name(out)
    renderer(name)(unmeasured(), nowhere, look(out, nowhere, name))


def _measured(name: str, device: str | None, seconds: float, out: Out) -> Hardware:
    """The card of this machine, with reasons for what the rules would doubt of it."""
    from specplan import __version__
    from specplan.importers.probe.bench import measure
    from specplan.importers.probe.card import card_of, device_name
    from specplan.importers.probe.choose import DEVICES, bench_of
    from specplan.rules.cards import check_hardware

    with placed(Where("--device")) if device is not None else nullcontext():
        if device == "":
            raise UsageError("unknown device ''", expected=DEVICES)
        bench = bench_of(device or "")
    with _watching(seconds, out) as watch:
        measured = measure(bench, seconds, watch=watch)
    card = card_of(measured, bench.machine, name or device_name(bench.machine), __version__)
    doubted = [finding.rule for finding in check_hardware(card) if finding.level == "warning"]
    return replace(card, accept=dict.fromkeys(doubted, MEASURED_SO))


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
