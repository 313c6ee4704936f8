"""Options of Python callers: the grammar of the command line, names that nobody has."""

from __future__ import annotations

import pytest

import specplan
from specplan.cli.capacity import Fleet
from specplan.cli.demand import Demand
from specplan.cli.homes import at_home
from specplan.cli.server import Server
from specplan.cli.simulate import Runs
from specplan.errors import SpecplanError

CHAT = {"target": "llama-3.1-8b", "draft": "none", "hardware": "h100", "engine": "vllm"}


def test_each_is_read_as_on_the_command_line():
    texts, (demand, fleet, runs) = at_home(
        {
            "target": "llama-3.1-8b",
            "tp": [4, 8],
            "rate": "50/s",
            "slo": {"ttft_p99": "2s"},
            "columns": {"arrival": "ts/ms", "isl": "in", "osl": "out"},
            "margin": "0.2",
            "bins": "2min",
            "pools": True,
            "static_wait": "500ms",
            "workers": 2,
        },
        *(Demand, Fleet, Runs),
    )
    assert texts == {"target": ("llama-3.1-8b",), "tp": ("4,8",)}
    columns = "arrival=ts/ms,isl=in,osl=out"
    assert demand == Demand(rate=50.0, slo="ttft_p99=2s", columns=columns)
    assert fleet == Fleet(margin=0.2, bins=120.0, pools=True)
    assert runs == Runs(static_wait=0.5, workers=2)


def test_nothing_said_is_nothing():
    texts, (demand, server) = at_home(
        {"engine": None, "trace": None, "max_num_seqs": None}, Demand, Server
    )
    assert (texts, demand, server) == ({}, Demand(), Server())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("requsts", "unknown option 'requsts'; did you mean 'requests'?"),
        ("hardwre", "unknown option 'hardwre'; did you mean 'hardware'?"),
        ("batch", "unknown option 'batch'; expected one of "),  # it follows from the traffic
    ],
)
def test_a_name_that_nobody_has(name, said):
    with pytest.raises(SpecplanError) as refused:
        at_home({name: 3}, Demand, Runs)
    assert str(refused.value).startswith(said)


def test_capacity_takes_promises_and_rates_as_the_others_do():
    """A mapping of promises was read as the name of a preset, a text of a rate as no number."""
    traffic = {"rate": "5/s", "isl": 1000, "osl": "200"}
    answer = specplan.capacity(**CHAT, **traffic, slo={"ttft_p99": "2s", "tpot_p95": "30ms"})
    assert [row["ttft_p99_s"] <= 2 for row in answer.table.records()] == [True]
    assert answer.inputs["slo"].value == "ttft_p99=2s,tpot_p95=30ms"
    with pytest.raises(SpecplanError, match="did you mean 'margin'"):
        specplan.capacity(**CHAT, **traffic, margn=0.1)
