"""Acceptance that is several models at once: by context, or over requests of several kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from specplan.domain.acceptance import Acceptance, figure
from specplan.errors import UsageError

MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class ByContext(Acceptance):
    """A model at each of some contexts: ((context, model), ...). Between two the figures are
    interpolated; outside all, those of the nearest hold.
    """

    parts: tuple[tuple[float, Acceptance], ...]

    def __post_init__(self) -> None:
        _parts(self.parts, "context")
        for (before, _), (after, _) in pairwise(self.parts):
            if after <= before:
                raise UsageError(
                    f"context {after:g} after {before:g}", expected="contexts that rise, none twice"
                )

    @property
    def measured(self) -> int | None:
        """As far as every part was."""
        return _least(model for _, model in self.parts)

    @property
    def by_context(self) -> bool:
        """It does."""
        return True

    def __str__(self) -> str:
        return f"context:{_qualified((model, figure(context)) for context, model in self.parts)}"


@dataclass(frozen=True, slots=True)
class Mixture(Acceptance):
    """Requests of several kinds, equally long: ((share, model), ...). Those of which less is kept
    take more rounds, so that a round is more likely to be one of theirs.
    """

    parts: tuple[tuple[float, Acceptance], ...]

    def __post_init__(self) -> None:
        _parts(self.parts, "share")
        for share, _ in self.parts:
            if not (math.isfinite(share) and 0 < share <= 1e9):
                raise UsageError(
                    f"share {share:g} of the requests", expected="more than 0, at most 1e9"
                )

    @property
    def shares(self) -> tuple[float, ...]:
        """Scaled to 1."""
        total = sum(share for share, _ in self.parts)
        return tuple(share / total for share, _ in self.parts)

    @property
    def measured(self) -> int | None:
        """As far as every part was."""
        return _least(model for _, model in self.parts)

    @property
    def by_context(self) -> bool:
        """If any part does."""
        return any(model.by_context for _, model in self.parts)

    def __str__(self) -> str:
        return f"mixture:{_qualified((model, figure(share)) for share, model in self.parts)}"


def _parts(parts: Sequence[tuple[float, Acceptance]], what: str) -> None:
    if not parts or len(parts) > MOST_PARTS:
        raise UsageError(f"{len(parts)} parts by {what}", expected=f"1 to {MOST_PARTS}")
    for _, model in parts:
        if model.sd:
            raise UsageError(f"a part by {what} takes one alpha, not {model}")


def _least(models: Iterable[Acceptance]) -> int | None:
    known = [m.measured for m in models if m.measured is not None]
    return min(known, default=None)


def _qualified(pairs: Iterable[tuple[Acceptance, str]]) -> str:
    """The parts with what they are qualified by; those of several parts themselves in brackets."""
    said = [
        (f"({model})" if isinstance(model, ByContext | Mixture) else str(model), at)
        for model, at in pairs
    ]
    apart = ";" if any("," in model for model, _ in said) else ","
    return apart.join(f"{model}@{at}" for model, at in said)
