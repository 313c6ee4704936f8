"""Lines on axes: where they stand, what is beside them, how they are told apart."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from specplan.domain.picture import Band, Curve, Mark, Plot, Rule

RISING = tuple((float(k), 1.0 + 0.1 * k) for k in range(1, 9))
LONG = "a very long name of a drafter that somebody wrote into a card of theirs " * 2


def linear(*curves, **more):
    words = {"x_label": "k, draft tokens a round", "y_label": "speedup"} | more
    return Plot(curves=curves, **({"x_scale": "linear", "y_scale": "linear"} | words))


def test_points_stand_where_their_values_say(figure):
    points = figure(linear(Curve("alpha 0.8", RISING))).points("panel-0-curve-0")
    assert len(points) == len(RISING)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    assert all(dx == pytest.approx(steps[0][0]) and dx > 0 for dx, _ in steps)
    assert all(dy == pytest.approx(steps[0][1]) and dy < 0 for _, dy in steps)


def test_a_logarithmic_axis_turns_factors_into_steps(figure):
    doubling = tuple((2.0**n, 1e12 * 4.0**n) for n in range(8))
    drawn = figure(Plot(x_label="batch", y_label="FLOP/s", curves=(Curve("c", doubling),)))
    points = drawn.points("panel-0-curve-0")
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    assert all(step == pytest.approx(steps[0]) for step in steps)
    assert {"1", "2", "64", "128", "batch", "FLOP/s"} <= set(drawn.texts)
    assert any(re.fullmatch(r"\d+ [TP]", text) for text in drawn.texts)


def test_numbers_of_an_axis_stand_at_their_values(figure):
    """By two of them the scale is known, and the curve's ends must lie on it."""
    drawn = figure(linear(Curve("c", ((0.0, 0.0), (10.0, 400.0)))))
    (x0, _), (x10, _) = drawn.place("2"), drawn.place("8")
    (_, y0), (_, y40) = drawn.place("100"), drawn.place("300")
    (left, low), (right, high) = drawn.points("panel-0-curve-0")
    assert (left, right) == pytest.approx((x0 - (x10 - x0) / 3, x10 + (x10 - x0) / 3))
    assert low - high == pytest.approx(2 * (y0 - y40))


def test_eight_curves_differ_in_more_than_colour(figure):
    curves = [Curve(f"curve {n}", tuple((x, y + n) for x, y in RISING)) for n in range(8)]
    drawn = figure(linear(*curves))
    looks = []
    for n in range(8):
        part = drawn.parts[f"panel-0-curve-{n}"]
        line = next(one for one in part.iter() if one.get("style")).get("style")
        marker = part.find(".//{*}defs/{*}path").get("d")
        dash = re.search(r"stroke-dasharray: [0-9., ]+", line)
        looks.append((re.search("stroke: #[0-9a-f]+", line)[0], dash and dash[0], marker))
    for one, other in combinations(looks, 2):
        assert sum(a != b for a, b in zip(one, other, strict=True)) >= 2
    assert {f"curve {n}" for n in range(8)} <= set(drawn.texts)


def test_the_key_stands_above_what_is_drawn_and_names_go_on_in_further_lines(figure):
    drawn = figure(linear(Curve(LONG, RISING), Curve("other", RISING[:3])))
    top = min(y for name in drawn.named("panel-0-curve") for _, y in drawn.points(name))
    told = [text for text in drawn.texts if text and text in LONG]
    assert "".join(told).replace(" ", "") == LONG.replace(" ", "")
    assert all(drawn.place(text)[1] < top for text in ["other", "speedup"])


def test_a_band_is_as_wide_as_it_says_and_has_its_curves_colour(figure):
    band = Band("within 10 %", tuple((x, 0.9 * y, 1.1 * y) for x, y in RISING))
    other = Curve("other", tuple((x, y + 3) for x, y in RISING))
    drawn = figure(linear(other, Curve("c", RISING), bands=(band,)))
    points = drawn.points("panel-0-band-0")
    curve = drawn.points("panel-0-curve-1")
    for x, y in curve:
        heights = [by for bx, by in points if bx == pytest.approx(x)]
        assert min(heights) < y < max(heights)
        assert y == pytest.approx((min(heights) + max(heights)) / 2)
    stroke = drawn.parts["panel-0-curve-1"].find(".//{*}path[@style]").get("style")
    assert f"stroke: {drawn.fill('panel-0-band-0')}" in stroke
    assert "within 10 %" in drawn.texts


