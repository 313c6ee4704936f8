"""The HTML page without a browser: escaped, balanced, self-contained, under its own policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from hostile_names import NAMES

from specplan.domain.answer import Answer, Facts, Part
from specplan.domain.explorer import Dial, Explorer, Reading
from specplan.errors import UsageError
from specplan.render.html.colours import DARK
from specplan.render.palette import INK, PAPER, SERIES, SERIES_ON_DARK, contrast
from specplan.visible import visible

VOID = {"meta", "input", "br", "link", "img"}
QUIET = {"script", "style", "noscript"}


class Tree(HTMLParser):
    """Tags as they open and close, ids, and text by the tag around it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)


def explorer(text: str) -> Explorer:
    dials = tuple(Dial(name, text, ("1", "2"), 1) for name in ("context", "batch", "alpha"))
    k = Dial("k", text, ("best", "0"), 0)
    best = Reading("best_k", text, "", ("context", "batch", "alpha"), (0.0,) * 8, ("0",) * 8)
    return Explorer((*dials, k), (best, Reading("x", text, text, ("k",), (None, 1.0), ("", text))))


@pytest.fixture
def whole(everything):
    """An answer with parts and dials that says a text wherever one can."""

    def made(text: str) -> Answer:
        inner = everything(text)
        part = Part(name="one", title=text, about=text, answer=replace(inner, command="sweep"))
        return replace(inner, parts=(part,), explorer=explorer(text))

    return made


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_stay_text(draw, whole, name):
    page = draw(whole(name), "html")
    plain = Tree(draw(whole("plain"), "html"))
    tree = Tree(page)
    assert tree.open == []
    assert tree.tags == plain.tags
    assert [n for n, _ in tree.attributes] == [n for n, _ in plain.attributes]
    assert visible(name).strip() in "".join(tree.text["h1"])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", page)


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "<!--<script>", "a\u2028b"])
def test_data_do_not_end_their_element(draw, whole, name):
    page = draw(whole(name), "html")
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    (text,) = found
    assert "<" not in text
    assert json.loads(text)["explorer"]["dials"][0]["title"] == visible(name)


def test_the_policy_admits_this_script_and_style_alone(draw, whole):
    page = draw(whole("name"), "html")
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_nothing_is_fetched_and_nothing_is_inline(draw, whole):
    tree = Tree(draw(whole("name"), "html"))
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(tree.tags)
    for name, value in tree.attributes:
        assert not name.startswith("on")
        assert name not in {"src", "style", "srcset", "action"}
        assert name != "href" or value.startswith("#")


def test_ids_are_unique_and_links_lead_to_them(draw, whole):
    tree = Tree(draw(whole("name"), "html"))
    assert len(set(tree.ids)) == len(tree.ids)
    links = [value[1:] for name, value in tree.attributes if name == "href"]
    assert set(links) <= set(tree.ids)
    labelled = [value for name, value in tree.attributes if name in {"for", "aria-labelledby"}]
    assert set(labelled) <= set(tree.ids)


def test_a_fact_without_a_label_goes_on_with_the_one_before(draw, everything):
    """One term with two descriptions, not a second term of nothing."""
    answer = everything("name")
    facts = Facts((("memory", "drafter"), ("", "sequences"), ("binds", "verification")))
    page = draw(replace(answer, view=replace(answer.view, sections=(facts,))), "html")
    assert re.findall(r"<dl class=\"facts\">(.*?)</dl>", page) == [
        "<div><dt>memory</dt><dd>drafter</dd><dd>sequences</dd></div>"
        "<div><dt>binds</dt><dd>verification</dd></div>"
    ]


def test_without_jinja2_it_says_what_to_install(draw, whole, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError) as caught:
        draw(whole("name"), "html")
    assert str(caught.value) == (
        "--format: HTML pages are made by jinja2, which is not installed; "
        "pip install 'specplan[report]'"
    )


def test_what_stands_on_the_page_reads_on_it():
    """Text 4.5 to 1, lines 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    assert contrast(INK, PAPER) >= 4.5
    assert contrast("#e8eaed", DARK) >= 4.5
    for colour in SERIES:
        assert contrast(colour, PAPER) >= 3
    for colour in SERIES_ON_DARK:
        assert contrast(colour, DARK) >= 3
