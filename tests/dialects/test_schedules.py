"""Schedules as engines read them: each engine's rule told anew, from the text that was written.

The interpreters are written from the engines' own code and prose, not from what writes for them.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.dialects.writers import writer
from specplan.domain.deployment import Deployment, OneK, Step


def as_engines_read(text: str) -> Any:
    return yaml.safe_load(text)  # noqa: TID251 - engines read YAML 1.1


def vllm_k(text: str, batch: int) -> int:
    """A list of inclusive ranges; between and behind them the k before goes on, cut to the
    longest (vllm/v1/spec_decode/dynamic/utils.py).
    """
    config = json.loads(text)
    found = 0
    for first, last, k in sorted(config["num_speculative_tokens_per_batch_size"]):
        if batch < first:
            break
        found = k
        if batch <= last:
            break
    return min(found, config["num_speculative_tokens"])


def sglang_k(text: str, batch: int) -> int:
    """The entry of the largest key that is no larger than the batch; of its steps, of which there
    is one (srt/speculative/adaptive_spec_params.py).
    """
    entries = {int(key): entry["candidate_steps"] for key, entry in json.loads(text).items()}
    (steps,) = entries[max(bound for bound in entries if bound <= batch)]
    return steps


def trtllm_schedule(text: str) -> dict[int, int]:
    found: dict[int, int] = as_engines_read(text)["speculative_config"]["draft_len_schedule"]
    return found


def trtllm_k(schedule: dict[int, int], batch: int, *, upper: bool) -> int:
    """Keys are last batches, and nothing beyond the last (#10860); before it they were first ones
    (the comments of both in llm_args.py).
    """
    if upper:
        fitting = [bound for bound in sorted(schedule) if batch <= bound]
        return schedule[fitting[0]] if fitting else 0
    return schedule[max(bound for bound in schedule if bound <= batch)]


@st.composite
def schedules(draw, *, falling: bool = False, least: int = 0) -> tuple[Step, ...]:
    """Two to six ranges from batch 1 on, of which neighbours differ."""
    count = draw(st.integers(2, 6))
    widths = draw(st.lists(st.integers(1, 40), min_size=count, max_size=count))
    ks = draw(
        st.lists(st.integers(least, 8), min_size=count, max_size=count, unique=falling).filter(
            lambda found: max(found) > 0 and all(a != b for a, b in pairwise(found))
        )
    )
    ks = sorted(ks, reverse=True) if falling else ks
    steps, first = [], 1
    for width, k in zip(widths, ks, strict=True):
        steps.append(Step(first, first + width - 1, k))
        first += width
    return tuple(steps)


def planned(engine: str, version: str, steps: tuple[Step, ...], **more: str) -> Deployment:
    longest = max(step.k for step in steps)
    return Deployment(
        engine=engine,
        version=version,
        target_name="t",
        target="org/t",
        draft_name="d",
        draft="org/d",
        way=more.get("way", "eagle3"),
        draws="head",
        k=longest,
        schedule=steps,
        instead=OneK(1, 0.1, 1),
    )


def k_of(steps: tuple[Step, ...], batch: int) -> int:
    return next(step.k for step in steps if step.first_batch <= batch <= step.last_batch)


def batches(steps: tuple[Step, ...]) -> range:
    return range(1, steps[-1].last_batch + 1)


@given(schedules())
@settings(max_examples=60, deadline=None)
def test_vllm_reads_back_every_batch(steps):
    text = writer("vllm")(planned("vllm", "0.33", steps)).texts["json"]
    assert [vllm_k(text, b) for b in batches(steps)] == [k_of(steps, b) for b in batches(steps)]
    assert vllm_k(text, steps[-1].last_batch + 999) == steps[-1].k  # the tail goes on


@given(schedules())
@settings(max_examples=60, deadline=None)
def test_sglang_reads_back_every_batch(steps):
    text = writer("sglang")(planned("sglang", "0.5.23", steps)).texts["json"]
    assert [sglang_k(text, b) for b in batches(steps)] == [k_of(steps, b) for b in batches(steps)]


@given(schedules(falling=True))
@settings(max_examples=60, deadline=None)
def test_trtllm_reads_back_every_batch_by_last_batches(steps):
    text = writer("trtllm")(planned("trtllm", "1.3.0rc8", steps)).texts["yaml"]
    schedule = trtllm_schedule(text)
    found = [trtllm_k(schedule, b, upper=True) for b in batches(steps)]
    assert found == [k_of(steps, b) for b in batches(steps)]


@given(schedules(falling=True))
@settings(max_examples=60, deadline=None)
def test_trtllm_reads_back_every_batch_by_first_batches(steps):
    text = writer("trtllm")(planned("trtllm", "1.3.0rc7", steps, way="ngram")).texts["yaml"]
    schedule = trtllm_schedule(text)
    found = [trtllm_k(schedule, b, upper=False) for b in batches(steps)]
    assert found == [k_of(steps, b) for b in batches(steps)]


@given(schedules())
@settings(max_examples=80, deadline=None)
def test_a_schedule_that_rises_is_cut_to_its_first_k_or_left_out(steps):
    """TensorRT-LLM's must begin with the longest."""
    written = writer("trtllm")(planned("trtllm", "1.3.0rc24", steps))
    done = written.done
    if steps[0].k == max(step.k for step in steps):
        assert (done.schedule, written.lost) == (steps, ())
        return
    assert any("begins with the longest" in sentence for sentence in written.lost)
    if done.schedule:
        assert len(done.schedule) > 1
        schedule = trtllm_schedule(written.texts["yaml"])
        found = [trtllm_k(schedule, b, upper=True) for b in batches(steps)]
        assert found == [min(k_of(steps, b), steps[0].k) for b in batches(steps)]
    else:
        assert done.k == max(steps[0].k, 1)  # one k for all, or all that is left of the schedule


@pytest.mark.parametrize(("engine", "version"), [("vllm", "0.23"), ("sglang", "0.5.10.post1")])
def test_without_a_schedule_one_k_is_written_and_said(engine, version):
    steps = (Step(1, 8, 4), Step(9, 64, 2), Step(65, 90, 0))
    written = writer(engine)(planned(engine, version, steps))
    assert (written.done.schedule, written.done.k) == ((), 1)
    assert any(sentence.startswith("k by batch") for sentence in written.lost)
