"""`vllm bench serve`: the JSON it saves, and what it prints at the end.

Acceptance keys are there from 0.14.1 on, where the server drafted something in the run; rates are
in percent, those by position fractions in the JSON and percent on the console.
Format: vllm/benchmarks/serve.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from specplan.dialects.figures import count, counts, mapping, number, ratio, whole
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Origin, Span, Told

_EXACT: Final = (1e-6, 1e-6)
DEFINITIONS: Final = {
    "tokens_per_round": "1 + accepted / drafts, the bonus token included",
    "acceptance_rate": "accepted / drafted, in percent",
    "per_position": "drafts accepted up to that position over all drafts: unconditional",
    "batch": "requests in flight on average: their times together over the run's",
    "tokens_per_s": "output tokens over the whole run, prompts and pauses included",
    "context": "mean prompt and half of the mean output",
}
_MS: Final = 1000.0


class Bench:
    """Reads results, one document each."""

    format: ClassVar[str] = "vllm-bench"

    def __init__(self) -> None:
        self._has_rates = False

    def claims(self, document: object) -> bool:
        """A result of `vllm bench serve`, with acceptance or without."""
        keys = mapping(document)
        return "spec_decode_acceptance_length" in keys or (
            {"model_id", "output_throughput", "total_output_tokens"} <= set(keys)
        )

    def read(self, document: object, place: int) -> Iterator[Found]:
        """One run."""
        result = mapping(document)
        yield from told(result, place)
        span = span_of(result, place)
        yield from traps(result, span, place)
        self._has_rates = self._has_rates or span.drafts is not None
        yield span

    def finish(self) -> Iterator[Found]:
        """Nothing more."""
        yield from ()

    def origin(self) -> Origin:
        """A result of vLLM's benchmark."""
        return Origin(
            format="vllm-bench",
            engine="vllm",
            version_guess="0.14.1 or newer" if self._has_rates else "",
            definitions=DEFINITIONS,
        )


def span_of(result: Mapping[str, object], place: int, halves: tuple[float, float] = _EXACT) -> Span:
    """The run that a result is of; `halves` are what rounding leaves its length and its rates."""
    drafts = count(result.get("spec_decode_num_drafts"))
    rates = counts(result.get("spec_decode_per_position_acceptance_rates"))
    rate = number(result.get("spec_decode_acceptance_rate"))
    done, duration = count(result.get("completed")), count(result.get("duration"))
    prompt = ratio(count(result.get("total_input_tokens")), done)
    output = ratio(count(result.get("total_output_tokens")), done)
    stated = [
        ("tau", number(result.get("spec_decode_acceptance_length")), halves[0]),
        ("rate", None if rate is None else rate / 100, halves[1]),
    ]
    return Span(
        drafts=drafts,
        drafted=count(result.get("spec_decode_draft_tokens")),
        accepted=count(result.get("spec_decode_accepted_tokens")),
        at_position=tuple(_near(rate * drafts, halves[1] * drafts) for rate in rates)
        if drafts
        else (),
        stated=tuple((name, one, half) for name, one, half in stated if one is not None and drafts),
        k=len(rates) or None,
        running=_in_flight(result, done, duration, output),
        tokens_per_s=count(result.get("output_throughput")),
        duration_s=duration,
        tokens=count(result.get("total_output_tokens")),
        context=None if prompt is None or output is None else prompt + output / 2,
        line=place,
    )


def told(result: Mapping[str, object], place: int) -> Iterator[Found]:
    """The model, and what the run was made of."""
    names = {
        "target": "model_id",
        "dataset": "dataset_name",
        "max_concurrency": "max_concurrency",
        "mean_tpot_ms": "mean_tpot_ms",
        "mean_itl_ms": "mean_itl_ms",
    }
    facts: dict[str, Scalar] = {}
    for ours, theirs in names.items():
        value = result.get(theirs)
        if isinstance(value, str):
            facts[ours] = value[:200]
        elif (figure := count(value)) is not None:
            facts[ours] = whole(value) if theirs == "max_concurrency" else figure
    if facts:
        yield Told(facts=facts, line=place)


def traps(result: Mapping[str, object], span: Span, place: int) -> Iterator[Found]:
    """Those that apply to a run."""
    itl, tpot = count(result.get("mean_itl_ms")), count(result.get("mean_tpot_ms"))
    short = span.k and span.drafts and span.drafted and span.drafted < span.drafts * span.k
    for trap, applies in (
        ("bonus-in", span.drafts),
        ("percent", span.drafts),
        ("short-drafts", short),
        ("itl-per-chunk", itl and tpot and itl > 1.05 * tpot),
        ("random-dataset", result.get("dataset_name") in {"random", "random-mm", "random-ids"}),
    ):
        if applies:
            yield Noted(trap=trap, line=place)


def _near(value: float, half: float) -> float:
    """The whole number that a count must be, where rounding leaves only one."""
    return float(round(value)) if half < 0.5 and abs(value - round(value)) <= half + 1e-6 else value


def _in_flight(
    result: Mapping[str, object],
    done: float | None,
    duration: float | None,
    output: float | None,
) -> float | None:
    """Requests in flight on average, by Little's law; at most as many as were allowed."""
    each = count(result.get("mean_e2el_ms"))
    first, tpot = count(result.get("mean_ttft_ms")), count(result.get("mean_tpot_ms"))
    if each is None and first is not None and tpot is not None and output is not None:
        each = first + tpot * max(output - 1, 0)
    most = count(result.get("max_concurrency"))
    if each is None or not done or not duration:
        return most
    busy = done * each / _MS / duration
    return min(busy, most) if most else busy
