"""Files are written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from specplan import files
from specplan.errors import OutputError
from specplan.files import writing, writing_bytes

OLD = "old\n"


@pytest.fixture
def umask() -> Iterator[int]:
    """A umask that is not the usual one."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


@pytest.fixture
def old(tmp_path) -> Path:
    """A file that is there already."""
    path = tmp_path / "answer.csv"
    path.write_text(OLD)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_new_file_is_utf8_with_plain_newlines_and_the_mode_of_the_umask(tmp_path, umask):
    path = tmp_path / "new.txt"
    with writing(path) as out:
        out.write("µ\nx\n")
    assert path.read_bytes() == "µ\nx\n".encode()
    assert mode(path) == 0o666 & ~umask
    assert names(tmp_path) == ["new.txt"]


def test_bytes_are_written_as_they_are_in_the_same_way(old, umask):
    old.chmod(0o640 | umask)
    before = mode(old)
    data = bytes(range(256))
    with writing_bytes(old) as out:
        out.write(data)
        out.flush()
        assert old.read_text() == OLD
    assert old.read_bytes() == data
    assert mode(old) == before
    with pytest.raises(TypeError), writing_bytes(old) as out:
        out.writelines((b"half", None))
    assert old.read_bytes() == data
    assert names(old.parent) == ["answer.csv"]


def test_bytes_that_cannot_be_written_are_said_in_one_line(tmp_path):
    with pytest.raises(OutputError, match=r"^cannot write "), writing_bytes(tmp_path / "no" / "x"):
        pass


def test_nothing_is_seen_before_the_end(old):
    with writing(old) as out:
        out.write("new\n")
        out.flush()
        assert old.read_text() == OLD
    assert old.read_text() == "new\n"


def test_a_file_that_is_replaced_keeps_its_mode(old, umask):
    old.chmod(0o640 | umask)
    before = mode(old)
    with writing(old) as out:
        out.write("new\n")
    assert mode(old) == before


def test_a_symbolic_link_stays_and_what_it_points_to_changes(tmp_path, old):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "latest.csv"
    link.symlink_to("../answer.csv")
    with writing(link) as out:
        out.write("new\n")
    assert link.is_symlink()
    assert old.read_text() == "new\n"
    assert names(tmp_path / "links") == ["latest.csv"]


def test_a_link_to_nothing_makes_what_it_points_to(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("real")
    with writing(link) as out:
        out.write("new\n")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_any_failure_of_the_writer_leaves_the_old_file(old, failure):
    with pytest.raises(failure):
        write_half(old, failure)
    assert old.read_text() == OLD
    assert names(old.parent) == ["answer.csv"]


def test_the_first_failure_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "new", KeyboardInterrupt)
    assert names(tmp_path) == []


@pytest.mark.parametrize("step", ["open", "fsync", "chmod", "replace"])
def test_a_failure_of_any_step_leaves_the_old_file(old, monkeypatch, step):
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os if step in {"open", "fsync"} else Path, step, fail)
    with pytest.raises(OutputError, match=r"cannot write .*answer\.csv: No space left on device"):
        write_new(old)
    monkeypatch.undo()
    assert old.read_text() == OLD
    assert names(old.parent) == ["answer.csv"]


def test_an_interruption_as_soon_as_the_file_is_there_leaves_none(old, monkeypatch):
    make = os.open

    def made(*given: object) -> int:
        os.close(make(*given))
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "open", made)
    with pytest.raises(KeyboardInterrupt):
        write_new(old)
    monkeypatch.undo()
    assert old.read_text() == OLD
    assert names(old.parent) == ["answer.csv"]


def test_a_signal_that_is_ignored_stays_so(old):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with writing(old) as out:
            signal.raise_signal(signal.SIGHUP)
            out.write("new\n")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert old.read_text() == "new\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_thread_writes_too(old):
    thread = threading.Thread(target=write_new, args=(old,))
    thread.start()
    thread.join()
    assert old.read_text() != OLD


def test_a_full_disk_at_the_last_flush_leaves_the_old_file(old):
    with pytest.raises(OutputError, match="No space left"):
        write_onto_a_full_disk(old)
    assert old.read_text() == OLD
    assert names(old.parent) == ["answer.csv"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere/x.csv", "No such file or directory"),
        ("answer.csv/x.csv", "Not a directory"),
        ("folder", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_cannot_be_written_is_one_line_and_exit_3(old, path, reason):
    (old.parent / "folder").mkdir()
    (old.parent / "loop").symlink_to("loop")
    before = names(old.parent)
    with pytest.raises(OutputError) as caught:
        write_new(old.parent / path)
    assert str(caught.value).endswith(f": {reason}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3
    assert names(old.parent) == before


def test_a_name_of_the_greatest_length_works(tmp_path):
    write_new(tmp_path / ("x" * 255))
    assert names(tmp_path) == ["x" * 255]


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    device = tmp_path / "null"
    device.symlink_to(os.devnull)
    write_new(device)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_new(pipe)
    assert os.read(reader, 100) == b"new\n"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def write_new(path: Path) -> None:
    with writing(path) as out:
        out.write("new\n")


def write_half(path: Path, failure: type[BaseException]) -> None:
    with writing(path) as out:
        out.write("half of\n" * 10_000)
        raise failure


def write_onto_a_full_disk(path: Path) -> None:
    with writing(path) as out:
        with Path("/dev/full").open("w") as full:
            os.dup2(full.fileno(), out.fileno())
        out.write("new\n")
