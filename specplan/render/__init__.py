"""Answers to text: every format is one module with `write(answer, out, look)`, loaded when used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from specplan.errors import unknown

if TYPE_CHECKING:
    from specplan.domain.answer import Answer
    from specplan.render.look import Look

    Renderer = Callable[[Answer, Any, Look], None]

FORMATS = {
    "table": "specplan.render.table:write",
    "plain": "specplan.render.plain:write",
    "text": "specplan.render.plain:write",
    "chart": "specplan.render.chart:write",
    "svg": "specplan.render.figure:svg",
    "png": "specplan.render.figure:png",
    "pdf": "specplan.render.figure:pdf",
    "markdown": "specplan.render.markdown:write",
    "json": "specplan.render.json_:write",
    "csv": "specplan.render.csv_:write",
    "html": "specplan.render.html:write",
    "github": "specplan.render.github:write",
    "junit": "specplan.render.junit:write",
    "sarif": "specplan.render.sarif:write",
}
"""Format name -> "module:function"; a new format is one module and one line here."""

SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".txt": "plain",
    ".xml": "junit",
    ".sarif": "sarif",
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
}
"""What a file's name says about its format."""

BINARY = frozenset({"png", "pdf"})
"""Formats that are no text: their `out` takes bytes."""

FIGURES = BINARY | {"svg"}
"""Formats of an answer that has a picture."""


def renderer(name: str) -> Renderer:
    """The function that writes an answer in the format `name`."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    module, function = FORMATS[name].split(":")
    return cast("Renderer", getattr(import_module(module), function))
