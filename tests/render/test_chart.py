"""The picture of an answer in characters."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from specplan import __version__
from specplan.domain.answer import Answer, Basis, Table, View
from specplan.domain.picture import Band, Curve, Mark, Picture, Plot
from specplan.errors import UsageError
from specplan.render import renderer
from specplan.render.look import Look

ROOF = Curve("h100 bf16", ((0.5, 1.6e12), (295.0, 989e12), (2360.0, 989e12)))
CHART = Plot(
    x_label="FLOP/B",
    y_label="FLOP/s",
    curves=(ROOF,),
    marks=(Mark("P", "plain step", 1.0, 1.5e12), Mark("V", "verification", 400.0, 500e12)),
)
ANSWER = Answer(
    command="explain",
    value=None,
    table=Table(),
    view=View(title="taken apart", caption=("llama",), picture=lambda: Picture(panels=(CHART,))),
    basis=Basis(kind="estimate", says="an estimate"),
)


def drawn(answer: Answer = ANSWER, **look) -> list[str]:
    out = io.StringIO()
    renderer("chart")(answer, out, Look(**look))
    return out.getvalue().splitlines()


def picture(lines: list[str]) -> list[str]:
    """The rows between the vertical axis' label and its foot, without the numbers."""
    rows = lines[lines.index("FLOP/s") + 1 :]
    return [row.partition("|")[2] for row in rows if "|" in row]


def test_title_basis_caption_and_legend():
    lines = drawn()
    assert lines[:2] == ["taken apart  [an estimate]", "llama"]
    assert lines[-6:-3] == [
        "  P plain step: 1 FLOP/B, 1.5 T FLOP/s",
        "  V verification: 400 FLOP/B, 500 T FLOP/s",
        "  . h100 bf16",
    ]
    assert lines[-3:] == ["", "an estimate", f"specplan {__version__} explain"]


@pytest.mark.parametrize("unicode", [False, True])
def test_it_fits_a_terminal_and_has_no_trailing_blanks(unicode):
    lines = drawn(unicode=unicode)
    assert max(map(len, lines)) <= 80
    assert lines == [line.rstrip() for line in lines]
    assert "\n".join(lines).isascii() is not unicode


def test_marks_stand_where_their_numbers_say():
    """Farther right is more FLOP/B, higher up more FLOP/s; both marks lie under the roof."""
    rows = picture(drawn())
    places = {
        sign: (column, -row)
        for row, text in enumerate(rows)
        for column, sign in enumerate(text)
        if sign in "PV"
    }
    assert set(places) == {"P", "V"}
    assert places["V"][0] > places["P"][0]
    assert places["V"][1] > places["P"][1]
    for column, height in places.values():
        roof = [-row for row, text in enumerate(rows) if text[column : column + 1] == "."]
        assert all(height <= top for top in roof)


def test_the_roof_rises_then_is_flat():
    """The dots of the first row are the flat part, and each lower row starts farther left."""
    rows = [text for text in picture(drawn()) if "." in text]
    starts = [text.index(".") for text in rows]
    assert starts == sorted(starts, reverse=True)
    assert rows[0].count(".") > 10


def test_axes_name_powers_of_ten():
    text = "\n".join(drawn())
    for label in ("100 T", "10 T", "1 k"):
        assert label in text


def test_an_answer_without_a_picture_is_refused():
    plain = replace(ANSWER, command="memory", view=View(title="t"))
    with pytest.raises(UsageError) as caught:
        drawn(plain)
    assert str(caught.value) == "--format: memory has no picture; use -f table"


@pytest.mark.parametrize("name", ["table", "plain", "markdown", "json"])
def test_no_other_format_draws_it(name):
    """A chart adds nothing to the other formats."""
    without = replace(ANSWER, view=replace(ANSWER.view, picture=None))
    texts = []
    for answer in (ANSWER, without):
        out = io.StringIO()
        renderer(name)(answer, out, Look())
        texts.append(out.getvalue())
    assert texts[0] == texts[1]


def linear(*curves: Curve, **more) -> Plot:
    return Plot(
        x_label="s", y_label="sequences", curves=curves, x_scale="linear", y_scale="linear", **more
    )


def shown(*plots: Plot) -> list[str]:
    picture = Picture(panels=plots, shared=True)
    return drawn(replace(ANSWER, view=replace(ANSWER.view, picture=lambda: picture)))


def test_plots_share_an_axis_only_where_it_says_the_same():
    """0.1 s of one quantity are not drawn on the 80 s of another."""
    times = [linear(Curve("c", ((0.0, 1.0), (end, 2.0)))) for end in (80.0, 40.0)]
    other = replace(linear(Curve("c", ((0.0, 1.0), (0.1, 2.0)))), x_label="TTFT, s")
    feet = [line.split() for line in shown(*times, other) if line[:12].strip() == "0"]
    assert feet == [["0", "20", "40", "60", "80"], ["0", "50", "ms", "100", "ms"]]


def test_a_linear_axis_begins_at_0_and_has_even_steps():
    lines = shown(linear(Curve("c", ((0.0, 10.0), (50.0, 40.0)))))
    numbers = [line.split("|")[0].strip() for line in lines if "|" in line]
    assert [n for n in numbers if n] == ["40", "20", "0"]
    assert lines[lines.index("  . c") - 2].split() == ["0", "20", "40"]