def test_measured_points_have_no_line(figure):
    drawn = figure(
        linear(
            Curve("predicted", RISING, style="dashed"), Curve("measured", RISING, style="points")
        )
    )
    assert len(drawn.signs("panel-0-curve-1")) == len(RISING)
    lines = drawn.parts["panel-0-curve-1"].findall("{*}path")
    assert not lines
    assert "stroke-dasharray" in drawn.parts["panel-0-curve-0"].find("{*}path").get("style")
    assert not drawn.signs("panel-0-curve-0")


def test_marks_lie_on_their_curve_and_their_names_beside_them(figure):
    marks = tuple(Mark("x", f"mark {n}", *RISING[n]) for n in (2, 3, 6))
    drawn = figure(linear(Curve("c", RISING), marks=marks))
    curve = drawn.points("panel-0-curve-0")
    for number, (mark, n) in enumerate(zip(marks, (2, 3, 6), strict=True)):
        (place,) = drawn.signs(f"panel-0-mark-{number}")
        assert place == pytest.approx(curve[n], abs=0.01)
        assert math.dist(place, drawn.place(mark.name)) < 90


def test_names_of_many_marks_do_not_lie_on_one_another(figure):
    """Forty marks in a crowd would need more room than there is; a dozen must be told apart."""
    marks = tuple(Mark("x", f"pass number {n}", 3 + n / 10, 1.3 + n / 100) for n in range(12))
    drawn = figure(linear(Curve("c", RISING), marks=marks))
    places = [drawn.place(mark.name) for mark in marks]
    for (x0, y0), (x1, y1) in combinations(places, 2):
        assert abs(y0 - y1) >= 8 or abs(x0 - x1) >= 50


def test_rules_run_over_the_whole_panel_and_are_named(figure):
    rules = (Rule("speedup 1", "y", 1.0), Rule("memory ends", "x", 4.0))
    drawn = figure(linear(Curve("c", RISING), rules=rules))
    (x0, y0), (x1, y1) = drawn.points("panel-0-rule-0")
    assert y0 == y1
    assert x1 - x0 > 400
    (a, top), (b, foot) = drawn.points("panel-0-rule-1")
    assert a == b == pytest.approx(drawn.points("panel-0-curve-0")[3][0], abs=0.01)
    assert abs(foot - top) == pytest.approx(190, abs=0.01)
    assert {"speedup 1", "memory ends"} <= set(drawn.texts)


def test_what_is_filled_is_drawn_from_the_foot(figure):
    drawn = figure(linear(Curve("", RISING, fill=True)))
    deep = max(y for _, y in drawn.points("panel-0-fill-0"))
    assert deep > max(y for _, y in drawn.points("panel-0-curve-0"))
    assert deep == pytest.approx(drawn.place("0")[1] - 7.5 * 0.36, abs=12)


def test_small_multiples_have_one_key_and_one_scale(figure):
    panels = [
        linear(Curve("alpha 0.8", tuple((x, n * y) for x, y in RISING)), title=f"context {n}")
        for n in (1, 2, 3, 4)
    ]
    drawn = figure(*panels, columns=2, shared=True)
    assert drawn.texts.count("alpha 0.8") == 1
    assert drawn.texts.count("k, draft tokens a round") == 2  # under each column
    boxes = [drawn.points(f"panel-{n}-curve-0") for n in range(4)]
    assert boxes[0][0][0] == pytest.approx(boxes[2][0][0])
    assert boxes[1][0][0] - boxes[0][0][0] > 200
    heights = [points[0][1] - points[-1][1] for points in boxes]
    assert heights == pytest.approx([heights[0] * n for n in (1, 2, 3, 4)], rel=1e-3)


