"""The picture of an answer as a file: SVG, PNG or PDF, drawn by matplotlib.

Nobody's settings, fonts, clock or terminal change a figure: the same answer gives the same bytes.
matplotlib is an extra; what imports it lies in this package, loaded when a figure is drawn.
"""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from specplan.errors import Refused

if TYPE_CHECKING:
    from specplan.domain.answer import Answer
    from specplan.domain.picture import Picture
    from specplan.render.look import Look
from specplan.render.pictured import pictured

DPI = 200  # of a PNG: sharp on paper as wide as a column of text
LOUD = ("matplotlib", "fontTools")  # loggers that tell of folders and fonts on stderr
OURS = {
    "font.family": ["DejaVu Sans"],  # lies beside matplotlib itself, wherever that runs
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "specplan",
    "pdf.fonttype": 42,
    "axes.unicode_minus": False,
    "path.simplify": False,
}


def svg(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write the figure as SVG whose texts stay texts."""
    picture = pictured(answer)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    drawn = _file(answer, picture, "svg", metadata=nothing)
    finished = import_module("specplan.render.figure.document").finished
    out.write(finished(drawn.decode("utf-8"), answer, picture))


def png(answer: Answer, out: BinaryIO, look: Look) -> None:  # noqa: ARG001
    """Write the figure as a picture of 200 dots an inch."""
    out.write(_file(answer, pictured(answer), "png", dpi=DPI, metadata={"Software": None}))


def pdf(answer: Answer, out: BinaryIO, look: Look) -> None:  # noqa: ARG001
    """Write the figure as a page of its own size."""
    nothing = dict.fromkeys(("Creator", "Producer", "CreationDate"))
    out.write(_file(answer, pictured(answer), "pdf", metadata=nothing))


def _file(answer: Answer, picture: Picture, kind: str, **more: object) -> bytes:
    """The bytes of a figure."""
    with _undisturbed(), _matplotlib().rc_context():
        _settle()
        figure = import_module("specplan.render.figure.page").drawn(answer, picture, kind)
        held = io.BytesIO()
        figure.savefig(held, format=kind, **more)
    return held.getvalue()


def _matplotlib() -> Any:  # noqa: ANN401
    try:
        return import_module("matplotlib")
    except ImportError:
        raise Refused(
            "figures are matplotlib's, which is not installed",
            hint="pip install 'specplan[plot]'",
        ) from None
    except (OSError, ValueError) as error:  # its settings are read as it is loaded
        raise Refused(
            f"matplotlib does not load: {error}", hint="look at matplotlibrc and MPLCONFIGDIR"
        ) from None


def _settle() -> None:
    """Its own defaults in place of the user's settings, and ours upon them."""
    library = _matplotlib()
    defaults = {name: value for name, value in library.rcParamsDefault.items() if name != "backend"}
    library.rcParams.update(defaults | OURS)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without what matplotlib says of its folders and fonts, and without a backend for windows."""
    backend = os.environ.pop("MPLBACKEND", None)
    before = {name: logging.getLogger(name).level for name in LOUD}
    try:
        for name in LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
