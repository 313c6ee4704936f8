"""The report in a real browser: no network, turned by keys, true to the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hostile_names import NAMES
from typed import answered

from specplan.domain.answer import Part
from specplan.domain.picture import Bar, Bars, Cells, Curve, Mark, Picture, Piece, Plot, Rule

ASKED = ("-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm@0.33")
POINTS = [
    {"context": 0, "batch": 0, "alpha": 0, "k": 1},
    {"context": 1, "batch": 3, "alpha": 5, "k": 4},
    {"context": 3, "batch": 6, "alpha": 10, "k": 9},
    {"context": 2, "batch": 7, "alpha": 8, "k": 0},
]
NARROW = {"viewport": {"width": 360, "height": 780}}


def test_it_opens_from_a_file_without_a_word_or_a_request(opened, page_file):
    seen = opened()
    assert seen.said == []
    assert seen.asked == [page_file.as_uri()]
    assert seen.page.locator("h1").text_content().startswith("It pays: ")
    assert page_file.stat().st_size < 2_000_000


def test_every_picture_is_drawn(opened, reported):
    seen = opened()
    drawn = [part for part in reported.parts if part.answer.view.picture]
    assert len(drawn) >= 8
    for part in drawn:
        figures = seen.page.locator(f"figure[data-picture=part-{part.name}] svg[role=img]")
        assert figures.count() == len(part.answer.view.picture().panels), part.name
        for number in range(figures.count()):
            box = figures.nth(number).bounding_box()
            assert box["width"] > 200
            assert box["height"] > 40
    assert seen.page.locator("#turned svg[role=img]").count() == 4
    broken = seen.page.evaluate(
        "[...document.querySelectorAll('svg *')].filter((one) => [...one.attributes]"
        ".some((a) => /NaN|undefined|Infinity/.test(a.value))).length"
    )
    assert broken == 0


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_dials_show_what_the_command_line_prints(opened, capsys, point):
    """Turned by keys to a point; sweep and best-k, asked there, have the same digits."""
    seen = opened()
    for dial, place in point.items():
        seen.place(dial, place)
    places = {dial: seen.page.locator(f"#shown-{dial}").text_content() for dial in point}
    told = ("-c", places["context"].replace(",", ""), "-b", places["batch"].replace(",", ""))
    told = (*ASKED, *told, "-a", places["alpha"])
    best = answered(capsys, ["best-k", *told, "-f", "plain", "-q"]).out
    k = seen.figure("k")
    assert seen.figure("best_k") == ("0" if "k = 0" in best else best.split()[2].rstrip(":"))
    assert places["k"] in {k, "best"}
    one = answered(capsys, ["best-k", *told, "-k", f"0,{k}", "-f", "json", "-q"]).out
    swept = answered(capsys, ["sweep", *told, "-k", k, "-f", "plain", "-q"]).out
    assert f" {seen.figure('speedup')}" in swept
    rows = json.loads(one)["rows"]
    assert {row["k"] for row in rows} == {0, int(k)}
    plain = answered(capsys, ["best-k", *told, "-k", f"0,{k}", "-f", "markdown", "-q"]).out
    line = next(line for line in plain.splitlines() if line.startswith(f"| {k} |"))
    cells = [cell.strip().rstrip("\\*") for cell in line.strip("| ").split("|")]
    names = ("k", "speedup", "tokens_per_round", "draft_s", "verify_s", "round_s", "tpot_s")
    assert [seen.figure(name) for name in names] == cells[:7]
    assert seen.figure("bound_by") == cells[7]
    assert seen.said == []


def test_the_map_marks_the_place_and_the_link_keeps_it(opened, page_file):
    seen = opened()
    seen.place("batch", 2)
    assert seen.page.locator("#turned .here").count() == 2
    fragment = seen.page.evaluate("location.hash")
    again = opened()
    again.page.goto(page_file.as_uri() + fragment)
    again.page.reload()
    shown = "#shown-batch"
    assert again.page.locator(shown).text_content() == seen.page.locator(shown).text_content()
    seen.page.locator("#reset").click()
    assert seen.page.locator(shown).text_content() == "32"


def test_a_script_that_is_not_its_own_does_not_run(opened):
    seen = opened()
    seen.page.evaluate(
        "() => { const one = document.createElement('script');"
        " one.textContent = 'window.broken = true'; document.body.append(one); }"
    )
    assert seen.page.evaluate("window.broken") is None
    assert any("Content Security Policy" in text for text in seen.said)


def hostile(reported, name):
    """The report, its words and those of its pictures replaced by a name."""
    rule = Rule(name, "x", 2.0)
    bar = Bar(name, (Piece(name, 3.0, name),))
    picture = Picture(
        panels=(
            Plot(
                title=name,
                x_label=name,
                y_label=name,
                curves=(Curve(name, ((1.0, 1.0), (9.0, 3.0))),),
                marks=(Mark("P", name, 2.0, 2.0),),
                rules=(rule, Rule(name, "y", 1.0)),
            ),
            Bars(title=name, label=name, bars=(bar,), rules=(rule,)),
            Cells(
                title=name, x_label=name, y_label=name, label=name, x=(name,), y=(name,),
                values=((1.5,),), texts=((name,),), middle=1.0,
            ),
        )
    )  # fmt: skip
    view = replace(reported.view, title=name, caption=(name,), picture=lambda: picture)
    inner = replace(reported, view=view, parts=(), explorer=None)
    part = Part(name="one", title=name, about=name, answer=inner)
    return replace(reported, view=view, parts=(part,), notes=(name,))


def test_hostile_names_stay_text(opened, written, reported):
    calm = opened(written(hostile(reported, "calm"), "calm"))
    usual = calm.page.evaluate("[...document.querySelectorAll('*')].map((e) => e.tagName)")
    for number, name in enumerate(NAMES):
        seen = opened(written(hostile(reported, name), f"hostile-{number}"))
        assert seen.said == [], name
        assert len(seen.asked) == 1, name
        tags = seen.page.evaluate("[...document.querySelectorAll('*')].map((e) => e.tagName)")
        assert sorted(set(tags)) == sorted(set(usual)), name
        inside = "document.querySelectorAll(':is(h1, h2, td) :not(.whole)').length"
        assert seen.page.evaluate(inside) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_meets_wcag_aa(opened, scheme):
    reason = "axe-playwright-python is not installed: pip install -e '.[browser]'"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason)
    seen = opened(color_scheme=scheme, bypass_csp=True)
    seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    found = axe.Axe().run(seen.page, options={"runOnly": {"type": "tag", "values": tags}})
    problems = [
        (one["id"], node["html"][:200])
        for one in found.response["violations"]
        for node in one["nodes"][:3]
    ]
    assert problems == []


def test_it_does_not_scroll_sideways_on_a_telephone(opened):
    seen = opened(**NARROW)
    seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
    assert seen.said == []


def test_without_scripts_the_verdict_and_all_tables_are_there(opened, reported):
    seen = opened(java_script_enabled=False)
    assert seen.page.locator("h1").is_visible()
    assert not seen.page.locator("#dials").is_visible()
    headings = seen.page.locator("main > section > h2")
    assert headings.count() == len(reported.parts) + 1
    assert seen.page.locator("#part-memory .facts").first.is_visible()
    assert seen.page.locator("#part-best-k > .scroll table").first.is_visible()


def test_without_scripts_every_picture_is_its_figures(opened, reported):
    """As tables, on screens and, closed ones among them, on paper; no link leads nowhere."""
    seen = opened(java_script_enabled=False)
    for part in reported.parts:
        if part.answer.view.picture is None:
            continue
        figure = seen.page.locator(f"figure[data-picture=part-{part.name}]")
        text = figure.text_content()
        for panel in part.answer.view.picture().panels:
            assert panel.title in text
        assert figure.locator("table").count() >= len(part.answer.view.picture().panels)
        assert figure.locator("td").count() > 4
    assert not seen.page.locator("nav a[href='#dials']").is_visible()
    seen.page.emulate_media(media="print")
    shut = seen.page.locator("#part-time details:not([open]) td").first
    assert shut.is_visible()


def test_paper_has_every_section_and_no_controls(opened, reported, tmp_path):
    seen = opened()
    seen.page.emulate_media(media="print")
    assert not seen.page.locator("form.dials").is_visible()
    assert not seen.page.locator("nav").is_visible()
    for part in reported.parts:
        assert seen.page.locator(f"#part-{part.name} h2").is_visible()
    paper = tmp_path / "report.pdf"
    seen.page.pdf(path=paper)
    assert paper.read_bytes().startswith(b"%PDF")


def test_the_button_turns_light_to_dark_and_back(opened):
    seen = opened(color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(colour)
    seen.page.locator("#theme").click()
    assert seen.page.evaluate(colour) != light
    seen.page.locator("#theme").click()
    assert seen.page.evaluate(colour) == light


def test_flags_can_be_copied_or_selected(opened):
    seen = opened()
    button = seen.page.locator("#part-flags .copied button")
    button.click()
    seen.page.wait_for_function(
        "/Copied|Selected/.test(document.querySelector('#part-flags .copied button').textContent)"
    )
    assert len(seen.asked) == 1