def test_panels_on_one_axis_stand_in_line(figure):
    short = linear(Curve("", ((0.0, 1e6), (50.0, 2e6))), tall=0.5)
    drawn = figure(linear(Curve("", ((0.0, 1.0), (100.0, 2.0)))), short, shared=True)
    above, below = drawn.points("panel-0-curve-0"), drawn.points("panel-1-curve-0")
    assert above[0][0] == pytest.approx(below[0][0])
    assert above[1][0] - above[0][0] == pytest.approx(2 * (below[1][0] - below[0][0]))
    assert drawn.texts.count("k, draft tokens a round") == 1


def test_panels_that_say_something_else_have_axes_of_their_own(figure):
    other = replace(linear(Curve("", ((0.0, 1.0), (0.1, 2.0)))), x_label="TTFT, s")
    drawn = figure(linear(Curve("", ((0.0, 1.0), (100.0, 2.0)))), other, shared=True)
    above, below = drawn.points("panel-0-curve-0"), drawn.points("panel-1-curve-0")
    assert above[1][0] == pytest.approx(below[1][0])
    assert drawn.texts.count("k, draft tokens a round") == drawn.texts.count("TTFT") == 1


def test_a_curve_without_a_name_looks_like_that_of_its_sign(figure):
    upper = linear(Curve("gated", RISING, "a"), Curve("k=3", RISING[:4], "b"))
    lower = linear(Curve("", RISING, "b"))
    drawn = figure(upper, lower, shared=True)

    def stroke(name):
        return drawn.parts[name].find(".//{*}path[@style]").get("style").split("stroke: ")[1][:7]

    assert stroke("panel-1-curve-0") == stroke("panel-0-curve-1") != stroke("panel-0-curve-0")


@pytest.mark.parametrize(
    "points",
    [
        ((3.0, 2.0),),
        ((1.0, 5.0), (2.0, 5.0)),
        ((2.0, 0.0), (3.0, 0.0)),
        ((1e-9, 1e-15), (2e-9, 2e-15)),
    ],
)
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_narrow_ranges_have_axes(figure, points, scale):
    if scale == "log":
        points = tuple((x, y or 1.0) for x, y in points)
    drawn = figure(linear(Curve("c", points), x_scale=scale, y_scale=scale))
    assert len(drawn.texts) >= 8
    assert not any("nan" in text or "inf" in text for text in drawn.texts)


def test_what_no_axis_shows_is_left_out(figure):
    """Zero and less on a logarithmic axis, and what is no number."""
    points = ((0.0, 1.0), (1.0, -2.0), (1.0, 2.0), (2.0, math.inf), (4.0, 8.0), (math.nan, 1.0))
    panel = Plot(
        x_label="batch",
        y_label="s",
        curves=(Curve("c", points), Curve("none", ((0.0, 0.0),))),
        bands=(Band("b", ((1.0, 0.0, 1.0), (2.0, 1.0, 2.0), (4.0, 1.0, 9.0))),),
        marks=(Mark("m", "nowhere", 0.0, 1.0), Mark("m", "there", 1.0, 2.0)),
        rules=(Rule("never", "y", 0.0),),
    )
    drawn = figure(panel)
    assert len(drawn.points("panel-0-curve-0")) == 2
    assert drawn.named("panel-0-mark") == ["panel-0-mark-0"]
    assert not drawn.named("panel-0-rule")
    assert "there" in drawn.texts
    assert "nowhere" not in drawn.texts
    assert not any("nan" in text or "inf" in text for text in drawn.texts)


def test_an_empty_panel_is_a_frame(figure):
    drawn = figure(linear(), Plot(x_label="x", y_label="y"))
    assert {"speedup", "x", "y"} <= set(drawn.texts)


def test_where_some_lines_are_dashed_no_other_is(figure):
    curves = [Curve(f"c{n}", tuple((x, y + n) for x, y in RISING)) for n in range(3)]

    def dashed(drawn):
        styles = [drawn.parts[f"panel-0-curve-{n}"].find("{*}path").get("style") for n in range(3)]
        return ["stroke-dasharray" in style for style in styles]

    assert dashed(figure(linear(*curves))) == [False, True, True]
    curves[2] = replace(curves[2], style="dashed")
    assert dashed(figure(linear(*curves))) == [False, False, True]
