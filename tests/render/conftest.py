"""What the tests of all formats share: how to draw an answer, and the answers drawn."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from specplan.domain.answer import (
    Answer,
    Basis,
    Column,
    Facts,
    Lines,
    Pivot,
    Rows,
    View,
    table_of,
)
from specplan.domain.picture import Band, Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot, Rule
from specplan.domain.scenario import Input
from specplan.render import renderer
from specplan.render.look import Look


def picture_of(text: str) -> Picture:
    """A picture of every kind of panel that says `text` wherever one can."""
    rule = Rule(text, "x", 2.0)
    bar = Bar(text, (Piece(text, 3.0, text),), text)
    return Picture(
        panels=(
            Plot(
                title=text,
                x_label=text,
                y_label=text,
                curves=(Curve(text, ((1.0, 1e12), (100.0, 1e14))),),
                bands=(Band(text, ((1.0, 1e12, 2e12), (100.0, 1e13, 1e14))),),
                marks=(Mark("P", text, 10.0, 5e12),),
                rules=(rule,),
            ),
            Bars(
                title=text,
                label=text,
                bars=(bar,),
                rules=(rule,),
            ),
            Cells(
                title=text,
                x_label=text,
                y_label=text,
                label=text,
                x=(text,),
                y=(text,),
                values=((1.5,),),
                texts=((text,),),
                middle=1.0,
            ),
        )
    )


FINDING_COLUMNS = (
    Column("rule", "", "rule", "text"),
    Column("level", "", "level", "text"),
    Column("file", "", "file", "text"),
    Column("line", "", "line", "count"),
    Column("column", "", "column", "count"),
    Column("message", "", "message", "text"),
    Column("name", "", "name", "text"),
    Column("help", "", "help", "text"),
)
FINDING = {
    "rule": "SP001",
    "level": "error",
    "file": "plans/chat.yaml",
    "line": 15,
    "column": 37,
    "message": "1.12x at batch 64",
    "name": "min_speedup",
    "help": "The speedup is at least this much at every point.",
}


@pytest.fixture
def draw() -> Callable[..., str]:
    """The text of an answer in one format."""

    def drawn(answer: Answer, name: str, look: Look | None = None) -> str:
        out = io.StringIO()
        renderer(name)(answer, out, look or Look())
        return out.getvalue()

    return drawn


@pytest.fixture
def finding() -> dict[str, object]:
    return dict(FINDING)


@pytest.fixture
def check() -> Callable[..., Answer]:
    """An answer of check from its findings."""

    def made(*records: dict[str, object]) -> Answer:
        return Answer(
            command="check",
            value=None,
            table=table_of(FINDING_COLUMNS, records),
            view=View(title="", sections=(Rows(columns=("rule", "message")),)),
            basis=Basis(kind="bound", says=""),
        )

    return made


@pytest.fixture
def everything() -> Callable[[str], Answer]:
    """An answer with every section and every kind of text, each of which is `text`."""
    columns = (
        *FINDING_COLUMNS,
        Column("target", "", "target", "text"),
        Column("k", "tokens", "k", "count"),
        Column("speedup", "1", "speedup", "times"),
        Column("bound_by", "", "verify", "text"),
    )

    def made(text: str) -> Answer:
        finding = FINDING | dict.fromkeys(("rule", "file", "message", "name", "help"), text)
        cell = finding | {"speedup": -1.5, "bound_by": text}
        rows = [cell | {"target": name, "k": k} for name in (text, "other") for k in (1, 2)]
        pivot = Pivot(
            across="k",
            down=("message",),
            blocks=("target",),
            cell="speedup",
            turn="bound_by",
            misfit="",
        )
        return Answer(
            command="check",
            value={"name": text, text: 1},
            table=table_of(columns, rows),
            view=View(
                title=text,
                caption=(text,),
                sections=(
                    pivot,
                    Facts(((text, text),)),
                    Lines((text,)),
                    Rows(columns=("target", "message", "k", "speedup")),
                ),
                picture=lambda: picture_of(text),
            ),
            basis=Basis(
                kind="bound", says=text, source=text, assumed=(text,), extrapolated=(text,)
            ),
            inputs={"target": Input(value=text, origin=text)},
            notes=(text,),
        )

    return made
