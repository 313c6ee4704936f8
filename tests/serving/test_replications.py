"""Runs of a simulation in processes: the same runs, intervals, and what an interruption leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from serving.replicas import replica

import specplan
from specplan.domain.traffic import Lengths, Trace
from specplan.serving.incoming import steady
from specplan.serving.outcome import Outcomes
from specplan.serving.replications import Job, replicate

JOB = Job(
    replica=replica("3"),
    traffic=steady(10.0, Lengths(isl=[200, 900], osl=[50, 100], hit=[0, 0], weight=[0.5, 0.5])),
    seconds=30.0,
    seed=4,
)


def figures(found: Outcomes) -> list[dict[str, tuple[float, ...]]]:
    return [run.figures for run in found.runs]


def test_a_seed_says_everything_and_another_something_else():
    assert figures(replicate(JOB, 2)) == figures(replicate(JOB, 2))
    assert figures(replicate(replace(JOB, seed=5), 1)) != figures(replicate(JOB, 1))
    first, second = figures(replicate(JOB, 2))
    assert first != second
    assert figures(replicate(JOB, 1)) == [first]


def test_workers_change_nothing():
    assert figures(replicate(JOB, 3, workers=2)) == figures(replicate(JOB, 3))


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_finished_replications(workers):
    calls = []

    def told(done):
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    job = replace(
        JOB, seconds=100.0 if workers == 1 else 40.0, requests=1000 if workers == 1 else None
    )
    found = replicate(job, 50, workers, told)
    assert found.interrupted
    assert found.asked == 50
    assert 1 <= len(found.runs) < 10
    assert figures(found)[0] == figures(replicate(job, 1))[0]


def test_so_many_requests():
    assert len(replace(JOB, requests=77).arrivals(0)) == 77
    assert len(replace(JOB, requests=400, seconds=1.0).arrivals(0)) == 400
    recorded = Trace(arrival_s=[0.0, 1.0, 2.0], isl=[5, 6, 7], osl=[1, 2, 3], covers_s=9.0)
    replayed = replace(JOB, traffic=replace(JOB.traffic, trace=recorded))
    assert replayed.arrivals(0) == replayed.arrivals(1) == recorded
    cut = replace(replayed, requests=2).arrivals(0)
    assert (list(cut.isl), cut.span_s) == ([5, 6], 1.0)


def test_intervals_are_students():
    """t(0.975, 2) = 4.302653 by Student's table; of 1, 2, 3 the mean has an error of 1/sqrt 3."""
    runs = [replace(replicate(JOB, 1).runs[0], figures={"ttft": (float(n),)}) for n in (1, 2, 3)]
    (told,) = Outcomes(tuple(runs), 3).estimates("ttft")
    assert (told.value, told.half) == (2.0, pytest.approx(4.302653 / 3**0.5, rel=1e-5))
    (alone,) = Outcomes(tuple(runs[:1]), 1).estimates("ttft")
    assert (alone.value, alone.half) == (1.0, None)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_do_not_outlive_who_asked(tmp_path):
    """Killed at once, with no chance to stop them."""
    words = "simulate -t qwen3-8b -g l4 -e vllm -k 0 --rate 2/s --isl 500 --osl 50 --workers 2 "
    words += "--replications 2"
    asked = subprocess.Popen(
        [sys.executable, "-m", "specplan", *words.split(), "--requests", "1000000"],
        env={**os.environ, "PYTHONPATH": str(Path(specplan.__file__).parents[1])},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert _soon(lambda: len(_below(asked.pid)) >= 2, 30)
        workers = _below(asked.pid)
    finally:
        asked.kill()
        asked.wait()
    assert _soon(lambda: not any(map(_runs, workers)), 30)


def _below(pid: int) -> list[int]:
    """Processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, rest = stat.parent.name, stat.read_text(encoding="utf-8").rpartition(")")[2]
            if int(rest.split()[1]) == pid:
                found.append(int(number))
    return found


def _runs(pid: int) -> bool:
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def _soon(holds: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.1)
    return holds()
