"""Step times that somebody measured on an engine, for the engine's card to be fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field

from specplan.domain.fitted import Ran
from specplan.errors import Where

STEP, TPOT, THROUGHPUT, SPEEDUP = "step", "tpot", "tokens_per_s", "speedup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measured figure: rounds of `k` drafts at a batch, k = 0 being plain steps; or, with a
    `width` and k = 0, the target's pass over so many tokens of each sequence.

    `value` is, by `what`: seconds of a whole step or round, its drafts included; seconds per output
    token of a sequence; tokens per second of all sequences; times the plain speed. All but the
    first hold tokens per round: `tau`, bonus included, where the file has it. `where` is its cell.
    """

    batch: float
    context: float | None
    k: int
    width: int
    value: float
    what: str
    tau: float | None
    where: Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """All figures of the files, and what the files say of the engine that ran; `skipped` rows are
    of kinds that hold no step, `unread` columns of names that nobody knows.
    """

    rows: tuple[Run, ...]
    engine: str | None = None
    ran: Ran = field(default_factory=Ran)
    skipped: int = 0
    doubtful: int = 0
    unread: tuple[str, ...] = ()
