"""Traffic by flags and by plans: the same grammar, flags above the plan, files beside it."""

from __future__ import annotations

import hashlib
import inspect
import shutil
from pathlib import Path

import numpy as np
import pytest

from specplan.cli.demand import Demand, demand_of, promised, traffic_of
from specplan.cli.options import command
from specplan.cli.plans import read_plan
from specplan.cli.values import per_second
from specplan.cli.wanted import PROMPT_SHARE, wanted
from specplan.errors import SpecplanError

FILES = Path(__file__).parents[1] / "importers" / "traffic"
VIDUR = str(FILES / "vidur.csv")
CHAT = str(FILES / "servegen")


@pytest.fixture
def plan(tmp_path):
    """Makes a plan of the lines under traffic:, beside copies of the files."""
    for file in FILES.glob("*.*"):
        shutil.copy(file, tmp_path / file.name)

    def made(*lines):
        path = tmp_path / "plan.yaml"
        path.write_text("schema: plan/1\ntraffic:\n" + "".join(f"  {line}\n" for line in lines))
        return read_plan(path)

    return made


def refusal(plan=None, **flags):
    with pytest.raises(SpecplanError) as refused:
        wanted(Demand(**flags), plan)
    said = str(refused.value)
    assert "\n" not in said
    return said


def means(traffic):
    weight = np.array(traffic.lengths.weight)
    lengths = (traffic.lengths.isl, traffic.lengths.osl, traffic.lengths.hit)
    return tuple(float(weight @ np.array(values)) for values in lengths)


def test_a_rate_and_two_laws():
    traffic = traffic_of(Demand(rate=50.0, isl="4000", osl="exponential:500"), None)
    assert (traffic.rate_per_s, traffic.dispersion, traffic.trace) == (50.0, 1.0, None)
    assert means(traffic) == pytest.approx((4000, 500, 0))
    bursty = traffic_of(Demand(rate=50.0, isl="4k", osl="5", cv=3.0, prefix_hit=0.5), None)
    assert bursty.dispersion == 9.0
    assert means(bursty) == pytest.approx((4096, 5, 2048))


def test_files_of_distributions():
    total = str(FILES / "total.json")
    # evenly spread between 1, 64, 128 and 1024: 0.25 x 32.5 + 0.25 x 96 + 0.5 x 576
    mean = 320.125
    said = traffic_of(Demand(rate=1.0, lengths=total), None)
    assert means(said) == pytest.approx((PROMPT_SHARE * mean, 0.2 * mean, 0), rel=2e-3)
    assert said.notes == ("80% of each length is taken for the prompt; FILE,0.7 says another one",)
    other = traffic_of(Demand(rate=1.0, lengths=f"{total},0.5"), None)
    assert means(other) == pytest.approx((mean / 2, mean / 2, 0), rel=3e-3)
    assert other.notes == ()
    apart = traffic_of(Demand(rate=1.0, isl=total, osl=str(FILES / "total.csv")), None)
    assert means(apart) == pytest.approx((mean, mean, 0))


def test_a_trace_is_replayed():
    traffic = traffic_of(Demand(trace=VIDUR), None)
    assert traffic.trace is not None
    assert traffic.rate_per_s == pytest.approx(3 / 4.5)
    assert means(traffic) == pytest.approx((1649 / 3, 208 / 3, 0))
    assert traffic.source == VIDUR


def test_what_is_done_to_a_trace_is_done_in_order():
    demand = Demand(trace=VIDUR, window="peak 1 s", scale=2.0, repeat=3, thin=1.0, prefix_hit=0.5)
    trace = traffic_of(demand, None).trace
    # 4.25 and 4.5 s; the trace ends 0.25 s after the window begins
    assert list(trace.arrival_s) == [0, 0.125, 0.25, 0.375, 0.5, 0.625]
    assert list(trace.isl) == [396, 879] * 3
    assert list(trace.hit) == [198, 439] * 3


def test_a_rate_beside_a_trace_is_the_pace_of_its_replay():
    traffic = traffic_of(Demand(trace=VIDUR, rate=50.0), None)
    assert traffic.rate_per_s == pytest.approx(50)
    assert traffic.trace.arrival_s[-1] == pytest.approx(3 / 50)
    assert traffic.notes == ("replayed 75 times as fast, at the rate asked for",)


