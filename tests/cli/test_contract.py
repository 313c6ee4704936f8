"""What scripts build on, for every command: formats, one line on error, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from typed import ANSI, ROOT, answered, commands, terminal

import specplan.questions.sweep
from specplan.cli import show
from specplan.cli.options import Out
from specplan.cli.run import run
from specplan.cli.show import look
from specplan.render import csv_

COMMANDS = commands()
SHOWING = [name for name, c in COMMANDS.items() if any(p.name == "format" for p in c.params)]
ENVELOPE = ["schema", "specplan", "inputs", "basis", "answer", "columns", "rows", "notes"]
PLAN = ("init", "plan.yaml", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8")


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """In a folder with one plan, without variables and cards of one's own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def plan(capsys) -> Path:
    assert answered(capsys, PLAN).code == 0
    return Path("plan.yaml")


def valid(name: str) -> list[str]:
    """The first example on the command's own help page."""
    words = shlex.split(COMMANDS[name].epilog.splitlines()[0])[1:]
    return [*words, "--trials", "20000"] if name == "exactness" else words


def one_line(said) -> str:
    """The only line of an error."""
    assert said.out == ""
    assert said.err.startswith("specplan: ")
    assert said.err.count("\n") == 1
    assert said.err.endswith("\n")
    return said.err.removeprefix("specplan: ").rstrip("\n")


# Formats


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("name", SHOWING)
def test_json_is_one_envelope_and_csv_the_same_table(capsys, name):
    said = answered(capsys, [*valid(name), "-f", "json"])
    assert said.code == 0
    envelope = json.loads(said.out)
    assert list(envelope) == ENVELOPE
    assert envelope["schema"] == f"specplan.{name.replace(' ', '-')}/1"
    assert envelope["specplan"] == specplan.__version__
    assert {"kind", "bands", "source", "assumed", "extrapolated"} <= set(envelope["basis"])
    for given in envelope["inputs"].values():
        assert list(given) == ["value", "from", "sha256"]
    assert envelope["rows"]
    assert all(list(row) == list(envelope["columns"]) for row in envelope["rows"])
    for note in envelope["notes"]:
        assert note in said.err

    rows = list(csv.reader(io.StringIO(answered(capsys, [*valid(name), "-f", "csv"]).out)))
    assert rows[0] == list(envelope["columns"])
    assert len(rows) == 1 + len(envelope["rows"])


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("format_name", ["table", "plain", "markdown"])
@pytest.mark.parametrize("name", SHOWING)
def test_formats_for_people(capsys, name, format_name):
    said = answered(capsys, [*valid(name), "-f", format_name])
    assert said.code == 0
    assert "\x1b" not in said.out
    if name != "check":  # which has no title, and a format of its own when piped
        assert said.out.startswith("### ") == (format_name == "markdown")
        if format_name == "plain":
            assert answered(capsys, valid(name)).out == said.out


@pytest.mark.parametrize("name", [n for n in SHOWING if n != "check"])
@pytest.mark.parametrize("format_name", ["github", "junit", "sarif"])
def test_formats_of_findings_are_for_check(capsys, name, format_name):
    said = one_line(answered(capsys, [*valid(name), "-f", format_name]))
    assert said == f"format {format_name} shows findings; it is for check"


# Mistakes on the command line


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option(capsys, name):
    said = answered(capsys, [*name.split(), "--nonsuch", "1"])
    assert said.code == 2
    assert one_line(said) == f"unknown option '--nonsuch'; specplan {name} --help shows how"


