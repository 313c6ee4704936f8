"""The documents that readers are offered, besides parsed JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of an exposition: the name as it is printed, with `_total`, and `:` kept."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Exposition:
    """One scrape of a /metrics page, `_created` series left out.

    `odd` names the counters whose value is no count: NaN, infinite or negative.
    """

    samples: tuple[Sample, ...]
    odd: tuple[str, ...] = ()

    def named(self, name: str) -> list[Sample]:
        """The samples of that name, whether a colon in it is written as `:` or as `_`."""
        plain = name.replace(":", "_")
        return [sample for sample in self.samples if sample.name.replace(":", "_") == plain]
