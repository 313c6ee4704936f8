"""Closed forms of queues, against figures of others and against sums written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.errors import Refused, UsageError
from specplan.serving.queues import (
    MARGIN,
    Iterations,
    erlang_c,
    fleet_wait_s,
    gg1_response_s,
    inferno,
    md1_tensor_ttft_s,
    md1_ttft_s,
    mg1_wait_s,
    mg1_waits_within,
    mm1_response_s,
    mm1_wait_quantile_s,
)

LOADS = st.floats(0.0, 0.98)
TIMES = st.floats(1e-4, 1e4)

SAMPLE = Iterations(
    prompt=128, output=512, alpha_s=12e-3, beta_s=5e-5, gamma_s=5e-7, most=48, queue=128
)


def test_the_autoscalers_figures_are_met():
    """Printed by llm-inferno's optimizer for these inputs (its committed solution has 3.8609295
    requests a second); response 10348.37 ms, wait 21.405 ms and 30.981 in service follow from its
    formulas, worked out apart from this code.
    """
    served = inferno(SAMPLE, 3.0)
    assert 1e3 * served.response_s == pytest.approx(10348.37, rel=1e-6)
    assert 1e3 * served.wait_s == pytest.approx(21.405, abs=1e-3)
    assert served.in_service == pytest.approx(30.981, abs=1e-3)
    assert served.most_per_s == pytest.approx(3.8609295, abs=1e-6)
    assert served.flat_per_s == pytest.approx(3.864794, abs=1e-6)
    assert served.most_per_s == MARGIN * served.flat_per_s


def test_the_autoscalers_queue_is_little_s():
    served = inferno(SAMPLE, 3.0)
    inside_s = served.response_s - served.wait_s
    assert served.in_service == pytest.approx(3.0 * inside_s, rel=1e-6)  # hardly any is lost
    assert served.ttft_s + served.itl_s * (SAMPLE.output - 1) == pytest.approx(
        served.response_s, rel=1e-9
    )


def test_the_fleet_simulators_figures_are_met():
    """Erlang C and the 99th percentile of its module, computed by hand from its formula."""
    assert float(erlang_c(64, 50.0)) == pytest.approx(0.037451, abs=1e-6)
    assert float(fleet_wait_s(64, 10.0, 0.2, 1.5)) == pytest.approx(0.58949, abs=1e-5)
    assert float(fleet_wait_s(64, 5.0, 0.2, 1.5)) == 0.0  # fewer than 1 % wait


@pytest.mark.parametrize("servers", [1, 2, 7, 40])
@pytest.mark.parametrize("rho", [0.1, 0.6, 0.95])
def test_erlang_c_is_its_sum(servers, rho):
    a = servers * rho
    waits = a**servers / math.factorial(servers) / (1 - rho)
    none = sum(a**n / math.factorial(n) for n in range(servers)) + waits
    assert float(erlang_c(servers, a)) == pytest.approx(waits / none, rel=1e-9)


@given(LOADS, TIMES)
def test_one_server_of_exponential_services_is_a_special_case_of_all(rho, service):
    rate = rho / service
    whole = float(mm1_response_s(rate, service))
    assert float(mg1_wait_s(rate, service, 1.0)) + service == pytest.approx(whole, rel=1e-9)
    assert float(gg1_response_s(rate, service, 1.0, 1.0)) == pytest.approx(whole, rel=1e-9)
    assert float(erlang_c(1, rho)) == pytest.approx(rho, rel=1e-9, abs=1e-12)
    ours = float(fleet_wait_s(1, rate, 1 / service, 1.0, 95.0))
    assert ours == pytest.approx(float(mm1_wait_quantile_s(rate, service, 95)), rel=1e-6, abs=1e-9)


@given(LOADS, TIMES)
def test_one_prompt_at_a_time_is_a_queue_of_constant_services(rho, prefill):
    rate = rho / prefill
    whole = float(md1_ttft_s(rate, prefill))
    assert whole == pytest.approx(float(mg1_wait_s(rate, prefill, 0.0)) + prefill, rel=1e-9)
    d, r = prefill, rate
    pipeline = d + r * d**2 / (4 * (2 - r * d))
    assert float(md1_ttft_s(r, d, ways=2)) == pytest.approx(pipeline, rel=1e-9)
    tensor = d / 1.7 + r * d**2 / (2 * 1.7 * (1.7 - r * d))
    assert float(md1_tensor_ttft_s(r, d, 1.7)) == pytest.approx(tensor, rel=1e-9)


def test_waits_of_constant_services_are_erlangs_sum():
    def within(t: float, rate: float) -> float:
        terms = range(int(t) + 1)
        return (1 - rate) * sum(
            (-rate * (t - n)) ** n / math.factorial(n) * math.exp(rate * (t - n)) for n in terms
        )

    at = [0.0, 0.5, 1.5, 3.0, 6.3, 12.0]
    for rate in (0.2, 0.7, 0.9):
        ours = mg1_waits_within(rate, [1.0], [1.0], at)
        assert ours == pytest.approx([within(t, rate) for t in at], abs=1e-3)


def test_waits_of_exponential_services_are_exponential():
    service = np.linspace(0.0025, 25.0, 5000)
    at = np.asarray([0.0, 0.3, 1.0, 4.0, 11.0])
    ours = mg1_waits_within(0.7, service, np.exp(-service), at)
    assert ours == pytest.approx(1 - 0.7 * np.exp(-0.3 * at), abs=1e-5)


@given(LOADS, st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 1)), min_size=1, max_size=5))
def test_waits_have_the_mean_of_pollaczek_and_khinchine(rho, kinds):
    service, weight = (np.asarray(part) for part in zip(*kinds, strict=True))
    share = weight / weight.sum()
    mean = float(share @ service)
    cv2 = float(share @ service**2) / mean**2 - 1
    rho = min(rho, 0.9)
    wanted = float(mg1_wait_s(rho / mean, mean, cv2))
    at = np.linspace(0, 40 * max(wanted, mean), 20_001)
    held = mg1_waits_within(rho / mean, service, weight, at)
    assert (np.diff(held) >= -1e-12).all()
    assert float(np.trapezoid(1 - held, at)) == pytest.approx(wanted, rel=0.01, abs=2e-3 * mean)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: mm1_response_s(2.0, 0.5),
        lambda: mm1_wait_quantile_s(3.0, 0.5, 99),
        lambda: mg1_wait_s([0.1, 9.0], 0.5, 1.0),
        lambda: mg1_waits_within(2.0, [0.5], [1.0], 1.0),
        lambda: md1_ttft_s(4.0, 0.5, ways=2),
        lambda: md1_tensor_ttft_s(4.0, 0.5, 1.9),
        lambda: erlang_c(8, 8.0),
        lambda: fleet_wait_s(8, 9.0, 1.0, 1.0),
        lambda: gg1_response_s(2.0, 0.5, 1.0, 1.0),
        lambda: inferno(SAMPLE, 3.862),
    ],
)
def test_what_never_settles_is_refused(ask):
    with pytest.raises(Refused, match="no steady state"):
        ask()


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_what_is_no_rate_is_refused(rate):
    with pytest.raises(UsageError):
        mm1_response_s(rate, 0.5)


@pytest.mark.parametrize("percentile", [-1, 100, 200])
def test_what_is_no_percentile_is_refused(percentile):
    with pytest.raises(UsageError, match="percentile"):
        mm1_wait_quantile_s(1.0, 0.5, percentile)
    with pytest.raises(UsageError, match="percentile"):
        fleet_wait_s(4, 1.0, 1.0, 1.0, percentile)
