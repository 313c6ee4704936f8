"""Limits that others have set for a service, each with its source.

MLPerf Inference, datacenter, closed division: the 99th percentile of the requests, in the Server
scenario and in the stricter Interactive one (mlcommons/inference, tools/submission/
submission_checker/constants.py at 9e3d1054, LLM_LATENCY_LIMITS, rounds 5.0 to 6.0; the percentile
is `*.Server.target_latency_percentile = 99` of loadgen/mlperf.conf at 982b2063, which states the
limits of Llama-2-70B, Mixtral and Llama-3.1-405B too).
"""

from __future__ import annotations

from typing import Final

from specplan.domain.slo import Limit, Slo

_CITE: Final = (
    "MLPerf Inference, mlcommons/inference@9e3d1054 "
    "tools/submission/submission_checker/constants.py; p99 by loadgen/mlperf.conf@982b2063"
)
_MLPERF_MS: Final = {
    "deepseek-r1-server": (2000, 80),
    "deepseek-r1-interactive": (1500, 15),
    "gpt-oss-120b-server": (3000, 80),
    "gpt-oss-120b-interactive": (2000, 15),
    "llama2-70b-server": (2000, 200),
    "llama2-70b-interactive": (450, 40),
    "llama3.1-405b-server": (6000, 175),
    "llama3.1-405b-interactive": (4500, 80),
    "llama3.1-8b-server": (2000, 100),
    "llama3.1-8b-interactive": (500, 30),
    "mixtral-8x7b-server": (2000, 200),
}
"""TTFT and TPOT in milliseconds."""


def _slo(name: str, ttft_ms: float, tpot_ms: float) -> Slo:
    limits = (Limit("ttft", 99.0, ttft_ms / 1000), Limit("tpot", 99.0, tpot_ms / 1000))
    return Slo(limits=limits, name=name, cite=_CITE)


PRESETS: Final = {
    f"mlperf-{name}": _slo(f"mlperf-{name}", *limits) for name, limits in _MLPERF_MS.items()
}
