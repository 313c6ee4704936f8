"""Bars, maps and plots in characters: what stands where, at any width and in any stream."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.domain.answer import Answer, Basis, Table, View
from specplan.domain.picture import Band, Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot, Rule
from specplan.render import renderer
from specplan.render.align import columns as columns_of
from specplan.render.look import Look
from specplan.render.palette import cell_colour

ANSI = re.compile(r"\x1b\[[0-9;]*m")
BARS = Bars(
    label="memory of one GPU, bytes",
    bars=(
        Bar("without", (Piece("weights", 20.0 * 2**30, "20 GiB"), Piece("KV", 2.0**35, "32 GiB"))),
        Bar("with", (Piece("weights", 20.0 * 2**30, "20 GiB"), Piece("KV", 2.0**34, "16 GiB"))),
    ),
    rules=(Rule("usable", "x", 60.0 * 2**30),),
)
CELLS = Cells(
    x_label="batch, sequences",
    y_label="alpha",
    label="speedup",
    x=("1", "16", "256"),
    y=("0.4", "0.8"),
    values=((1.2, 1.1, 0.8), (2.0, 1.9, 1.5)),
    texts=(("1.20x", "1.10x", "0.80x"), ("2.00x", "1.90x", "1.50x")),
    middle=1.0,
)


def drawn(*panels, columns=1, note="", **look):
    picture = Picture(panels=panels, columns=columns, note=note)
    answer = Answer(
        command="memory",
        value=None,
        table=Table(),
        view=View(title="title", picture=lambda: picture),
        basis=Basis(kind="bound", says="a bound"),
    )
    out = io.StringIO()
    renderer("chart")(answer, out, Look(**look))
    return out.getvalue().splitlines()


def test_pieces_are_as_long_as_they_are():
    lines = drawn(BARS)
    whole, with_drafter = (_below(lines, f"{name}  #") for name in ("without", "with"))
    assert whole.count("#") == with_drafter.count("#")
    assert whole.count("=") == pytest.approx(whole.count("#") * 32 / 20, abs=1.5)
    assert with_drafter.count("=") == pytest.approx(whole.count("=") / 2, abs=1.5)
    foot = next(line for line in lines if "|" in line and set(line.strip()) <= set("-|"))
    assert foot.index("|") - 2 == pytest.approx((len(foot) - 2) * 60 / 60, abs=1.5)
    assert "without  # 20 GiB  = 32 GiB" in lines
    assert "with  # 20 GiB  = 16 GiB" in lines
    assert lines[-6:-3] == ["  # weights", "  = KV", "  | usable: 60 GiB"]


def test_what_is_not_drawn_is_said_once_above():
    lines = drawn(BARS, BARS, note="2 of 9 setups")
    assert lines.count("2 of 9 setups") == 1
    assert lines.index("2 of 9 setups") < lines.index("without  # 20 GiB  = 32 GiB")


@pytest.mark.parametrize(
    ("label", "mark", "told"),
    [
        ("speedup over plain decoding", (3.0, 1.686), "k 3 draft tokens per round, 1.69x"),
        ("speedup over plain decoding", (12.0, 1.0), "k 12 draft tokens per round, 1.00x"),
        ("GPUs", (3.0, 1234.0), "k 3 draft tokens per round, 1,234 GPUs"),
    ],
)
def test_a_mark_is_told_as_answers_print_it(label, mark, told):
    plot = Plot(
        x_label="k, draft tokens per round",
        y_label=label,
        curves=(Curve("c", ((1.0, 1.0), mark)),),
        marks=(Mark("*", "best k", *mark),),
    )
    assert f"  * best k: {told}" in drawn(plot)


@pytest.mark.parametrize("batches", [(1.0, 1.0), (1.0, 2.0), (3.0, 4.0)])
def test_nothing_stands_between_whole_numbers_of_what_is_counted(batches):
    points = tuple((batch, 1.0) for batch in batches)
    lines = drawn(Plot(x_label="batch, sequences", y_label="x", curves=(Curve("c", points),)))
    place = next(n for n, line in enumerate(lines) if line.strip() == "batch, sequences")
    assert lines[place - 1].strip()
    assert "." not in lines[place - 1]


def test_small_multiples_stand_on_one_vertical_axis():
    low, high = (
        Plot(
            title=f"alpha {top}",
            x_label="batch",
            y_label="speedup",
            y_scale="linear",
            curves=(Curve("c", ((1.0, 0.5), (2.0, top))),),
        )
        for top in (1.0, 4.0)
    )
    apart, beside = (
        [re.sub(r"[^0-9. ]", "", line[:9]).strip() for line in drawn(low, high, columns=n)]
        for n in (1, 2)
    )
    assert apart.count("2") == 1
    assert beside.count("2") == 2


def _below(lines, start):
    """The line under that which begins so."""
    return next(lower for line, lower in pairwise(lines) if line.startswith(start)).strip()


def test_alike_pieces_are_told_once_and_a_single_one_not_again():
    step = Piece("step", 2.0, "2 ms")
    lines = drawn(
        Bars(
            label="time", bars=(Bar("plain", (step, step, step), "6 ms"), Bar("a", (step,), "2 ms"))
        )
    )
    assert "plain: 6 ms  # 3 of 2 ms" in lines
    assert "a: 2 ms" in lines


@pytest.mark.parametrize("unicode", [True, False])
def test_pieces_of_many_names_never_look_alike(unicode):
    names = [f"piece {n}" for n in range(20)]
    bar = Bar("all", tuple(Piece(name, 1.0, name) for name in names))
    lines = drawn(Bars(label="time", bars=(bar,)), unicode=unicode)
    fills = {line.split()[0] for line in lines if line.strip()[2:] in names}
    assert len(fills) == 20


def test_what_a_cell_has_no_room_for_is_seen_to_be_cut():
    cells = replace(CELLS, x=("a name of forty characters that goes on on", "16", "256"))
    assert any("a name of forty char~" in line for line in drawn(cells, width=26))
    assert any(
        "a name of forty char\u2026" in line for line in drawn(cells, width=26, unicode=True)
    )


def test_the_colours_of_a_map_have_a_key():
    (key,) = (line for line in drawn(CELLS, color=True) if line.endswith("  speedup"))
    plain = ANSI.sub("", key)
    assert plain.split() == ["0.8", "1", "2", "speedup"]
    for value in (0.8, 1.0, 2.0):
        red, green, blue = bytes.fromhex(cell_colour(value, (0.8, 2.0), 1.0)[1:])
        assert f"48;2;{red};{green};{blue}m {value:g} " in key
    assert not any(line.split() == ["0.8", "1", "2", "speedup"] for line in drawn(CELLS))


def test_a_map_marks_losses_and_draws_the_border():
    lines = drawn(CELLS)
    row = next(line for line in lines if line.startswith("0.4"))
    assert row.split() == ["0.4", "1.20x", "1.10x|0.80x!"]
    under = lines[lines.index(row) + 1]
    assert under.strip("- ") == ""
    assert under.index("-") > row.index("1.10x")
    assert "  ! below 1: speedup" in lines
    assert "|" not in next(line for line in lines if line.startswith("0.8"))


def test_a_map_in_colour_has_ink_and_ground_in_each_cell():
    text = "\n".join(drawn(CELLS, color=True, unicode=True))
    assert text.count("48;2;") == 6 + 3  # the key's three
    assert text.count("38;2;") == 6 + 3
    assert "\u2503" in ANSI.sub("", text)


def test_a_wide_map_goes_on_below_with_its_heads():
    many = tuple(map(str, range(40)))
    wide = Cells(
        x_label="x", y_label="y", label="l", x=many, y=("row",),
        values=((1.5,) * 40,), texts=(("1.50x",) * 40,),
    )  # fmt: skip
    lines = drawn(wide)
    rows = [line for line in lines if line.startswith("row")]
    assert len(rows) > 1
    assert sum(row.count("1.50x") for row in rows) == 40


def test_measured_points_stand_over_predicted_lines():
    points = ((2.0, 2.0), (8.0, 3.0))
    line = Curve("predicted", ((1.0, 1.0), (9.0, 4.0)))
    measured = Curve("measured", points, style="points")
    panel = Plot(x_label="k", y_label="speedup", curves=(measured, line), x_scale="linear")
    rows = [text for text in drawn(panel) if "|" in text]
    assert sum(row.count("o") for row in rows) == 2
    assert {"  o measured", "  . predicted"} <= set(drawn(panel))


def test_several_lines_have_letters_and_the_same_name_the_same_one():
    one = Plot(x_label="x", y_label="y", curves=(Curve("k=1", ((1.0, 1.0), (9.0, 2.0))),))
    two = Plot(
        x_label="x",
        y_label="y",
        curves=(Curve("k=4", ((1.0, 3.0), (9.0, 4.0))), Curve("k=1", ((1.0, 1.0), (9.0, 2.0)))),
    )
    for unicode in (False, True):
        lines = drawn(one, two, unicode=unicode)
        assert lines.count("  a k=1") == 2
        assert "  b k=4" in lines


finite = st.floats(1e-3, 1e12)
name = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=30)
curves = st.builds(
    Curve,
    name,
    st.lists(st.tuples(finite, finite), min_size=1, max_size=6).map(lambda p: tuple(sorted(p))),
    fill=st.booleans(),
    style=st.sampled_from(["line", "dashed", "points"]),
)
bands = st.builds(lambda n, x: Band(n, ((x, x, 2 * x), (3 * x, x, x))), name, finite)
scale = st.sampled_from(["log", "linear"])
plots = st.builds(
    Plot,
    title=name,
    x_label=name,
    y_label=name,
    curves=st.lists(curves, max_size=9).map(tuple),
    bands=st.lists(bands).map(tuple),
    marks=st.lists(st.builds(Mark, st.just("P"), name, finite, finite), max_size=3).map(tuple),
    rules=st.lists(st.builds(Rule, name, st.sampled_from("xy"), finite), max_size=2).map(tuple),
    x_scale=scale,
    y_scale=scale,
    tall=st.floats(0.2, 1.0),
)
pieces = st.lists(st.builds(Piece, name, st.floats(0, 1e12), name), max_size=5).map(tuple)
bars = st.builds(
    Bars,
    title=name,
    label=name,
    bars=st.lists(st.builds(Bar, name, pieces, name), min_size=1, max_size=4).map(tuple),
    rules=st.lists(st.builds(Rule, name, st.just("x"), finite), max_size=2).map(tuple),
)


def test_the_point_itself_is_marked_in_its_cell():
    text = "\n".join(drawn(replace(CELLS, at=(1, 1))))
    assert text.count("1.90x<") == text.count("< the point itself") == 1
    assert "<" not in "\n".join(drawn(CELLS))


@st.composite
def maps(draw):
    x, y = (tuple(draw(st.lists(name, min_size=1, max_size=6))) for _ in range(2))
    cell = st.none() | st.floats(0.01, 100)
    values = tuple(tuple(draw(cell) for _ in x) for _ in y)
    texts = tuple(tuple(draw(name) for _ in x) for _ in y)
    middle = draw(st.none() | st.just(1.0))
    return Cells(
        x_label=draw(name), y_label=draw(name), label=draw(name), x=x, y=y,
        values=values, texts=texts, middle=middle, at=draw(st.none() | st.just((0, 0))),
    )  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(
    panels=st.lists(plots | bars | maps(), min_size=1, max_size=4),
    width=st.sampled_from([None, 40, 80, 160, 300]),
    color=st.booleans(),
    unicode=st.booleans(),
    across=st.integers(1, 3),
)
def test_no_line_is_wider_than_the_terminal(panels, width, color, unicode, across):
    lines = drawn(*panels, width=width, color=color, unicode=unicode, columns=across)
    text = "\n".join(lines)
    assert color or "\x1b" not in text
    assert unicode or text.isascii()
    for line in lines:
        assert columns_of(ANSI.sub("", line)) <= (width or 80)
