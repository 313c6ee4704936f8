"""What can be wrong with measured acceptance that reads well: what it names, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from specplan.domain.curve import KINDS, LOOKUPS, Curve, Series, is_kind
from specplan.domain.heads import MADE
from specplan.domain.model import Model
from specplan.errors import SpecplanError, did_you_mean
from specplan.rules import Finding, Rule
from specplan.rules.drafters import made_for_others
from specplan.rules.sources import UNSOURCED, covering

NOISE = 0.2  # tokens by which a longer draft may be measured to keep less
_FEWEST = 3  # rates that have a shape
_ALIKE = 0.1  # relative: how near to shares of all rounds rates lie that fall as those do
_LOST = 0.25  # of what the first position loses: shares of all rounds rarely lose less later

UNKNOWN_KIND = Rule(
    id="SC044",
    level="warning",
    title="drafter of no kind",
    what="`drafter` of a card of curves is no kind of drafter that specplan knows.",
    why="Whoever asks for the curves of a kind, as in eagle3/mt-bench, never finds these.",
    remedy=f"Write one of {', '.join(KINDS)}; how a block drafter was made is its `family`.",
)
CARDLESS = Rule(
    id="SC045",
    level="warning",
    title="curve of models that do not fit",
    what="`target` or `draft` of a card of curves names no model's card, or the drafter is of "
    "another kind or target.",
    why="Acceptance belongs to a pair of models; the curve is found for no target, or for another.",
    remedy="Write the name of a model's card, or leave the key out and say the model under `of`.",
)
MIXED_UP = Rule(
    id="SC046",
    level="warning",
    title="rates of the other kind",
    what="`conditional` rates fall as shares of all rounds do, or `unconditional` hardly fall.",
    why="Read as what they are not, a round keeps far fewer tokens, or far more, than measured.",
    remedy="Engines print shares of all rounds: `unconditional`. Accept with a reason if it is so.",
)
FALLING = Rule(
    id="SC047",
    level="warning",
    title="longer draft that keeps less",
    what=f"`lengths` fall by more than {NOISE} tokens from a shorter draft to a longer one.",
    why="A longer draft keeps what the shorter one did: runs differ, or a figure is misread.",
    remedy="Compare with the source; accept with a reason if it was measured so.",
)
CURVE_RULES = (UNKNOWN_KIND, CARDLESS, MIXED_UP, FALLING)


def curve_findings(card: Curve) -> Iterator[Finding]:
    """SC044, SC046 and SC047."""
    if card.drafter in MADE or not is_kind(card.drafter):
        hint = did_you_mean(card.drafter, KINDS)
        message = f"'{card.drafter}' is no kind of drafter{hint and f'; {hint}'}"
        yield Finding(UNKNOWN_KIND.id, UNKNOWN_KIND.level, message, ("drafter",))
    for place, series in enumerate(card.series):
        for key, message in _mixed_up(card, series):
            yield Finding(MIXED_UP.id, MIXED_UP.level, message, ("series", place, key))
        for k, message in _falling(series):
            path = ("series", place, "lengths", str(k))
            yield Finding(FALLING.id, FALLING.level, message, path)


def unsourced_series(card: Curve) -> Iterator[Finding]:
    """SC001: each series that none of the sources covers."""
    for place, series in enumerate(card.series):
        if not covering(("series", series.name), card.sources):
            message = f"no source covers series.{series.name}"
            yield Finding(UNSOURCED.id, UNSOURCED.level, message, ("series", place))


def cardless(key: str, name: str, error: SpecplanError) -> Finding:
    """SC045: what stood in the way of a model that the card names."""
    said = "; ".join(filter(None, (error.what, error.hint)))
    return Finding(CARDLESS.id, CARDLESS.level, f"{key} {name}: {said}", (key,))


def unfit_curve(card: Curve, draft: Model | None, target: Model | None) -> Iterator[Finding]:
    """SC045: the drafter's card is of another kind than the curves, or drafts for other targets."""
    if draft is None:
        return
    kind = draft.drafts.kind if draft.drafts else "model"
    if kind != card.drafter:
        message = f"{draft.name} is of kind {kind}, not {card.drafter}"
        yield Finding(CARDLESS.id, CARDLESS.level, message, ("draft",))
    if target is not None and (others := made_for_others(draft, target)):
        yield Finding(CARDLESS.id, CARDLESS.level, others, ("draft",))


def _mixed_up(card: Curve, series: Series) -> Iterator[tuple[str, str]]:
    """The key of rates that look like those of the other kind, and why."""
    first, *later = series.conditional or series.unconditional or (0.0,)
    if len(later) + 1 < _FEWEST or not 0 < first < 1:
        return
    if series.conditional:
        if all(_near(rate, first**n) for n, rate in enumerate(later, 2)):
            yield (
                "conditional",
                f"rates fall like powers of the first, {_listed(series.conditional)}: are they "
                "shares of all rounds (unconditional)?",
            )
    elif card.drafter not in LOOKUPS:
        kept = [after / before for before, after in pairwise(series.unconditional) if before]
        if kept and 1 - min(kept) < _LOST * (1 - first):
            yield (
                "unconditional",
                f"shares hardly fall, {_listed(series.unconditional)}: are they given that all "
                "before were kept (conditional)?",
            )


def _falling(series: Series) -> Iterator[tuple[int, str]]:
    """Each draft length with fewer tokens than a shorter one, beyond noise."""
    best = (0, 1.0)
    for k, tau in sorted(series.lengths.items()):
        if tau < best[1] - NOISE:
            yield k, f"{tau:g} tokens at k = {k} after {best[1]:g} at k = {best[0]}"
        best = max(best, (k, tau), key=lambda point: point[1])


def _near(rate: float, power: float) -> bool:
    return abs(rate - power) <= _ALIKE * power


def _listed(rates: Sequence[float]) -> str:
    return " ".join(f"{rate:g}" for rate in rates)