@pytest.mark.parametrize("name", SHOWING)
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("-f", "jsn", "--format: unknown format 'jsn'; did you mean 'json'?"),
        ("--color", "red", "--color: unknown colour 'red'; expected one of always, auto, never"),
        ("-o", "", "--output: '' is no file; - is standard output"),
    ],
)
@pytest.mark.usefixtures("plan")
def test_an_unknown_value(capsys, name, option, value, message):
    said = answered(capsys, [*valid(name), option, value])
    assert (said.code, one_line(said)) == (2, message)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("frobnicate", "unknown command 'frobnicate'; specplan --help lists all"),
        ("swep", "unknown command 'swep'; did you mean 'sweep'?"),
        ("help", "unknown command 'help'; write specplan --help"),
        ("help best-k", "unknown command 'help'; write specplan best-k --help"),
        ("plot sweep", "unknown command 'plot'; write specplan sweep"),
        ("validate plan.yaml", "unknown command 'validate'; write specplan check PLAN"),
        ("hardware lst", "unknown command 'lst'; did you mean 'list'?"),
        ("''", "unknown command ''; specplan --help lists all"),
        ("--color never sweep", "unknown option '--color'; options come after the command"),
        ("sweep --alfa 0.5", "unknown option '--alfa'; did you mean '--alpha'?"),
        ("sweep -z", "unknown option '-z'; specplan sweep --help shows how"),
        ("sweep -g", "option '-g' requires an argument; specplan --help shows how"),
        ("sweep a.yaml b.yaml", "got unexpected extra argument(s) (b.yaml); "),
        ("sweep -tp 4", "-tp 4 has one dash too few; write --tp 4"),
        ("sweep -tp=4", "-tp 4 has one dash too few; write --tp 4"),
        ("sweep -tpythia", "--target: unknown model 'pythia'; "),
        ("sweep -o -tp -f xml", "--format: unknown format 'xml'; "),
        ("sweep h100", "'h100' is no plan file; for hardware write -g h100, for a model -t"),
        ("best-k plan.yaml", "plan.yaml: no such file"),
        ("sweep -g 4xh100", "--hardware: '4xh100' counts GPUs; "),
        ("best-k", "--target: which model is to be sped up?; "),
        ("best-k -t llama-3-8b -d free -g h100", "--acceptance: how likely is a draft token"),
        ("hardware show", "missing argument 'NAME'; specplan hardware show --help shows how"),
        ("hardware show h10", "unknown hardware 'h10'; did you mean 'h100'?"),
        ("sweep -e vllm", "--engine: unknown engine 'vllm'; expected one of roofline"),
        ("sweep --dtype bf15", "--dtype: unknown dtype 'bf15'; did you mean 'bf16'?"),
        ("exactness --plant x", "unknown bug 'x'; expected one of bonus-from-draft, "),
        ("exactness --p 1", "--p and --q go together"),
        ("sweep --catalogue nowhere", "--catalogue: no folder 'nowhere'"),
    ],
)
def test_what_people_mistype(capsys, typed, message):
    said = answered(capsys, shlex.split(typed))
    assert said.code == 2
    line = one_line(said)
    assert line == message or (line.startswith(message) and message.endswith((" ", "token")))


def test_four_gpus_are_said_how_to_be_written(capsys):
    said = answered(capsys, ["sweep", "-g", "4xh100"])
    assert one_line(said).endswith("; write -g h100 --tp 4")


def test_an_escape_sequence_in_an_argument_is_shown_not_sent(capsys):
    said = answered(capsys, ["sweep", "-t", "\x1b]0;owned\x07"])
    assert (said.code, "\\x1b]0;owned\\x07" in one_line(said)) == (2, True)


# Output files


def test_the_suffix_picks_the_format(capsys, tmp_path):
    for name, begins in [("a.json", "{"), ("a.csv", "target,"), ("a.md", "### "), ("a.txt", "Sp")]:
        said = answered(capsys, ["sweep", "-q", "-o", name])
        assert said == (0, "", "")
        assert (tmp_path / name).read_text().startswith(begins)


def test_an_unknown_suffix_needs_a_format(capsys, tmp_path):
    line = one_line(answered(capsys, ["sweep", "-o", "answer.dat"]))
    assert line.startswith("--output: the suffix '.dat' names no format; expected one of .json ")
    assert line.endswith("; or say -f")
    assert answered(capsys, ["sweep", "-q", "-o", "answer.dat", "-f", "csv"]).code == 0
    assert (tmp_path / "answer.dat").is_file()


