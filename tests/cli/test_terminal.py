"""What a terminal gets and a pipe does not: colour, rules under headings, a progress bar."""

from __future__ import annotations

import io
import re
import sys

import pytest
from typed import ANSI, answered, terminal

from specplan.cli import exactness, show
from specplan.cli.options import Out
from specplan.cli.run import run
from specplan.cli.show import look


@pytest.mark.parametrize(
    ("variables", "wish", "on_terminal", "in_pipe"),
    [
        ({}, "auto", True, False),
        ({"NO_COLOR": "1"}, "auto", False, False),
        ({"NO_COLOR": ""}, "auto", True, False),
        ({"FORCE_COLOR": "1"}, "auto", True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, "auto", False, False),
        ({"TERM": "dumb"}, "auto", False, False),
        ({"NO_COLOR": "1", "TERM": "dumb"}, "always", True, True),
        ({"FORCE_COLOR": "1"}, "never", False, False),
    ],
)
def test_colour(capsys, monkeypatch, variables, wish, on_terminal, in_pipe):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    words = ["sweep", "--color", wish]
    assert ("\x1b[" in answered(capsys, words).out) == in_pipe
    with terminal() as (screen, shown):
        monkeypatch.setattr(sys, "stdout", screen)
        assert run(words) == 0
        monkeypatch.undo()
    assert ("\x1b[" in shown[0]) == on_terminal
    assert "Speedup over plain decoding" in shown[0]


def test_a_terminal_gets_a_table_and_a_pipe_the_same_without_rules(capsys, monkeypatch):
    plain = answered(capsys, ["sweep"]).out
    with terminal() as (screen, shown):
        monkeypatch.setattr(sys, "stdout", screen)
        assert run(["sweep"]) == 0
        monkeypatch.undo()
    table = ANSI.sub("", shown[0]).splitlines()
    assert [line for line in table if set(line) != {"\u2500"}] == plain.splitlines()
    assert len(table) > len(plain.splitlines())


def test_a_stream_that_cannot_say_it_gets_ascii():
    buffer = io.BytesIO()
    ascii_only = io.TextIOWrapper(buffer, encoding="ascii")
    assert not look(Out(), ascii_only, "table").unicode
    assert look(Out(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), "table").unicode


@pytest.mark.parametrize(("told", "width"), [("120", 120), ("", None), ("wide", None)])
def test_the_width_of_a_chart_may_be_said_where_no_terminal_says_it(monkeypatch, told, width):
    monkeypatch.setenv("COLUMNS", told)
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert look(Out(), pipe, "chart").width == width
    assert look(Out(), pipe, "table").width is None


@pytest.fixture
def long_sweep(monkeypatch) -> list[str]:
    """A sweep of 40 rows that counts as long."""
    monkeypatch.setattr(show, "LONG_ROWS", 40)
    typed = "sweep -t llama-3-8b -d free -g h100 --tp 1 -b 1:8 -c 2k -a 0.8 -k 1:5 -f csv"
    return typed.split()


def shown_while(monkeypatch, words: list[str], *streams: str) -> str:
    """What a terminal shows of a run whose `streams` it is."""
    with terminal() as (screen, shown):
        for name in streams:
            monkeypatch.setattr(sys, name, screen)
        code = run(words)
        monkeypatch.undo()
    assert code == 0
    return shown[0]


def test_a_long_sweep_counts_its_rows_on_a_terminal(monkeypatch, capsys, long_sweep):
    shown = shown_while(monkeypatch, long_sweep, "stderr")
    assert "40/40" in ANSI.sub("", shown)
    assert len(capsys.readouterr().out.splitlines()) == 41


@pytest.mark.parametrize("wish", ["never", "auto"])
def test_the_bar_has_the_colour_that_is_wished(monkeypatch, long_sweep, wish):
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = shown_while(monkeypatch, [*long_sweep, "--color", wish], "stderr")
    assert "40/40" in ANSI.sub("", shown)
    assert bool(re.search(r"\x1b\[[0-9;]*m", shown)) == (wish == "auto")


def test_many_trials_are_counted_on_a_terminal(monkeypatch):
    monkeypatch.setattr(exactness, "LONG_TRIALS", 10_000)
    words = ["exactness", "--trials", "10000"]
    assert "90000/90000" in ANSI.sub("", shown_while(monkeypatch, words, "stderr"))
    assert shown_while(monkeypatch, [*words, "-q"], "stderr") == ""
    monkeypatch.setattr(exactness, "LONG_TRIALS", 10_001)
    assert shown_while(monkeypatch, words, "stderr") == ""


def test_no_bar_when_quiet(monkeypatch, long_sweep):
    assert shown_while(monkeypatch, [*long_sweep, "-q"], "stderr") == ""


def test_no_bar_when_short(monkeypatch, long_sweep):
    monkeypatch.setattr(show, "LONG_ROWS", 41)
    assert shown_while(monkeypatch, long_sweep, "stderr") == ""


def test_no_bar_between_rows_on_the_same_screen(monkeypatch, long_sweep):
    shown = shown_while(monkeypatch, long_sweep, "stdout", "stderr")
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 41


def test_no_bar_in_a_log(capsys, long_sweep):
    assert answered(capsys, long_sweep).err == ""


def test_a_sweep_of_a_hundred_thousand_rows_is_long():
    assert show.LONG_ROWS == 100_000
