"""What tokens cost: at the card's price, at the user's, and not at all where neither is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.hardware import Price
from specplan.errors import UsageError
from specplan.questions.best_k import best_k
from specplan.questions.cost import cost_of, cost_words
from tests import worlds


def price(usd: float, kind: str = "on-demand", provider: str = "Acme") -> Price:
    return Price(usd_per_hour=usd, provider=provider, kind=kind, read="2026-11-01", cite="a list")


@pytest.fixture
def priced():
    setup = worlds.setup(replace(worlds.PAIR, tp=2))
    prices = (price(4.0), price(3.6, provider="Bell"), price(1.0, "spot"))
    return replace(setup, hardware=replace(setup.hardware, prices=prices))


def test_the_lowest_price_on_demand_counts_for_every_gpu(priced):
    """2 GPUs at 3.60 USD/h are 0.002 USD/s; 1,000 tokens/s cost 2 USD a million."""
    cost = cost_of(priced, 1000.0, 500.0, None)
    assert cost.usd_per_million_tokens == pytest.approx(2.0)
    assert cost.usd_per_million_tokens_plain == pytest.approx(4.0)
    assert cost_words(cost) == (
        "2.00 USD per million output tokens   (plain 4.00 USD)",
        "at 3.6 USD/h a GPU: Bell, 2026-11-01",
    )


def test_a_price_of_years_ago_does_not_count(priced):
    old = Price(usd_per_hour=0.5, provider="Old", read="2019-01-01", cite="a list")
    prices = (*priced.hardware.prices, old)
    setup = replace(priced, hardware=replace(priced.hardware, prices=prices))
    assert cost_of(setup, 1000.0, 500.0, None).usd_per_gpu_hour == 3.6


def test_what_the_user_states_wins(priced):
    cost = cost_of(priced, 1000.0, 500.0, 7.2)
    assert cost.usd_per_million_tokens == pytest.approx(4.0)
    assert cost.price == "as stated"


def test_without_a_price_there_is_no_cost():
    assert cost_of(worlds.setup(worlds.PAIR), 1000.0, 500.0, None) is None


def test_best_k_tells_the_cost_of_both_arms():
    scenario = worlds.scenario(worlds.PAIR)
    value = best_k(scenario, usd_per_gpu_hour=3.6).value
    assert value.cost.usd_per_million_tokens == pytest.approx(
        1e6 * 0.001 / value.choice.tokens_per_s
    )
    ratio = value.cost.usd_per_million_tokens_plain / value.cost.usd_per_million_tokens
    assert ratio == pytest.approx(value.choice.speedup)


@pytest.mark.parametrize("usd", [0.0, -1.0, 1e308, float("inf")])
def test_a_price_that_is_none_is_refused(usd):
    with pytest.raises(UsageError, match="USD"):
        best_k(worlds.scenario(worlds.PAIR), usd_per_gpu_hour=usd)
