"""calibrate: measured step times in, constants, a best k and an engine card of your own out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specplan.cli.made import card_file, card_name, put, refuse_source, text_of
from specplan.cli.options import Load, Out, What, typed

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUNS",
        help="CSV of step times: batch, context, k (0 is plain) and one of step_s, tpot_s "
        "(also step_ms, tpot_ms), tokens_per_s; or rows of measurements.",
    ),
]
Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the card; that of -o FILE.yaml."),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace the card in -o FILE.yaml; take steps above 1 s or below 20 us as they are.",
    ),
]
EXAMPLES = """\
specplan calibrate runs.csv
specplan calibrate runs.csv -a unconditional:.8,.6,.45 -k 0,1,2,3 -o mine.yaml
specplan calibrate runs.csv -t llama-3-8b -d llama-3.2-1b -g h100 -e vllm@0.33"""


def calibrate(
    runs: Files, *, name: Name = None, force: Force = False, what: What, load: Load, out: Out
) -> int:
    """Fit an engine card to your measured steps.

    With -t, -d and -g the constants of whole passes on those cards; without, a form of its own,
    and the card holds the times. With -a also the best k at each batch, of all up to the longest
    measured or of -k: in JSON answer.best_k, such as {"1": 5, "64": 3}. step_s of k drafts is a
    whole round. Plain steps, k = 1 and the longest k at a few batches suffice. The card goes to
    -o NAME.yaml; specplan best-k -e ./NAME.yaml uses it. With -e vllm@0.33 it follows that
    engine, whose flags specplan emit then writes.
    """
    from specplan.cli.fitting import UNNAMED, answered, next_words
    from specplan.cli.plans import catalogue_of
    from specplan.cli.show import show

    path = card_file(out, "engine", force=force)
    for file in runs:
        refuse_source(out, file)
    called = card_name(name, path) or UNNAMED
    flags = typed(what, load)
    answer, card = answered(runs, flags, catalogue_of(what), called, force=force)
    if path is None:
        return show(answer, out)
    shown = str(path) if path.is_absolute() else f"./{path}"
    folders = tuple(map(str, what.catalogue or ()))
    then = (f"next: {next_words(flags, card, shown, folders)}",)
    return put(answer, text_of(card, "what was fitted"), path, out, aside=(), then=then)
