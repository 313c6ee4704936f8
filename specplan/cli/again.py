"""The command line that gives a report again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from specplan.domain.acceptance import figure

if TYPE_CHECKING:
    from specplan.cli.demand import Demand

PAGE = ("-o", "report.html")


def command_of(
    words: Sequence[str],
    flags: Mapping[str, Sequence[str]],
    demand: Demand,
    k_max: int | None,
    usd_per_gpu_hour: float | None,
    folders: Sequence[str] = (),
    ending: Sequence[str] = PAGE,
) -> str:
    """The command line that gives this report, quoted for a shell; `ending` says in which form."""
    told: list[tuple[str, str]] = [(n, text) for n, texts in flags.items() for text in texts]
    told += [(n, _plain(n, value)) for n, value in asdict(demand).items() if value is not None]
    told += [("k_max", str(k_max))] if k_max is not None else []
    if usd_per_gpu_hour is not None:
        told.append(("usd_per_gpu_hour", figure(usd_per_gpu_hour)))
    told += [("catalogue", folder) for folder in folders]
    options = [word for n, text in told for word in (f"--{n.replace('_', '-')}", text)]
    return shlex.join(["specplan", "report", *words, *options, *ending])


def ending_of(form: str) -> tuple[str, ...]:
    """The options of a format; a page goes to a file."""
    return PAGE if form == "html" else ("-f", form)


def _plain(name: str, value: object) -> str:
    text = figure(value) if isinstance(value, float) else str(value)
    return f"{text}/s" if name == "rate" else text
