"""A map in characters: cells with their texts, and the border where values cross a middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from specplan.domain.forms import prefixed
from specplan.domain.picture import Cells
from specplan.render.align import columns
from specplan.render.chart.ink import Legend, Line, fitted, plain, width_of
from specplan.render.look import Look
from specplan.render.palette import cell_colour, ink_on

LOSS = "!"  # after what lies below the middle, as in tables
HERE = "<"  # after the point that the answer is about


def drawn(panel: Cells, width: int, look: Look) -> tuple[list[Line], Legend]:
    """The lines of a map, in blocks of columns that fit, and what its marks mean."""
    side = min(max(map(columns, panel.y), default=0), width // 2)
    texts = [
        [_text(panel, row, place) for place in range(len(panel.x))] for row in range(len(panel.y))
    ]
    size = max(
        (columns(text) for text in chain(panel.x, chain.from_iterable(texts))),
        default=1,
    )
    size = min(size, max(width - side - 2, 1))
    most = max(1, (width - side - 1) // (size + 1))
    lines = [plain(text) for text in _heads(panel, width)]
    for start in range(0, len(panel.x), most):
        if start:
            lines.append([])
        places = range(start, min(start + most, len(panel.x)))
        lines += _block(panel, texts, places, side, size, look)
    if look.color:
        lines += _key(panel, width)
    legend: Legend = []
    if panel.middle is not None and LOSS in "".join(chain.from_iterable(texts)):
        legend.append(((LOSS, "", ""), f"below {panel.middle:g}: {panel.label}"))
    if panel.at is not None:
        legend.append(((HERE, "", ""), "the point itself"))
    return lines, legend


def _heads(panel: Cells, width: int) -> Iterator[str]:
    """What stands down and across, in one line or in several."""
    down, across = f"{panel.y_label} down", f"{panel.x_label} across"
    whole = f"{down}, {across}: {panel.label}"
    for text in [whole] if columns(whole) <= width else [down, across, panel.label]:
        yield from fitted(text, width)


def _key(panel: Cells, width: int) -> Iterator[Line]:
    """What the colours are: of the lowest value, of the middle and of the highest."""
    known = [value for value in chain.from_iterable(panel.values) if value is not None]
    if not known:
        return
    ends = {min(known), max(known)}
    if panel.middle is not None and min(ends) < panel.middle < max(ends):
        ends.add(panel.middle)
    line: Line = []
    for value in sorted(ends):
        ground = cell_colour(value, known, panel.middle)
        line += [("  ", "", ""), (f" {prefixed(value)} ", ink_on(ground), ground)]
    if width_of(line) + 2 + columns(panel.label) <= width:
        line.append((f"  {panel.label}", "", ""))
    yield line


def _text(panel: Cells, row: int, place: int) -> str:
    """The text of a cell with its marks: of a loss where it has none of its own, of the point."""
    text, value = panel.texts[row][place], panel.values[row][place]
    lost = value is not None and panel.middle is not None and value < panel.middle
    own = HERE if (row, place) == panel.at else ""
    return text + (LOSS if lost and LOSS not in text else "") + own


def _block(
    panel: Cells,
    texts: Sequence[Sequence[str]],
    places: range,
    side: int,
    size: int,
    look: Look,
) -> Iterator[Line]:
    """Some columns with heads at the top and at the left."""
    upright = "\u2503" if look.unicode else "|"
    yield plain(" " * side + "".join(f" {_right(panel.x[p], size, look)}" for p in places))
    for row, name in enumerate(panel.y):
        line: Line = [(_right(name, side, look), "", "")]
        for place in places:
            crossed = place > places.start and _crossed(panel, (row, place - 1), (row, place))
            line.append((upright if crossed else " ", "", ""))
            line.append((_right(texts[row][place], size, look), *_colours(panel, row, place)))
        yield line
        under = [_crossed(panel, (row, p), (row + 1, p)) for p in places]
        if any(under):
            level = "\u2501" if look.unicode else "-"
            yield plain(" " * side + "".join(" " + (level if one else " ") * size for one in under))


def _right(text: str, size: int, look: Look) -> str:
    """The text at the right of so many columns; a wider one is cut, which is seen."""
    if columns(text) > size:
        while columns(text) >= size and text:
            text = text[:-1]
        text += "\u2026" if look.unicode else "~"
    return " " * (size - columns(text)) + text


def _colours(panel: Cells, row: int, place: int) -> tuple[str, str]:
    value = panel.values[row][place]
    if value is None:
        return "", ""
    ground = cell_colour(value, chain.from_iterable(panel.values), panel.middle)
    return ink_on(ground), ground


def _crossed(panel: Cells, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether the middle lies between two cells that stand side by side."""
    sides = [_below(panel, *place) for place in (one, other)]
    return None not in sides and sides[0] != sides[1]


def _below(panel: Cells, row: int, place: int) -> bool | None:
    if panel.middle is None or row >= len(panel.y):
        return None
    value = panel.values[row][place]
    return None if value is None else value < panel.middle
