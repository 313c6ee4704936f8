"""Lines of coloured pieces: laid side by side, and written with or without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specplan.render.align import columns

Piece = tuple[str, str, str]  # text, and the colours of its ink and ground, "" for the terminal's
Line = list[Piece]
Legend = list[tuple[Piece, str]]  # signs with their words


def plain(text: str) -> Line:
    """A line without colour."""
    return [(text, "", "")] if text else []


def fitted(text: str, width: int) -> Iterator[str]:
    """Text in as many lines as it needs."""
    line, taken = "", 0
    for char in text:
        size = columns(char)
        if taken + size > width:
            yield line
            line, taken = "", 0
        line, taken = line + char, taken + size
    yield line


def under(text: str, indent: int, size: int) -> Iterator[str]:
    """A label at the right of an axis so many characters long, from the left where it is longer."""
    if columns(text) <= size:
        yield " " * (indent + size - columns(text)) + text
    else:
        yield from fitted(text, indent + size)


def width_of(line: Sequence[Piece]) -> int:
    """The columns that a line takes."""
    return sum(columns(text) for text, *_ in line)


def beside(blocks: Sequence[Sequence[Line]], width: int, gap: int) -> Iterator[Line]:
    """Blocks of lines side by side, each `width` columns wide."""
    for number in range(max(map(len, blocks))):
        row: Line = []
        for place, block in enumerate(blocks):
            line = block[number] if number < len(block) else []
            row += line
            if place < len(blocks) - 1:
                row.append((" " * (max(width - width_of(line), 0) + gap), "", ""))
        yield row


def painted(line: Sequence[Piece], *, color: bool) -> str:
    """The line as a terminal takes it, without blanks at its end."""
    kept = list(line)
    while kept and not kept[-1][0].strip() and not kept[-1][2]:
        kept.pop()
    if kept and not kept[-1][2]:
        text, ink, ground = kept[-1]
        kept[-1] = (text.rstrip(), ink, ground)
    if not color:
        return "".join(text for text, *_ in kept).rstrip()
    return "".join(_coloured(*piece) for piece in kept)


def _coloured(text: str, ink: str, ground: str) -> str:
    codes = [f"{base};2;{_parts(colour)}" for base, colour in ((38, ink), (48, ground)) if colour]
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text


def _parts(colour: str) -> str:
    return ";".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
