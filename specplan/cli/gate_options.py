"""What a gate costs, and what it takes to move it: options of several commands."""

from __future__ import annotations

from typing import Annotated

import typer

from specplan.cli.values import number

GateTax = Annotated[
    float | None,
    typer.Option(
        "--gate-tax",
        metavar="SHARE",
        help="Of a gate that is off: by which a plain step is longer than without a drafter; 0.",
        parser=number("--gate-tax"),
    ),
]
Worth = Annotated[
    float | None,
    typer.Option(
        "--hysteresis",
        metavar="X",
        help="Gain over a doubling of the batch that is worth another k; 0.01.",
        parser=number("--hysteresis"),
    ),
]
