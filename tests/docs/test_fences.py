"""Blocks of the docs that are no console sessions are held to something too."""

from __future__ import annotations

import re

import pytest
import yaml

from making.pages import ROOT
from making.reference import written

PAGES = [ROOT / "README.md", *written()]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w./-]+\.(?:yaml|csv|log))\n")
RUN = {"console", "python", "sh"}
FILES = {"yaml", "csv", "log"}


def fences(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request):
    return request.param


def test_every_block_is_of_a_kind_that_is_held(page):
    assert {language for language, _ in fences(page)} <= RUN | FILES | {"text", ""}


def test_what_is_typed_in_a_shell_is_what_ci_runs(page):
    run = [body for language, body in fences(ROOT / "README.md") if language == "sh"]
    assert [body for language, body in fences(page) if language == "sh" and body not in run] == []


def test_a_file_is_read_by_a_session_below_it(page):
    """So a plan that `specplan check` cannot read, or that nobody reads, is found."""
    blocks = fences(page)
    for place, (language, body) in enumerate(blocks):
        named = NAMED.match(body) if language in FILES else None
        if named:
            below = "".join(text for kind, text in blocks[place + 1 :] if kind == "console")
            commands = "\n".join(re.findall(r"^\$ (.*)$", below, re.MULTILINE))
            stem = named[1].rpartition("/")[2].partition(".")[0]
            assert stem in commands, f"{named[1]} is read by no command below it"


def test_a_piece_of_a_workflow_fits_ours(page):
    inputs = yaml.load((ROOT / "action.yml").read_text(), yaml.CSafeLoader)["inputs"]  # noqa: TID251
    hooks = yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text(), yaml.CSafeLoader)  # noqa: TID251
    for language, body in fences(page):
        if language != "yaml" or NAMED.match(body):
            continue
        for step in yaml.load(body, yaml.CSafeLoader):  # noqa: TID251
            assert set(step.get("with", {})) <= set(inputs)
            known = {hook["id"] for hook in hooks}
            assert {hook["id"] for hook in step.get("hooks", ())} <= known


def test_python_runs(page, capsys):
    for language, body in fences(page):
        if language == "python":
            exec(compile(body, str(page), "exec"), {})  # noqa: S102 - our own page
            assert capsys.readouterr().out
