"""Places for words beside what they name, clear of lines and of one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from specplan.render.figure.sheet import Box

STEP = 4.0  # points between the places of a line that words keep clear of
RINGS = (7.0, 13.0, 22.0, 34.0, 50.0, 70.0, 95.0)  # points from a mark to its name
TURNS = 16

Point = tuple[float, float]


@dataclass(slots=True)
class Places:
    """What is taken of an area."""

    area: Box
    taken: list[Box] = field(default_factory=list)

    def line(self, points: Sequence[Point], wide: float = 2.0) -> None:
        """Keeps a line clear."""
        for (x0, y0), (x1, y1) in pairwise(points):
            steps = max(int(math.hypot(x1 - x0, y1 - y0) / STEP), 1)
            for n in range(steps + 1):
                x, y = x0 + (x1 - x0) * n / steps, y0 + (y1 - y0) * n / steps
                self.point((x, y), wide)

    def point(self, place: Point, wide: float) -> None:
        """Keeps a point clear, as far as `wide` to each side."""
        box = Box(place[0] - wide, place[1] - wide, 2 * wide, 2 * wide)
        if box.meets(self.area):
            self.taken.append(box)

    def put(self, boxes: Iterable[Box]) -> Box:
        """The first of the boxes that is clear, or the clearest; it is taken from then on."""
        best, least = None, math.inf
        for box in boxes:
            met = sum(box.meets(one) for one in self.taken) + (not self.area.holds(box)) * 100
            if met < least:
                best, least = box, met
            if not met:
                break
        assert best is not None  # noqa: S101 - there is always a box to try
        self.taken.append(Box(best.left - 2, best.top - 2, best.width + 4, best.height + 4))
        return best


def around(place: Point, width: float, height: float) -> Iterator[Box]:
    """Boxes of a size about a point, near ones first, of these those to the right."""
    x, y = place
    for ring in RINGS:
        for turn in range(TURNS):
            half = (turn + 1) // 2 * (1 if turn % 2 else -1)
            angle = 2 * math.pi * half / TURNS
            across, down = math.cos(angle), math.sin(angle)
            left = x + across * ring + (across - 1) / 2 * width
            yield Box(left, y + down * ring + (down - 1) / 2 * height, width, height)


def along(start: Point, end: Point, width: float, height: float) -> Iterator[Box]:
    """Boxes of a size on both sides of a straight line, from its end to its start."""
    (x0, y0), (x1, y1) = start, end
    level = abs(x1 - x0) >= abs(y1 - y0)
    for n in range(25):
        share = 1 - n / 24
        if level:
            left = min(x0, x1) + share * (abs(x1 - x0) - width)
            yield Box(left, y0 - height - 1.5, width, height)
            yield Box(left, y0 + 1.5, width, height)
        else:
            top = min(y0, y1) + (1 - share) * (abs(y1 - y0) - height)
            yield Box(x0 + 3, top, width, height)
            yield Box(x0 - 3 - width, top, width, height)
