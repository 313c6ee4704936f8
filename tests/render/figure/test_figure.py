"""A figure as a whole: the page, every text as it is, the same bytes each time."""

from __future__ import annotations

import sys
import warnings
import zlib
from dataclasses import replace

import matplotlib as mpl
import pytest

from specplan.domain.answer import View
from specplan.domain.picture import Bar, Bars, Cells, Curve, Mark, Piece, Plot, Rule
from specplan.errors import Refused, UsageError
from specplan.render import FIGURES
from specplan.render.figure.letters import Letters
from specplan.render.palette import PAPER
from specplan.visible import visible

HOSTILE = [
    "$x^2$ and $\\frac{",
    "\\alpha_{i} 100 % ^ ~ # & {}",
    "<script>alert(1)</script>",
    "]]></text>&amp;",
    '" onload="x\' &lt;',
    "two  spaces,   three",
    "\x1b[31mred\x00\x07",
    "line\nbreak\r\n\u2028",
    "\u202eevil\u202c zero\u200bwidth",
    "half \ud800 pair \uffff",
    "caf\u00e9 \u6a21\u578b \U0001f600",
]
RISING = ((1.0, 1.0), (2.0, 3.0), (4.0, 4.0))


def plot(*names, **more):
    curves = tuple(Curve(n, tuple((x, y + i) for x, y in RISING)) for i, n in enumerate(names))
    return Plot(x_label="batch", y_label="speedup", curves=curves, **more)


def everywhere(text):
    """The text as every name that a picture has."""
    rule = Rule(text, "x", 2.0)
    panel = plot(text, title=text, marks=(Mark("m", text, 2.0, 3.0),), rules=(rule,))
    bars = Bars(title=text, label=text, bars=(Bar(text, (Piece(text, 3.0, text),), text),))
    cells = Cells(
        title=text,
        x_label=text,
        y_label=text,
        label=text,
        x=(text,),
        y=(text,),
        values=((1.5,),),
        texts=((text,),),
        middle=1.0,
    )
    return replace(panel, x_label=text, y_label=text), replace(bars, rules=(rule,)), cells


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_an_svg_has_every_text_as_it_is_spelled(answer, apart, text):
    drawn = apart(answer(*everywhere(text)))
    seen = visible(text)
    assert drawn.texts.count(seen) >= 14
    assert not list(drawn.root.iter("script"))
    assert {element.tag.partition("}")[2] for element in drawn.root.iter()} <= {
        *("svg", "title", "desc", "defs", "style", "g", "path", "use", "text", "clipPath", "rect"),
        *("pattern",),
    }
    assert seen in drawn.parts["figure-desc"].text
    assert drawn.root.get("{http://www.w3.org/XML/1998/namespace}space") == "preserve"


