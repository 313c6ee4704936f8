"""The figures of a picture as tables of a page without scripts."""

from __future__ import annotations

from specplan.domain.picture import Band, Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot, Rule
from specplan.render.html.tabled import LONG, MOST, tables

PLOT = Plot(
    title="title",
    x_label="batch",
    y_label="speedup",
    curves=(
        Curve("k = 1", ((1.0, 1.5), (2.0, 1.25))),
        Curve("k = 2", ((2.0, 1.75), (2.0, 1.5)), "b"),
        Curve("", ((2.0, 1.5), (4.0, 1.0)), "b", style="dashed"),
    ),
    bands=(Band("band", ((1.0, 1.0, 2.0),)),),
    marks=(Mark("*", "best", 2.0, 1.75),),
    rules=(Rule("memory ends", "x", 3.0), Rule("plain", "y", 1.0)),
)


def texts(table):
    heads = tuple(head["text"] for head in table["heads"])
    return [heads, *(tuple(cell["text"] for cell in row["cells"]) for row in table["rows"])]


def test_a_plot_is_its_lines_over_x_and_its_single_points():
    lines, single = tables(Picture(panels=(PLOT,)))
    assert lines["title"] == "title: speedup"
    assert texts(lines) == [
        ("batch", "k = 1", "k = 2", "band, low", "band, high"),
        ("1", "1.50x", "", "1.00x", "2.00x"),
        ("2", "1.25x", "1.75x, 1.50x", "", ""),
        ("4", "", "1.00x", "", ""),
    ]
    assert texts(single) == [
        ("", "batch", "speedup"),
        ("best", "2", "1.75x"),
        ("memory ends", "3", ""),
        ("plain", "", "1.00x"),
    ]


def test_what_is_not_drawn_comes_first():
    first, *_ = tables(Picture(panels=(PLOT,), note="1 of 9 panels"))
    assert first == {"kind": "prose", "lines": ["1 of 9 panels"], "drawn": False}


def test_bars_are_their_pieces_as_people_read_them():
    pieces = (Piece("draft", 1.0, "1 s"), Piece("draft", 1.0, "1 s"), Piece("verify", 2.0, "2 s"))
    bars = Bars(
        label="time, s", bars=(Bar("a round", pieces, "4 s"),), rules=(Rule("end", "x", 5.0),)
    )
    (table,) = tables(Picture(panels=(bars,)))
    assert texts(table) == [
        ("time, s", "", "draft", "verify"),
        ("a round", "4 s", "1 s, 1 s", "2 s"),
        ("end", "5", "", ""),
    ]


def test_a_map_is_its_texts():
    cells = Cells(
        x_label="batch", y_label="alpha", label="speedup", x=("1", "2"), y=("0.5",),
        values=((1.0, None),), texts=(("1.00x", "-"),),
    )  # fmt: skip
    (table,) = tables(Picture(panels=(cells,)))
    assert texts(table) == [("alpha (down), batch (across)", "1", "2"), ("0.5", "1.00x", "-")]


def test_a_long_one_is_shut_and_a_longer_one_says_what_is_left_out():
    def table(rows):
        points = tuple((float(n + 1), 1.0) for n in range(rows))
        plot = Plot(x_label="x", y_label="y", curves=(Curve("", points),))
        (found,) = tables(Picture(panels=(plot,)))
        return found

    assert not table(LONG)["long"]
    assert table(LONG + 1)["long"]
    more = table(MOST + 1)
    assert len(more["rows"]) == MOST
    assert more["title"] == f"y, the first {MOST} of {MOST + 1} rows"
