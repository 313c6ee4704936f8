"""What a server is told of its memory: options of the commands that ask how an engine counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from specplan.cli.values import share, whole


@dataclass(frozen=True, kw_only=True)
class Server:
    """What the server is told of its memory; the engine's defaults if absent."""

    title: ClassVar[str] = "Server (of engines that count: vllm, sglang, trtllm, llamacpp)"

    memory_fraction: Annotated[
        float | None,
        typer.Option(
            "--memory-fraction",
            metavar="SHARE",
            help="Of memory that it fills: gpu_memory_utilization, mem_fraction_static, "
            "free_gpu_memory_fraction.",
            parser=share("--memory-fraction"),
        ),
    ] = None
    max_num_seqs: Annotated[
        int | None,
        typer.Option(
            "--max-num-seqs",
            metavar="N",
            help="Sequences that run at once.",
            parser=whole("--max-num-seqs"),
        ),
    ] = None
    max_batched_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-batched-tokens",
            metavar="N",
            help="Tokens of a pass: max_num_batched_tokens, chunked_prefill_size, max_num_tokens, "
            "ubatch.",
            parser=whole("--max-batched-tokens"),
        ),
    ] = None
