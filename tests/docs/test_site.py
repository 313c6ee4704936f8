"""What the docs have that nobody types is what the program says today."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

import specplan
from specplan.catalogue.schema import SCHEMAS, hints_of
from specplan.cli.app import SECTIONS
from specplan.render import FORMATS
from specplan.rules.registry import RULES

from making import commands, ledger, linked, listed, pictures, schemas
from making.contents import CONTENTS
from making.pages import BORROWED, DOCS, ROOT, relinked
from making.reference import pages, written
from making.takes import takes

MATPLOTLIB = importlib.util.find_spec("matplotlib")
SPHINX = [name for name in ("sphinx", "furo", "myst_parser") if not importlib.util.find_spec(name)]


def test_every_command_has_a_page_of_its_help():
    made = commands.pages()
    names = [name for _, section in SECTIONS.values() for name in section]
    assert set(made) == {f"reference/cli/{name}.md" for name in (*names, "index")}
    page = made["reference/cli/best-k.md"]
    done = subprocess.run(
        [sys.executable, "-m", "specplan", "best-k", "--help"],
        env={"COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() in page
    assert "## specplan hardware show" in made["reference/cli/hardware.md"]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_key_of_a_file_is_in_its_page(kind):
    page = schemas.pages()[f"reference/schemas/{kind}.md"]
    for key in hints_of(SCHEMAS[kind]):
        assert f"| `{key}` |" in page
    assert "| anything |" not in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert all(len(row) == 6 for row in rows)
    assert all(row[1].strip() for row in rows)


def test_a_field_is_told_in_words():
    bandwidth = {
        "anyOf": [
            {"type": "number", "minimum": 1.0, "maximum": 10.0},
            {
                "type": "string",
                "pattern": "^(x)(?: *(B/s|kB/s))?$",
                "description": "such as 3 kB/s",
            },
            {"type": "null"},
        ]
    }
    assert takes(bandwidth) == ("quantity, such as `3 kB/s`", "`B/s`, `kB/s`", "1 to 10")
    name = {"pattern": "^[a-z0-9][a-z0-9._-]{0,63}$", "type": "string"}
    either = {"anyOf": [name, {"type": "array", "items": name, "maxItems": 16}]}
    assert takes(either) == ("name in lower case, or a list", "", "up to 16 of them")
    assert takes({"$ref": "#/$defs/Price"}).words == "[Price](#price)"


def test_a_hardware_card_s_page_has_units_bounds_and_meanings():
    page = schemas.pages()["reference/schemas/hardware.md"]
    (row,) = [line for line in page.splitlines() if line.startswith("| `tdp` |")]
    assert row == (
        "| `tdp` | quantity, such as `700 W` | `W`, `kW` | 1 to 100000 |  |"
        " power limit of the reference card |"
    )
    assert "| `year` | whole number |  | 2010 to 2040 |  | year of launch |" in page


def test_lists_are_whole():
    made = listed.pages()
    for rule in RULES.values():
        assert f"### {rule.id}: " in made["reference/rules.md"]
    for name in FORMATS:
        assert f"| `{name}` |" in made["reference/formats.md"]
    for name in specplan.__all__:
        assert f"\n## {name}\n" in made["reference/python.md"]
    assert "| 141 |" in made["reference/formats.md"]


def test_every_page_has_its_place_in_the_contents():
    held = re.findall(r"^[a-z][\w/*-]+$", "".join(CONTENTS.values()), re.MULTILINE)
    patterns = [re.compile(name.replace("*", "[^/]+")) for name in held]
    names = {path.relative_to(DOCS).with_suffix("").as_posix() for path in written()} - {"index"}
    assert [n for n in sorted(names) if not any(p.fullmatch(n) for p in patterns)] == []


def test_links_out_of_the_docs_lead_to_the_site_s_pages():
    text = "[a](../../hardware/README.md#x) [b](../../LICENSE) [c](gate.md)\n```\n[d](../x)\n```\n"
    assert relinked(text, "docs/how-to/gpu.md", "how-to/gpu.md") == (
        "[a](../reference/files/hardware.md#x) b [c](gate.md)\n```\n[d](../x)\n```\n"
    )
    assert set(BORROWED.values()) <= set(pages())


def test_variables_that_are_read_are_written_down():
    told = (DOCS / "environment.md").read_text(encoding="utf-8")
    read = re.compile(r"environ(?:\.get\(|\.pop\(|\[)\s*\"([A-Z_]+)\"")
    names = {
        name
        for path in (ROOT / "specplan").rglob("*.py")
        for name in read.findall(path.read_text(encoding="utf-8"))
    }
    assert {"SPECPLAN_CATALOGUE", "NO_COLOR"} <= names
    assert [n for n in sorted(names - {"MPLBACKEND"}) if f"`{n}`" not in told] == []


def test_the_ledger_is_today_s():
    assert (DOCS / "ledger.md").read_text(encoding="utf-8") == ledger.page(), (
        "python docs/generate.py ledger"
    )


@pytest.mark.skipif(MATPLOTLIB is None, reason="matplotlib is not installed: no picture is drawn")
@pytest.mark.parametrize("name", pictures.NAMES)
def test_a_picture_says_what_its_command_says(name, tmp_path):
    drawn = tmp_path / "fresh.svg"
    pictures.draw(name, drawn)
    kept = pictures.texts(pictures.HOME / f"{name}.svg")
    assert len(kept) > 5
    assert kept == pictures.texts(drawn), f"python docs/generate.py pictures {name}"


def test_every_picture_is_made_and_shown():
    kept = {path.stem for path in pictures.HOME.glob("*")}
    shown = {
        name
        for page in (ROOT / "README.md", *written())
        for name in re.findall(r"!\[[^\]]*\]\([\w./]*pictures/([\w-]+)\.svg\)", page.read_text())
    }
    assert kept == set(pictures.NAMES) == shown


@pytest.mark.skipif(bool(SPHINX), reason=f"not installed: {' '.join(SPHINX)}; .ci/run builds it")
def test_the_site_builds_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", DOCS, tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(linked.broken(tmp_path / "site")) == []
    assert '<a href="report.html">' in (tmp_path / "site" / "index.html").read_text()


def test_links_of_a_site_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="#x"><a href="#y"><a href="b.html"><a href="https://a.b/">'
        '<img src="https://a.b/c.png"><link href="//a.b/c.css"><img src="data:image/png;base64,">'
    )
    assert list(linked.broken(tmp_path)) == [
        "a.html leads to #y",
        "a.html leads to b.html",
        "a.html fetches https://a.b/c.png",
        "a.html fetches //a.b/c.css",
    ]
