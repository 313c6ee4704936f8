"""What a command may load: milliseconds are not asserted, modules are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typed import commands, environment

HEAVY = {
    "numpy",
    "yaml",
    "rich",
    "scipy",
    "platformdirs",
    "specplan.catalogue",
    "specplan.physics",
    "specplan.questions",
    "specplan.render",
    "specplan.rules",
    "specplan.domain",
}
NOT_OURS = {
    *("scipy", "pint", "jsonschema", "hypothesis", "pytest", "importlinter", "mypy", "matplotlib"),
}

PROBE = """
import json, sys
from specplan.cli.run import run
lines = json.load(sys.stdin)
codes = [run(line) for line in lines]
print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(folder: Path, *lines: str, code: int = 0) -> set[str]:
    """The modules of a process that has run the command lines, one after the other.

    A last line on stderr tells; what the lines said there stands before it.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=json.dumps([line.split() for line in lines]),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    codes, modules = json.loads(done.stderr.splitlines()[-1])
    assert codes == [code] * len(lines)
    return set(modules)


def test_help_of_the_program(tmp_path):
    modules = loaded(tmp_path, "--help")
    assert "typer" in modules
    assert not modules & HEAVY


def test_help_of_every_command(tmp_path):
    groups = [f"{group} --help" for group in ("hardware", "models", "curves")]
    modules = loaded(tmp_path, *(f"{name} --help" for name in commands()), *groups)
    assert not modules & HEAVY


def test_the_version_needs_no_typer(tmp_path):
    modules = loaded(tmp_path, "--version", "-V")
    assert not modules & (HEAVY | {"typer", "pydantic"})


def test_a_mistake_is_said_before_anything_is_loaded(tmp_path):
    modules = loaded(tmp_path, "swep", "sweep --alfa 1", "best-k --k-max nan", code=2)
    assert not modules & HEAVY


@pytest.mark.parametrize("line", ["sweep -q", "hardware show h100 -q"])
def test_an_answer_in_a_pipe_loads_only_what_it_needs(tmp_path, line):
    modules = loaded(tmp_path, line)
    assert "yaml" in modules
    assert not modules & (NOT_OURS | {"rich"})


LISTS = (
    "hardware list -q",
    "hardware list -q --vendor nvidia,amd --supports fp8 --min-memory 80GB --sort rate",
    "models list -q",
    "models list -q --kind moe --min-params 8B --min-context 32k",
    "engines list -q",
    "curves list -q",
    "curves list -q --kind eagle3 --task gsm8k,mt-bench --sort tokens",
)


@pytest.mark.parametrize("line", LISTS)
def test_a_list_of_packaged_cards_parses_none(tmp_path, line):
    modules = loaded(tmp_path, line)
    assert not modules & (NOT_OURS | {"rich", "yaml", "numpy", "specplan.catalogue.store"})


def test_a_table_loads_of_rich_what_it_needs(tmp_path):
    modules = loaded(tmp_path, "sweep -q -f table")
    assert "rich.console" in modules
    assert not modules & (NOT_OURS | {"rich.progress", "rich.markdown", "rich.traceback"})
