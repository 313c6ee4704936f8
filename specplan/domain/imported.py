"""What an import comes to: a card, where each of its figures is from, and how it checks out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from specplan.domain.model import Model

Verdict = Literal["pass", "explained", "unknown", "differs", "refused", "beside"]


class Derived(NamedTuple):
    """A figure of an imported card, its value as people read it, and its basis."""

    figure: str
    value: str
    basis: str

    @property
    def stated(self) -> bool:
        """Whether the source states it under its own name."""
        return self.basis == self.figure or self.basis.endswith(f".{self.figure}")


class Extra(NamedTuple):
    """Parameters that a checkpoint may hold beyond its card; `announced` by its config."""

    what: str
    params: int
    announced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A card read from a foreign description; `extras` explain counts that differ from it."""

    card: Model
    derived: tuple[Derived, ...]
    notes: tuple[str, ...] = ()
    extras: tuple[Extra, ...] = ()
    tower: int | None = None
    towered: bool = False
    per_head: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One file of a report: what it derives, what was published, and the verdict in words."""

    file: str
    verdict: Verdict
    says: str
    kind: str = ""
    stored_params: float | None = None
    published_params: float | None = None
    matmul_params: float | None = None
    kv_bytes_per_token: float | None = None
