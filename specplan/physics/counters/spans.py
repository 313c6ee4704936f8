"""One span's figures, completed from each other, and what in them contradicts itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from specplan.domain.acceptance import MOST_POSITIONS
from specplan.domain.capture import Span

_LARGEST = 1e18  # no counter of an engine is beyond
_SLACK = 1e-6
_LEAST_PLACES = 2  # behind the point: with fewer a figure may be exact
_ROUNDED = 0.003  # share that rounds worked out from a mean of two decimals may be off
TAU_ROUNDING = 0.01
_RATE_ROUNDING = 0.001  # share of the rounds that per-position counts made of rates may be off


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a span counts. `length` is how long every draft was, if all were equally long;
    `rejections` the rounds that ended in a rejection, if they can be counted. Without `drafts`
    there is only `tau`, a mean of `weight` rounds.
    """

    drafts: float | None
    drafted: float | None
    accepted: float | None
    at: tuple[float, ...]
    length: int | None
    rejections: float | None
    tau: float | None
    weight: float
    derived: bool  # whether the number of rounds was worked out from other figures


def counts_of(span: Span, k: int | None, in_use: int | None = None) -> Counts:
    """The counts of a span whose drafts were allowed `k` tokens, if anybody said so, and had
    `in_use` tokens, all of them, if the user says so.
    """
    at, drafts, drafted, accepted = _given(span)
    k = span.k or k
    derived = drafts is None and accepted is not None
    if derived:
        drafts = _rounds(span, drafted, accepted, in_use)
    length = _length(drafts, drafted, at, k, _ROUNDED if derived and span.tau else 0.0)
    if derived and length and drafted:
        drafts = drafted / length
    return Counts(
        drafts=drafts,
        drafted=drafts * length if drafted is None and drafts and length else drafted,
        accepted=accepted,
        at=at,
        length=length,
        rejections=_rejections(span, drafts, drafted, accepted, at, length),
        tau=span.tau if drafts is None else None,
        weight=span.weight,
        derived=derived and drafts is not None,
    )


def _given(
    span: Span,
) -> tuple[tuple[float, ...], float | None, float | None, float | None]:
    """Positions, drafts, drafted and accepted, as they are stated or follow at once."""
    at, drafts, drafted, accepted = span.at_position, span.drafts, span.drafted, span.accepted
    if span.histogram:
        tails = [sum(span.histogram[i:]) for i in range(len(span.histogram))]
        at = at or tuple(tails[1:])
        drafts = tails[0] if drafts is None else drafts
    if span.drafted_at:
        drafts = span.drafted_at[0] if drafts is None else drafts
        drafted = sum(span.drafted_at) if drafted is None else drafted
    if at and accepted is None:
        accepted = sum(at)
    return at[:MOST_POSITIONS], drafts, drafted, accepted


def _rounds(
    span: Span, drafted: float | None, accepted: float | None, in_use: int | None
) -> float | None:
    """The rounds of a span that does not count them: from the mean where one is given, else as if
    every draft had been k tokens long.
    """
    if span.tau is not None and accepted and span.tau > 1:
        return accepted / (span.tau - 1)
    return drafted / in_use if drafted is not None and in_use else None


def _length(
    drafts: float | None,
    drafted: float | None,
    at: tuple[float, ...],
    k: int | None,
    rounded: float,
) -> int | None:
    """The length of all drafts where they were equally long, as far as a share `rounded` tells."""
    if not drafts:
        return None
    if drafted is None:
        return len(at) or k
    length = round(drafted / drafts)
    even = abs(drafted - drafts * length) <= 0.5 + (_SLACK + rounded) * drafted
    return length if length and even and not any(at[length:]) else None


def _rejections(
    span: Span,
    drafts: float | None,
    drafted: float | None,
    accepted: float | None,
    at: tuple[float, ...],
    length: int | None,
) -> float | None:
    """Rounds that did not keep all that was drafted; None where they cannot be counted."""
    if not drafts or accepted is None:
        return None
    if drafted is not None and drafted <= accepted:
        return 0.0
    if length and len(at) >= length:
        return drafts - at[length - 1]
    if length == 1:
        return drafts - accepted
    if span.drafted_at and len(at) >= len(span.drafted_at):
        return _tested(drafts, span.drafted_at, at) - accepted
    return None


def _tested(drafts: float, drafted_at: tuple[float, ...], at: tuple[float, ...]) -> float:
    """Drafts verified with all before them kept, as if length and acceptance had no connection."""
    total, kept, wide = 0.0, drafts, drafts
    for drafted, accepted in zip(drafted_at, at, strict=False):
        if wide <= 0:
            break
        total += max(kept * drafted / wide, accepted)
        kept, wide = accepted, drafted
    return total