def test_a_dash_is_standard_output(capsys):
    assert answered(capsys, ["sweep", "-o", "-"]) == answered(capsys, ["sweep"])


def test_a_missing_folder_is_one_line_and_exit_3(capsys):
    said = answered(capsys, ["sweep", "-o", "nowhere/x.csv"])
    assert said.code == 3
    assert one_line(said) == "cannot write nowhere/x.csv: No such file or directory"


def test_an_old_file_survives_a_failure_while_writing(capsys, tmp_path, monkeypatch):
    def fails(_values: object) -> None:
        raise RuntimeError("half way")

    Path("x.csv").write_text("old\n")
    monkeypatch.setattr(csv_, "_column", fails)
    said = answered(capsys, ["sweep", "-o", "x.csv"])
    assert (said.code, one_line(said)) == (
        3,
        "bug: RuntimeError: half way; run again with --debug and report it",
    )
    assert Path("x.csv").read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


def test_an_output_that_is_an_input_is_refused(capsys, plan):
    before = plan.read_bytes()
    said = answered(capsys, ["best-k", "plan.yaml", "-o", "./plan.yaml", "-f", "json"])
    assert (said.code, one_line(said)) == (2, "--output: plan.yaml is an input of this answer")
    assert plan.read_bytes() == before


def test_a_card_is_no_output_either(capsys, tmp_path):
    folder = tmp_path / "my cards (new)"
    folder.mkdir()
    card = folder / "gpu.yaml"
    source = ROOT / "hardware" / "h100-sxm.yaml"
    card.write_text(source.read_text().replace("name: h100-sxm", "name: gpu"))
    link = tmp_path / "link.yaml"
    link.symlink_to(card)
    words = ["sweep", "--catalogue", str(folder), "-g", "gpu", "-f", "csv"]
    for output in (card, link):
        said = answered(capsys, [*words, "-o", str(output)])
        assert said.code == 2
        assert one_line(said) == f"--output: {output} is an input of this answer"
    assert answered(capsys, [*words, "-o", str(folder / "other.yaml")]).code == 0


# Notes and the exit code


def test_quiet_silences_notes_and_nothing_else(capsys):
    words = ["best-k", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8"]
    loud, quiet = answered(capsys, words), answered(capsys, [*words, "-q"])
    assert loud.err == "specplan: by default: tp 1, batch 1, context 2048\n"
    assert quiet == (0, loud.out, "")


def test_the_answer_no_is_exit_1_with_data_on_stdout(capsys):
    words = ["memory", "-t", "llama-3.3-70b", "-d", "free", "-g", "h100", "-f", "json"]
    said = answered(capsys, words)
    assert said.code == 1
    assert json.loads(said.out)["rows"][0]["fits"] is False


# Bugs of ours


@pytest.fixture
def _broken(monkeypatch):
    def fails(_scenario: object) -> None:
        raise RuntimeError("first\nsecond \x1b[31m")

    monkeypatch.setattr(specplan.questions.sweep, "sweep", fails)


@pytest.mark.usefixtures("_broken")
def test_a_bug_is_one_line_and_exit_3(capsys):
    said = answered(capsys, ["sweep"])
    assert said.code == 3
    assert one_line(said) == (
        r"bug: RuntimeError: first\x0asecond \x1b[31m; run again with --debug and report it"
    )


@pytest.mark.usefixtures("_broken")
def test_debug_shows_where_and_keeps_the_exit_code(capsys):
    said = answered(capsys, ["sweep", "--debug"])
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("Traceback (most recent call last):")
    assert "in fails" in said.err


def test_debug_shows_where_a_refusal_came_from(capsys):
    said = answered(capsys, ["sweep", "-g", "nonsuch", "--debug"])
    assert (said.code, said.out) == (2, "")
    assert "Traceback" in said.err
    assert said.err.splitlines()[-1].startswith("specplan: --hardware: unknown hardware 'nonsuch'")


# Colour and terminals


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
    assert not look(Out(), ascii_only).unicode
    assert look(Out(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")).unicode


# Progress


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
