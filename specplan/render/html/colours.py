"""The palette as custom properties of the page, by light and dark."""

from __future__ import annotations

from collections.abc import Sequence

from specplan.render.palette import INK, PAPER, SERIES, SERIES_ON_DARK

DARK = "#171a21"  # the page at night; what stands on it is held against it by a test


def colours() -> str:
    """Style rules; `data-theme` is what a reader chose, else the system's wish holds. Dark is of
    screens alone: paper is white, whatever the screen was.
    """
    light, dark = _names(SERIES, INK, PAPER), _names(SERIES_ON_DARK, "#e8eaed", DARK)
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) "
        f"{{ color-scheme: dark; {dark} }} }}\n"
        f"@media screen {{ :root[data-theme=dark] {{ color-scheme: dark; {dark} }} }}\n"
    )


def _names(series: Sequence[str], ink: str, paper: str) -> str:
    named = {f"s{number}": colour for number, colour in enumerate(series)}
    named |= {"ink": ink, "paper": paper}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())