def test_a_line_on_linear_axes_is_straight():
    lines = shown(linear(Curve("c", ((0.0, 0.0), (64.0, 18.0)))))
    rows = [line.partition("|")[2] for line in lines if "|" in line]
    places = [
        (column, 17 - row)
        for row, text in enumerate(rows)
        for column in range(len(text))
        if text[column] == "."
    ]
    assert len(places) == 64
    assert all(abs(height - column * 18 / 64) <= 1 for column, height in places)


def test_what_is_filled_is_drawn_from_the_foot_and_nothing_at_0():
    steps = Curve("", ((0.0, 0.0), (32.0, 0.0), (32.0001, 18.0), (64.0, 18.0)), fill=True)
    rows = [line.partition("|")[2] for line in shown(linear(steps)) if "|" in line]
    assert {row.lstrip() for row in rows} == {"." * 32}


def test_pictures_stand_on_one_axis_and_curves_have_their_signs():
    upper = Curve("upper", ((0.0, 1.0), (100.0, 2.0)), sign="*")
    lower = Curve("", ((50.0, 3.0), (100.0, 4.0)))
    lines = shown(linear(upper, tall=0.5), replace(linear(lower, tall=0.5), y_label="k"))
    assert len([line for line in lines if "|" in line]) == 18
    assert lines.index("k") > lines.index("sequences")
    below = [line.partition("|")[2] for line in lines[lines.index("k") :] if "|" in line]
    assert min(row.index(".") for row in below if "." in row) == 32
    assert "  * upper" in lines
    above = [line.partition("|")[2] for line in lines[: lines.index("k")]]
    assert sum(row.count("*") for row in above) == 64


def test_a_level_line_at_0_can_be_drawn():
    lines = shown(linear(Curve("c", ((0.0, 0.0), (5.0, 0.0)))))
    (row,) = [line for line in lines if "." in line.partition("|")[2]]
    assert row == f"        0 |{'.' * 64}"


def test_curves_on_one_another_take_turns():
    """The one that was drawn last hid the others, whose signs stood in the legend alone."""
    ends = ((0.0, 1.0), (5.0, 1.0))
    lines = shown(linear(Curve("k=3", ends, sign="a"), Curve("gated", ends, sign="b")))
    (row,) = [line.partition("|")[2] for line in lines if "ab" in line.partition("|")[2]]
    assert row == "ab" * 32


@pytest.mark.parametrize(
    ("points", "numbers"),
    [
        (((1.0, 1.0), (1000.0, 1.0)), ["1", "10", "100", "1 k"]),
        (((1.0, 1.0), (8.0, 1.0)), ["1", "2", "5", "10"]),
        (((0.9, 1.0), (30.0, 1.0)), ["1", "2", "5", "10", "20"]),
        (((3.1, 1.0), (3.9, 1.0)), ["2.4", "5.1"]),
    ],
)
def test_a_logarithmic_axis_has_two_numbers_at_least(points, numbers):
    lines = shown(
        Plot(x_label="s", y_label="sequences", curves=(Curve("c", points),), y_scale="linear")
    )
    assert lines[lines.index("  . c") - 2].replace("1 k", "1_k").split() == [
        number.replace(" ", "_") for number in numbers
    ]


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("points", [((5.0, 2.0),), ((5.0, 2.0), (5.2, 2.1))])
def test_the_shortest_line_is_drawn_with_its_letter(points, unicode):
    curves = (Curve("long", ((0.0, 1.0), (50.0, 4.0))), Curve("short", points))
    picture = Picture(panels=(linear(*curves),))
    lines = drawn(
        replace(ANSWER, view=replace(ANSWER.view, picture=lambda: picture)), unicode=unicode
    )
    area = [line for line in lines if "|" in line or "\u2502" in line]
    assert any("b" in line for line in area)
    assert "  b short" in lines


def test_what_was_measured_has_a_sign_for_each_name():
    curves = [
        Curve(name, ((at, 1.0 + at), (at + 1.0, 2.0 + at)), style="points")
        for name, at in (("vllm", 1.0), ("sglang", 5.0))
    ]
    predicted = Curve("predicted", ((0.0, 0.0), (0.1, 0.0)), sign="o")
    lines = shown(linear(predicted, *curves))
    assert {"  o predicted", "  x vllm", "  + sglang"} <= set(lines)
    for sign in "x+":
        assert sum(line.partition("|")[2].count(sign) for line in lines) == 2


def test_what_no_axis_shows_is_left_out_and_the_rest_is_drawn():
    """A band that reaches 0 where the axis is logarithmic, an endless value."""
    bands = (Band("within", ((1.0, 0.0, 2.0), (10.0, 1.0, 3.0), (100.0, 2.0, 5.0))),)
    curves = (Curve("c", ((1.0, 1.0), (10.0, float("inf")), (100.0, 3.0))),)
    marks = (Mark("*", "best", 10.0, -1.0),)
    plot = Plot(x_label="s", y_label="sequences", curves=curves, bands=bands, marks=marks)
    lines = shown(plot)
    assert any(":" in line.partition("|")[2] for line in lines)
    assert not any("*" in line for line in lines)


@pytest.mark.parametrize("width", [24, 30, 39])
def test_the_narrowest_terminal_is_not_overrun(width):
    lines = drawn(width=width)
    assert max(map(len, lines)) <= width