def test_lengths_without_times_need_a_rate():
    path = str(FILES / "vidur-lengths.csv")
    assert "lengths.csv has lengths and no times; add how often: --rate 5/s" in refusal(trace=path)
    traffic = traffic_of(Demand(trace=path, rate=2.0, cv=2.0), None)
    assert (traffic.trace, traffic.rate_per_s, traffic.dispersion) == (None, 2.0, 4.0)
    assert means(traffic) == pytest.approx((2500, 275, 0))
    assert "the trace has lengths and no times: arrivals are drawn" in traffic.notes
    assert "lengths and no times, which a window needs" in refusal(
        trace=path, rate=2.0, window="0:1"
    )


def test_clients_are_drawn_by_the_seed():
    one, same, other = (traffic_of(Demand(trace=CHAT, seed=seed), None).trace for seed in (1, 1, 2))
    assert one.arrival_s == same.arrival_s
    assert one.arrival_s != other.arrival_s


def test_hits_of_a_trace_and_hits_of_a_flag():
    path = str(FILES / "mooncake.jsonl")
    assert means(traffic_of(Demand(trace=path), None))[2] == pytest.approx((1024 + 1100) / 4)
    flagged = traffic_of(Demand(trace=path, prefix_hit=0.0), None)
    assert means(flagged)[2] == 0
    assert "--prefix-hit stands above the prefixes that the trace has" in flagged.notes


def test_any_table(tmp_path):
    (tmp_path / "t").write_text("when,p,c\n1000,5,6\n3000,7,8\n")
    columns = "arrival=when/ms,isl=p,osl=c"
    trace = traffic_of(Demand(trace=str(tmp_path / "t"), columns=columns), None).trace
    assert list(trace.arrival_s) == [0, 2]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({}, "--rate: how many requests come?; expected a rate such as 50/s, or recorded"),
        ({"isl": "4"}, "--rate: how many requests come?"),
        ({"rate": 5.0}, "--isl: how long are the prompts?"),
        ({"rate": 5.0, "isl": "4"}, "--osl: how long are the outputs?"),
        ({"trace": VIDUR, "isl": "4"}, "--isl: --trace and --isl say the same twice"),
        ({"trace": VIDUR, "lengths": "x"}, "--lengths: --trace and --lengths say the same twice"),
        ({"rate": 1.0, "lengths": "x", "osl": "3"}, "--osl: --lengths and --osl say the same"),
        ({"trace": VIDUR, "rate": 1.0, "scale": 2.0}, "--scale: --rate and --scale say the same"),
        ({"trace": VIDUR, "cv": 2.0}, "--cv: --cv is of arrivals that are drawn"),
        ({"rate": 1.0, "isl": "1", "osl": "1", "window": "0:1"}, "--window: --window is of a"),
        ({"trace": VIDUR, "scale": -1.0}, "--scale: -1 is out of range; expected 0.001 to 1000"),
        ({"trace": VIDUR, "scale": float("nan")}, "--scale: nan is out of range"),
        ({"trace": VIDUR, "prefix_hit": 2.0}, "--prefix-hit: 2 is out of range; expected 0 to 1"),
        ({"trace": VIDUR, "repeat": 0}, "--repeat: 0 is out of range"),
        ({"trace": VIDUR, "window": "noon"}, "--window: 'noon' is no window"),
        ({"trace": VIDUR, "window": "9:10"}, "--window: the trace ends after 4.5 s"),
        ({"trace": VIDUR, "columns": "a=b"}, "--columns: 'a=b' names no column"),
        ({"trace": "absent.csv"}, "--trace: no such file: absent.csv; expected a trace of Azure"),
        ({"trace": str(FILES / "total.json")}, "given as --isl, --osl or --lengths"),
        ({"rate": 1.0, "lengths": "absent.json"}, "absent.json: no such file"),
        ({"rate": 1.0, "lengths": "total.json,2"}, "--lengths: 2 is no share of the prompt"),
        ({"rate": 1.0, "isl": "normal:3", "osl": "1"}, "--isl: unknown law of lengths 'normal'"),
        ({"rate": 1.0, "isl": "1", "osl": "1", "slo": "fast"}, "--slo: unknown SLO 'fast'"),
    ],
)
def test_flags_that_do_not_do(flags, says):
    assert says in refusal(**flags)


def test_a_rate_has_a_unit():
    read = per_second("--rate")
    assert (read("50/s"), read("0.5 /s")) == (50, 0.5)
    for text, says in (
        ("50", "--rate: '50' has no unit; write 50/s"),
        ("0/s", "--rate: '0/s' is not above 0"),
        ("50 rps", "--rate: '50 rps' has an unknown unit 'rps'"),
        ("many", "--rate: 'many' is not a quantity"),
    ):
        with pytest.raises(SpecplanError) as refused:
            read(text)
        assert str(refused.value).startswith(says)


