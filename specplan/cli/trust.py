"""Trust: exactness, accuracy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specplan.cli import complete
from specplan.cli.help import Command
from specplan.cli.options import Folders, Out, command
from specplan.cli.values import number, whole

if TYPE_CHECKING:
    from specplan.physics.trials import Blocks

LONG_TRIALS = 2_000_000  # from here on, a second or more, a terminal gets a progress bar

Target = Annotated[
    str | None, typer.Option("--p", metavar="P,P,...", help="Probabilities of the target.")
]
Draft = Annotated[
    str | None, typer.Option("--q", metavar="P,P,...", help="Probabilities of the drafter.")
]
Vocabulary = Annotated[
    int | None,
    typer.Option(
        "--vocabulary",
        metavar="N",
        help="Random p and q of this size, by --seed.",
        parser=whole("--vocabulary"),
    ),
]
Acceptance = Annotated[
    float,
    typer.Option(
        "-a",
        "--alpha",
        metavar="X",
        help="Acceptance at which tokens per pass are counted.",
        parser=number("--alpha"),
    ),
]
Trials = Annotated[
    int,
    typer.Option("--trials", metavar="N", help="Trials of each check.", parser=whole("--trials")),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of all randomness.", parser=whole("--seed")),
]
Plant = Annotated[
    str | None,
    typer.Option(
        "--plant",
        metavar="BUG",
        help="Run the rule with a known bug: " + ", ".join(complete.BUGS) + ".",
        autocompletion=complete.among(*complete.BUGS),
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...", help="CSV files of rows of your own; those that ship if absent."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Rows of this kind alone: " + ", ".join(complete.MEASURED) + ".",
        autocompletion=complete.among(*complete.MEASURED),
    ),
]
Worst = Annotated[
    int | None,
    typer.Option(
        "--worst",
        metavar="N",
        help="The N rows farthest from their prediction.",
        parser=whole("--worst"),
    ),
]
EXAMPLES = {
    "exactness": """\
specplan exactness
specplan exactness --p 0.5,0.3,0.2 --q 0.2,0.3,0.5 --trials 1000000
specplan exactness --plant resample-from-target""",
    "accuracy": """\
specplan accuracy --kind round
specplan accuracy --worst 20""",
}


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    function = command(globals()[name])
    app.command(name, cls=Command, rich_help_panel=panel, epilog=EXAMPLES[name])(function)


def exactness(
    *,
    p: Target = None,
    q: Draft = None,
    vocabulary: Vocabulary = None,
    alpha: Acceptance = 0.7,
    trials: Trials = 200_000,
    seed: Seed = 0,
    plant: Plant = None,
    out: Out,
) -> int:
    """Is the accept/resample rule exact?"""
    from specplan.cli.show import show
    from specplan.errors import UsageError, Where
    from specplan.physics.rule import random_pair
    from specplan.questions.exactness import exactness as question

    if (p is None) != (q is None):
        raise UsageError("--p and --q go together")
    if vocabulary is not None and p is not None:
        raise UsageError("--vocabulary and --p say the same twice", where=Where("--vocabulary"))
    if vocabulary is not None:
        target, draft = (side.tolist() for side in random_pair(vocabulary, seed))
    else:
        target, draft = _numbers(p, "--p"), _numbers(q, "--q")
    with _watching(trials, out) as blocks:
        answer = question(
            target, draft, alpha=alpha, trials=trials, seed=seed, plant=plant, blocks=blocks
        )
    return show(answer, out)


def accuracy(
    files: Files = None,
    *,
    kind: Kind = None,
    worst: Worst = None,
    folders: Folders,
    out: Out,
) -> int:
    """How far are predictions from measurements?"""
    from specplan.cli.scenario import load
    from specplan.cli.scored import accuracy as scored
    from specplan.cli.show import show

    catalogue = load(*(folders.catalogue or ()))
    return show(scored(*(files or ()), kind=kind, worst=worst, catalogue=catalogue), out)


@contextmanager
def _watching(trials: int, out: Out) -> Iterator[Blocks]:
    """How trials are cut into blocks: with a bar on a terminal's stderr where there are many."""
    from specplan.cli.progress import counting
    from specplan.cli.show import coloured
    from specplan.physics.trials import chunks
    from specplan.questions.exactness import SIMULATIONS

    if trials < LONG_TRIALS or out.quiet or not sys.stderr.isatty():
        yield chunks
        return
    with counting(SIMULATIONS * trials, colour=coloured(out.color, terminal=True)) as advance:

        def counted(trials: int) -> Iterator[int]:
            for size in chunks(trials):
                yield size
                advance(size)

        yield counted


def _numbers(text: str | None, option: str) -> list[float] | None:
    from specplan.errors import Where, placed
    from specplan.units import parse_number

    if text is None:
        return None
    with placed(Where(option)):
        return [parse_number(item.strip()) for item in text.split(",")]
