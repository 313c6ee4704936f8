"""A picture without what no axis shows: values that are not finite, and on a logarithmic axis those
that are not above 0.
"""

from __future__ import annotations

import math
from dataclasses import replace

from specplan.domain.picture import Cells, Panel, Picture, Plot, Scale


def drawable(picture: Picture) -> Picture:
    """The picture as far as it can be drawn."""
    return replace(picture, panels=tuple(map(_panel, picture.panels)))


def _panel(panel: Panel) -> Panel:
    if isinstance(panel, Plot):
        return _plot(panel)
    if isinstance(panel, Cells):
        return replace(panel, values=tuple(tuple(map(_known, row)) for row in panel.values))
    return panel


def _plot(panel: Plot) -> Plot:
    across, up = panel.x_scale, panel.y_scale
    return replace(
        panel,
        curves=tuple(
            replace(
                one, points=tuple((x, y) for x, y in one.points if _on(x, across) and _on(y, up))
            )
            for one in panel.curves
        ),
        bands=tuple(
            replace(
                one,
                points=tuple(
                    (x, low, high)
                    for x, low, high in one.points
                    if _on(x, across) and _on(low, up) and _on(high, up)
                ),
            )
            for one in panel.bands
        ),
        marks=tuple(one for one in panel.marks if _on(one.x, across) and _on(one.y, up)),
        rules=tuple(one for one in panel.rules if _on(one.at, across if one.axis == "x" else up)),
    )


def _on(value: float, scale: Scale) -> bool:
    return math.isfinite(value) and (value > 0 or scale == "linear")


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