def test_python_callers_write_texts_numbers_paths_and_mappings():
    said = demand_of(
        {
            "rate": 50,
            "isl": 4000,
            "osl": "lognormal:500,0.5",
            "trace": Path("a.csv"),
            "slo": {"ttft_p99": "2 s", "tpot_p95": "30 ms"},
            "repeat": 2,
            "cv": None,
        }
    )
    assert said == Demand(
        rate=50.0,
        isl="4000",
        osl="lognormal:500,0.5",
        trace="a.csv",
        slo="ttft_p99=2 s,tpot_p95=30 ms",
        repeat=2,
    )
    assert demand_of({"rate": "0.5/s"}).rate == 0.5
    for options, says in (
        ({"rates": 3}, "unknown option 'rates'; did you mean 'rate'?"),
        ({"rate": "50"}, "--rate: '50' has no unit; write 50/s"),
        ({"scale": float("nan")}, "--scale: 'nan' is not a number"),
        ({"slo": {"ttft_p99": [1]}}, "is no mapping of names to values"),
    ):
        with pytest.raises(SpecplanError) as refused:
            demand_of(options)
        assert str(refused.value).startswith(says)


def test_every_option_is_one_of_the_command_line():
    def size(*, demand: Demand) -> int:
        raise NotImplementedError(demand)

    size.__annotations__ = {"demand": Demand, "return": int}
    names = set(inspect.signature(command(size)).parameters)
    assert {"rate", "trace", "prefix_hit", "slo", "seed"} <= names


def test_a_plan_says_the_same(plan):
    read = plan("rate: 50/s", "isl: 4000", "osl: 500", "slo: {ttft_p99: 2 s, tpot_p95: 30 ms}")
    said = wanted(Demand(), read)
    flags = Demand(rate=50.0, isl="4000", osl="500", slo="ttft_p99=2s,tpot_p95=30ms")
    assert said.traffic == traffic_of(flags, None)
    assert said.slo == promised(flags, None)
    assert {key: one.origin for key, one in said.inputs.items()} == dict.fromkeys(
        ("rate", "isl", "osl", "slo"), str(read.folder / "plan.yaml")
    )


def test_flags_stand_above_the_plan(plan):
    read = plan("rate: 50/s", "isl: 4000", "osl: 500", "usd_per_gpu_hour: 3.8", "slo: ttft_p99=2s")
    assert means(traffic_of(Demand(osl="100"), read)) == (4000, 100, 0)
    assert traffic_of(Demand(rate=3.0), read).rate_per_s == 3
    assert wanted(Demand(), read).usd_per_gpu_hour == 3.8
    assert str(promised(Demand(slo="itl_p95=1ms"), read).limits[0]) == "itl_p95"
    replaced = wanted(Demand(trace=VIDUR), read)
    assert replaced.traffic.trace is not None
    assert replaced.traffic.rate_per_s == pytest.approx(3 / 4.5)
    assert set(replaced.inputs) == {"trace", "slo", "usd_per_gpu_hour"}
    whole = traffic_of(Demand(lengths=str(FILES / "total.json")), read)
    assert whole.rate_per_s == 50


def test_laws_by_flag_take_the_place_of_a_trace_in_the_plan(plan):
    read = plan("trace: vidur.csv", "window: peak 1 s", "scale: 2")
    assert len(traffic_of(Demand(), read).trace) == 2
    assert len(traffic_of(Demand(window="0:5"), read).trace) == 3  # the plan's trace still
    assert traffic_of(Demand(rate=8.0), read).rate_per_s == pytest.approx(8)  # not its scale
    drawn = traffic_of(Demand(rate=2.0, isl="7", osl="3"), read)
    assert (drawn.trace, means(drawn)) == (None, (7, 3, 0))


