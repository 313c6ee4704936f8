"""Exactness: the rule, the settings of both sides, and where their distributions come from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specplan.cli import complete
from specplan.cli.options import Out
from specplan.cli.values import number, whole

if TYPE_CHECKING:
    from specplan.physics.trials import Blocks

LONG_TRIALS = 2_000_000  # from here on, a second or more, a terminal gets a progress bar
SETTINGS = "Settings and rule"

Target = Annotated[
    str | None, typer.Option("--p", metavar="P,P,...", help="Probabilities of the target.")
]
Draft = Annotated[
    str | None, typer.Option("--q", metavar="P,P,...", help="Probabilities of the drafter.")
]
Logits = Annotated[bool, typer.Option("--logits", help="--p and --q are logits.")]
Tables = Annotated[
    Path | None,
    typer.Option(
        "--tables", metavar="FILE", help="JSON of both sides at each position of a draft."
    ),
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
Sampled = Annotated[
    str | None,
    typer.Option(
        "--sampling",
        metavar="KEY=X,...",
        help="What the request asks for: temperature=0.6,top-p=0.95, greedy, none.",
        rich_help_panel=SETTINGS,
        autocompletion=complete.settings,
    ),
]
DraftSampled = Annotated[
    str | None,
    typer.Option(
        "--draft-sampling",
        metavar="KEY=X,...",
        help="What drafts are drawn with; as --sampling if absent.",
        rich_help_panel=SETTINGS,
        autocompletion=complete.settings,
    ),
]
History = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="ID,ID,...",
        help="Tokens generated before, which penalties see.",
        rich_help_panel=SETTINGS,
    ),
]
Verify = Annotated[
    str | None,
    typer.Option(
        "--verify",
        metavar="RULE",
        help="token, block, match, greedy, typical:0.09,0.3, relaxed:10,0.6, threshold:0.3,1.",
        rich_help_panel=SETTINGS,
        autocompletion=complete.among(*complete.RULES),
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
EXAMPLES = """\
specplan exactness
specplan exactness --sampling temperature=0.6,top-p=0.95 --verify block
specplan exactness --logits --p 2,1,0 --q 1,2,0 --sampling top-k=2
specplan exactness --plant resample-from-target"""


def exactness(
    *,
    p: Target = None,
    q: Draft = None,
    logits: Logits = False,
    tables: Tables = None,
    vocabulary: Vocabulary = None,
    sampling: Sampled = None,
    draft_sampling: DraftSampled = None,
    history: History = None,
    verify: Verify = None,
    alpha: Acceptance = 0.7,
    trials: Trials = 200_000,
    seed: Seed = 0,
    plant: Plant = None,
    out: Out,
) -> int:
    """Is the accept/resample rule exact, under these settings?"""
    from specplan.cli.show import show
    from specplan.questions.exactness import exactness as question

    _check_together(p, q, tables, vocabulary, logits=logits, history=history)
    asked: dict[str, Any] = {
        "sampling": _settings(sampling, "--sampling"),
        "draft_sampling": _settings(draft_sampling, "--draft-sampling"),
        "verify": _rule(verify),
        "logits": logits,
        "history": _ids(history),
        **_sides(p, q, tables, vocabulary, seed),
    }
    positions = len(asked["p"]) if tables else 1
    with _watching(trials, out, positions, asked["verify"]) as blocks:
        answer = question(
            **asked, alpha=alpha, trials=trials, seed=seed, plant=plant, blocks=blocks
        )
    return show(answer, out)


def _check_together(
    p: str | None,
    q: str | None,
    tables: Path | None,
    vocabulary: int | None,
    *,
    logits: bool,
    history: str | None,
) -> None:
    """Options that say the same twice, or say nothing without one another."""
    from specplan.errors import UsageError, Where

    if (p is None) != (q is None):
        raise UsageError("--p and --q go together")
    if vocabulary is not None and p is not None:
        raise UsageError("--vocabulary and --p say the same twice", where=Where("--vocabulary"))
    if tables is None:
        if logits and p is None:
            raise UsageError("--logits is about --p and --q", where=Where("--logits"))
        return
    twice = {"--p": p, "--vocabulary": vocabulary, "--history": history, "--logits": logits or None}
    for option, given in twice.items():
        if given is not None:
            raise UsageError(f"{option} and --tables say the same twice", where=Where(option))


def _sides(
    p: str | None, q: str | None, tables: Path | None, vocabulary: int | None, seed: int
) -> dict[str, Any]:
    """Where both sides come from: a file, a seed, or the options themselves."""
    if tables is not None:
        from specplan.domain.scenario import Input
        from specplan.importers.tables import read_tables

        read = read_tables(tables)
        return {
            "p": read.target,
            "q": read.draft,
            "logits": read.logits,
            "prompt": read.prompt,
            "history": read.history,
            "drafted": read.drafted,
            "source": Input(value=str(tables), origin=str(tables), sha256=read.sha256),
        }
    if vocabulary is not None:
        from specplan.physics.distributions import random_pair

        target, draft = random_pair(vocabulary, seed)
        return {"p": target.tolist(), "q": draft.tolist()}
    return {"p": _numbers(p, "--p"), "q": _numbers(q, "--q")}


def _settings(text: str | None, option: str) -> Any:  # noqa: ANN401
    from specplan.domain.sampling import parse_sampling
    from specplan.errors import Where, placed

    with placed(Where(option)):
        return None if text is None else parse_sampling(text)


def _rule(text: str | None) -> Any:  # noqa: ANN401
    from specplan.domain.verification import TOKEN, parse_verification
    from specplan.errors import Where, placed

    with placed(Where("--verify")):
        return TOKEN if text is None else parse_verification(text)


def _ids(text: str | None) -> tuple[int, ...]:
    read = whole("--history")
    return () if text is None else tuple(read(item.strip()) for item in text.split(","))


def _numbers(text: str | None, option: str) -> list[float] | None:
    from specplan.errors import Where, placed
    from specplan.units import parse_number

    if text is None:
        return None
    with placed(Where(option)):
        return [parse_number(item.strip()) for item in text.split(",")]


@contextmanager
def _watching(trials: int, out: Out, positions: int, verification: Any) -> Iterator[Blocks]:  # noqa: ANN401
    """How trials are cut into blocks: with a bar on a terminal's stderr where there are many."""
    from specplan.cli.progress import counting
    from specplan.cli.show import coloured
    from specplan.physics.trials import chunks
    from specplan.questions.exactness_checks import simulations

    if trials < LONG_TRIALS or out.quiet or not sys.stderr.isatty():
        yield chunks
        return
    total = simulations(positions, verification) * trials
    with counting(total, colour=coloured(out.color, terminal=True)) as advance:

        def counted(trials: int) -> Iterator[int]:
            for size in chunks(trials):
                yield size
                advance(size)

        yield counted
