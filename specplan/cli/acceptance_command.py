"""Your engine: acceptance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specplan.cli.options import Out, Texts, What, typed
from specplan.cli.values import whole

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Logs, /metrics pages, results; - is stdin. Two are compared.",
    ),
]
InUse = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--k",
        metavar="K",
        help="Draft length in use, where the file does not say it.",
        parser=whole("--k"),
    ),
]
Together = Annotated[
    bool,
    typer.Option(
        "--together", help="All files are one capture: rotated logs, a series of scrapes."
    ),
]
Each = Annotated[
    bool,
    typer.Option("--each", help="Every file is a capture, of scrapes the totals since the start."),
]
Batch = Annotated[
    Texts,
    typer.Option("-b", "--batch", metavar="N", help="For the best k; the log's if absent."),
]
Context = Annotated[
    Texts, typer.Option("-c", "--context", metavar="N", help="For the best k; 8k is 8192.")
]
Longest = Annotated[
    int | None,
    typer.Option("--k-max", metavar="N", help="Longest draft; 16.", parser=whole("--k-max")),
]
EXAMPLES = """\
specplan acceptance server.log
specplan acceptance before.prom after.prom
specplan acceptance creative.log summary.log -t llama-3.1-8b -d eagle3 -g h100
specplan acceptance server.log -o acc.json"""


def acceptance(
    files: Files,
    *,
    k: InUse = None,
    together: Together = False,
    each: Each = False,
    what: What,
    batch: Batch = None,
    context: Context = None,
    k_max: Longest = None,
    out: Out,
) -> int:
    """Read the engine's counters: logs, metrics, bench files."""
    from specplan.cli.captured import answered, read
    from specplan.cli.plans import catalogue_of
    from specplan.cli.show import show
    from specplan.cli.watched import watching
    from specplan.errors import UsageError, Where

    if k is not None and not 1 <= k <= 256:
        raise UsageError(f"{k} is out of range", where=Where("--k"), expected="1 to 256")
    flags = typed(what)
    for name, texts in (("batch", batch), ("context", context)):
        if texts:
            flags[name] = tuple(texts)
    sources = [str(file) for file in files]
    with watching(sources, out) as moved:
        held = read(sources, k, together=together, each=each, moved=moved)
    catalogue = catalogue_of(what) if flags else None
    return show(answered(held, flags, k=k, k_max=k_max, catalogue=catalogue), out)
