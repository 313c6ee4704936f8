"""What `specplan capacity` works out against what `specplan simulate` counts, at three loads.

    python benchmarks/capacity.py [RUNS] [REQUESTS]

Each scenario is one replica at 20, 60 and 85 % of the rate from which its queue only grows. A line
has what `specplan.serving.steady` says, what RUNS (8) simulated runs of REQUESTS (20,000) requests
each say with half of their 95 % interval, and by how much the first is off. A day of chat, timed on
one core, comes last. With the defaults about six minutes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import specplan
from specplan.cli.demand import demand_of, traffic_of
from specplan.domain.accounting import Limits
from specplan.domain.lengths import law_of
from specplan.domain.slo import Slo
from specplan.domain.slo_text import slo_of
from specplan.domain.traffic import Lengths
from specplan.questions.replicas import fixed_replica, gated_replica, plain_replica, shape_of
from specplan.serving.incoming import steady as at_rate
from specplan.serving.lengths import independent
from specplan.serving.replica import Replica
from specplan.serving.replications import Job, replicate
from specplan.serving.steady import saturation, steady

LOADS = (0.20, 0.60, 0.85)
MEASURES = (("ttft", "mean"), ("ttft", 95.0), ("tpot", "mean"), ("tpot", 95.0))
DAY_S, DAY_RATE = 86_400.0, 5.0


@dataclass(frozen=True)
class Scenario:
    """A replica and the requests that come to it."""

    name: str
    about: str
    lengths: Callable[[], Lengths]
    setup: dict[str, object]
    k: int | str

    def replica(self) -> Replica:
        """With its policy."""
        asked = specplan.scenario(**self.setup)  # type: ignore[arg-type]
        setup, acceptance = asked.setups[0], asked.acceptance[0]
        shape = shape_of(self.lengths())
        if self.k == "gate":
            return gated_replica(setup, acceptance, shape, tuple(range(7)))
        if not self.k:
            return plain_replica(setup, acceptance, shape, Limits())
        return fixed_replica(setup, acceptance, shape, int(self.k))


def recorded(name: str) -> Callable[[], Lengths]:
    """Lengths that ship with specplan."""
    return lambda: traffic_of(demand_of({"trace": name, "rate": "1/s"}), None).lengths


def laws(isl: str, osl: str) -> Callable[[], Lengths]:
    """Prompts and outputs of their own laws."""
    return lambda: independent(law_of(isl), law_of(osl), 0.0)


CHAT = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100", "engine": "vllm"}
SCENARIOS = (
    Scenario(
        "chat",
        "Azure conv, Llama-3.1-8B and its EAGLE-3 head, alpha 0.7, one H100, vllm, k = 3",
        recorded("azure-conv-2023"),
        {**CHAT, "acceptance": 0.7},
        3,
    ),
    Scenario(
        "chat, gated",
        "the same with k by batch",
        recorded("azure-conv-2023"),
        {**CHAT, "acceptance": 0.7},
        "gate",
    ),
    Scenario(
        "documents",
        "4,000 + 500 tokens, Qwen3-32B-FP8 and its EAGLE-3 head, alpha 0.8, one H200, vllm, k = 3",
        laws("4000", "500"),
        {
            "target": "qwen3-32b-fp8",
            "draft": "eagle3",
            "hardware": "h200",
            "engine": "vllm",
            "kv_dtype": "fp8",
            "acceptance": 0.8,
        },
        3,
    ),
    Scenario(
        "assistant",
        "lognormal 1,200 + exponential 300, Llama-3.3-70B on 4 H100, alpha 0.7, vllm, k = 3",
        laws("lognormal:1200,0.9", "exponential:300"),
        {
            "target": "llama-3.3-70b",
            "draft": "eagle3",
            "hardware": "h100",
            "tp": 4,
            "engine": "vllm",
            "acceptance": 0.7,
        },
        3,
    ),
    Scenario(
        "code",
        "Azure code, otherwise as chat",
        recorded("azure-code-2023"),
        {**CHAT, "acceptance": 0.7},
        3,
    ),
)


def compared(one: Scenario, runs: int, requests: int) -> Iterator[str]:
    """A line for each load and measure."""
    replica, lengths = one.replica(), one.lengths()
    top = saturation(replica, lengths)
    for load in LOADS:
        rate = load * top
        told = steady(replica, lengths, rate)
        traffic = at_rate(rate, lengths, cv=1.0)
        job = Job(
            replica=replica, traffic=traffic, seconds=requests / rate, requests=requests, seed=1
        )
        found = replicate(job, runs, workers=os.cpu_count() or 1)
        parts = []
        for name, what in MEASURES:
            law = told.law(name)
            ours = law.mean if what == "mean" else law.percentile(float(what))
            place = 0 if what == "mean" else (0, 50.0, 90.0, 95.0, 99.0, 99.9).index(what)
            counted = found.estimates(name)[place]
            theirs, half = counted.value, counted.half or 0.0
            parts.append(
                f"{1e3 * ours:8.2f} {1e3 * theirs:8.2f} +-{1e3 * half:6.2f} "
                f"{100 * (ours / theirs - 1):+6.1f} %"
            )
        yield f"{load:4.0%} {rate:6.2f}/s " + " |".join(parts)


def day() -> str:
    """A day of chat on one core, all outputs on."""
    chat = SCENARIOS[0]
    traffic = at_rate(DAY_RATE, chat.lengths(), cv=1.0)
    slo: Slo = slo_of("ttft_p99=1s,tpot_p95=15ms,itl_p99=100ms")
    job = Job(replica=chat.replica(), traffic=traffic, seconds=DAY_S, slo=slo)
    start = time.process_time()
    found = job.run(0)
    spent = time.process_time() - start
    return f"{found.counts} in {spent:.1f} s of CPU on one core"


def main() -> None:
    """All scenarios, then the day."""
    runs, requests = map(int, sys.argv[1:3] if len(sys.argv) == 3 else ("8", "20000"))
    heads = (f"{name} {what if what == 'mean' else f'p{what:g}'}" for name, what in MEASURES)
    print(f"{runs} runs of {requests:,} requests; ms: worked out, simulated, off by")
    print(f"{'':15}" + " |".join(f"{head:^36}" for head in heads))
    for one in SCENARIOS:
        print(f"\n{one.name}: {one.about}", flush=True)
        for line in compared(one, runs, requests):
            print(line, flush=True)
    print(f"\na day of {SCENARIOS[0].name} at {DAY_RATE:g} requests a second: {day()}")


if __name__ == "__main__":
    main()
