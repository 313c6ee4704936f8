"""Names that would do something if a format let them, through every format."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hostile_names import NAMES

from specplan.render import FIGURES, FORMATS
from specplan.render.align import columns
from specplan.render.look import Look
from specplan.visible import HIDDEN, visible

SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(params=NAMES, ids=ascii)
def name(request):
    return request.param


@pytest.fixture(params=[name for name in FORMATS if name not in FIGURES])  # see figure/
def format_name(request):
    return request.param


@pytest.mark.parametrize("unicode", [False, True])
def test_nothing_raw_gets_through(draw, everything, name, format_name, unicode):
    text = draw(everything(name), format_name, Look(unicode=unicode))
    raw = {char for char in text if unicodedata.category(char) in HIDDEN} - {"\n"}
    assert not raw
    text.encode("utf-8")


@pytest.mark.parametrize("format_name", ["plain", "table"])
def test_people_see_the_name_as_it_is_spelled(draw, everything, name, format_name):
    lines = draw(everything(name), format_name, Look(unicode=True)).splitlines()
    assert lines[0].startswith(visible(name))
    assert visible(name) in lines
    harmless = everything("n" * columns(visible(name)))
    assert len(lines) == len(draw(harmless, format_name).splitlines())


def test_a_name_adds_no_colour(draw, everything, name):
    codes = SGR.findall(draw(everything(name), "table", Look(color=True, unicode=True)))
    assert codes == SGR.findall(draw(everything("name"), "table", Look(color=True)))


def test_markdown_keeps_its_cells_and_lines(draw, everything, name):
    text = draw(everything(name), "markdown", Look(unicode=True))
    plain = draw(everything("name"), "markdown")
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)  # what is escaped means nothing
    bare = bare.replace("@&#8203;", "@")  # nor does a mention that is broken in two
    assert bare.count("|") == plain.count("|")
    assert text.count("\n") == plain.count("\n")
    assert not set(bare) & set("<>[]`&$~")


def test_json_and_sarif_read_back(draw, everything, name):
    read = json.loads(draw(everything(name), "json"))
    seen = visible(name)
    assert [row["target"] for row in read["rows"]] == [seen, seen, "other", "other"]
    assert read["answer"] == {"name": seen, seen: 1}
    assert read["inputs"]["target"] == {"value": seen, "from": seen, "sha256": None}
    assert read["notes"] == [seen]
    assert read["basis"]["assumed"] == [seen]
    (run,) = json.loads(draw(everything(name), "sarif"))["runs"]
    assert [result["message"]["text"] for result in run["results"]] == [seen] * 4
    assert run["tool"]["driver"]["rules"] == [
        {"id": seen, "shortDescription": {"text": seen}, "help": {"text": seen}}
    ]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)


def test_csv_reads_back_and_holds_no_formula(draw, everything, name):
    text = draw(everything(name), "csv")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    guard = "'" if name[0] in "=+-@\t\r" else ""
    assert [row["message"] for row in rows] == [guard + visible(name)] * 4
    assert {row["speedup"] for row in rows} == {"-1.5"}
    texts = [row[column] for row in rows for column in ("rule", "file", "name", "help", "target")]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in texts)


def test_junit_reads_back(draw, everything, name):
    root = ET.fromstring(draw(everything(name), "junit"))  # noqa: S314 - our own text
    seen = visible(name)
    cases = root.findall("testsuite/testcase")
    assert [case.get("classname") for case in cases] == [seen] * 4
    assert [case[0].get("message") for case in cases] == [seen] * 4
    assert cases[0][0].text == f"{seen}:15:37: {seen}\n{seen}".rstrip()


def test_github_gets_one_command_a_finding(draw, everything, name):
    lines = draw(everything(name), "github").split("\n")
    assert lines.pop() == ""
    assert len(lines) == 4
    for line in lines:
        command, properties, message = (
            line[2:].split(" ", 1)[0],
            *line.split(" ", 1)[1].split("::", 1),
        )
        assert command == "error"
        assert [part.split("=", 1)[0] for part in properties.split(",")] == [
            *("file", "line", "col", "title"),
        ]
        assert message.replace("%25", "%") == visible(name)
