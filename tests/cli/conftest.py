"""Every command-line test stands in an empty folder, on a wide enough terminal, alone."""

from __future__ import annotations

import pytest
from abacus import Abacus
from typed import OUTSIDE

from specplan.importers.probe import choose


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """Without the variables, cards and plans of whoever runs the tests."""
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _abacus(monkeypatch):
    """What is probed is a machine that always takes as long."""
    monkeypatch.setattr(choose, "bench_of", lambda _device: Abacus())
