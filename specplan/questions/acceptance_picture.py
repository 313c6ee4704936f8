"""The pictures of captures: what was counted as points, what models say of it as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from specplan.domain.acceptance import Unconditional
from specplan.domain.answer import Scalar
from specplan.domain.capture import Capture
from specplan.domain.picture import Band, Curve, Panel, Picture, Plot, Rule
from specplan.physics.survival import tokens_of
from specplan.physics.tokens import expected_tokens

BEYOND = 3  # draft lengths beyond the last measured position
LOADS = 2  # from that many loads on they are drawn
SHARE, YIELD = "share of rounds, 1", "output, tokens/round"
POSITION, LENGTH = "position, draft tokens", "k, draft tokens"


def picture_of(capture: Capture) -> Callable[[], Picture] | None:
    """What draws a capture; None where it has no figure by position, length or load."""
    panels = tuple(_panels(capture))
    return (lambda: Picture(panels=panels)) if panels else None


def _panels(capture: Capture) -> Iterator[Panel]:
    kept = capture.per_position
    if kept:
        yield _by_position(capture)
    if "short-drafts" not in capture.traps and (kept or (capture.k and capture.tokens_per_round)):
        yield _by_length(capture)
    if len(capture.loads) >= LOADS:
        points = tuple((load.batch, load.tokens_per_round) for load in capture.loads)
        yield _plot("batch, sequences", YIELD, [Curve("counted", points, style="points")])


def _plot(x_label: str, y_label: str, curves: Sequence[Curve], *bands: Band) -> Plot:
    return Plot(
        x_label=x_label,
        y_label=y_label,
        curves=tuple(curves),
        bands=bands,
        x_scale="linear",
        y_scale="linear",
        tall=0.8,
    )


def _placed(values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Values at 1, 2, ..."""
    return tuple((float(n), value) for n, value in enumerate(values, start=1))


def _by_position(capture: Capture) -> Plot:
    """The share of rounds that keep each position, with its interval, and what alpha alone says."""
    kept = capture.per_position
    curves = [Curve("counted", _placed(kept), style="points")]
    if "short-drafts" not in capture.traps:
        before = (1.0, *kept)
        given = [one / first for one, first in zip(kept, before, strict=False) if first > 0]
        curves.append(Curve("given all before", _placed(given)))
    if capture.alpha is not None:
        alone = [capture.alpha**n for n in range(1, len(kept) + 1)]
        curves.append(Curve(f"alpha {capture.alpha:.3f} at each", _placed(alone), style="dashed"))
    ends = (capture.per_position_low, capture.per_position_high)
    low_high = tuple((float(n), *both) for n, both in enumerate(zip(*ends, strict=True), start=1))
    return _plot(POSITION, SHARE, curves, *([Band("95 %", low_high)] if low_high else []))


def _by_length(capture: Capture) -> Plot:
    """Tokens per round at each draft length: as counted, by alpha alone, and by the decay that is
    fitted beyond the last position.
    """
    kept, curves = capture.per_position, []
    longest = max(len(kept), capture.k or 0) + BEYOND
    lengths = tuple(range(1, longest + 1))
    if capture.alpha is not None:
        alone = expected_tokens(capture.alpha, lengths).tolist()
        name = f"alpha {capture.alpha:.3f} at each"
        curves.append(Curve(name, _placed(alone), style="dashed"))
    if len(kept) > 1:
        fitted = tokens_of(Unconditional(tuple(kept)), lengths).tolist()
        beyond = _placed(fitted)[len(kept) - 1 :]
        curves.append(Curve("beyond: decay fitted to the positions", beyond, style="dashed"))
    if kept:
        counted = _placed([1.0 + total for total in accumulate(kept)])
    else:
        counted = ((float(capture.k or 0), capture.tokens_per_round or 1.0),)
    return _plot(LENGTH, YIELD, [*curves, Curve("counted", counted, style="points")])


def difference_of(rows: Sequence[Mapping[str, Scalar]]) -> Callable[[], Picture] | None:
    """Two captures by position, and their difference with its interval; from the answer's rows."""
    at = [row for row in rows if str(row["figure"]).startswith("position ")]
    told = [row for row in at if row["a"] is not None and row["b"] is not None]
    if not told:
        return None

    def points(name: str) -> tuple[tuple[float, float], ...]:
        return tuple((_position(row), _number(row[name])) for row in told if row[name] is not None)

    tested = [row for row in told if row["low"] is not None]
    band = tuple((_position(r), _number(r["low"]), _number(r["high"])) for r in tested)
    both = [Curve("A", points("a")), Curve("B", points("b"))]
    change = Plot(
        x_label=POSITION,
        y_label="difference of shares, 1",
        curves=(Curve("B - A", points("difference"), style="points"),),
        bands=(Band("95 %", band),) if band else (),
        rules=(Rule("no difference", "y", 0.0),),
        x_scale="linear",
        y_scale="linear",
        tall=0.8,
    )
    return lambda: Picture(panels=(_plot(POSITION, SHARE, both), change), shared=True)


def _position(row: Mapping[str, Scalar]) -> float:
    return float(str(row["figure"]).removeprefix("position "))


def _number(value: Scalar) -> float:
    return float(value or 0.0)
