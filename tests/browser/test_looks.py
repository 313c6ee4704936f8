"""How the report looks in a real browser: nothing over anything else, on screens and on paper."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import pytest

from specplan.domain.picture import Band, Bar, Bars, Curve, Mark, Picture, Piece, Plot, Rule

WIDTHS = [360, 1280]
# Texts of a picture that touch another text of it; signs of marks stand where their figures are.
TOUCHING = """() => [...document.querySelectorAll('svg[role=img]')].flatMap((svg) => {
  const all = [...svg.querySelectorAll('text:not(.sign)')].filter((one) => one.textContent);
  const boxes = all.map((one) => [one.textContent, one.getBBox()]);
  return boxes.flatMap(([text, a], i) => boxes.slice(i + 1)
    .filter(([, b]) => a.x < b.x + b.width - 0.5 && b.x < a.x + a.width - 0.5
      && a.y < b.y + b.height - 4 && b.y < a.y + a.height - 4)
    .map(([other]) => `${text} | ${other}`));
})"""
# Names in a picture that a line of it goes through.
CROSSED = """() => [...document.querySelectorAll('svg[role=img]')].flatMap((svg) => {
  const lines = [...svg.querySelectorAll('path.line')].flatMap((path) =>
    Array.from({length: 400}, (_, i) => path.getPointAtLength(path.getTotalLength() * i / 399)));
  return [...svg.querySelectorAll('text.halo')].filter((one) => {
    const box = one.getBBox();
    return lines.some((p) => p.x > box.x && p.x < box.x + box.width
      && p.y > box.y + 2 && p.y < box.y + box.height - 2);
  }).map((one) => one.textContent);
})"""
BEYOND = """() => [...document.querySelectorAll('svg[role=img]')].flatMap((svg) =>
  [...svg.querySelectorAll('text')].filter((one) => {
    const box = one.getBBox();
    return box.x < -1 || box.x + box.width > svg.viewBox.baseVal.width + 1;
  }).map((one) => one.textContent))"""


def narrowed(opened, width, *path):
    return opened(*path, viewport={"width": width, "height": 800})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["page_file", "served_file"])
def test_no_text_of_a_picture_touches_another_or_a_line(opened, request, which, width):
    seen = narrowed(opened, width, request.getfixturevalue(which))
    assert seen.page.locator("svg[role=img] text.halo").count() > 10
    assert seen.page.evaluate(TOUCHING) == []
    assert seen.page.evaluate(CROSSED) == []
    assert seen.page.evaluate(BEYOND) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_texts_of_a_map_stay_in_their_cells(opened, width):
    seen = narrowed(opened, width)
    least = seen.page.evaluate(
        "() => Math.min(...[...document.querySelectorAll('rect.cell')].map((cell) =>"
        " cell.width.baseVal.value - cell.nextSibling.getBBox().width))"
    )
    assert least >= 4


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_ends_inside_a_name(opened, width):
    """Each name that a line has room for is as high as one line."""
    seen = narrowed(opened, width)
    heads = "h1 .whole, h2 .whole, .headline .whole, .panel-title .whole, dd .whole, .note .whole"
    assert seen.page.locator(heads).count() > 2
    broken = seen.page.evaluate(
        "(which) => [...document.querySelectorAll(which)].filter((one) => one.offsetHeight > 1.7 *"
        " parseFloat(getComputedStyle(one).fontSize)).map((one) => one.textContent)",
        heads,
    )
    assert broken == []


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_dial_says_stands_beside_its_label(opened, width):
    seen = narrowed(opened, width)
    for name in ("context", "batch", "alpha", "k"):
        label = seen.page.locator(f"label[for=dial-{name}]").bounding_box()
        shown = seen.page.locator(f"#shown-{name}").bounding_box()
        assert abs(label["y"] - shown["y"]) < 4
        assert label["x"] + label["width"] <= shown["x"]


@pytest.mark.parametrize("chosen", [False, True], ids=["system", "button"])
def test_paper_is_light_whatever_the_screen_was(opened, chosen):
    seen = opened(color_scheme="light" if chosen else "dark")
    if chosen:
        seen.page.locator("#theme").click()
    colours = (
        "() => [getComputedStyle(document.body).color, getComputedStyle(document.body)"
        ".backgroundColor, getComputedStyle(document.querySelector('svg[role=img] text')).fill,"
        " getComputedStyle(document.querySelector('svg[role=img] path.line')).stroke]"
    )
    dark = seen.page.evaluate(colours)
    seen.page.emulate_media(media="print", color_scheme="light" if chosen else "dark")
    paper = seen.page.evaluate(colours)
    light = opened(color_scheme="light").page.evaluate(colours)
    assert paper == light
    assert not set(paper) & set(dark)


def test_paper_shows_commands_whole_and_says_which_point_it_is_of(opened):
    seen = narrowed(opened, 1280)
    point = seen.page.locator("#point")
    assert not point.is_visible()
    seen.place("batch", 3)
    seen.page.set_viewport_size({"width": 700, "height": 900})
    seen.page.emulate_media(media="print")
    cut = seen.page.evaluate(
        "[...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth)"
        ".map((one) => one.textContent)"
    )
    assert cut == []
    assert point.is_visible()
    assert point.text_content() == "At batch 8, context 2,048, acceptance 0.7, k = 3"


def test_a_turn_is_told_in_one_short_sentence(opened):
    seen = opened()
    assert seen.page.locator("[aria-live]").count() == 0
    told = seen.page.locator("[role=status]")
    assert told.count() == 1
    assert told.text_content() == ""
    seen.place("batch", 2)
    told.filter(has_text="Speedup").wait_for(state="attached")
    figures = [seen.figure(name) for name in ("speedup", "tpot_s", "best_k")]
    assert told.text_content() == "Speedup {}, TPOT {}, best k {}".format(*figures)


def test_the_bar_of_plain_steps_says_how_many_of_what(opened):
    """Its length is that many steps: the round is shorter by the speedup."""
    seen = opened()
    steps, step = seen.figure("tokens_per_round"), seen.figure("plain_step_s")
    drawing = seen.page.locator("#turned svg[role=img]").nth(1)
    assert f"plain decoding: {steps} steps of {step}" in drawing.text_content()
    long = drawing.locator("rect.piece").evaluate_all(
        "(all) => all.map((one) => one.width.baseVal.value)"
    )
    speedup = long[0] / sum(long[1:])
    assert speedup == pytest.approx(float(seen.figure("speedup").rstrip("x")), abs=0.01)


def test_the_map_frames_the_point_itself(opened, reported):
    seen = opened()
    (part,) = (one.answer for one in reported.parts if one.name == "batch-alpha")
    (cells,) = part.view.picture().panels
    texts = seen.page.locator("#part-batch-alpha rect.cell + text").all_text_contents()
    row, column = cells.at
    frame = seen.page.locator("#part-batch-alpha rect.here").bounding_box()
    here = seen.page.locator("#part-batch-alpha rect.cell").nth(row * len(cells.x) + column)
    box = here.bounding_box()
    assert texts[row * len(cells.x) + column] == seen.figure("speedup")
    assert box["x"] < frame["x"] + frame["width"] / 2 < box["x"] + box["width"]
    assert box["y"] < frame["y"] + frame["height"] / 2 < box["y"] + box["height"]
    assert "the frame is the point itself" in seen.page.locator("#part-batch-alpha").text_content()


def test_what_no_logarithm_has_is_left_out(opened, written, reported):
    """Lines, bands, marks and rules at or below 0 on a logarithmic axis, and what is not finite."""
    nan = float("nan")
    plot = Plot(
        x_label="x",
        y_label="y",
        curves=(
            Curve("some", ((0.0, 1.0), (1.0, 2.0), (2.0, nan), (4.0, 3.0))),
            Curve("none", ((-1.0, 1.0), (1.0, 0.0))),
        ),
        bands=(Band("band", ((1.0, -1.0, 2.0), (2.0, 1.0, 2.0), (3.0, 1.0, 3.0))),),
        marks=(Mark("Q", "off", 0.0, 1.0), Mark("P", "on", 2.0, 2.0)),
        rules=(Rule("never", "x", 0.0), Rule("here", "y", 1.5)),
    )
    view = replace(reported.view, picture=lambda: Picture(panels=(plot,)))
    seen = opened(written(replace(reported, view=view, parts=(), explorer=None), "zeros"))
    assert seen.said == []
    drawing = seen.page.locator("figure svg[role=img]")
    assert drawing.count() == 1
    text = seen.page.locator("figure").text_content()
    assert "here" in text
    assert "on" in text
    assert "never" not in text
    assert "off" not in text
    assert seen.page.locator("figure path.line").count() == 1
    broken = drawing.evaluate("(one) => /NaN|undefined|Infinity/.test(one.outerHTML)")
    assert not broken


def test_what_is_copied_is_what_was_written(opened, reported):
    """Names that are kept whole add nothing to a command that a reader marks."""
    seen = opened()
    marked = seen.page.evaluate(
        "() => { const pre = document.querySelector('#part-reproduce pre');"
        " getSelection().selectAllChildren(pre); return [getSelection().toString(),"
        " pre.textContent, pre.querySelectorAll('.whole').length]; }"
    )
    (again,) = (one.answer for one in reported.parts if one.name == "reproduce")
    assert marked[0] == marked[1] == again.value.command
    assert marked[2] > 3


def test_a_speedup_reads_as_the_command_line_prints_it(opened):
    seen = opened()
    here = seen.page.locator("#turned .legend").first.text_content()
    assert here == f"khere: k {seen.figure('k')} draft tokens per round, {seen.figure('speedup')}"
    legends = " ".join(seen.page.locator(".legend").all_text_contents())
    assert "speedup" not in legends.replace("speedup over", "")


# Numbers of the axes of plots and bars, by what stands at the axis.
NUMBERED = """() => [...document.querySelectorAll('svg[role=img]')].flatMap((svg) => {
  const labels = [...svg.querySelectorAll('text.label')].map((one) => one.textContent);
  const across = labels.find((one) => /^(k|batch|context), |^GPUs$/.test(one) && labels[0] === one);
  const up = labels[1] && /^(k, |GPUs$|sequences)/.test(labels[1]);
  return [...svg.querySelectorAll('line.axis + text[text-anchor=middle]')]
    .filter(() => across).concat([...svg.querySelectorAll('line.grid + text')].filter(() => up))
    .map((one) => one.textContent);
})"""


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_stands_between_whole_numbers_of_what_is_counted(opened, served_file, width):
    found = narrowed(opened, width, served_file).page.evaluate(NUMBERED)
    assert len(found) > 10
    assert [text for text in found if "." in text] == []


def test_an_axis_up_to_one_gpu_has_no_half_of_one(opened, written, reported):
    plot = Plot(
        x_label="batch, sequences",
        y_label="GPUs",
        y_scale="linear",
        curves=(Curve("c", ((1.0, 0.0), (2.0, 1.0))),),
    )
    bars = Bars(label="GPUs", bars=(Bar("b", (Piece("p", 1.0, "1"),)),))
    view = replace(reported.view, picture=lambda: Picture(panels=(plot, bars)))
    seen = opened(written(replace(reported, view=view, parts=(), explorer=None), "one"))
    axes = "svg text[text-anchor]:not(.label):not(.inside):not(.halo)"
    texts = seen.page.locator(axes).all_text_contents()
    assert set(texts) <= {"0", "1", "2"}


@pytest.mark.parametrize("places", [{"alpha": 0}, {"alpha": 8, "k": 0}])
def test_the_border_is_named_where_there_is_one(opened, places):
    seen = opened()
    for dial, place in places.items():
        seen.place(dial, place)
    for number in range(2):
        panel = seen.page.locator("#turned .panel").nth(2 + number)
        named = "thick line" in panel.locator(".key").text_content()
        assert named == (panel.locator("path.border").count() == 1)


def test_the_map_of_the_best_k_is_coloured_by_the_best_whatever_k_is_turned_to(opened):
    """It had the colours and the border of the k of the dial, under the speedups of the best."""
    seen = opened()
    best = seen.page.locator("#turned .panel").nth(3)

    def colours() -> list[str]:
        return best.locator("rect.cell").evaluate_all(
            "(all) => all.map((one) => one.style.fill || one.getAttribute('fill'))"
        )

    first = colours()
    seen.place("k", 16)
    assert colours() == first
    assert best.locator("path.border").count() == 0


def test_the_readers_maps_run_as_those_of_the_parts(opened):
    seen = opened()
    for part, number in (("batch-alpha", 0), ("best-k-map", 1)):
        own = seen.page.locator("#turned .axes").nth(number).text_content()
        fixed = seen.page.locator(f"#part-{part} .axes").first.text_content()
        assert own.endswith("batch, sequences (across)")
        assert fixed.endswith("batch, sequences (across)")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_sign_of_a_mark_covers_another(opened, written, reported, width):
    plot = Plot(
        x_label="x",
        y_label="y",
        curves=(Curve("c", ((1.0, 1.0), (100.0, 100.0))),),
        marks=tuple(Mark(sign, sign, 10.0 + n / 10, 10.0) for n, sign in enumerate("PDV1")),
    )
    view = replace(reported.view, picture=lambda: Picture(panels=(plot,)))
    page = written(replace(reported, view=view, parts=(), explorer=None), "marks")
    seen = narrowed(opened, width, page)
    at = seen.page.locator("svg[role=img] text.sign").evaluate_all(
        "(all) => all.map((one) => [one.x.baseVal[0].value, one.y.baseVal[0].value])"
    )
    assert len(at) == 4
    assert all(math.dist(a, b) >= 16 for a, b in combinations(at, 2))


def test_what_is_not_drawn_is_said_above_all(opened, written, reported):
    plot = Plot(x_label="x", y_label="y", curves=(Curve("c", ((1.0, 1.0), (2.0, 2.0))),))
    note = "2 of 9 panels: <b> 1 of 3 contexts"
    view = replace(reported.view, picture=lambda: Picture(panels=(plot, plot), note=note))
    seen = opened(written(replace(reported, view=view, parts=(), explorer=None), "note"))
    assert seen.page.locator("figure.picture > p.key").all_text_contents() == [note]


def test_plots_that_share_an_axis_have_the_same_numbers_across(opened, served_file):
    seen = opened(served_file)
    across = "#part-capacity svg:has(path.line)"
    drawn = seen.page.locator(across).evaluate_all(
        "(all) => all.map((one) => [...one.querySelectorAll('line.axis + text')]"
        ".map((text) => `${text.textContent} at ${text.getAttribute('x')}`).join())"
    )
    assert len(drawn) >= 3
    assert len(set(drawn)) == 1


def test_more_pieces_than_colours_stay_apart(opened, written, reported):
    pieces = tuple(Piece(f"cause {n}", 1.0, "1") for n in range(8))
    view = replace(
        reported.view,
        picture=lambda: Picture(panels=(Bars(label="GPUs", bars=(Bar("b", pieces),)),)),
    )
    seen = opened(written(replace(reported, view=view, parts=(), explorer=None), "pieces"))
    looks = seen.page.locator("svg[role=img] rect.piece").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).fill + getComputedStyle(one).fillOpacity)"
    )
    assert len(set(looks)) == 8
