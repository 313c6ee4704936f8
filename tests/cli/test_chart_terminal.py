"""Pictures on real terminals: 80 and 160 columns, with and without colour and Unicode."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest
from typed import ANSI, answered, on_terminal

from specplan.render.align import columns

PAIR = ("-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100", "-a", "0.8")
HEAD = ("-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm@0.10")
COMMANDS = {
    "explain": ("explain", *HEAD, "-a", "0.7", "-k", "3"),
    "sweep": ("sweep", "-b", "1:256:x4", "-a", "0.5,0.6,0.7,0.8", "-k", "1,2,4,8"),
    "memory": ("memory", *PAIR, "-k", "4"),
    "best-k": ("best-k", *PAIR),
    "gate": ("gate", *PAIR),
    "compare": ("compare", "-t", "llama-3.1-8b", "-g", "h100", "-e", "vllm", "-a", "0.7"),
}
LOOKS = {
    "colour": {"TERM": "xterm-256color"},
    "plain": {"NO_COLOR": "1"},
    "ascii": {"NO_COLOR": "1", "PYTHONIOENCODING": "ascii"},
}


@pytest.mark.parametrize(
    ("name", "wide", "look"),
    [case for case in product(COMMANDS, (80, 160), LOOKS) if case[0] in {"explain", "sweep"}]
    + [(name, 80, "plain") for name in COMMANDS if name not in {"explain", "sweep"}],
)
def test_nothing_wraps_at_the_terminals_edge(tmp_path, name, wide, look):
    shown = on_terminal([*COMMANDS[name], "-f", "chart", "-q"], tmp_path, wide, **LOOKS[look])
    assert ("\x1b[" in shown) == (look == "colour")
    text = ANSI.sub("", shown)
    assert text.isascii() == (look == "ascii")
    lines = text.splitlines()
    assert max(map(columns, lines)) <= wide
    assert lines == [line.rstrip() for line in lines] or look == "colour"
    assert not re.search(r"nan|inf\b", text)
    if wide > 80:
        assert max(map(columns, lines)) > 120  # the room is used


def test_small_multiples_stand_side_by_side_where_there_is_room(tmp_path):
    words = [*COMMANDS["sweep"], "-f", "chart", "-q"]
    narrow, broad = (on_terminal(words, tmp_path, wide, NO_COLOR="1") for wide in (80, 160))
    title = re.compile(r"^acceptance 0\.5.*acceptance 0\.6", re.MULTILINE)
    assert not title.search(narrow)
    assert title.search(broad)
    assert len(broad.splitlines()) < len(narrow.splitlines())


def test_a_pipe_gets_eighty_columns(capsys):
    out = answered(capsys, [*COMMANDS["explain"], "-f", "chart"]).out
    assert 70 < max(map(columns, out.splitlines())) <= 80


def test_a_chart_says_what_it_rests_on(capsys):
    out = " ".join(answered(capsys, [*COMMANDS["memory"], "-f", "chart"]).out.split())
    found = json.loads(answered(capsys, [*COMMANDS["memory"], "-f", "json"]).out)
    assert found["basis"]["says"] in out
    for used in found["inputs"].values():
        if used["sha256"]:
            assert f"{used['value']} ({used['sha256'][:8]})" in out
