"""Threads of linear algebra: one, unless somebody said another number, and before numpy loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import specplan
from specplan.cli.threads import one_thread

NAME = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, "1"),
        ({NAME: "3"}, "3"),
        ({"OMP_NUM_THREADS": "4"}, "4"),
        ({"OMP_NUM_THREADS": "4", NAME: "2"}, "2"),
    ],
)
def test_one_unless_said(monkeypatch, said, found):
    for name in (NAME, "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    one_thread()
    assert os.environ[NAME] == found


@pytest.mark.parametrize("command", ["capacity", "check", "gate", "init"])
def test_it_is_settled_before_numpy_loads(command):
    code = f"""
import sys
import specplan.cli.threads as threads
def settled():
    print("numpy" in sys.modules)
    raise SystemExit(0)
threads.one_thread = settled
from specplan.cli.run import run
run(["{command}", "plan.yaml"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path(specplan.__file__).parents[1])},
    )
    assert done.stdout.strip() == "False", done.stderr
