"""A figure as a page: title, panels, and what stands under every picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from specplan.domain.answer import Answer
from specplan.domain.picture import Picture
from specplan.render.figure.letters import LINE, Letters
from specplan.render.figure.panels import EDGE, Block, Panels
from specplan.render.figure.sheet import FOOT, SMALL, TEXT, TITLE, Sheet
from specplan.render.footer import footer
from specplan.render.palette import GRID, SOFT


def drawn(answer: Answer, picture: Picture, kind: str) -> Figure:
    """The figure of an answer for one kind of file."""
    letters = Letters(others=kind == "svg")
    panels = Panels(picture, letters)
    blocks = [*_head(answer, picture.note, letters, panels.width), *panels.blocks()]
    blocks += _foot(answer, letters, panels.width)
    height = sum(high for high, _ in blocks) + 2 * EDGE
    sheet = Sheet.of(letters, panels.width + 2 * EDGE, height)
    top = EDGE
    for high, draw in blocks:
        draw(sheet, top)
        top += high
    return sheet.figure


def _head(answer: Answer, note: str, letters: Letters, width: float) -> list[Block]:
    """Title, caption and note, and the basis at the right or, for want of room, below."""
    view, says = answer.view, answer.basis.says
    title = letters.lines(view.title, TITLE, width, bold=True)
    aside = letters.width(says, SMALL)
    beside = len(title) == 1 and letters.width(title[0], TITLE, bold=True) + aside + 20 <= width
    said = filter(None, (*view.caption, note))
    caption = [line for text in said for line in letters.lines(text, TEXT, width)]
    if not beside:
        caption += letters.lines(says, TEXT, width)

    def draw(sheet: Sheet, top: float) -> None:
        if beside:
            right = EDGE + width
            sheet.text(right, top + TITLE, says, SMALL, colour=SOFT, side="right")
        top = sheet.lines(EDGE, top, title, TITLE, bold=True)
        sheet.lines(EDGE, top + 1, caption, TEXT, colour=SOFT)

    return [(len(title) * TITLE * LINE + len(caption) * TEXT * LINE + 12, draw)]


def _foot(answer: Answer, letters: Letters, width: float) -> list[Block]:
    """What to trust, under a line."""
    lines = [line for text in footer(answer) for line in letters.lines(text, FOOT, width)]

    def draw(sheet: Sheet, top: float) -> None:
        sheet.stroke((EDGE, EDGE + width), (top, top), color=GRID, linewidth=0.8)
        sheet.lines(EDGE, top + 4, lines, FOOT, colour=SOFT)

    return [(len(lines) * FOOT * LINE + 4, draw)]
