"""Limits as people write them: `ttft_p99=2s,tpot_p95=30ms`, or a preset such as
mlperf-llama2-70b-server, to which further limits may be added.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from specplan.domain.slo import METRICS, Limit, Metric, Slo
from specplan.domain.slo_presets import PRESETS
from specplan.errors import UsageError, unknown
from specplan.units import parse_quantity
from specplan.visible import visible

FORM: Final = "ttft_p99=2s,tpot_p95=30ms, or a preset"
LOWEST, HIGHEST = 50.0, 99.9
"""Percentiles that may be asked for: fewer requests than a thousand show no more."""

_NAME: Final = re.compile(r"([a-z0-9]+)(?:_p([0-9]{2}(?:\.[0-9]{1,2})?))?", re.ASCII)
_MOST_S: Final = 1e5


def slo_of(text: str) -> Slo:
    """The limits that a text names; metrics are those of METRICS, percentiles p50 to p99.9."""
    found = Slo()
    limits: dict[str, Limit] = {}
    for item in (part.strip() for part in text.split(",")):
        if "=" in item:
            limit = _limit(item)
            if str(limit) in limits and str(limit) not in map(str, found.limits):
                raise UsageError(f"{limit} is limited twice", expected=FORM)
            limits[str(limit)] = limit
        elif found.name or limits:
            raise UsageError(f"'{visible(item, 60)}' is no limit", expected=FORM)
        else:
            found = _preset(item)
            limits = {str(limit): limit for limit in found.limits}
    return replace(found, limits=tuple(limits.values()))


def _preset(name: str) -> Slo:
    preset = PRESETS.get(name.lower())
    if preset is None:
        if _NAME.fullmatch(name) and name.partition("_")[0] in METRICS:
            raise UsageError(f"'{name}' has no limit", expected=FORM)
        raise unknown("SLO", visible(name, 60), PRESETS, hint=f"or write {FORM}")
    return preset


def _limit(item: str) -> Limit:
    name, _, quantity = (part.strip() for part in item.partition("="))
    match = _NAME.fullmatch(name.lower())
    metric: Metric | None = next((m for m in METRICS if match and m == match[1]), None)
    if match is None or metric is None:
        base = name.partition("_")[0]
        if base.lower() in METRICS:
            what = f"'{visible(name, 40)}' is no percentile"
            raise UsageError(what, expected=f"such as {base.lower()}_p99")
        raise unknown("metric", visible(base, 40), METRICS)
    if match[2] is None:
        what = f"{metric} of which requests?"
        raise UsageError(what, hint=f"write {metric}_p99={visible(quantity, 20)}")
    percentile = float(match[2])
    if not LOWEST <= percentile <= HIGHEST:
        expected = f"p{LOWEST:g} to p{HIGHEST:g}"
        raise UsageError(f"p{match[2]} is out of range", expected=expected)
    return Limit(metric, percentile, _seconds(quantity, name))


def _seconds(quantity: str, name: str) -> float:
    if quantity[-1:].isdigit():
        what = f"{visible(name, 40)} is {visible(quantity, 20)} without a unit"
        raise UsageError(what, expected="a time such as 2s or 30ms")
    value = parse_quantity(quantity, "s")
    if not 0 < value <= _MOST_S:
        raise UsageError(f"{visible(name, 40)} is {value:g} s", expected="a time above 0")
    return value
