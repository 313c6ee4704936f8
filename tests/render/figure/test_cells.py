"""Maps: a cell for each value, readable texts, the border where speedup is 1."""

from __future__ import annotations

import math
import re

import pytest

from specplan.domain.picture import Cells
from specplan.render.palette import contrast

VALUES = ((0.8, 1.2, 1.5), (0.7, 0.9, 1.0), (None, 0.6, 0.95))


def cells(values=VALUES, **more):
    texts = tuple(tuple("-" if v is None else f"{v:.2f}x" for v in row) for row in values)
    words = {
        "x_label": "alpha",
        "y_label": "batch",
        "label": "speedup",
        "x": tuple(f"0.{n + 1}" for n in range(len(values[0]))),
        "y": tuple(f"{n + 1:,}00" for n in range(len(values))),
        "middle": 1.0,
    }
    return Cells(values=values, texts=texts, **(words | more))


def test_a_cell_for_each_value_with_its_text_inside(figure):
    drawn = figure(cells())
    assert len(drawn.named("panel-0-cell")) == 9
    for row, values in enumerate(VALUES):
        for column, value in enumerate(values):
            left, top, right, bottom = drawn.box(f"panel-0-cell-{row}-{column}")
            x, y = drawn.place("-" if value is None else f"{value:.2f}x")
            assert left < x < right
            assert top < y < bottom
    assert drawn.box("panel-0-cell-0-0")[1] < drawn.box("panel-0-cell-1-0")[1]
    assert {"0.1", "0.3", "100", "300", "alpha", "batch", "speedup"} <= set(drawn.texts)


def test_texts_are_readable_on_their_cells(figure):
    drawn = figure(cells())
    for element in drawn.root.iter("{http://www.w3.org/2000/svg}text"):
        for row, values in enumerate(VALUES):
            for column, value in enumerate(values):
                if value is not None and element.text == f"{value:.2f}x":
                    ink = re.search(r"fill: (#[0-9a-f]+)", element.get("style"))
                    fill = drawn.fill(f"panel-0-cell-{row}-{column}")
                    assert contrast(ink[1] if ink else "#000000", fill) >= 4.5


def test_the_border_runs_between_losses_and_the_others(figure):
    """Losses are (0,0), (1,0), (1,1), (2,1) and (2,2): five borders to what is not below 1, none
    to what is unknown.
    """
    drawn = figure(cells())
    paths = [p.get("d") for p in drawn.parts["panel-0-contour"].iter() if p.get("d")]
    assert len(paths) == 4
    left, top, right, bottom = drawn.box("panel-0-cell-0-0")
    numbers = [list(map(float, re.findall(r"-?\d+(?:\.\d+)?", path))) for path in paths]
    ends = {tuple(round(n, 1) for n in found) for found in numbers}
    assert tuple(round(n, 1) for n in (right, top, right, bottom)) in ends
    assert "border at 1" in drawn.texts
    assert left < right


def test_without_a_middle_or_a_loss_there_is_no_border(figure):
    for panel in (cells(middle=None), cells(values=((1.5, 2.0),))):
        drawn = figure(panel)
        assert not drawn.named("panel-0-contour")
        assert not any(text.startswith("border") for text in drawn.texts)


def test_losses_and_gains_have_colours_on_two_sides_of_the_middle(figure):
    drawn = figure(cells())

    def warm(name):
        fill = drawn.fill(name)
        return int(fill[1:3], 16) > int(fill[5:7], 16)

    assert warm("panel-0-cell-0-0")
    assert warm("panel-0-cell-2-1")
    assert not warm("panel-0-cell-0-2")


@pytest.mark.parametrize(("across", "down"), [(1, 1), (17, 20), (40, 1)])
def test_texts_of_maps_of_any_size_fit_their_cells(figure, across, down):
    values = tuple(
        tuple(2.5 * math.exp(-((c - 3 - r / 3) ** 2) / 50) for c in range(across))
        for r in range(down)
    )
    names = tuple(f"{n} {'long name ' * (n % 5)}".strip() for n in range(down))
    drawn = figure(cells(values=values, y=names, x=tuple(f"k={n}" for n in range(across))))
    assert len(drawn.named("panel-0-cell")) == across * down
    left, top, right, bottom = drawn.box("panel-0-cell-0-0")
    assert right - left >= 7.5 * 0.6 * len("2.50x")
    assert bottom - top >= 14
    assert drawn.box(f"panel-0-cell-{down - 1}-{across - 1}")[2] <= drawn.size[0] - 10
    assert len(drawn.source) < 300_000


def test_long_names_of_columns_go_on_in_lines_or_stand_upright(figure):
    name = "llama-3.3-70b-instruct-fp8"
    few = figure(cells(x=(name, "a", "b"), values=((1.0, 2.0, 3.0),) * 2, y=("1", "2")))
    assert "".join(text for text in few.texts if len(text) > 2 and text in name) == name
    assert not any("rotate" in (one.get("transform") or "") for one in few.root.iter())
    many = figure(cells(x=(name,) * 16, values=((1.0,) * 16,), y=("1",)))
    turned = [one for one in many.root.iter() if "rotate(-90" in (one.get("transform") or "")]
    assert len(turned) == 16
    bottom = many.box("panel-0-cell-0-0")[3]
    assert all(float(one.get("y")) > bottom for one in turned)


def test_maps_of_the_same_have_one_key_and_the_same_colours(figure):
    drawn = figure(cells(values=((0.5, 1.5),)), cells(values=((1.5, 4.0),)), columns=2)
    assert drawn.fill("panel-0-cell-0-1") == drawn.fill("panel-1-cell-0-0")
    assert drawn.texts.count("speedup") == 1
    assert {"0.5", "4"} <= set(drawn.texts)
    apart = figure(cells(values=((0.5, 1.5),)), cells(values=((1.5, 4.0),), label="other"))
    assert apart.fill("panel-0-cell-0-1") != apart.fill("panel-1-cell-0-0")


def test_a_frame_is_around_the_point_itself(figure):
    drawn = figure(cells(at=(1, 2)))
    left, top, right, bottom = drawn.box("panel-0-cell-1-2")
    inner = drawn.box("panel-0-here")
    assert left < inner[0] < inner[2] < right
    assert top < inner[1] < inner[3] < bottom
    assert "panel-0-here" not in figure(cells()).parts
