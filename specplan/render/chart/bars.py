"""Lying bars of pieces end to end, in characters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from specplan.domain.picture import Bar, Bars
from specplan.render.align import columns
from specplan.render.amounts import heading, named
from specplan.render.chart.axis import Axis
from specplan.render.chart.ink import Legend, Line, Piece, fitted, plain, under, width_of
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
        lines += _head(bar, width, signs)
        lines.append([(" " * INDENT, "", ""), *_pieces(bar, axis, signs)])
    lines += map(plain, _foot(panel, axis, look))
    return lines, list(_legend(panel, signs, look))


def _head(bar: Bar, width: int, signs: Signs) -> Iterator[Line]:
    """What a bar is and then its pieces, each with what fills it, in as few lines as hold them."""
    *lines, last = fitted(f"{bar.name}: {bar.text}" if bar.text else bar.name, width)
    yield from map(plain, lines)
    line = plain(last)
    for fill, ink, text in _said(bar, signs):
        first, *more = fitted(text, width - INDENT - 2)
        if width_of(line) + INDENT + 2 + columns(first) > width:
            yield line
            line = []
        line += [(" " * INDENT, "", ""), (fill, ink, ""), (f" {first}", "", "")]
        for rest in more:
            yield line
            line = plain(f"{'':{INDENT + 2}}{rest}")
    yield line


def _said(bar: Bar, signs: Signs) -> Iterator[tuple[str, str, str]]:
    """Fill, colour and text of pieces, those alike in a row told once; a piece that is all of a
    bar says nothing more than the bar does.
    """
    if len(bar.pieces) == 1 and bar.pieces[0].text in bar.text:
        return
    for (name, text), alike in groupby(bar.pieces, lambda piece: (piece.name, piece.text)):
        times = len(list(alike))
        yield *signs.piece(name), text if times == 1 else f"{times} of {text}"


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
    foot = ["\u2500" if look.unicode else "-"] * axis.size
    for rule in panel.rules:
        foot[axis.place(rule.at)] = _rule(look)
    yield " " * INDENT + "".join(foot)
    ruler, end = [" "] * (axis.size + EDGE), -1
    for place, text in axis.labels(panel.label):
        if place > end and place + len(text) <= len(ruler):
            ruler[place : place + len(text)] = text
            end = place + len(text)
    yield " " * INDENT + "".join(ruler).rstrip()
    yield from under(heading(panel.label), INDENT, axis.size)


def _legend(panel: Bars, signs: Signs, look: Look) -> Iterator[tuple[Piece, str]]:
    for name in dict.fromkeys(piece.name for bar in panel.bars for piece in bar.pieces):
        fill, ink = signs.piece(name)
        yield (fill, ink, ""), name
    for rule in panel.rules:
        yield (_rule(look), "", ""), named(rule.name, rule.at, panel.label)


def _rule(look: Look) -> str:
    """Where a rule crosses the axis; no fill of a piece looks so."""
    return "\u253c" if look.unicode else "|"
