"""Trust: exactness."""

from __future__ import annotations

from typing import Annotated

import typer

from specplan.cli.options import Out, command

Probabilities = Annotated[
    str | None, typer.Option(metavar="P,P,...", help="Probabilities; they sum to 1.")
]


def register(app: typer.Typer, name: str, panel: str) -> None:
    """Adds one of this file's commands."""
    app.command(name, rich_help_panel=panel)(command(globals()[name]))


def exactness(
    p: Probabilities = None,
    q: Probabilities = None,
    vocabulary: Annotated[
        int | None, typer.Option("--vocabulary", help="Random p and q of this size, by --seed.")
    ] = None,
    alpha: Annotated[
        float, typer.Option("-a", "--alpha", help="Acceptance at which tokens per pass are counted.")
    ] = 0.7,
    trials: Annotated[int, typer.Option("--trials", help="Trials of each check.")] = 200_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all randomness.")] = 0,
    plant: Annotated[
        str | None, typer.Option("--plant", metavar="BUG", help="Run the rule with a known bug.")
    ] = None,
    *,
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
    answer = question(target, draft, alpha=alpha, trials=trials, seed=seed, plant=plant)
    return show(answer, out)


def _numbers(text: str | None, option: str) -> list[float] | None:
    from specplan.errors import Where, placed
    from specplan.units import parse_number

    if text is None:
        return None
    with placed(Where(option)):
        return [parse_number(item.strip()) for item in text.split(",")]
