"""Lying bars of pieces end to end, in characters."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.picture import Bar, Bars
from specplan.render.chart.axis import Axis, named
from specplan.render.chart.ink import Legend, Line, Piece, fitted, plain, under
from specplan.render.chart.signs import Signs
from specplan.render.look import Look

INDENT = 2
EDGE = 8  # columns at the right, into which the last number of the axis may reach


def drawn(panel: Bars, width: int, signs: Signs, look: Look) -> tuple[list[Line], Legend]:
    """The lines of a panel, and what fills its pieces."""
    totals = [sum(piece.size for piece in bar.pieces) for bar in panel.bars]
    ends = [*totals, *(rule.at for rule in panel.rules)]
    axis = Axis(0.0, max([*ends, 0.0]) or 1.0, max(width - INDENT - EDGE, 8), "linear")
    lines: list[Line] = []
    for bar in panel.bars:
        said = f"{bar.name}: {bar.text}" if bar.text else bar.name
        lines += [plain(text) for text in fitted(said, width)]
        lines.append([(" " * INDENT, "", ""), *_pieces(bar, axis, signs)])
    lines += map(plain, _foot(panel, axis, look))
    return lines, list(_legend(panel, signs, look))


def _pieces(bar: Bar, axis: Axis, signs: Signs) -> Iterator[Piece]:
    """Each piece as long as its share; one that is there at all is at least seen once."""
    done, end = 0, 0.0
    for piece in bar.pieces:
        end += piece.size
        place = round(axis.share(end) * axis.size)
        if piece.size > 0:
            place = min(max(place, done + 1), axis.size)
        fill, ink = signs.piece(piece.name)
        yield fill * (place - done), ink, ""
        done = place


def _foot(panel: Bars, axis: Axis, look: Look) -> Iterator[str]:
    """The axis with the places of rules, its numbers, and what they are."""
    line, sign = ("\u2500", "\u253c") if look.unicode else ("-", "+")
    foot = [line] * axis.size
    for rule in panel.rules:
        foot[axis.place(rule.at)] = sign
    yield " " * INDENT + "".join(foot)
    ruler, end = [" "] * (axis.size + EDGE), -1
    for place, text in axis.labels(panel.label):
        if place > end and place + len(text) <= len(ruler):
            ruler[place : place + len(text)] = text
            end = place + len(text)
    yield " " * INDENT + "".join(ruler).rstrip()
    yield from under(panel.label, INDENT, axis.size)


def _legend(panel: Bars, signs: Signs, look: Look) -> Iterator[tuple[Piece, str]]:
    texts: dict[str, dict[str, None]] = {}
    for bar in panel.bars:
        for piece in bar.pieces:
            texts.setdefault(piece.name, {})[piece.text] = None
    for name, said in texts.items():
        fill, ink = signs.piece(name)
        yield (fill, ink, ""), f"{name}: {', '.join(said)}"
    for rule in panel.rules:
        sign = "\u253c" if look.unicode else "+"
        yield (sign, "", ""), named(rule.name, rule.at, panel.label)
