"""A picture of an answer, said in the field's terms: panels of lines, bars or cells.

Questions make it when it is asked for; the terminal, figure files and the report draw it, each in
its own way and knowing no command. Names and labels are plain text, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Scale = Literal["log", "linear"]
Style = Literal["line", "dashed", "points"]  # points are what was measured


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points, both coordinates above zero on a logarithmic axis, or the points
    alone. In characters it is drawn as `sign`, if that is given; `fill` draws all that lies below
    it too. One without a name is what the axis says.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    sign: str = ""
    fill: bool = False
    style: Style = "line"


@dataclass(frozen=True, slots=True)
class Band:
    """The room between two lines, such as how far a curve may be off: (x, low, high), x rising."""

    name: str
    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A single point, drawn as `sign` in characters and named beside it elsewhere."""

    sign: str
    name: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line over the whole panel, at one value of one axis: speedup 1, where memory
    ends.
    """

    name: str
    axis: Literal["x", "y"]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves on two axes; a label says the quantity and its unit. A linear axis begins at 0 where
    nothing lies below. `tall` is a share of the usual height; `title` tells the panel from its
    neighbours.
    """

    title: str = ""
    x_label: str
    y_label: str
    curves: tuple[Curve, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    rules: tuple[Rule, ...] = ()
    x_scale: Scale = "log"
    y_scale: Scale = "log"
    tall: float = 1.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar: its name, which has one colour in all bars, its length and that length as
    people read it.
    """

    name: str
    size: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Pieces end to end, none below zero; `text` is what the whole is, as people read it."""

    name: str
    pieces: tuple[Piece, ...]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Lying bars on one scale from 0, the first at the top; `rules` stand on the axis x."""

    title: str = ""
    label: str
    bars: tuple[Bar, ...]
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A map: a row for each of `y`, from the top, a column for each of `x`.

    `values` colour it, None where there is nothing; `texts` stand in the cells, with their marks.
    With a `middle`, colours turn there, and the border between values below it and the others is
    drawn: speedup 1. `label` says what the colours are; `at` is the row and the column of the point
    that the answer is about, where it is about one.
    """

    title: str = ""
    x_label: str
    y_label: str
    label: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    middle: float | None = None
    at: tuple[int, int] | None = None


Panel = Plot | Bars | Cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Panels in order: under one another or, where there is room, `columns` of them side by side
    (small multiples). With `shared`, plots whose horizontal axes say the same have one. `note` is
    said once, above all: which of them are not drawn.
    """

    panels: tuple[Panel, ...]
    columns: int = 1
    shared: bool = False
    note: str = ""

    def across(self, panel: Plot) -> tuple[Plot, ...]:
        """The plots that are on a plot's horizontal axis, itself among them."""
        return self._alike(panel, lambda one: (one.x_label, one.x_scale), together=self.shared)

    def upright(self, panel: Plot) -> tuple[Plot, ...]:
        """The plots on a plot's vertical axis, itself among them: of small multiples those of the
        same quantity.
        """
        several = self.columns > 1
        return self._alike(panel, lambda one: (one.y_label, one.y_scale), together=several)

    def _alike(
        self, panel: Plot, axis: Callable[[Plot], tuple[str, Scale]], *, together: bool
    ) -> tuple[Plot, ...]:
        """The plots whose axis says what the panel's does, where plots have one `together`."""
        if not together:
            return (panel,)
        plots = (one for one in self.panels if isinstance(one, Plot))
        return tuple(one for one in plots if axis(one) == axis(panel))

    def footed(self, place: int, columns: int) -> bool:
        """Whether the panel at a place has numbers of its own under it, of so many side by side:
        not where a plot on the same axis stands below.
        """
        panel, under = self.panels[place], place + columns
        if not self.shared or not isinstance(panel, Plot) or under >= len(self.panels):
            return True
        below = self.panels[under]
        return not isinstance(below, Plot) or below not in self.across(panel)
