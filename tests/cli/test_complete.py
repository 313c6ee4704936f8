"""What the shell is offered, by its own protocol, and what may not be loaded for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import get_args

import pytest
import rich
from typed import ROOT, answered, environment, finished

from specplan.cli import complete
from specplan.cli.acceptance import KINDS as ACCEPTANCES
from specplan.domain.curve import WORDS
from specplan.domain.drafters import DRAFTERS
from specplan.domain.heads import WAYS, Kind
from specplan.domain.sampling import KEYS, Order
from specplan.domain.verification import RULES
from specplan.questions import curves_list, hardware_list, models_list
from specplan.questions.exactness import PLANTS
from specplan.questions.kinds import KINDS
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


def stems(kind: str, start: str = "") -> set[str]:
    return {p.stem for p in (ROOT / kind).glob(f"{start}*.yaml")}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("specplan sweep -g ", stems("hardware")),
        ("specplan sweep -g h1", stems("hardware", "h1")),
        ("specplan sweep -g l4,h200", {f"l4,{s}" for s in stems("hardware", "h200")}),
        ("specplan memory --target qwen3-", stems("models", "qwen3-")),
        ("specplan best-k -d ", {*complete.TYPED, *WAYS} | stems("models")),
        ("specplan hardware show b2", stems("hardware", "b2")),
        ("specplan models show gemma-3", stems("models", "gemma-3")),
        ("specplan sweep -f ma", {"markdown"}),
        ("specplan hardware list --vendor nv", {"nvidia"}),
        ("specplan hardware list --vendor amd,nv", {"amd,nvidia"}),
        ("specplan hardware list --supports fp8,fp", {f"fp8,fp{bits}" for bits in (32, 16, 8, 4)}),
        ("specplan hardware list --status a", {"available", "announced"}),
        ("specplan hardware list --sort r", {"rate", "ridge"}),
        ("specplan models list --kind m", {"moe", "mla", "mtp", "medusa", "mlp-speculator"}),
        ("specplan models list --family minimax-m2", {"minimax-m2"}),
        ("specplan models list --sort k", {"kv"}),
        ("specplan models list --for gemma-3-27", stems("models", "gemma-3-27")),
        ("specplan sweep -a b", {"burst:"}),
        (
            "specplan sweep -a mtp-q",
            {
                *(f"mtp-qwen3.5-397b-a17b/coding-{mode}" for mode in ("thinking", "no-thinking")),
                *(f"mtp-qwen3.8-27b/chat-{mode}" for mode in ("sampled", "greedy")),
            },
        ),
        ("specplan curves show mtp-", stems("curves", "mtp-")),
        ("specplan curves list --kind m", {"model", "mtp", "medusa", "mlp-speculator"}),
        ("specplan curves list --task math500,gs", {"math500,gsm8k"}),
        ("specplan curves list --sort t", {"task", "target", "tokens"}),
        ("specplan curves list --for glm-5.2-", {"glm-5.2-fp8"}),
        ("specplan sweep --kv-dtype fp", {"fp32", "fp16", "fp8", "fp4"}),
        ("specplan best-k --objective ", {"latency", "throughput", "cost"}),
        ("specplan best-tree --shape e", {"eagle:"}),
        ("specplan best-k -e r", stems("engines", "r")),
        ("specplan compare -g al", {"all"}),
        ("specplan capacity --trace azure", {"azure-conv-2023", "azure-code-2023"}),
        (
            "specplan simulate --slo mlperf-llama3.1-8",
            {"mlperf-llama3.1-8b-server", "mlperf-llama3.1-8b-interactive"},
        ),
        ("specplan compare -d al", {"all"}),
        ("specplan compare --sort t", {"tpot", "throughput", "tokens"}),
        ("specplan best-k -k ", {"best", "gate"}),
        ("specplan sweep --color ", {"auto", "always", "never"}),
        ("specplan exactness --plant s", {"stale-draft", "stale-penalties"}),
        ("specplan exactness --verify t", {"token", "typical:", "threshold:"}),
        (
            "specplan exactness --sampling top-k=5,t",
            {f"top-k=5,{key}=" for key in ("temperature", "top-k", "top-p")},
        ),
        ("specplan schema h", {"hardware"}),
        ("specplan ha", {"hardware"}),
        ("specplan hardware s", {"show"}),
        ("specplan sweep --draft-", {"--draft-tp", "--draft-dtype"}),
        (
            "specplan sweep --k-max x -t gemma-3",
            stems("models", "gemma-3"),
        ),  # mistakes before do not matter
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
    [
        ("specplan best-k", "best-k"),
        ("specplan sweep -d llama-2-7", "llama-2-7b"),
        ("specplan hardware list --vendor goog", "google"),
        ("specplan curves list --task instr", "instructcoder"),
    ],
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
    assert set(offered("specplan sweep --catalogue nowhere -g h2")) == stems("hardware", "h2")


def test_a_shell_that_says_nothing_is_told_nothing(tmp_path):
    said = finished([], tmp_path, variables={"_SPECPLAN_COMPLETE": "complete_bash"})
    assert said == (2, "", "")


def test_closed_sets_are_those_of_the_program():
    assert list(complete.OBJECTIVES) == list(Objective)
    assert tuple(complete.BUGS) == PLANTS
    assert [word.rstrip(":") for word in complete.RULES] == list(RULES)
    assert {word.rstrip("=") for word in complete.SETTINGS if "=" in word} == set(KEYS)
    assert complete.settings("top-k=5,order=") == [f"top-k=5,order={name}" for name in Order]
    assert complete.STATUSES == hardware_list.STATUSES
    assert list(complete.HARDWARE_SORTS) == list(hardware_list.SORTS)
    assert list(complete.MODEL_SORTS) == list(models_list.SORTS)
    assert list(complete.CURVE_SORTS) == list(curves_list.SORTS)
    assert complete.CURVE_KINDS == WORDS
    assert list(complete.KINDS) == list(KINDS)
    assert complete.WAYS == WAYS
    assert set(KINDS) >= {*get_args(Kind)} - {"model"}
    assert {word.partition(":")[0] for word in complete.TYPED} == set(DRAFTERS)
    assert list(complete.ACCEPTANCES) == list(ACCEPTANCES)


def test_the_script_for_the_shell_names_the_program(tmp_path):
    said = finished(
        ["--show-completion", "bash"],
        tmp_path,
        variables={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert (said.code, said.err) == (0, "")
    assert "_SPECPLAN_COMPLETE=complete_bash" in said.out
