"""A new kind of drafter is one class and one line: a package outside adds one, and it is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typed import ROOT

# As CONTRIBUTING.md shows it: the class says in what it differs, the entry point is the line.
MODULE = '''
from dataclasses import dataclass

from specplan.domain.drafter import Drafter, Draws


@dataclass(frozen=True, slots=True)
class Tarot(Drafter):
    """Draws k cards in one pass that costs a tenth of a step, from a deck of a gibibyte."""

    cards: int

    @property
    def kind(self):
        return "tarot"

    @property
    def ratio(self):
        return 0.1

    @property
    def draws(self):
        return Draws.HEAD

    @property
    def max_k(self):
        return self.cards

    def passes(self, k):
        return min(k, 1)

    def weights_bytes(self, dtype):
        return 2.0**30


def tarot(argument):
    return Tarot(int(argument or 8))
'''


@pytest.fixture
def packaged(tmp_path: Path) -> dict[str, str]:
    """An installed package: its module and its metadata on the path."""
    site = tmp_path / "site"
    info = site / "specplan_tarot-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "specplan_tarot.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: specplan-tarot\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[specplan.drafters]\ntarot = specplan_tarot:tarot\n", encoding="utf-8"
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}


def answered(words: str, environment: dict[str, str], *, code: int = 0) -> dict[str, object]:
    command = [sys.executable, "-m", "specplan", *words.split(), "-q", "-f", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    read: dict[str, object] = json.loads(done.stdout)
    return read


WHERE = "-t llama-3.1-8b -g h100-sxm -e vllm"


def test_it_is_swept(packaged):
    rows = answered(f"sweep {WHERE} -d tarot:5 -a 0.8 -b 1 -k 1:8", packaged)["rows"]
    assert [row["k"] for row in rows] == [1, 2, 3, 4, 5]
    assert {row["draft"] for row in rows} == {"tarot"}
    plain = answered(f"explain {WHERE} -d none -a 0.8", packaged)["rows"]
    gpu_s = sum(row["time_s"] for row in plain if row["pass"] == "plain" and row["term"] != "host")
    assert [row["draft_s"] for row in rows] == pytest.approx([0.1 * gpu_s] * 5)


def test_its_memory_is_counted(packaged):
    (bill,) = answered(f"memory {WHERE} -d tarot", packaged)["answer"]["bills"]
    assert (bill["draft"], bill["draft_weights_bytes"]) == ("tarot", 2**30)


def test_a_plan_names_it(packaged, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema: plan/1\ntarget: llama-3.1-8b\ndraft: tarot\nhardware: h100-sxm\n"
        "workload: {acceptance: 0.8}\nexpect: {at: {draft: tarot}, min_speedup: 1.5}\n",
        encoding="utf-8",
    )
    found = answered(f"check {plan}", packaged)
    assert (found["answer"]["expectations"], found["answer"]["fail"]) == (1, 0)


@pytest.mark.parametrize("engine", ["vllm@0.33", "sglang@0.5.23", "trtllm@1.4", "llamacpp@b11434"])
def test_no_engine_has_words_for_it(packaged, engine):
    """No engine drafts with a deck: emit names it, and what the engine has."""
    command = [sys.executable, "-m", "specplan", "emit", *WHERE.split()[:4], "-e", engine]
    done = subprocess.run(
        [*command, "-d", "tarot:5", "-k", "3"],
        env=packaged,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    name = engine.partition("@")[0]
    assert f"{name} has no drafters of kind tarot; expected one of those it has:" in done.stderr
    assert "eagle3" in done.stderr


def test_without_the_package_it_is_unknown():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "specplan", *f"sweep {WHERE} -d tarot -a 0.8".split()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "unknown model 'tarot'" in done.stderr) == (2, True)
