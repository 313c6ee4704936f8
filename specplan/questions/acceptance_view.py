"""A capture as the page that people see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specplan.domain.answer import Column, Facts, Lines, Rows, Scalar, Section, View
from specplan.domain.capture import Capture, Seen
from specplan.domain.traps import TRAPS
from specplan.questions.acceptance_picture import picture_of
from specplan.questions.common import percent
from specplan.questions.shared_k import SharedK, best_lines
from specplan.units import people
from specplan.visible import visible

ASIDE = (
    Column("kept", "", "kept", "text"),
    Column("interval", "", "(95 %)", "text"),
    Column("given", "", "given all before", "text"),
)
DEFINED = {
    "tokens/round": "1 + accepted / drafts, the bonus token included",
    "alpha": "accepted / (accepted + rejections): how often a draft token is kept when all before "
    "it were",
    "rate": "accepted / drafted: engines' acceptance rate, which is no alpha",
    "drafts": "rounds that verified a draft",
    "effective": "independent rounds that would scatter as these do, for requests differ; of "
    "few spans the interval is wider still",
    "kept": "share of all rounds that keep the position",
}
_NAMED = 30  # characters of a source beside its figures
_LOADS = 2  # from that many loads on there is a table of them


def aside_of(record: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What people read of a position."""
    given = record["conditional"]
    return {
        "kept": percent(_float(record["unconditional"])),
        "interval": interval(record["low"], record["high"], 100, 1),
        "given": "-" if given is None else percent(_float(given)),
    }


def view_of(capture: Capture, best: SharedK | None) -> View:
    """The page."""
    tau = capture.tokens_per_round
    title = "Acceptance" if tau is None else f"Acceptance: {tau:.2f} tokens per round"
    sections: list[Section] = [Facts(tuple(_facts(capture)))]
    if capture.per_position:
        sections.append(Rows(columns=("position", "kept", "interval", "given")))
    if len(capture.loads) >= _LOADS:
        sections.append(Facts(tuple(_loads(capture))))
    if best:
        sections.append(Lines(best_lines(best), wrap=True))
    said = tuple(f"Contradiction: {each}." for each in capture.contradictions)
    traps = tuple(f"{trap}: {TRAPS.get(trap, '')}." for trap in capture.traps)
    sections += [Lines(lines, wrap=True) for lines in (said, tuple(_defined(capture)), traps)]
    return View(
        title=title,
        caption=caption_of(capture),
        sections=tuple(sections),
        picture=picture_of(capture),
    )


def caption_of(capture: Capture, name: str = "") -> tuple[str, ...]:
    """Whose words these are, and how many."""
    origin = capture.origin
    version = f" {origin.version_guess}" if origin.version_guess else ""
    spans = f"{capture.spans:,} span{'s' * (capture.spans != 1)}"
    lines = f"{capture.lines:,} line{'s' * (capture.lines != 1)}"
    return (f"{name}{visible(capture.source, 60)}", f"{origin.engine}{version}, {spans}, {lines}")


def _facts(capture: Capture) -> Iterator[tuple[str, str]]:
    """Every figure with its interval and where it comes from."""
    tau = capture.tokens_per_round
    if tau is not None:
        low, high = capture.tokens_per_round_low, capture.tokens_per_round_high
        most = f"  of {capture.k + 1} at k = {capture.k}" if capture.k else ""
        yield "tokens/round", f"{tau:.3f} {interval(low, high)}{most}"
    if capture.alpha is not None:
        bounds = interval(capture.alpha_low, capture.alpha_high)
        basis = capture.alpha_basis.partition(",")[0].partition(";")[0]
        yield "alpha", f"{capture.alpha:.3f} {bounds}  {basis}"
    if capture.acceptance_rate is not None:
        yield "rate", f"{percent(capture.acceptance_rate)} of the drafted tokens"
    counts = (capture.drafts, capture.drafted_tokens, capture.accepted_tokens)
    words = zip(counts, ("drafts", "drafted", "accepted"), strict=True)
    told = [f"{count:,.0f} {word}" for count, word in words if count is not None]
    if told:
        yield "counted", ", ".join(told)
    if capture.effective_rounds is not None:
        yield "effective", f"worth {capture.effective_rounds:,.0f} rounds of drafts alike"
    if capture.mean_draft is not None and "short-drafts" in capture.traps:
        yield "mean draft", f"{capture.mean_draft:.2f} tokens"
    yield from _seen(capture)


def _seen(capture: Capture) -> Iterator[tuple[str, str]]:
    """What was running."""
    if capture.batch:
        yield "batch", _span(capture.batch, "running")
    if capture.waiting and capture.waiting.high:
        yield "waiting", _span(capture.waiting, "requests")
    if capture.tokens_per_s:
        yield "throughput", _span(capture.tokens_per_s, "tok/s")
    if capture.step_s:
        yield "step", people(capture.step_s.mean, "s")
    if capture.context:
        yield "context", _span(capture.context, "tokens")


def _span(seen: Seen, unit: str) -> str:
    within = "" if seen.low == seen.high else f" ({_short(seen.low)} to {_short(seen.high)})"
    return f"{_short(seen.mean)} {unit}{within}"


def _loads(capture: Capture) -> Iterator[tuple[str, str]]:
    """Acceptance by load: what a drafter keeps does not depend on it, who was asked may."""
    for load in capture.loads:
        flow = "" if load.tokens_per_s is None else f", {load.tokens_per_s:,.0f} tok/s"
        ends = dict.fromkeys((f"{load.batch_low:.0f}", f"{load.batch_high:.0f}"))
        said = f"{load.tokens_per_round:.2f} tokens/round{flow}, {load.rounds:,.0f} rounds"
        yield f"batch {'-'.join(ends)}", said


def _defined(capture: Capture) -> Iterator[str]:
    """The definition of every figure shown, then what the source itself means by its own."""
    shown = {
        "tokens/round": capture.tokens_per_round is not None,
        "alpha": capture.alpha is not None,
        "rate": capture.acceptance_rate is not None,
        "drafts": capture.drafts is not None,
        "effective": capture.effective_rounds is not None,
        "kept": bool(capture.per_position),
    }
    for name, words in DEFINED.items():
        if shown[name]:
            yield f"{name}: {words}."
    if capture.alpha_basis and capture.alpha is not None:
        yield f"alpha here: {capture.alpha_basis}."
    for name, words in capture.origin.definitions.items():
        yield f"{name}, by {capture.origin.engine}: {words.rstrip('.')}."


def interval(low: Scalar, high: Scalar, scale: float = 1, digits: int = 3) -> str:
    """Both ends in brackets; nothing where there are none."""
    if low is None or high is None:
        return ""
    return f"({scale * _float(low):.{digits}f} to {scale * _float(high):.{digits}f})"


def _float(value: Scalar) -> float:
    return float(value or 0)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.1f}"
