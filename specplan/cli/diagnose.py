"""Your engine: diagnose."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

import typer

from specplan.cli import complete
from specplan.cli.options import Candidates, Load, Out, What, typed
from specplan.cli.values import duration, number, tokens, whole

EXAMPLES = """\
specplan diagnose -t llama-3.1-8b -d eagle3 -g h100 -e vllm -b 8 -k 8 -a 0.7
specplan diagnose -e vllm -a length:1.9@1 --seen-tpot 9ms --plain-tpot 12ms
specplan diagnose server.log plain.json -t llama-3.1-8b -d eagle3 -g h100"""

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...",
        help="The engine's logs, metrics or benchmark results, - for stdin; of two captures the "
        "earlier first, or one of a run without speculation; and a plan.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What was measured, in place of a file or beside it."""

    title: ClassVar[str] = "Measured (of all sequences together, or with its unit: 8.8ms)"

    seen_tokens_per_s: Annotated[
        float | None,
        typer.Option(
            "--seen-tokens-per-s",
            metavar="X",
            help="Output tokens a second with speculation.",
            parser=number("--seen-tokens-per-s"),
        ),
    ] = None
    seen_tpot: Annotated[
        float | None,
        typer.Option(
            "--seen-tpot",
            metavar="TIME",
            help="Time per output token with speculation.",
            parser=duration("--seen-tpot"),
        ),
    ] = None
    seen_itl: Annotated[
        float | None,
        typer.Option(
            "--seen-itl",
            metavar="TIME",
            help="Time between the chunks of a stream.",
            parser=duration("--seen-itl"),
        ),
    ] = None
    seen_ttft: Annotated[
        float | None,
        typer.Option(
            "--seen-ttft",
            metavar="TIME",
            help="Time to the first token.",
            parser=duration("--seen-ttft"),
        ),
    ] = None
    seen_speedup: Annotated[
        float | None,
        typer.Option(
            "--seen-speedup",
            metavar="X",
            help="Speedup, where its two runs are not at hand.",
            parser=number("--seen-speedup"),
        ),
    ] = None
    plain_tokens_per_s: Annotated[
        float | None,
        typer.Option(
            "--plain-tokens-per-s",
            metavar="X",
            help="Output tokens a second without speculation.",
            parser=number("--plain-tokens-per-s"),
        ),
    ] = None
    plain_tpot: Annotated[
        float | None,
        typer.Option(
            "--plain-tpot",
            metavar="TIME",
            help="Time per output token without.",
            parser=duration("--plain-tpot"),
        ),
    ] = None
    plain_ttft: Annotated[
        float | None,
        typer.Option(
            "--plain-ttft",
            metavar="TIME",
            help="Time to the first token without.",
            parser=duration("--plain-ttft"),
        ),
    ] = None
    plain_eager: Annotated[
        bool, typer.Option("--plain-eager", help="The run without used no CUDA graphs.")
    ] = False
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="ACCEPTANCE",
            help="Acceptance before an upgrade: length:3.53@5, or a file.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the engine was set."""

    title: ClassVar[str] = "Settings of the engine"

    topk: Annotated[
        int | None,
        typer.Option(
            "--topk", metavar="N", help="Children of a node in a tree.", parser=whole("--topk")
        ),
    ] = None
    draft_tokens: Annotated[
        int | None,
        typer.Option(
            "--draft-tokens",
            metavar="N",
            help="Tokens verified a sequence in a tree, the root counted.",
            parser=whole("--draft-tokens"),
        ),
    ] = None
    max_batch: Annotated[
        int | None,
        typer.Option(
            "--max-batch", metavar="N", help="Requests that may run.", parser=whole("--max-batch")
        ),
    ] = None
    graphs_up_to: Annotated[
        int | None,
        typer.Option(
            "--graphs-up-to",
            metavar="N",
            help="Width of the CUDA graphs, as the engine counts it; 0 if it has none.",
            parser=whole("--graphs-up-to"),
        ),
    ] = None
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule", metavar="TIERS", help="k by batch: [[1,4,2],[5,512,0]] or 1-4:2,5-512:0."
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="NAME",
            help="What the prompts were; random is none.",
            autocompletion=complete.among("random", "sharegpt", "mt-bench"),
        ),
    ] = None
    same_prompt: Annotated[
        bool, typer.Option("--same-prompt", help="One prompt was asked again and again.")
    ] = False
    trained_context: Annotated[
        float | None,
        typer.Option(
            "--trained-context",
            metavar="N",
            help="Tokens that the drafter was trained on; its card's if absent.",
            parser=tokens("--trained-context"),
        ),
    ] = None
    modules: Annotated[
        int | None,
        typer.Option(
            "--modules",
            metavar="N",
            help="Modules of an MTP drafter (n_predict); its card's if absent.",
            parser=whole("--modules"),
        ),
    ] = None


def diagnose(
    files: Files = None,
    *,
    what: What,
    load: Load,
    candidates: Candidates,
    run: Run,
    settings: Settings,
    out: Out,
) -> int:
    """Is speculation paying now; what to change?

    Exits 1 where speculation loses, measured or predicted, and 0 where it pays or nobody knows,
    whatever else is found.
    """
    from specplan.cli.diagnosed import Figures, answered
    from specplan.cli.plans import catalogue_of
    from specplan.cli.show import show
    from specplan.cli.watched import watching

    figures = Figures(
        **{f.name: getattr(group, f.name) for group in (run, settings) for f in fields(group)}
    )
    with watching(files or (), out) as moved:
        answer = answered(
            files or (),
            typed(what, load),
            figures,
            catalogue=catalogue_of(what),
            k_max=candidates.k_max,
            moved=moved,
        )
    return show(answer, out)
