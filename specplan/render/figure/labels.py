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
APART = 5.0  # points from a line to marks that it does not lead to

Point = tuple[float, float]


@dataclass(slots=True)
class Places:
    """What is taken of an area."""

    area: Box
    taken: list[Box] = field(default_factory=list)
    words: list[Box] = field(default_factory=list)

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

    def put(self, *choices: Iterable[Box]) -> Box:
        """The first box that is clear, of the first choices first, or the clearest of the last;
        it is taken from then on.
        """
        tried = (box for boxes in choices[:-1] for box in boxes)
        found = next((box for box in tried if not self._met(box)), None)
        if found is None:
            last = [(self._met(box), box) for box in choices[-1]]
            found = min(last, key=lambda pair: pair[0])[1]
        kept = Box(found.left - 2, found.top - 1, found.width + 4, found.height + 2)
        self.taken.append(kept)
        self.words.append(kept)
        return found

    def reaches(self, start: Point, end: Point, others: Sequence[Point]) -> bool:
        """Whether a line would run clear of words and of other points."""
        steps = max(int(math.dist(start, end) / STEP), 1)
        for n in range(steps + 1):
            share = n / steps
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            near = any(math.dist((x, y), other) < APART for other in others)
            if near or any(word.distance((x, y)) == 0 for word in self.words):
                return False
        return True

    def _met(self, box: Box) -> int:
        """How much of what is taken a box would lie on; to leave the area is worst."""
        inside = self.area.holds(box)
        return sum(box.meets(one) for one in self.taken) + (0 if inside else 100)


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