def judged(span: Span, k: int | None, in_use: int | None = None) -> tuple[Counts | None, list[str]]:
    """The counts of a span that can be believed, None for none of them, and what contradicts itself
    in it, both values named. Positions that do not fit the counts are left out of them.
    """
    wrong = _no_count(span)
    if wrong:
        return None, [wrong]
    counts = counts_of(span, k, in_use)
    drafted, accepted = counts.drafted, counts.accepted
    if None not in {drafted, accepted} and (accepted or 0) > (drafted or 0) * (1 + _SLACK):
        return None, [f"{accepted:,g} accepted of {drafted:,g} drafted"]
    beyond = _beyond(span, counts, k)
    if beyond:
        return None, [beyond]
    said = list(_stated(span, counts))
    misplaced = _misplaced(span, counts)
    if not misplaced:
        return counts, said
    bare = replace(span, at_position=(), histogram=(), drafted_at=())
    kept = replace(bare, drafts=counts.drafts, drafted=counts.drafted, accepted=counts.accepted)
    return counts_of(kept, k), [*said, misplaced]


def _no_count(span: Span) -> str:
    """A figure of a span that counts nothing; nothing if all of them can be."""
    figures = (span.drafts, span.drafted, span.accepted, span.tau, span.weight)
    for value in (*figures, *span.at_position, *span.drafted_at, *span.histogram):
        if value is not None and not (math.isfinite(value) and 0 <= value <= _LARGEST):
            return f"a count of {value:g}"
    return ""


def _misplaced(span: Span, counts: Counts) -> str:
    """What cannot be in the counts by position, or does not add up to the others."""
    before = counts.drafts
    for place, kept in enumerate(counts.at):
        if before is not None and kept > before * (1 + _SLACK) + _SLACK:
            first = f"position {place} in {before:,g}" if place else f"of {before:,g}"
            return f"position {place + 1} is kept in {kept:,g} rounds, {first}"
        before = kept
    rounds = sum(span.histogram)
    if span.histogram and counts.drafts is not None and abs(rounds - counts.drafts) > 0.5:
        return f"the histogram has {rounds:,g} rounds, the counts {counts.drafts:,g}"
    if counts.at and counts.accepted is not None and counts.drafts:
        total = sum(counts.at)
        if abs(total - counts.accepted) > len(counts.at) * (1 + _RATE_ROUNDING * counts.drafts):
            return f"{counts.accepted:,g} accepted, by position {total:,g}"
    return ""


def _stated(span: Span, counts: Counts) -> Iterator[str]:
    """What a span states beside its counts and they do not bear out."""
    computed = _computed(counts)
    for name, value, half in span.stated:
        ours = computed.get(name)
        if ours is None or not math.isfinite(value):
            continue
        off = abs(value - ours) > half * (1 + _SLACK) + _SLACK * max(1.0, abs(ours))
        if off and not _rounds_to(ours, value):
            yield f"{_CALLED.get(name, name)} is stated as {value:g}, its counts give {ours:.4g}"


def _rounds_to(ours: float, value: float) -> bool:
    """Whether a figure is ours with two places or more, as whoever kept the file wrote it down."""
    places = len(f"{value:.12g}".partition(".")[2])
    return places >= _LEAST_PLACES and math.isclose(round(ours, places), value, rel_tol=1e-9)


def _beyond(span: Span, counts: Counts, k: int | None) -> str:
    """More tokens a round than a draft of the longest length and the bonus token make."""
    tau = counts.tau if counts.tau is not None else _computed(counts).get("tau")
    most = span.k or counts.length or k
    if tau is None or not most or tau <= most + 1 + TAU_ROUNDING:
        return ""
    return f"{tau:.4g} tokens a round at k = {most}: at most {most + 1} can be"


def _computed(counts: Counts) -> dict[str, float]:
    found = {"drafts": counts.drafts, "drafted": counts.drafted, "accepted": counts.accepted}
    if counts.drafts:
        if counts.accepted is not None:
            found["tau"] = 1 + counts.accepted / counts.drafts
        for place, kept in enumerate(counts.at):
            found[f"at:{place}"] = kept / counts.drafts
    if counts.drafted and counts.accepted is not None:
        found["rate"] = counts.accepted / counts.drafted
    return {name: value for name, value in found.items() if value is not None}


_CALLED = {"tau": "the mean length", "rate": "the acceptance rate"}