def test_files_of_a_plan_lie_beside_it_and_are_cited_with_their_digest(plan):
    read = plan("rate: 2/s", "isl: plain.json", "osl: 3")
    digest = hashlib.sha256((FILES / "plain.json").read_bytes()).hexdigest()
    assert wanted(Demand(), read).inputs["isl"].sha256 == digest
    for text in ("plain.json", "plain.json,0.75"):
        lengths = plan("rate: 2/s", f"lengths: {text}")
        assert wanted(Demand(), lengths).inputs["lengths"].sha256 == digest
    trace = plan("trace: vidur.csv")
    found = wanted(Demand(), trace).inputs["trace"]
    assert found.sha256 == hashlib.sha256((FILES / "vidur.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize("key", ["trace", "isl", "lengths"])
@pytest.mark.parametrize("path", ["../secret.json", "/etc/passwd", "link/secret.json"])
def test_a_plan_reads_nothing_outside(plan, tmp_path, key, path):
    (tmp_path / "link").symlink_to(tmp_path.parent)
    rest = ("rate: 1/s", "osl: 1") if key == "isl" else ("rate: 1/s",)
    said = refusal(plan(f"{key}: {path}", *rest))
    assert f"plan.yaml:3:{len(key) + 5}: " in said
    assert "is outside the plan's folder and repository; expected a file" in said


def test_nor_what_a_link_beside_a_client_leads_to(plan, tmp_path):
    (clients := tmp_path / "clients").mkdir()
    shutil.copy(FILES / "servegen" / "chat-trace.csv", clients)
    (secret := tmp_path.parent / f"{tmp_path.name}.json").write_text("{}")
    (clients / "chat-dataset.json").symlink_to(secret)
    for trace in ("clients", "clients/chat-trace.csv"):
        assert "is outside the plan's folder and repository" in refusal(plan(f"trace: {trace}"))
    (clients / "chat-dataset.json").unlink()
    shutil.copy(FILES / "servegen" / "chat-dataset.json", clients)
    assert traffic_of(Demand(), plan("trace: clients")).trace is not None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("rate: 50", "plan.yaml:3:9: rate is 50 without a unit; expected a quantity such as 50/s"),
        ("rate: 50 GB", "plan.yaml:3:9: rate: '50 GB' has an unknown unit 'GB'"),
        ("rate: 0/s", "plan.yaml:3:9: rate 0 is implausible"),
        ("slo: {ttft_p99: [1]}", "plan.yaml:3:8: is no mapping of names to values"),
        ("slo: {ttft_p99: 2}", "plan.yaml:3:8: ttft_p99 is 2 without a unit"),
        ("slo: mlperf-llama2", "plan.yaml:3:8: unknown SLO 'mlperf-llama2'"),
        ("window: noon", "plan.yaml:3:11: 'noon' is no window"),
        ("isl: 0", "plan.yaml:3:8: 0 tokens are out of range"),
        ("osl: uniform:9", "plan.yaml:3:8: 'uniform:9' has 1 figure"),
        ("traces: a.csv", "plan.yaml:3:3: unknown key 'traces' in traffic; did you mean 'trace'?"),
        ("thin: 50 %", "plan.yaml:3:9: "),
        ("repeat: 0", "plan.yaml:3:11: "),
    ],
)
def test_a_plan_that_is_wrong_says_where_when_it_is_read(plan, line, says):
    with pytest.raises(SpecplanError) as refused:
        plan(line)
    assert says in str(refused.value)


def test_what_a_plan_says_twice_is_refused_in_its_place(plan):
    said = refusal(plan("rate: 3/s", "trace: vidur.csv", "osl: 3"))
    assert "plan.yaml:5:8: --trace and --osl say the same twice" in said
    assert "plan.yaml:3:11: --window is of a --trace" in refusal(plan("window: 0:5"))


def test_columns_of_a_plan_may_be_a_mapping(plan, tmp_path):
    (tmp_path / "t.csv").write_text("when,p,c\n1000,5,6\n3000,7,8\n")
    read = plan("trace: t.csv", "columns: {arrival: when/ms, isl: p, osl: c}")
    assert list(traffic_of(Demand(), read).trace.arrival_s) == [0, 2]


def test_recorded_lengths_that_ship_with_it_go_by_name(plan):
    flags = wanted(demand_of({"trace": "azure-conv-2023", "rate": "5/s"}), None)
    planned = wanted(Demand(), plan("trace: azure-conv-2023", "rate: 5/s"))
    assert flags.traffic == planned.traffic
    assert flags.traffic.source == "azure-conv-2023"
    assert flags.inputs["trace"].sha256
    lengths = flags.traffic.lengths
    mean = np.asarray(lengths.weight) @ np.stack((lengths.isl, lengths.osl), axis=1)
    assert mean == pytest.approx([1154.7, 211.1], rel=1e-3)  # those of all 19,366 requests


def test_a_file_of_that_name_is_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "azure-conv-2023").write_text("isl,osl\n7,3\n", encoding="utf-8")
    found = wanted(demand_of({"trace": "azure-conv-2023", "rate": "5/s"}), None).traffic
    assert list(found.lengths.isl) == [7]


def test_an_unknown_name_says_which_there_are():
    assert "azure-code-2023 or azure-conv-2023" in refusal(trace="azure", rate=5.0)