@pytest.mark.parametrize("name", ["png", "pdf"])
def test_other_formats_draw_any_text_and_warn_of_none(answer, take, capfd, name):
    panels = [panel for text in HOSTILE for panel in everywhere(text)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert take(answer(*panels), name)
    assert capfd.readouterr() == ("", "")


def test_what_the_font_lacks_is_escaped_where_no_other_font_can_be_asked():
    text = "caf\u00e9 \u6a21 \U0001f9ff"
    assert Letters(others=False).literal(text) == "caf\u00e9 \\u6a21 \\U0001f9ff"
    assert Letters(others=True).literal(text) == text


def test_lines_hold_all_words_and_are_no_wider_than_told():
    letters = Letters(others=False)
    text = "a name of words and one thatisfartoolongforanylineatallandmustbebroken " * 3
    lines = letters.lines(text, 8.0, 90.0)
    assert all(letters.width(line, 8.0) <= 90.0 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert letters.lines("", 8.0, 90.0) == [""]
    assert letters.width("MM", 20.0) == pytest.approx(2 * letters.width("M", 20.0), rel=0.05)


def test_title_caption_basis_and_footer_stand_on_the_sheet(answer, apart):
    drawn = apart(answer(plot("c")))
    assert drawn.texts[:1] != []
    for text in (
        "Speedup over plain decoding",
        "llama on h100",
        "an upper bound",
        "assumed: tp 1",
    ):
        assert text in drawn.texts
    last = [text for text in drawn.texts if text.startswith("specplan ")]
    assert last[0].endswith("sweep, target llama (01234567)")
    top, foot = drawn.place("Speedup over plain decoding"), drawn.place("assumed: tp 1")
    curve = [y for _, y in drawn.points("panel-0-curve-0")]
    assert top[1] < min(curve) <= max(curve) < foot[1]


def test_what_is_not_drawn_is_said_once_and_inputs_are_named_in_words(answer, apart):
    base = answer(plot("c"), plot("d"))
    picture = replace(base.view.picture(), note="2 of 9 panels")
    inputs = {**base.inputs, "draft_2": next(iter(base.inputs.values()))}
    view = replace(base.view, picture=lambda: picture)
    drawn = apart(replace(base, view=view, inputs=inputs))
    assert drawn.texts.count("2 of 9 panels") == 1
    assert "2 of 9 panels" in drawn.parts["figure-desc"].text
    last = [text for text in drawn.texts if text.startswith("specplan ")]
    assert last[0].endswith(", draft 2 llama (01234567)")


def test_long_words_of_an_answer_are_broken_to_the_width(answer, apart):
    long = "what was assumed of the machine and of the traffic in many words " * 6
    base = answer(plot("c"))
    view = replace(base.view, title=long, caption=(long,))
    found = apart(replace(base, view=view, basis=replace(base.basis, says=long, assumed=(long,))))
    usual = apart(base)
    assert found.size[0] == usual.size[0]
    assert found.size[1] > usual.size[1] + 100


def test_who_cannot_see_it_is_told(answer, apart):
    drawn = apart(answer(plot("alpha 0.8", rules=(Rule("one", "y", 1.0),))))
    assert drawn.root.get("role") == "img"
    assert drawn.root.get("aria-labelledby") == "figure-title figure-desc"
    assert drawn.parts["figure-title"].text == "Speedup over plain decoding"
    assert "speedup over batch; alpha 0.8; one" in drawn.parts["figure-desc"].text


def test_an_svg_stands_alone(answer, take):
    text = take(answer(*everywhere("name")), "svg")
    bare = text.replace("http://www.w3.org/2000/svg", "").replace(
        "http://www.w3.org/1999/xlink", ""
    )
    assert "http" not in bare
    assert "DOCTYPE" not in bare
    assert "<metadata" not in bare
    assert "<image" not in bare


def test_names_of_parts_are_given_once(answer, apart):
    drawn = apart(answer(*everywhere("n"), *everywhere("n")))
    found = [one.get("id") for one in drawn.root.iter() if one.get("id")]
    assert len(found) == len(set(found))
    assert {"panel-0", "panel-5", "panel-3-curve-0", "panel-4-piece-0-0"} <= set(found)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_the_same_answer_gives_the_same_bytes(answer, take, name, monkeypatch):
    panels = everywhere("alpha")
    first = take(answer(*panels), name)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert take(answer(*panels), name) == first


def test_settings_of_whoever_runs_it_change_nothing(answer, take):
    usual = take(answer(plot("c")), "svg")
    others = {
        "font.size": 30,
        "svg.fonttype": "path",
        "lines.linewidth": 9,
        "savefig.bbox": "tight",
    }
    with mpl.rc_context(others):
        assert take(answer(plot("c")), "svg") == usual
        assert mpl.rcParams["font.size"] == 30


def test_a_png_has_its_size_and_no_remarks(answer, take):
    data = take(answer(plot("c")), "png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert 1400 < width < 1600
    assert 500 < height < width
    assert b"tEXt" not in data
    assert b"tIME" not in data


def test_a_pdf_has_one_page_and_no_date(answer, take):
    data = take(answer(plot("c")), "pdf")
    assert data.startswith(b"%PDF-1.")
    assert data.rstrip().endswith(b"%%EOF")
    assert data.count(b"/Type /Page ") == 1
    assert not any(word in data for word in (b"Date", b"Creator", b"Producer"))


def test_a_png_is_drawn_on_paper(answer, take):
    """The first dot, after its row's filter byte, is white."""
    data = take(answer(plot("c")), "png")
    packed, at = b"", 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += 12 + size
    assert zlib.decompress(packed)[1:4] == bytes.fromhex(PAPER[1:])


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_an_answer_without_a_picture_is_refused(answer, take, name):
    plain = replace(answer(plot("c")), view=View(title="t"))
    with pytest.raises(UsageError, match=r"^sweep has no picture"):
        take(plain, name)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_without_matplotlib_it_is_said_what_to_install(answer, take, name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Refused) as caught:
        take(answer(plot("c")), name)
    assert str(caught.value) == (
        "figures are matplotlib's, which is not installed; pip install 'specplan[plot]'"
    )
