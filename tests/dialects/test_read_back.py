"""SGLang's, TensorRT-LLM's and llama.cpp's words read back: every fixture of these engines, and
worlds of all kinds in every generation, against the truth that they were printed from.

Sums are taken here, plainly; the folding of captures has tests of its own.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from random import Random

import pytest
import readers
from counters import llamacpp, requests, sglang, trtllm
from counters.fixture import read_index
from counters.freeze import FOLDER
from counters.made_sglang import _seen
from counters.pairs import pairs
from counters.world import Truth, found, iid, mixed, simulate, truth

from specplan.dialects.llamacpp.read_log import Log as LlamaLog
from specplan.dialects.llamacpp.read_metrics import Metrics as LlamaMetrics
from specplan.dialects.llamacpp.read_timings import Timings
from specplan.dialects.sglang.read_log import Log as SglangLog
from specplan.dialects.sglang.read_responses import Responses as SglangResponses
from specplan.dialects.stream import read
from specplan.dialects.trtllm.read_iterations import Iterations
from specplan.dialects.trtllm.read_metrics import Metrics as TrtllmMetrics
from specplan.dialects.trtllm.read_responses import Responses as TrtllmResponses
from specplan.domain.capture import Found, Span

ENGINES = {"sglang", "trtllm", "llamacpp"}
ROWS = {
    row["file"]: row
    for row in (*read_index(FOLDER), *(pair.row() for pair in pairs()))
    if row["engine"] in ENGINES
}
COUNTS = ("drafts", "drafted_tokens", "accepted_tokens")
ALL = (*COUNTS, "tokens_per_round", "acceptance_rate")


def summed(every: list[Found]) -> dict[str, object]:
    """The figures of an index's row, added up."""
    spans = readers.spans(every)
    counted = [one for one in spans if one.drafts is not None]
    drafts = sum(one.drafts for one in counted)
    sums = {
        "drafts": drafts,
        "drafted_tokens": sum(one.drafted or 0 for one in spans),
        "accepted_tokens": sum(one.accepted or 0 for one in spans),
        "k": max([one.k for one in spans if one.k] + [readers.facts(every).get("k") or 0]),
    }
    if counted:
        sums["tokens_per_round"] = 1 + sum(one.accepted or 0 for one in counted) / drafts
    elif lengths := [one for one in spans if one.tau is not None]:
        weights = sum(one.weight for one in lengths)
        sums["tokens_per_round"] = sum(one.tau * one.weight for one in lengths) / weights
        if all(one.rate is not None for one in lengths):
            sums["acceptance_rate"] = sum(one.rate * one.weight for one in lengths) / weights
    if sums["drafted_tokens"]:
        sums["acceptance_rate"] = sums["accepted_tokens"] / sums["drafted_tokens"]
    rows = [kept_at(one) for one in counted]
    sums["per_position"] = [sum(at) / drafts for at in zip_longest(*rows, fillvalue=0.0)]
    return sums


def kept_at(span: Span) -> tuple[float, ...]:
    """Rounds that kept the first draft, the second, ..."""
    exactly = span.histogram
    return span.at_position or tuple(sum(exactly[at:]) for at in range(1, len(exactly)))


@pytest.mark.parametrize("name", ROWS)
def test_a_fixture_gives_its_truth(name):
    row = ROWS[name]
    first, *later = (str(FOLDER / file) for file in name.split())
    stream = read(first, None, *later)
    every = list(stream)
    assert list(stream.origins())[:1] == [row["format"]]
    sums = summed(every)
    tolerances = dict.fromkeys(("tokens_per_round", "acceptance_rate"), "within")
    tolerances["drafts"] = "drafts_within"
    for figure in (*ALL, "k"):
        if row[figure]:
            within = float(row[tolerances[figure]]) if figure in tolerances else 0.0
            want = float(row[figure])  # in six digits
            assert sums[figure] == pytest.approx(want, rel=0, abs=within + 5e-6 * want)
    if row["per_position"]:
        want = [float(word) for word in row["per_position"].split()]
        within = float(row["positions_within"])
        assert sums["per_position"] == pytest.approx(want, rel=5e-6, abs=within + 1e-9)
    assert set(row["traps"].split()) <= set(readers.traps(every))


