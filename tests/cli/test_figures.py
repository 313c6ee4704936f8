"""Figures from the command line: to a file or a pipe, whoever's machine it is."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typed import answered, environment, finished, one_line, terminal

from specplan.render import figure

PAIR = ("-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100")
EXPLAIN = ("explain", *PAIR, "-b", "16", "-a", "0.8", "-k", "4", "-q")
MAGIC = {"svg": b"<svg ", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("name", MAGIC)
def test_the_suffix_picks_the_format(capsys, tmp_path, name):
    assert answered(capsys, [*EXPLAIN, "-o", f"x.{name}"]) == (0, "", "")
    assert (tmp_path / f"x.{name}").read_bytes().startswith(MAGIC[name])
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{name}"]


def test_texts_of_the_command_line_are_texts_of_the_figure(capsys):
    said = answered(capsys, [*EXPLAIN, "-f", "svg"])
    texts = [one.text for one in ET.fromstring(said.out).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    for text in ("plain step", "verification", "FLOP/s", "h100-sxm bf16"):
        assert text in texts


def test_a_pipe_gets_the_bytes_of_the_file(tmp_path):
    command = [sys.executable, "-m", "specplan", *EXPLAIN]
    options = {"cwd": tmp_path, "env": environment(tmp_path)}
    piped = subprocess.run([*command, "-f", "png"], check=True, capture_output=True, **options)
    subprocess.run([*command, "-o", "x.png"], check=True, **options)
    assert piped.stderr == b""
    assert piped.stdout == (tmp_path / "x.png").read_bytes()
    assert piped.stdout.startswith(MAGIC["png"])


@pytest.mark.parametrize("name", ["png", "pdf"])
def test_a_terminal_gets_no_bytes(capsys, monkeypatch, name):
    with terminal() as (stream, written):
        monkeypatch.setattr(sys, "stdout", stream)
        code = answered(capsys, [*EXPLAIN, "-f", name])
        monkeypatch.undo()
    assert code.code == 2
    assert code.err == f"specplan: a {name} is no text: write it with -o x.{name}\n"
    assert "".join(written) == ""


@pytest.mark.parametrize(
    ("words", "option"), [(["-o", "x.svg"], "--output"), (["-f", "png", "-o", "x.png"], "--format")]
)
def test_a_command_without_a_picture_writes_nothing(capsys, tmp_path, words, option):
    line = one_line(answered(capsys, ["hardware", "list", *words]))
    assert line.startswith(f"{option}: hardware-list has no picture")
    assert not list(tmp_path.iterdir())


def test_an_old_figure_survives_a_failure_while_drawing(capsys, tmp_path, monkeypatch):
    def fails(*_all: object, **_more: object) -> None:
        raise RuntimeError("half way")

    Path("x.png").write_bytes(b"old")
    monkeypatch.setattr(figure, "_file", fails)
    assert answered(capsys, [*EXPLAIN, "-o", "x.png"]).code == 3
    assert Path("x.png").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


def test_without_matplotlib_one_line_says_what_to_install(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = answered(capsys, [*EXPLAIN, "-o", "x.pdf"])
    assert said.code == 2
    assert one_line(said) == (
        "--output: figures are matplotlib's, which is not installed; pip install 'specplan[plot]'"
    )
    assert not list(tmp_path.iterdir())


SETTINGS = "font.size: 30\ntext.usetex: True\nsvg.fonttype: path\nnonsense: 3\nlines.linewidth: x\n"


def test_settings_and_folders_of_a_machine_change_nothing_and_nothing_is_said(tmp_path):
    """A home that cannot be written, a backend that does not exist, settings that are wrong."""
    words = [*EXPLAIN, "-f", "svg"]
    usual = finished(words, tmp_path)
    assert (usual.code, usual.err) == (0, "")
    (tmp_path / "matplotlibrc").write_text(SETTINGS)
    file = tmp_path / "file"
    file.touch()
    variables = {"HOME": "/nonexistent", "MPLBACKEND": "none", "MPLCONFIGDIR": str(file)}
    assert finished(words, tmp_path, variables=variables) == usual


def test_settings_that_cannot_be_read_are_one_line(tmp_path):
    (tmp_path / "matplotlibrc").write_bytes(b"\xff\xfe")
    said = finished([*EXPLAIN, "-f", "svg"], tmp_path)
    assert said.code == 2
    assert one_line(said).startswith("--format: matplotlib does not load: ")


def test_another_answer_loads_no_matplotlib(tmp_path):
    code = (
        "import sys; from specplan.cli.run import run; run(sys.argv[1:]); "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *EXPLAIN, "-f", "plain"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("False\n")
