"""What all axes have: limits, lines behind everything, numbers, and what they are."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from specplan.render.figure.axis import Axis
from specplan.render.figure.letters import LINE
from specplan.render.figure.sheet import SMALL, Box, Sheet
from specplan.render.palette import GRID, SOFT

TICK = 7.5  # size of numbers in points


def framed(axes: Axes, across: Axis, up: Axis) -> None:
    """Scales, limits and the lines behind everything."""
    axes.set_xscale(across.scale)
    axes.set_yscale(up.scale)
    axes.set_xlim(across.low, across.high)
    axes.set_ylim(up.low, up.high)
    axes.set_xticks([at for at, _ in across.ticks], labels=[""] * len(across.ticks))
    axes.set_yticks([at for at, _ in up.ticks], labels=[""] * len(up.ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(SOFT)
    axes.spines["bottom"].set_linewidth(0.8)


def numbered(sheet: Sheet, box: Box, across: Axis, label: str) -> None:
    """The numbers of the horizontal axis, and what they are."""
    for at, text in across.ticks:
        x = box.left + share(across, at) * box.width
        sheet.text(x, box.bottom + 5 + TICK, text, TICK, colour=SOFT, side="center")
    lines = sheet.letters.lines(label, SMALL, box.width)
    top = box.bottom + TICK * LINE + 6
    sheet.lines(box.right, top, lines, SMALL, colour=SOFT, side="right")


def share(axis: Axis, at: float) -> float:
    """Where a value lies on an axis, from 0 to 1."""
    along = math.log if axis.scale == "log" else float
    return (along(at) - along(axis.low)) / (along(axis.high) - along(axis.low))
