"""Closed pipes, full disks, Ctrl-C and narrow encodings, each in a process of its own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from typed import answered, finished, started

LONG = ["sweep", "-b", "1:20000", "-k", "1:2", "-a", "0.5,0.8"]
ENDLESS = ["sweep", "-b", "1:100000", "-k", "1:10", "-a", "0.5:0.95:0.05"]
BEST = ["best-k", "-t", "llama-3-8b", "-d", "free", "-g", "h100", "-a", "0.8"]
PRINTING = {
    "nothing": [],
    "version": ["--version"],
    "help": ["--help"],
    "page": ["memory", "--help"],
    "schema": ["schema", "plan"],
    "plain": ["hardware", "list"],
    "json": [*BEST, "-f", "json"],
    "long csv": [*LONG, "-f", "csv"],
}


@pytest.mark.parametrize("words", PRINTING.values(), ids=list(PRINTING))
def test_a_closed_pipe_is_silent_and_141(tmp_path, words):
    reader, writer = os.pipe()
    os.close(reader)
    said = finished(words, tmp_path, stdout=writer)
    os.close(writer)
    assert said == (141, "", "")


def test_a_pipe_closed_after_the_first_line(tmp_path):
    with started([*LONG, "-f", "csv"], tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("target,draft,")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


UNKNOWN = ["sweep", "-t", "zzzzzz"]


@pytest.mark.parametrize(("words", "code"), [(BEST, 0), (UNKNOWN, 2), ([*UNKNOWN, "--debug"], 2)])
def test_a_stderr_that_nobody_reads_does_not_change_the_answer(tmp_path, words, code):
    whole = finished(words, tmp_path).out
    reader, writer = os.pipe()
    os.close(reader)
    closed = finished(words, tmp_path, stderr=writer)
    os.close(writer)
    with Path("/dev/full").open("w") as full:
        said = finished(words, tmp_path, stderr=full)
    assert closed == said == (code, whole, "")


@pytest.mark.parametrize("words", PRINTING.values(), ids=list(PRINTING))
def test_a_full_disk_is_one_line_and_3(tmp_path, words):
    with Path("/dev/full").open("w") as full:
        said = finished(words, tmp_path, stdout=full)
    assert said.code == 3
    assert said.err == "specplan: cannot write to standard output: No space left on device\n"


def test_a_stdout_that_is_closed_is_one_line_and_3(tmp_path):
    said = finished(["--version"], tmp_path, stdout=None, close_fds=True, preexec_fn=close_stdout)
    assert said == (3, "", "specplan: cannot write to standard output: it is closed\n")


def close_stdout() -> None:
    os.close(1)


def interrupted(
    words: list[str], folder: Path, begun, number: int = signal.SIGINT, **options
) -> tuple[int, str]:
    """Exit code and stderr of a run that gets Ctrl-C, or another signal, once `begun()` is true."""
    # A child begins with what its parent ignores: a job in the background SIGINT, nohup SIGHUP.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with started(words, folder, **options) as process:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGHUP, hung_up)
        while not begun() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def test_ctrl_c_is_130_and_leaves_no_file(tmp_path):
    folder = tmp_path / "answers"
    folder.mkdir()
    words = [*ENDLESS, "-o", str(folder / "x.csv")]
    code, err = interrupted(words, tmp_path, lambda: any(folder.iterdir()))
    assert (code, err) == (130, "")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_it_leaves_no_file(tmp_path, number):
    folder = tmp_path / "answers"
    folder.mkdir()
    words = [*ENDLESS, "-o", str(folder / "x.csv")]
    code, err = interrupted(words, tmp_path, lambda: any(folder.iterdir()), number)
    assert (code, err) == (-number, "")
    assert list(folder.iterdir()) == []


def test_ctrl_c_leaves_an_old_file_as_it_was(tmp_path):
    folder = tmp_path / "answers"
    folder.mkdir()
    old = folder / "x.json"
    old.write_text("old\n")
    words = [*ENDLESS, "-o", str(old)]
    code, err = interrupted(words, tmp_path, lambda: len(list(folder.iterdir())) > 1)
    assert (code, err) == (130, "")
    assert [p.name for p in folder.iterdir()] == ["x.json"]
    assert old.read_text() == "old\n"


def test_ctrl_c_while_rows_go_to_a_stream(tmp_path):
    rows = tmp_path / "rows.csv"
    with rows.open("w") as stream:
        words = [*ENDLESS, "-f", "csv"]
        code, err = interrupted(words, tmp_path, lambda: rows.stat().st_size, stdout=stream)
    assert (code, err) == (130, "")


def test_a_narrow_encoding_gets_the_same_in_ascii(capsys, tmp_path):
    words = ["sweep", "-f", "table"]
    narrow = finished(words, tmp_path, variables={"PYTHONIOENCODING": "ascii"})
    wide = answered(capsys, words).out
    assert (narrow.code, narrow.err) == (0, "")
    assert narrow.out.isascii()
    assert narrow.out == wide.replace("\u2500", "-")


def test_a_narrow_stderr_shows_what_it_cannot_print(tmp_path):
    said = finished(["sweep", "-t", "müll"], tmp_path, variables={"PYTHONIOENCODING": "ascii"})
    assert said.code == 2
    assert said.err.startswith(r"specplan: --target: unknown model 'm\xfcll'")


def test_a_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    said = finished(["sweep", "-q"], tmp_path, preexec_fn=lambda: leave(gone))
    assert (said.code, said.err) == (0, "")


GONE = [
    (["check"], 2, "no plan in ."),
    (["check", "/dev/null"], 2, ""),
    (["sweep", "-o", "x.csv"], 3, "cannot write x.csv: No such file or directory"),
    (["best-k", "plan.yaml"], 2, "plan.yaml: no such file"),
]


@pytest.mark.parametrize(("words", "code", "message"), GONE)
def test_a_folder_that_is_gone_is_not_blamed_on_standard_output(tmp_path, words, code, message):
    gone = tmp_path / "gone"
    gone.mkdir()
    said = finished(words, tmp_path, preexec_fn=lambda: leave(gone))
    assert said.code == code
    assert message in said.out + said.err
    assert "standard output" not in said.err


def test_a_current_folder_that_is_gone_is_said(monkeypatch, capsys):
    def gone() -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("specplan.cli.run._answer", lambda _: gone())
    assert answered(capsys, ["check"]) == (
        2,
        "",
        "specplan: the current folder is gone; change to one that exists\n",
    )


def leave(folder: Path) -> None:
    os.chdir(folder)
    folder.rmdir()
