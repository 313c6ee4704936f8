"""Every command-line test stands in an empty folder, on a wide enough terminal, alone."""

from __future__ import annotations

import pytest
from typed import OUTSIDE


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """Without the variables, cards and plans of whoever runs the tests."""
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
