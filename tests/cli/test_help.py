"""Help pages: plain text, at most 80 columns, every option, examples that run."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import foreign
import pytest
from typed import ROOT, answered, commands

from specplan.cli.app import SECTIONS
from specplan.cli.run import TRY

COMMANDS = commands()
PLAN = ("init", "plans/plan.yaml", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8")


def page(capsys, words: str) -> str:
    said = answered(capsys, words.split())
    assert (said.code, said.err) == (0, "")
    return said.out


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_page_tells_every_option_and_ends_with_examples(capsys, typed):
    text = page(capsys, f"{typed} --help")
    assert page(capsys, f"{typed} -h") == text
    assert text.startswith(f"Usage: specplan {typed} [OPTIONS]")
    for parameter in COMMANDS[typed].params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            for spelling in parameter.opts:
                assert spelling in text.replace(",", " ").split()
            assert parameter.is_flag or parameter.metavar, f"{parameter.name} has no metavar"
    assert "\x1b" not in text
    assert "<" not in text  # typer's own <list[str]>
    assert max(map(len, text.splitlines())) <= 80
    *_, examples = text.partition("\nExamples:\n")
    assert 1 <= len(examples.splitlines()) <= 4
    assert all(line.startswith(f"  specplan {typed}") for line in examples.splitlines())


def test_the_programs_page_lists_sections_in_order_then_options(capsys):
    text = page(capsys, "--help")
    places = [text.index(f"\n{title}:\n") for title in ("Decide", "Guard and share", "Trust")]
    places += [text.index(f"\n{title}:\n") for title in ("Catalogue", "Options")]
    assert places == sorted(places)
    listed = [line.split()[0] for line in text[: places[-1]].splitlines() if line[:2] == "  "]
    assert listed[1:] == [name for _, names in SECTIONS.values() for name in names]
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    for spelling in ("-V, --version", "--show-completion", "-h, --help", "141 closed pipe"):
        assert spelling in text


@pytest.mark.parametrize("group", ["hardware", "models", "curves"])
def test_a_groups_page(capsys, group):
    text = page(capsys, f"{group} -h")
    assert page(capsys, f"{group} --help") == text
    assert text.startswith(f"Usage: specplan {group} [OPTIONS] COMMAND")
    places = [text.index(f"\n  {word}") for word in ("list", "show", "-h, --help")]
    assert places == sorted(places)


def test_without_arguments_five_lines_to_try_and_exit_2(capsys):
    said = answered(capsys, [])
    assert said == (2, TRY, "")
    tried = [line for line in TRY.splitlines() if line.startswith("  ")]
    assert len(tried) == 5
    assert max(map(len, TRY.splitlines())) <= 80


def test_what_it_says_to_try_runs(capsys, tmp_path):
    for line in TRY.splitlines():
        if line.startswith("  specplan"):
            words = shlex.split(line.partition("     ")[0])
            said = answered(capsys, words[1:])
            assert said.code == 0, said.err
    assert (tmp_path / "plan.yaml").is_file()


EXAMPLES = [
    pytest.param(line, id=line)
    for command in COMMANDS.values()
    for line in (command.epilog or "").splitlines()
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_runs(capsys, line):
    Path("plans").mkdir()
    shutil.copy(ROOT / "measurements/steps.csv", "measured.csv")
    assert answered(capsys, PLAN).code == 0
    foreign.examples()
    words, _, file = line.partition(" > ")
    said = answered(capsys, shlex.split(words)[1:])
    no = "--plant" in line or "--strict" in line  # a bug to be found; a bound proves nothing
    assert said.code == (1 if no else 0), said.err
    if file:
        Path(file).write_text(said.out)
        assert answered(capsys, ["check", file]).code == 0
