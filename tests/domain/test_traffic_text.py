"""What people write of traffic: laws of lengths, windows, limits and their presets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.lengths import Exponential, Fixed, Lognormal, Uniform, is_law, law_of
from specplan.domain.slo import METRICS, Limit
from specplan.domain.slo_presets import PRESETS
from specplan.domain.slo_text import slo_of
from specplan.domain.windows import window_of
from specplan.errors import SpecplanError


def refusal(read, text):
    with pytest.raises(SpecplanError) as refused:
        read(text)
    said = str(refused.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("4000", Fixed(4000)),
        ("4k", Fixed(4096)),
        ("lognormal:1200,0.9", Lognormal(1200, 0.9)),
        ("lognormal:1200,0", Fixed(1200)),
        ("Uniform: 100, 200", Uniform(100, 200)),
        ("uniform:7,7", Fixed(7)),
        ("exponential:500", Exponential(500)),
    ],
)
def test_laws(text, law):
    assert law_of(text) == law
    assert is_law(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lots", "'lots' is no number of tokens; expected 4000, lognormal:MEAN,SIGMA"),
        ("", "'' is no number of tokens"),
        ("0", "0 tokens are out of range; expected 1 to 100,000,000"),
        ("1e9", "1e+09 tokens are out of range"),
        ("1,2", "'1,2' is 2 lengths"),
        ("1:8", "unknown law of lengths '1'; expected one of exponential"),
        ("lognormal:1200", "'lognormal:1200' has 1 figure; expected lognormal:1200,0.9"),
        ("lognormal:1200,9", "sigma 9 is out of range; expected 0 to 5"),
        ("lognormal:1200,nan", "'nan' is not a number"),
        ("uniform:200,100", "'uniform:200,100' falls; write the lower end first"),
        ("uniform:1,2,3", "'uniform:1,2,3' has 3 figures"),
        ("exponential:1,2", "has 2 figures; expected exponential:500"),
        ("normal:1,2", "unknown law of lengths 'normal'; did you mean 'lognormal'?"),
        ("zipf:1,2", "unknown law of lengths 'zipf'; expected one of exponential"),
    ],
)
def test_laws_that_are_none(text, says):
    assert says in refusal(law_of, text)


@pytest.mark.parametrize("text", ["traces/cdf.json", "cdf", "a:b", "C:/x.json"])
def test_what_may_be_a_file_is_no_law(text):
    assert not is_law(text)


@pytest.mark.parametrize(
    ("text", "length_s", "start_s"),
    [
        ("peak 10 min", 600, None),
        ("peak 60 s", 60, None),
        ("Peak 60s", 60, None),
        ("peak-1h", 3600, None),
        ("peak minute", 60, None),
        ("peak 2 hours", 7200, None),
        ("0:600", 600, 0),
        (":600", 600, 0),
        (" 30 : 90.5 ", 60.5, 30),
    ],
)
def test_windows(text, length_s, start_s):
    window = window_of(text)
    assert (window.length_s, window.start_s) == (length_s, start_s)


@pytest.mark.parametrize(
    "text",
    [
        "peak",
        "peaks",
        "peak 0 s",
        "peak 10",
        "peak 1 d",
        "10 min",
        "600:0",
        "5:5",
        "a:b",
        "",
        "1e10:2e10",
    ],
)
def test_windows_that_are_none(text):
    assert "expected peak 10 min, peak minute, peak 1 h, or seconds" in refusal(window_of, text)


def test_limits():
    slo = slo_of("ttft_p99=2s, TPOT_p95 = 30 ms,itl_p99.9=250us,e2e_p50=1 s")
    assert slo.limits == (
        Limit("ttft", 99, 2),
        Limit("tpot", 95, 0.03),
        Limit("itl", 99.9, 250e-6),
        Limit("e2e", 50, 1),
    )
    assert [str(limit) for limit in slo.limits][2] == "itl_p99.9"
    assert (slo.name, slo.cite) == ("", "")


def test_presets_are_those_of_mlperf_with_their_source():
    # mlcommons/inference@9e3d1054 tools/submission/submission_checker/constants.py
    slo = slo_of("mlperf-llama2-70b-interactive")
    assert slo.limits == (Limit("ttft", 99, 0.45), Limit("tpot", 99, 0.04))
    assert "mlcommons/inference@" in slo.cite
    assert slo_of("mlperf-llama3.1-405b-server").limits[0].limit_s == 6
    for name, preset in PRESETS.items():
        assert slo_of(name) == preset
        assert preset.cite
        assert preset.name == name
        assert [limit.percentile for limit in preset.limits] == [99, 99]
        server = PRESETS[name.replace("-interactive", "-server")]
        for limit, loose in zip(preset.limits, server.limits, strict=True):
            assert limit.limit_s <= loose.limit_s


def test_limits_are_added_to_a_preset():
    slo = slo_of("mlperf-llama2-70b-server,ttft_p99=1s,itl_p99=50ms")
    assert slo.name == "mlperf-llama2-70b-server"
    assert [(str(limit), limit.limit_s) for limit in slo.limits] == [
        ("ttft_p99", 1),
        ("tpot_p99", 0.2),
        ("itl_p99", 0.05),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mlperf-llama2-70b", "unknown SLO 'mlperf-llama2-70b'; did you mean 'mlperf-llama2"),
        ("", "unknown SLO ''"),
        ("ttft=2s", "ttft of which requests?; write ttft_p99=2s"),
        ("ttft_p99", "'ttft_p99' has no limit; expected ttft_p99=2s"),
        ("ttft_p99=2", "ttft_p99 is 2 without a unit; expected a time such as 2s or 30ms"),
        ("ttft_p99=", "'' is not a quantity"),
        ("ttft_p99=0s", "ttft_p99 is 0 s; expected a time above 0"),
        ("tftt_p99=2s", "unknown metric 'tftt'; did you mean 'ttft'?"),
        ("ttft_mean=2s", "'ttft_mean' is no percentile; expected such as ttft_p99"),
        ("ttft_p10=2s", "p10 is out of range; expected p50 to p99.9"),
        ("ttft_p99.99=2s", "p99.99 is out of range"),
        ("ttft_p99=2s,ttft_p99=3s", "ttft_p99 is limited twice"),
        ("ttft_p99=2s,mlperf-llama2-70b-server", "'mlperf-llama2-70b-server' is no limit"),
        ("ttft_p99=2s,", "'' is no limit"),
        ("ttft_p99=2 GB", "'2 GB' has an unknown unit 'GB'"),
    ],
)
def test_limits_that_are_none(text, says):
    assert says in refusal(slo_of, text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_in_one_line(text):
    for read in (law_of, window_of, slo_of):
        try:
            found = read(text)
        except SpecplanError as error:
            line = str(error)
        else:
            line = repr(found)
        assert "\n" not in line


@given(st.sampled_from(METRICS), st.integers(50, 99), st.integers(1, 10**6))
def test_every_metric_and_percentile(metric, percentile, ms):
    (limit,) = slo_of(f"{metric}_p{percentile}={ms}ms").limits
    assert limit == Limit(metric, percentile, ms / 1000)
