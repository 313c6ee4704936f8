"""Figures taken apart: what stands where in the SVG."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from specplan.domain.answer import Answer, Basis, Table, View
from specplan.domain.picture import Panel, Picture
from specplan.domain.scenario import Input
from specplan.render import BINARY, renderer
from specplan.render.look import Look

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")


def answer_of(*panels: Panel, **more: object) -> Answer:
    """An answer whose picture has these panels."""
    return Answer(
        command="sweep",
        value=None,
        table=Table(),
        view=View(
            title="Speedup over plain decoding",
            caption=("llama on h100",),
            picture=lambda: Picture(panels=panels, **more),
        ),
        basis=Basis(kind="bound", says="an upper bound", assumed=("tp 1",)),
        inputs={"target": Input(value="llama", origin="llama.yaml", sha256="0123456789abcdef")},
    )


def written(answer: Answer, name: str) -> str | bytes:
    """What a format writes of an answer."""
    out = io.BytesIO() if name in BINARY else io.StringIO()
    renderer(name)(answer, out, Look())
    return out.getvalue()


class Drawn:
    """A figure: its texts with their places, and the parts that have names."""

    def __init__(self, answer: Answer) -> None:
        self.source = written(answer, "svg")
        self.root = ET.fromstring(self.source)  # noqa: S314 - our own text
        self.parts = {one.get("id"): one for one in self.root.iter() if one.get("id")}

    @property
    def texts(self) -> list[str]:
        """All that is written, line by line."""
        return [one.text or "" for one in self.root.iter(f"{SVG}text")]

    def place(self, text: str) -> tuple[float, float]:
        """Where the only text of these words stands."""
        (found,) = [one for one in self.root.iter(f"{SVG}text") if one.text == text]
        return float(found.get("x")), float(found.get("y"))

    def named(self, start: str) -> list[str]:
        """Names of parts that begin so."""
        return [name for name in self.parts if name.startswith(start)]

    def points(self, name: str) -> list[tuple[float, float]]:
        """The corners of a part's first path."""
        path = next(self.parts[name].iter(f"{SVG}path")).get("d")
        found = list(map(float, NUMBERS.findall(path)))
        return list(zip(found[::2], found[1::2], strict=True))

    def signs(self, name: str) -> list[tuple[float, float]]:
        """Where a part's signs stand."""
        return [(float(u.get("x")), float(u.get("y"))) for u in self.parts[name].iter(f"{SVG}use")]

    def fill(self, name: str) -> str:
        """The colour of a part's first path."""
        style = next(self.parts[name].iter(f"{SVG}path")).get("style")
        return re.search(r"fill: (#[0-9a-f]{6})", style)[1]

    def box(self, name: str) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of a part's first path."""
        xs, ys = zip(*self.points(name), strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return tuple(map(float, self.root.get("viewBox").split()[2:]))


@pytest.fixture
def figure() -> Callable[..., Drawn]:
    """The figure of some panels."""
    return lambda *panels, **more: Drawn(answer_of(*panels, **more))


@pytest.fixture
def answer() -> Callable[..., Answer]:
    return answer_of


@pytest.fixture
def take() -> Callable[[Answer, str], str | bytes]:
    return written


@pytest.fixture
def apart() -> Callable[[Answer], Drawn]:
    return Drawn
