"""Every console block of the README and docs prints what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from specplan.cli.app import SECTIONS

from making.reference import written

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *written(),
    ROOT / "hardware" / "README.md",
    ROOT / "models" / "README.md",
]

_spec = importlib.util.spec_from_file_location("blocks", ROOT / ".ci" / "blocks.py")
blocks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(blocks)

SESSIONS = [
    pytest.param(files, block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, (files, block) in enumerate(blocks.sessions(page.read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize(("files", "session"), SESSIONS)
def test_a_session_prints_what_it_says(files, session, tmp_path):
    blocks.lay_out(files, tmp_path)
    for command in blocks.commands(session):
        done = blocks.run(command.line, tmp_path)
        assert done.code == done.announced, f"$ {command.line}\n{done.stderr}"
        assert blocks.matches(command, done.printed), f"$ {command.line}\n{done.printed}"


def test_a_page_that_lies_is_caught(tmp_path):
    (command,) = blocks.commands("$ echo 1.37x\n1.38x\n")
    assert not blocks.matches(command, blocks.run(command.line, tmp_path).printed)


def test_the_pages_show_every_command():
    pages = (page.read_text(encoding="utf-8") for page in PAGES)
    shown = "".join(body for text in pages for body in blocks.blocks(text, "console"))
    names = [name for _, section in SECTIONS.values() for name in section]
    assert [name for name in names if f"specplan {name} " not in f"{shown} "] == []


def test_the_python_of_the_readme_runs(capsys):
    (code,) = blocks.blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python")
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out.split()
    assert printed == ["1", "4", "2.02", "16", "4", "1.94"]
