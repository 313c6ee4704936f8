"""A sheet of paper: everything stands at points from its upper left corner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from specplan.render.figure.letters import LINE, Letters
from specplan.render.palette import INK, PAPER

TITLE, TEXT, SMALL, FOOT = 13.0, 8.5, 8.0, 7.0  # sizes of text in points
POINTS = 72.0  # an inch

Side = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in points, from the sheet's upper left corner."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    def meets(self, other: Box) -> bool:
        """Whether the two have room in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        """Whether the other lies inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def nearest(self, point: tuple[float, float]) -> tuple[float, float]:
        """Its point nearest to another."""
        x = min(max(point[0], self.left), self.right)
        return x, min(max(point[1], self.top), self.bottom)

    def distance(self, point: tuple[float, float]) -> float:
        """Points from it to a point outside."""
        return math.dist(point, self.nearest(point))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A figure of so many points, and how words are written on it."""

    figure: Figure
    letters: Letters
    width: float
    height: float

    @classmethod
    def of(cls, letters: Letters, width: float, height: float) -> Sheet:
        """An empty one."""
        size = (width / POINTS, height / POINTS)
        return cls(Figure(figsize=size, dpi=POINTS, facecolor=PAPER), letters, width, height)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = TEXT,
        *,
        colour: str = INK,
        bold: bool = False,
        side: Side = "left",
        angle: float = 0.0,
        gid: str | None = None,
    ) -> None:
        """One line whose base stands at y and whose `side` stands at x."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            self.letters.literal(text),
            fontsize=size,
            color=colour,
            fontweight="bold" if bold else "normal",
            ha=side,
            va="baseline",
            rotation=angle,
            rotation_mode="anchor",
            gid=gid,
        )

    def lines(self, x: float, y: float, lines: Sequence[str], size: float, **how: Any) -> float:  # noqa: ANN401
        """Lines under one another from y on; returns where they end."""
        for line in lines:
            self.text(x, y + size, line, size, **how)
            y += size * LINE
        return y

    def axes(self, box: Box, gid: str) -> Axes:
        """Axes whose area is the box."""
        axes = self.figure.add_axes(
            (
                box.left / self.width,
                1 - box.bottom / self.height,
                box.width / self.width,
                box.height / self.height,
            )
        )
        axes.set_gid(gid)
        axes.patch.set_visible(False)
        return axes

    def stroke(self, xs: Sequence[float], ys: Sequence[float], **how: Any) -> None:  # noqa: ANN401
        """A line through points of the sheet."""
        across = [x / self.width for x in xs]
        up = [1 - y / self.height for y in ys]
        self.figure.add_artist(Line2D(across, up, transform=self.figure.transFigure, **how))

    def patch(self, box: Box, **how: Any) -> None:  # noqa: ANN401
        """A filled rectangle."""
        self.figure.add_artist(
            Rectangle(
                (box.left / self.width, 1 - box.bottom / self.height),
                box.width / self.width,
                box.height / self.height,
                transform=self.figure.transFigure,
                **how,
            )
        )


def rise(count: int, size: float) -> float:
    """Points that so many lines take."""
    return count * size * LINE
