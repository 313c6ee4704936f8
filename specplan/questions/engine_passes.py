"""What an engine's card measured of whole passes, in words and in rows."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.answer import Facts, Scalar, Section
from specplan.domain.engine import Engine
from specplan.domain.fitted import Passes, Ran, Steps
from specplan.units import people

MOST_SHOWN = 6  # widths of a batch: the rows of the answer hold them all


def passes_sections(card: Engine) -> Iterator[Section]:
    """Constants of whole passes, or the table of measured steps; nothing for a card of kernels."""
    if card.passes:
        yield Facts(tuple(_constants(card.passes)))
    if card.steps:
        yield Facts(tuple(_table(card.steps)))


def _constants(passes: Passes) -> Iterator[tuple[str, str]]:
    yield "whole passes", f"{passes.memory:.3g} of bandwidth, {passes.compute:.3g} of the peak"
    yield "blend", f"{passes.blend:.3g} (1 adds both up, 12 takes the longer)"
    yield from _ran(passes.ran)


def _table(steps: Steps) -> Iterator[tuple[str, str]]:
    some = steps.width[:MOST_SHOWN]
    more = ", ..." if len(steps.width) > MOST_SHOWN else ""
    yield "steps", f"at widths {', '.join(f'{width:g}' for width in some)}{more}"
    for at in steps.at:
        times = ", ".join(people(time_s, "s") for time_s in at.time[:MOST_SHOWN])
        draft = f"; a draft {people(at.draft, 's')}" if at.draft is not None else ""
        yield f"batch {at.batch:g}", f"{times}{more}{draft}"
    if steps.drafts:
        yield "round", f"{people(steps.round, 's')} besides"
    if steps.context is not None:
        yield "context", people(steps.context, "tokens")
    yield from _ran(steps.ran)


def _ran(ran: Ran | None) -> Iterator[tuple[str, str]]:
    if ran is None or not (ran.named or ran.version):
        return
    gpu = f"{ran.gpus}x {ran.gpu}" if ran.gpus and ran.gpus > 1 else ran.gpu
    said = (
        ran.target,
        ran.draft and f"+ {ran.draft}",
        gpu and f"on {gpu}",
        ran.version and f"version {ran.version}",
    )
    yield "measured with", " ".join(filter(None, said))


def passes_rows(card: Engine) -> Iterator[dict[str, Scalar]]:
    """A row for each constant and each measured time."""
    if card.passes:
        of = card.passes
        for name in ("memory", "compute", "blend"):
            yield _row("passes", name, getattr(of, name))
    for at in card.steps.at if card.steps else ():
        for width, time_s in zip(card.steps.width if card.steps else (), at.time, strict=True):
            yield _row(f"batch {at.batch:g}", f"width {width:g}", time_s)
        if at.draft is not None:
            yield _row(f"batch {at.batch:g}", "draft", at.draft)
    if card.steps:
        yield _row("round", "round", card.steps.round)


def _row(kernel: str, constant: str, value: float) -> dict[str, Scalar]:
    return {
        "gpu": None,
        "basis": "measured",
        "kernel": kernel,
        "constant": constant,
        "value": value,
    }
