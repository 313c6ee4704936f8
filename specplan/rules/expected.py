"""How an expectation is judged: the facts of its points in, a finding about the worst out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specplan.rules import Finding, Rule

_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One point of a plan at the plan's k, unrounded, in SI; `best_*` are at the best k there.

    `setup` tells its setup from the plan's others, `alphas` and `lengths` whether these vary.
    `alpha` of an acceptance that no single one says is that of as many tokens at k;
    `break_even_alpha` is +inf when no drafter is good enough; `break_even_batch` is the first batch
    that loses, 0 when none fits, +inf when none of those looked at does. `draft_bytes` are per GPU;
    `free_bytes` are negative when the batch does not fit. With `bound`, no engine reaches
    `speedup` or undercuts `tpot_s`.
    """

    setup: str
    alphas: bool
    lengths: bool
    target: str
    draft: str
    hardware: str
    tp: int
    batch: int
    context: float
    alpha: float
    acceptance: str
    k: int
    speedup: float
    tpot_s: float
    tokens_per_s: float
    best_k: int
    best_speedup: float
    best_tpot_s: float
    best_tokens_per_s: float
    k_regret: float
    break_even_alpha: float
    break_even_batch: float
    largest_batch: int
    free_bytes: float
    draft_bytes: float
    bound: bool

    def place(self, *, batch: bool = True, speed: bool = True) -> str:
        """The point in words: with its batch, and with what only speed depends on."""
        words = [self.setup] if self.setup else []
        words += [f"batch {self.batch}"] if batch else []
        words.append(f"context {self.context:.10g}")
        iid = self.acceptance[:1].isdigit()
        said = f"alpha {self.alpha:g}" if iid else f"acceptance {self.acceptance}"
        words += [said] if speed and self.alphas else []
        words += [f"k {self.k}"] if speed and self.lengths else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed(Rule):
    """A key of `expect`, about a figure in `unit`. `lack` is how far that misses the limit, above 0
    where it fails; `say` puts a figure into words that differ from those of the other.
    """

    key: str
    unit: str = "1"
    lack: Callable[[float, float], float]
    say: Callable[[float, float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(Keyed):
    """One that is about points. `found` is what it looks at in the facts of each; `aside` follows a
    failure. A `certain` figure does not depend on how fast anything is, nor, with `any_batch`, on
    the batch.
    """

    found: Callable[[Facts], float]
    aside: Callable[[Facts], str] = lambda _: ""
    certain: bool = False
    any_batch: bool = False


def judge(
    rule: Expected, points: Sequence[Facts], limit: float, text: str
) -> tuple[Facts, Finding]:
    """The worst of the points, and what the rule says of it; `text` is the limit as written.

    What a bound promises is not sure to be kept; what it denies is sure to fail.
    """
    worst = max(points, key=lambda facts: rule.lack(rule.found(facts), limit))
    found = rule.found(worst)
    place = worst.place(batch=not rule.any_batch, speed=not rule.certain)
    said = f"{rule.key} {text}: {rule.say(found, limit)} at {place}"
    if rule.lack(found, limit) > 0:
        return worst, Finding(rule.id, rule.level, said + rule.aside(worst))
    if worst.bound and not rule.certain:
        return worst, Finding(rule.id, "warning", f"{said}, holds only as a bound: unsure")
    return worst, Finding(rule.id, "pass", said)


def at_least(found: float, limit: float) -> float:
    """How far the figure lies below the limit."""
    return limit - found


def at_most(found: float, limit: float) -> float:
    """How far the figure lies above the limit."""
    return found - limit


def as_told(free_bytes: float, wanted: float) -> float:
    """Bytes that are missing where it should fit, bytes that are free where it should not."""
    return -free_bytes if wanted else free_bytes + 1


def apart(said: Callable[[float, int], str], digits: int) -> Callable[[float, float], str]:
    """Says a figure in so many digits, or in as many as tell it from the other."""

    def say(found: float, other: float) -> str:
        words = ""
        for enough in range(digits, _MOST_DIGITS + 1):
            words = said(found, enough)
            if found == other or words != said(other, enough):
                break
        return words

    return say
