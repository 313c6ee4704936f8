"""Whether a published count is that of the card, and if not, what makes the difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from specplan.domain.imported import Extra, Imported, Verdict
from specplan.domain.model import AGREEMENT

EXACT = 0.0001  # how near a sum with extras must come to explain a count
TOWERS = (1.0, 1.5)  # a whole encoder over the weights of its layers: 1.0 to 1.4 in nine models
LEAST_DIGITS = 3  # a count with fewer is taken for rounded


def verdict_on(made: Imported, published: int) -> tuple[Verdict, str]:
    """The verdict on a published count, in words."""
    shape = made.card.shape
    derived = shape.stored_params if shape else 0
    off = published / derived - 1
    if published == derived:
        return "pass", "exactly as published"
    if abs(off) <= AGREEMENT:
        beside = _announced(made, (), published - derived)
        more = f", {_with(beside)}" if beside else ""
        return "pass", f"{100 * off:+.3f} % published over derived{more}"
    for explanation in _explanations(made, derived, published):
        return "explained", explanation
    return "differs", f"{100 * off:+.2f} % published over derived, which nothing explains"


def _explanations(made: Imported, derived: int, published: int) -> Iterator[str]:
    """Each way to make up the difference, simplest first."""
    for count in range(1, len(made.extras) + 1):
        for chosen in combinations(made.extras, count):
            total = derived + sum(extra.params for extra in chosen)
            if abs(published / total - 1) <= EXACT:
                yield _with((*chosen, *_announced(made, chosen, published - total)))
    yield from _rounded(made, derived, published)
    if made.per_head and made.card.medusa:
        heads = published / made.per_head
        if abs(heads - round(heads)) < EXACT:
            yield f"the file holds {heads:.0f} heads, the config says {made.card.medusa.heads}"
    yield from _encoder(made, derived, published)


def _announced(made: Imported, chosen: Sequence[Extra], rest: int) -> tuple[Extra, ...]:
    """What a config announces beside what was chosen, if it is the rest of a count but for a tenth
    (scales of blocks are too few to tell a count from another).
    """
    others = [extra for extra in made.extras if extra.announced and extra not in chosen]
    return tuple(extra for extra in others if abs(rest - extra.params) <= abs(rest) / 10)[:1]


def _with(chosen: Sequence[Extra]) -> str:
    *first, last = (f"{extra.what} ({extra.params:,})" for extra in chosen)
    return f"with {', '.join(first)} and {last}" if first else f"with {last}"


def _encoder(made: Imported, derived: int, published: int) -> Iterator[str]:
    """The rest, where a tower of about that size is described; what the config announces first."""
    low, high = (share * (made.tower or 0) for share in TOWERS)
    announced = tuple(extra for extra in made.extras if extra.announced)
    choices = (
        announced,
        *(c for n in range(len(made.extras)) for c in combinations(made.extras, n)),
    )
    for chosen in choices:
        rest = published - derived - sum(extra.params for extra in chosen)
        if low <= rest <= high and rest > 0:
            also = f"{_with(chosen)} and " if chosen else "with "
            yield f"{also}the encoder of images ({rest:,})"


def _rounded(made: Imported, derived: int, published: int) -> Iterator[str]:
    """A published count of few digits, which the derived one rounds to."""
    digits = len(str(published).rstrip("0"))
    if digits > LEAST_DIGITS:
        return
    unit = 10 ** (len(str(published)) - digits)
    if round(derived / unit) * unit == published:
        yield f"rounded to {published / 1e9:g} billion"
    elif made.towered and 0 < published - derived <= 0.02 * derived:
        yield f"rounded to {published / 1e9:g} billion, with its encoder of images"