def world(seed: int):
    """Whatever a seed makes: short drafts in every third."""
    rng = Random(seed)  # noqa: S311
    law = iid(rng.uniform(0.1, 0.95)) if rng.random() < 0.5 else mixed()
    length = {"length": found(rng.uniform(0.2, 0.9))} if seed % 3 == 0 else {}
    return simulate(
        law,
        k=rng.choice([1, 2, 3, 5, 7]),
        requests=rng.randint(4, 30),
        tokens=rng.randint(60, 200),
        batch=rng.choice([1, 2, 4, 8]),
        seed=seed,
        **length,
    )


WORLDS = {seed: world(seed) for seed in range(9)}
EVEN = [seed for seed in WORLDS if seed % 3]


def assert_gives(every: list[Found], told: Truth, figures=ALL, **within: float):
    sums = summed(every)
    for figure in figures:
        want = getattr(told, figure)
        if want is not None:
            assert sums[figure] == pytest.approx(want, rel=1e-6, abs=within.get(figure, 0)), figure


@pytest.mark.parametrize("version", sglang.VERSIONS)
@pytest.mark.parametrize("every", [10, 40])
@pytest.mark.parametrize("seed", EVEN)
def test_decode_lines_of_sglang(seed, every, version):
    one = WORLDS[seed]
    told = _seen(one, every)
    reader = SglangLog()
    found_ = readers.lines(reader, sglang.sglang_decode_log(one, version, every=every))
    assert_gives(found_, told, ["tokens_per_round"], tokens_per_round=0.05)
    if version not in {"0.5.2", "0.4.10"}:
        assert summed(found_)["k"] in {one.k, 0}
        assert ("rate-floor" in readers.traps(found_)) <= (version not in {"0.5.13", "0.5.23"})


@pytest.mark.parametrize("version", ["0.5.10", "0.5.13", "0.5.23"])
@pytest.mark.parametrize("seed", EVEN)
def test_responses_of_sglang(seed, version):
    one = WORLDS[seed]
    answers = [requests.sglang_request(each, one.k, version=version) for each in one.requests]
    assert_gives(readers.documents(SglangResponses(), *answers), truth(one))


@pytest.mark.parametrize("seed", WORLDS)
def test_iterations_of_tensorrt_llm(seed):
    one = WORLDS[seed]
    rows = trtllm.trtllm_iterations(one, ranks=1 + seed % 2, empty=float(seed % 2))
    assert_gives(readers.documents(Iterations(), json.loads(json.dumps(rows))), truth(one))


@pytest.mark.parametrize("seed", WORLDS)
def test_pages_of_tensorrt_llm_and_llamacpp(seed):
    one = WORLDS[seed]
    for reader, printed in (
        (TrtllmMetrics, trtllm.trtllm_metrics),
        (LlamaMetrics, llamacpp.llamacpp_metrics),
    ):
        pages = [readers.page(printed(one, at=when)) for when in (one.end / 2, one.end)]
        assert_gives(readers.documents(reader(), pages[1]), truth(one))
        between = readers.documents(reader(), *pages)
        figures = ALL if reader is LlamaMetrics else COUNTS[1:]
        assert_gives(between, truth(one, since=one.end / 2), figures)


@pytest.mark.parametrize("seed", WORLDS)
def test_responses_of_tensorrt_llm(seed):
    one = WORLDS[seed]
    drafting = [each for each in one.requests if any(row.drafted for row in each.rounds)]
    answers = [requests.trtllm_request(each, one.k) for each in drafting]
    assert_gives(readers.documents(TrtllmResponses(), *answers), truth(one))


@pytest.mark.parametrize("generation", llamacpp.GENERATIONS)
@pytest.mark.parametrize(("statistics", "trace"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("seed", WORLDS)
def test_logs_of_llamacpp(seed, statistics, trace, generation):
    one = WORLDS[seed]
    text = llamacpp.llamacpp_log(one, generation, statistics=statistics, trace=trace)
    found_ = readers.lines(LlamaLog(), text)
    if seed in EVEN or (statistics and (trace or generation != "c")):
        assert_gives(found_, truth(one))
        return
    assert_gives(found_, truth(one), ("drafted_tokens", "accepted_tokens", "acceptance_rate"))
    if generation in {"b", "c"}:  # rounds that drafted nothing are told apart by the mean alone
        assert_gives(found_, truth(one), ["tokens_per_round"], tokens_per_round=0.03)


@pytest.mark.parametrize("seed", EVEN)
def test_timings_of_llamacpp(seed):
    one = WORLDS[seed]
    answers = [requests.llamacpp_request(each) for each in one.requests]
    assert_gives(readers.documents(Timings(), *answers), truth(one))
