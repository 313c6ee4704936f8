"""Equivalence: the files of outputs, the level and what is asked about."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from specplan.cli.options import Out
from specplan.cli.values import number, whole

LONG_OUTPUTS = 20_000  # from here on, a second or more, a terminal gets a progress bar

Plain = Annotated[
    str, typer.Argument(metavar="PLAIN", help="Outputs without speculation, JSONL; - is stdin.")
]
Spec = Annotated[
    str, typer.Argument(metavar="SPEC", help="Outputs with speculation, to the same prompts.")
]
Level = Annotated[
    float,
    typer.Option(
        "--level",
        metavar="X",
        help="Probability of a false alarm, all tests together.",
        parser=number("--level"),
    ),
]
Sensitivity = Annotated[
    float,
    typer.Option(
        "--sensitivity",
        metavar="X",
        help="Mean TV that is asked about.",
        parser=number("--sensitivity"),
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        "--permutations",
        metavar="N",
        help="Labellings drawn; by default 20 / level.",
        parser=whole("--permutations"),
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of all randomness.", parser=whole("--seed")),
]
Opinion = Annotated[
    bool,
    typer.Option("--second-opinion", help="SciPy's tests beside ours; needs specplan[stats]."),
]
EXAMPLES = """\
specplan equivalence plain.jsonl spec.jsonl
specplan equivalence plain.jsonl spec.jsonl --level 0.001 --sensitivity 0.05"""


def equivalence(
    plain: Plain,
    spec: Spec,
    *,
    level: Level = 0.01,
    sensitivity: Sensitivity = 0.02,
    permutations: Permutations = None,
    seed: Seed = 0,
    second_opinion: Opinion = False,
    out: Out,
) -> int:
    """Does my engine keep the distribution?"""
    from specplan.cli.generated import read_both
    from specplan.cli.show import show
    from specplan.questions.equivalence import equivalence as question

    both = read_both(plain, spec)
    with _watching(sum(outputs.outputs for outputs in both), len(both[0].prompts), out) as done:
        answer = question(
            *both,
            level=level,
            sensitivity=sensitivity,
            permutations=permutations,
            seed=seed,
            opinion=second_opinion,
            done=done,
        )
    return show(answer, out)


@contextmanager
def _watching(outputs: int, prompts: int, out: Out) -> Iterator[Callable[[int], None]]:
    """Who is told of progress: a bar on a terminal's stderr where there are many outputs."""
    from specplan.cli.progress import counting
    from specplan.cli.show import coloured

    if outputs < LONG_OUTPUTS or out.quiet or not sys.stderr.isatty():
        yield lambda _done: None
        return
    with counting(prompts, colour=coloured(out.color, terminal=True)) as advance:
        yield advance
