"""The picture of an answer in characters: as wide as the terminal, with colour where it has some.

Signs say all that colours say, and ASCII all that other characters say.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from specplan.domain.answer import Answer
from specplan.domain.picture import Bars, Picture, Plot
from specplan.errors import Where
from specplan.render.chart import bars, cells, plot
from specplan.render.chart.ink import Line, beside, fitted, painted, plain
from specplan.render.chart.signs import Signs
from specplan.render.chart.spoken import spoken
from specplan.render.footer import footer
from specplan.render.look import Look
from specplan.render.pictured import pictured

USUAL, LEAST, MOST = 80, 24, 200  # columns: without a terminal, and what a picture is drawn in
SIDE_BY_SIDE = 72  # columns that a small multiple needs
GAP = 3


def write(answer: Answer, out: TextIO, look: Look) -> None:
    """Write title, panels, legend and footer to `out`."""
    picture = spoken(pictured(answer, Where("--format")), look)
    width = min(max(look.width or USUAL, LEAST), MOST)
    head = f"{answer.view.title}  [{answer.basis.says}]"
    for text in filter(None, (head, *answer.view.caption, picture.note)):
        out.writelines(f"{line}\n" for line in _wrapped(spoken(text, look), width))
    out.writelines(f"{painted(line, color=look.color)}\n" for line in _panels(picture, width, look))
    out.write("\n")
    for text in footer(answer):
        out.writelines(f"{line}\n" for line in _wrapped(spoken(text, look), width))


def _wrapped(text: str, width: int) -> list[str]:
    """Lines no wider than the terminal."""
    found = textwrap.wrap(text, max(width, 1))
    return [piece for line in found for piece in fitted(line, width)] or [""]


def _panels(picture: Picture, width: int, look: Look) -> Iterator[Line]:
    """The panels, as many of them side by side as there is room for, each with its legend."""
    most = max(1, min(picture.columns, (width + GAP) // (SIDE_BY_SIDE + GAP)))
    each = (width - GAP * (most - 1)) // most
    signs = Signs(picture, unicode=look.unicode)
    for start in range(0, len(picture.panels), most):
        places = range(start, min(start + most, len(picture.panels)))
        yield []
        blocks = [
            _panel(picture, place, each, look, signs, foot=picture.footed(place, most))
            for place in places
        ]
        yield from beside(blocks, each, GAP)


def _panel(
    picture: Picture, place: int, width: int, look: Look, signs: Signs, *, foot: bool
) -> Sequence[Line]:
    """A panel under its title, with what its signs mean."""
    panel = picture.panels[place]
    lines: list[Line] = []
    if panel.title:
        lines += map(plain, _wrapped(panel.title, width))
    if isinstance(panel, Plot):
        drawn, legend = plot.drawn(panel, width, signs, picture, look, foot=foot)
    elif isinstance(panel, Bars):
        drawn, legend = bars.drawn(panel, width, signs, look)
    else:
        drawn, legend = cells.drawn(panel, width, look)
    lines += drawn
    for sign, words in legend:
        first, *more = _wrapped(words, width - 4)
        lines.append([("  ", "", ""), sign, (f" {first}", "", "")])
        lines += [plain(f"    {line}") for line in more]
    return lines
