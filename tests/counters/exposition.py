"""The text that /metrics pages are: as prometheus_client writes it, and as llama.cpp does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf, isnan

Labels = Mapping[str, str]


def go(value: float) -> str:
    """A float as prometheus_client writes it: shortest digits, exponents from 1e+06 on."""
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if isnan(value):
        return "NaN"
    digits = repr(float(value))
    dot = digits.find(".")
    if value <= 0 or dot <= 6:
        return digits
    mantissa = f"{digits[0]}.{digits[1:dot]}{digits[dot + 1 :]}".rstrip("0.")
    return f"{mantissa}e+0{dot - 1}"


def stream(value: float) -> str:
    """A float as a C++ stream writes it by default: six digits, no more."""
    return f"{value:.6g}"


def labels(pairs: Labels) -> str:
    """`{a="1",b="2"}` by name, or nothing."""
    inside = ",".join(f'{name}="{pairs[name]}"' for name in sorted(pairs))
    return f"{{{inside}}}" if inside else ""


def counter(
    name: str, says: str, series: Sequence[tuple[Labels, float]], *, created: float | None = None
) -> str:
    """A counter without its `_total`, and its `_created` gauge if it has one."""
    lines = [f"# HELP {name}_total {says}", f"# TYPE {name}_total counter"]
    lines += [f"{name}_total{labels(pairs)} {go(value)}" for pairs, value in series]
    if created is not None:
        lines += [f"# HELP {name}_created {says}", f"# TYPE {name}_created gauge"]
        lines += [f"{name}_created{labels(pairs)} {go(created)}" for pairs, _ in series]
    return "\n".join(lines) + "\n"


def gauge(name: str, says: str, series: Sequence[tuple[Labels, float]]) -> str:
    """A gauge."""
    lines = [f"# HELP {name} {says}", f"# TYPE {name} gauge"]
    lines += [f"{name}{labels(pairs)} {go(value)}" for pairs, value in series]
    return "\n".join(lines) + "\n"
