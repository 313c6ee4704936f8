"""What the shell is offered, by its own protocol, and what may not be loaded for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
import rich
from typed import ROOT, answered, environment, finished

from specplan.cli import complete
from specplan.domain.drafter import DRAFTERS
from specplan.physics.rule import Bug
from specplan.questions.weigh import Objective

HEAVY = ("numpy", "yaml", "rich", "specplan.physics", "specplan.questions")

# Runs the program as the shell does and says on stderr what it loaded.
PROBE = """
import atexit, json, runpy, sys
def tell():
    print(json.dumps([name for name, module in sys.modules.items() if module]), file=sys.stderr)
atexit.register(tell)
sys.argv = ["specplan"]
runpy.run_module("specplan", run_name="__main__")
"""


def asked(typed: str, shell: str = "bash") -> dict[str, str]:
    """The variables by which a shell asks what may follow `typed`, its last word unfinished."""
    return {
        "_SPECPLAN_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


@pytest.fixture
def offered(capsys, monkeypatch) -> Callable[[str], list[str]]:
    """What bash gets, line by line."""
    monkeypatch.setitem(sys.modules, "rich", rich)  # to be put back: completion shuts it out

    def ask(typed: str) -> list[str]:
        for name, value in asked(typed).items():
            monkeypatch.setenv(name, value)
        said = answered(capsys, [])
        assert (said.code, said.err) == (0, "")
        return said.out.splitlines()

    return ask


def stems(kind: str) -> set[str]:
    return {p.stem for p in (ROOT / kind).glob("*.yaml")}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("specplan sweep -g ", stems("hardware")),
        ("specplan sweep -g h1", {"h100-pcie", "h100-sxm"}),
        ("specplan sweep -g l4,h200", {"l4,h200-sxm"}),
        ("specplan memory --target qwen3-", {s for s in stems("models") if s.startswith("qwen3-")}),
        ("specplan best-k -d ", {"free", "none", "ratio:"} | stems("models")),
        ("specplan hardware show b2", {"b200-sxm"}),
        ("specplan models show gemma-3", {"gemma-3-27b"}),
        ("specplan sweep -f ma", {"markdown"}),
        ("specplan sweep --kv-dtype fp", {"fp32", "fp16", "fp8", "fp4"}),
        ("specplan best-k --objective ", {"latency", "throughput", "cost"}),
        ("specplan best-k -e r", {"roofline"}),
        ("specplan best-k -k ", {"best", "gate"}),
        ("specplan sweep --color ", {"auto", "always", "never"}),
        ("specplan exactness --plant s", {"stale-draft"}),
        ("specplan schema h", {"hardware"}),
        ("specplan ha", {"hardware"}),
        ("specplan hardware s", {"show"}),
        ("specplan sweep --draft-", {"--draft-tp", "--draft-dtype"}),
        ("specplan sweep --k-max x -t gemma-3", {"gemma-3-27b"}),  # mistakes before do not matter
    ],
)
def test_what_is_offered(offered, typed, expected):
    lines = offered(typed)
    assert set(lines) == expected
    assert len(lines) == len(expected)


def test_the_misspelt_option_is_not_offered(offered):
    assert "-tp" not in offered("specplan sweep -t")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("specplan best", "best-k"), ("specplan sweep -d llama-2-7", "llama-2-7b")],
)
def test_nothing_heavy_is_loaded_for_it(tmp_path, shell, typed, expected):
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment(tmp_path, **asked(typed, shell)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert expected in done.stdout
    if expected == "best-k" and shell != "bash":
        assert "by what margin" in done.stdout
    assert not set(HEAVY) & set(json.loads(done.stderr))


def test_cards_of_ones_own(offered, tmp_path):
    card = "schema: hardware/1\nnot: [read, any further"
    (tmp_path / "specplan.d" / "hardware").mkdir(parents=True)
    (tmp_path / "specplan.d" / "hardware" / "mine-1.yaml").write_text(card)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "mine-2.yaml").write_text(card)
    (tmp_path / "more" / "mine-3.yaml").write_text("schema: model/1\n")
    assert offered("specplan sweep -g mine") == ["mine-1"]
    assert offered("specplan sweep --catalogue more -g mine") == ["mine-1", "mine-2"]


def test_a_folder_that_is_none_leaves_the_packaged_cards(offered):
    assert offered("specplan sweep --catalogue nowhere -g h2") == ["h200-sxm"]


def test_a_shell_that_says_nothing_is_told_nothing(tmp_path):
    said = finished([], tmp_path, variables={"_SPECPLAN_COMPLETE": "complete_bash"})
    assert said == (2, "", "")


def test_closed_sets_are_those_of_the_program():
    assert list(complete.OBJECTIVES) == list(Objective)
    assert list(complete.BUGS) == list(Bug)
    assert set(DRAFTERS) == {"free", "none", "ratio"}


def test_the_script_for_the_shell_names_the_program(tmp_path):
    said = finished(
        ["--show-completion", "bash"],
        tmp_path,
        variables={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert (said.code, said.err) == (0, "")
    assert "_SPECPLAN_COMPLETE=complete_bash" in said.out
