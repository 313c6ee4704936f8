"""What scripts build on, for every command: formats, one line on error, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import foreign
import pytest
from typed import answered, commands, one_line

import specplan.questions.sweep

COMMANDS = commands()
SHOWING = [name for name, c in COMMANDS.items() if any(p.name == "format" for p in c.params)]
# These print a card, or an engine's flags, where no format was asked for
MAKING = ("hardware probe", "models import", "emit")
ENVELOPE = ["schema", "specplan", "inputs", "basis", "answer", "columns", "rows", "notes"]
PLAN = ("init", "plan.yaml", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8")


@pytest.fixture
def plan(capsys) -> Path:
    assert answered(capsys, PLAN).code == 0
    return Path("plan.yaml")


def valid(name: str) -> list[str]:
    """The first example on the command's own help page."""
    foreign.examples()
    words = shlex.split(COMMANDS[name].epilog.splitlines()[0])[1:]
    return [*words, "--trials", "20000"] if name == "exactness" else words


# Formats


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("name", SHOWING)
def test_json_is_one_envelope_and_csv_the_same_table(capsys, name):
    said = answered(capsys, [*valid(name), "-f", "json"])
    assert said.code == 0
    envelope = json.loads(said.out)
    assert [key for key in envelope if key != "parts"] == ENVELOPE
    assert ("parts" in envelope) == (name == "report")
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
        if format_name == "plain" and name not in MAKING:
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
        ("sweep -e vlm", "--engine: unknown engine 'vlm'; did you mean 'vllm'?"),
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
    def fails(_scenario: object, **_: object) -> None:
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


# Axes


def test_lists_ranges_and_repeated_options_are_one_axis(capsys):
    spellings = [
        ["-g", "h100,l40s", "-b", "1,2,4"],
        ["-g", "h100", "-g", "l40s", "-b", "1:2", "-b", "4"],
        ["--hardware=h100", "--hardware=l40s", "--batch=1:4:x2"],
        ["-gh100,h100,l40s", "-b1,1,2,4"],
    ]
    printed = {answered(capsys, ["sweep", "-f", "csv", *words]).out for words in spellings}
    assert len(printed) == 1
    rows = list(csv.DictReader(io.StringIO(printed.pop())))
    assert list(dict.fromkeys(row["hardware"] for row in rows)) == ["h100-sxm", "l40s"]
    assert list(dict.fromkeys(row["batch"] for row in rows)) == ["1", "2", "4"]


@pytest.mark.parametrize(
    "words",
    ["-g h100,h100-sxm", "-t llama-3-8b,Meta-Llama-3-8B", "-d ratio:0.1,ratio:0.10,ratio:.1"],
)
def test_a_card_named_twice_is_one(capsys, words):
    said = answered(
        capsys, ["sweep", "-b", "1", "-a", "0.8", "-k", "1", "-f", "csv", *words.split()]
    )
    assert (said.code, len(said.out.splitlines())) == (0, 2)


def test_flags_override_the_plan(capsys, plan):
    said = answered(capsys, ["best-k", str(plan), "-b", "16", "-f", "json"])
    envelope = json.loads(said.out)
    assert envelope["inputs"]["batch"] == {"value": "16", "from": "flag", "sha256": None}
    assert envelope["inputs"]["acceptance"]["from"] == "plan.yaml"
