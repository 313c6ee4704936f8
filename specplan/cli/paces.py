"""How fast each of the two runs was, and at which load: by flags, else by captures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from specplan.cli.figures import Figures
from specplan.domain.answer import Scalar
from specplan.domain.capture import Capture
from specplan.domain.matched import Both, Load, matched, mean, nearest
from specplan.domain.observed import Pace
from specplan.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsSeen:
    """The run with speculation and the one without, at the loads that both had if there are any."""

    batch: float | None
    spec: Pace
    loads: tuple[Load, ...]
    plain_batch: float | None
    plain: Pace
    plain_loads: tuple[Load, ...]
    both: tuple[Both, ...]


def runs_seen(
    capture: Capture | None, plain: Capture | None, figures: Figures, batch: float | None
) -> RunsSeen:
    """Both runs; where somebody says the `batch`, of captures that tell loads apart only that one
    counts.
    """
    spec, loads = _pace(capture, figures), () if given(figures) else _loads(capture)
    at = batch
    if at is None:
        at = capture.batch.mean if capture and capture.batch else None
    elif loads:
        own = nearest(loads, at)
        spec = replace(spec, tokens_per_s=own.tokens_per_s if own else None)
        loads = (own._replace(batch=at),) if own else ()
    typed = plain_given(figures)
    plain_loads = () if typed else _loads(plain)
    without, both = _plain_pace(plain, figures), matched(loads, plain_loads)
    plain_batch = None if typed else _batch(plain, without)
    if both:
        if batch is not None:
            plain_loads = tuple(one for one in plain_loads if one.batch == both[0].plain_batch)
        spec = replace(spec, tokens_per_s=mean(both, "tokens_per_s"))
        without = replace(without, tokens_per_s=mean(both, "plain_tokens_per_s"))
        at, plain_batch = mean(both, "batch"), mean(both, "plain_batch")
    return RunsSeen(
        batch=at,
        spec=spec,
        loads=loads,
        plain_batch=plain_batch,
        plain=without,
        plain_loads=plain_loads,
        both=both,
    )


def _batch(plain: Capture | None, pace: Pace) -> float | None:
    """The batch of the run without: stated, or tokens a second times the time of one."""
    if plain is not None and plain.batch is not None:
        return plain.batch.mean
    timed = pace.tokens_per_s and pace.tpot_s
    return (pace.tokens_per_s or 0.0) * (pace.tpot_s or 0.0) if timed else None


def unseen(capture: Capture | None, figures: Figures, batch: float | None) -> Iterator[str]:
    """A note where a capture that tells loads apart has none of the batch that was asked about."""
    loads = () if given(figures) else _loads(capture)
    if capture is not None and batch is not None and loads and nearest(loads, batch) is None:
        had = ", ".join(f"{load.batch:.3g}" for load in loads)
        yield (
            f"{visible(capture.source, 60)} ran batches of {had}: its tokens a second are none of "
            f"batch {batch:.4g}"
        )


def given(figures: Figures) -> bool:
    """Whether flags say how fast the run with speculation was."""
    return figures.seen_tokens_per_s is not None or figures.seen_tpot is not None


def plain_given(figures: Figures) -> bool:
    """Whether flags say how fast the run without was."""
    return figures.plain_tokens_per_s is not None or figures.plain_tpot is not None


def _loads(capture: Capture | None) -> tuple[Load, ...]:
    """Each range of batches that the capture tells apart."""
    loads = capture.loads if capture else ()
    return tuple(
        Load(one.batch, one.tokens_per_round, one.tokens_per_s, one.rounds) for one in loads
    )


def _pace(capture: Capture | None, figures: Figures) -> Pace:
    """The run with speculation."""
    told = capture.told if capture else {}
    rate = capture.tokens_per_s.mean if capture and capture.tokens_per_s else None
    typed = given(figures)
    return Pace(
        tokens_per_s=figures.seen_tokens_per_s if typed else rate,
        tpot_s=figures.seen_tpot if typed else _seconds(told, "mean_tpot_ms"),
        itl_s=figures.seen_itl or _seconds(told, "mean_itl_ms"),
        ttft_s=figures.seen_ttft or _seconds(told, "mean_ttft_ms"),
    )


def _plain_pace(capture: Capture | None, figures: Figures) -> Pace:
    """The run without: flags above the capture."""
    told = capture.told if capture else {}
    rate = capture.tokens_per_s.mean if capture and capture.tokens_per_s else None
    typed = plain_given(figures)
    return Pace(
        tokens_per_s=figures.plain_tokens_per_s if typed else rate,
        tpot_s=figures.plain_tpot if typed else _seconds(told, "mean_tpot_ms"),
        ttft_s=figures.plain_ttft or _seconds(told, "mean_ttft_ms"),
    )


def _seconds(told: Mapping[str, Scalar], name: str) -> float | None:
    """A time that readers tell in milliseconds."""
    value = told.get(name)
    return value / 1e3 if isinstance(value, int | float) and value > 0 else None
