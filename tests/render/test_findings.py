"""Findings for GitHub, JUnit and SARIF."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from specplan import __version__
from specplan.domain.answer import Answer, Basis, Column, View, table_of
from specplan.errors import UsageError


@pytest.fixture
def four(check, finding):
    """One finding of each level, the last without a place."""
    return check(
        finding,
        finding
        | {"level": "warning", "line": 3, "column": 0, "message": "1.02x, within 6%: unsure"},
        finding | {"level": "pass", "message": "holds"},
        finding
        | {"rule": "SC003", "level": "note", "line": None, "column": None, "name": "override"}
        | {"file": "specplan.d/h100.yaml", "message": "h100 hides the packaged card", "help": ""},
    )


def test_github(draw, four):
    assert draw(four, "github") == (
        "::error file=plans/chat.yaml,line=15,col=37,title=SP001::1.12x at batch 64\n"
        "::warning file=plans/chat.yaml,line=3,title=SP001::1.02x, within 6%25: unsure\n"
        "::notice file=specplan.d/h100.yaml,title=SC003::h100 hides the packaged card\n"
    )


def test_github_escapes_properties(draw, check, finding):
    text = draw(check(finding | {"file": "a,b:c%d.yaml"}), "github")
    assert text.startswith("::error file=a%2Cb%3Ac%25d.yaml,line=15,")


def test_junit(draw, four):
    assert (
        draw(four, "junit")
        == """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="specplan check" tests="4" failures="1" errors="0" skipped="1">
  <testsuite name="specplan check" tests="4" failures="1" errors="0" skipped="1">
    <testcase classname="plans/chat.yaml" name="SP001 min_speedup (plans/chat.yaml:15:37)" \
file="plans/chat.yaml" line="15"><failure message="1.12x at batch 64" type="SP001">\
plans/chat.yaml:15:37: 1.12x at batch 64
The speedup is at least this much at every point.</failure></testcase>
    <testcase classname="plans/chat.yaml" name="SP001 min_speedup (plans/chat.yaml:3)" \
file="plans/chat.yaml" line="3"><skipped message="1.02x, within 6%: unsure"/></testcase>
    <testcase classname="plans/chat.yaml" name="SP001 min_speedup (plans/chat.yaml:15:37)" \
file="plans/chat.yaml" line="15"/>
    <testcase classname="specplan.d/h100.yaml" name="SC003 override (specplan.d/h100.yaml)" \
file="specplan.d/h100.yaml"><system-out>specplan.d/h100.yaml: h100 hides the packaged card\
</system-out></testcase>
  </testsuite>
</testsuites>
"""
    )


def test_junit_counts_its_cases(draw, four):
    suite = ET.fromstring(draw(four, "junit"))[0]  # noqa: S314 - our own text
    assert len(suite.findall("testcase")) == int(suite.get("tests"))
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped"))


def test_junit_is_ascii_and_keeps_letters(draw, check, finding):
    text = draw(check(finding | {"message": "mod\u00e8le"}), "junit")
    assert text.isascii()
    assert ET.fromstring(text).find(".//failure").get("message") == "mod\u00e8le"  # noqa: S314


def test_sarif(draw, four):
    read = json.loads(draw(four, "sarif"))
    assert read["version"] == "2.1.0"
    (run,) = read["runs"]
    prints = [result.pop("partialFingerprints") for result in run["results"]]
    assert run == {
        "results": [
            {
                "ruleId": "SP001",
                "level": "error",
                "message": {"text": "1.12x at batch 64"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "plans/chat.yaml"},
                            "region": {"startLine": 15, "startColumn": 37},
                        }
                    }
                ],
            },
            {
                "ruleId": "SP001",
                "level": "warning",
                "message": {"text": "1.02x, within 6%: unsure"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "plans/chat.yaml"},
                            "region": {"startLine": 3},
                        }
                    }
                ],
            },
            {
                "ruleId": "SC003",
                "level": "note",
                "message": {"text": "h100 hides the packaged card"},
                "locations": [
                    {"physicalLocation": {"artifactLocation": {"uri": "specplan.d/h100.yaml"}}}
                ],
            },
        ],
        "columnKind": "unicodeCodePoints",
        "tool": {
            "driver": {
                "name": "specplan",
                "version": __version__,
                "rules": [
                    {
                        "id": "SP001",
                        "shortDescription": {"text": "min_speedup"},
                        "help": {"text": "The speedup is at least this much at every point."},
                    },
                    {
                        "id": "SC003",
                        "shortDescription": {"text": "override"},
                        "help": {"text": "override"},
                    },
                ],
            }
        },
    }
    assert [list(found) for found in prints] == [["primaryLocationLineHash"]] * 3
    assert len({found["primaryLocationLineHash"] for found in prints}) == 3


def fingerprints(text):
    results = json.loads(text)["runs"][0]["results"]
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]


def test_a_fingerprint_outlives_edits_and_new_figures(draw, check, finding):
    moved = finding | {"line": 40, "column": 1, "message": "1.09x at batch 64"}
    assert fingerprints(draw(check(finding), "sarif")) == fingerprints(draw(check(moved), "sarif"))


@pytest.mark.parametrize("change", [{"rule": "SP002"}, {"file": "b.yaml"}, {"name": "max_tpot"}])
def test_a_fingerprint_tells_findings_apart(draw, check, finding, change):
    other = draw(check(finding | change), "sarif")
    assert fingerprints(draw(check(finding), "sarif")) != fingerprints(other)


def test_sarif_quotes_paths(draw, check, finding):
    read = json.loads(draw(check(finding | {"file": "my plans/a#b.yaml"}), "sarif"))
    location = read["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20plans/a%23b.yaml"


@pytest.mark.parametrize("name", ["github", "junit", "sarif"])
def test_without_findings(draw, check, name):
    text = draw(check(), name)
    if name == "github":
        assert text == ""
    elif name == "junit":
        assert ET.fromstring(text).get("tests") == "0"  # noqa: S314
    else:
        assert json.loads(text)["runs"][0]["results"] == []


@pytest.mark.parametrize("name", ["github", "junit", "sarif"])
def test_other_answers_are_refused_before_a_word_is_written(draw, name):
    other = Answer(
        command="sweep",
        value=None,
        table=table_of((Column("k", "", "k", "count"),), [{"k": 1}]),
        view=View(title=""),
        basis=Basis(kind="bound", says=""),
    )
    with pytest.raises(UsageError) as caught:
        draw(other, name)
    assert str(caught.value) == f"format {name} shows findings; it is for check"
