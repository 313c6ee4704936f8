"""How the tokens of rounds scatter, and what that makes of a request and of a padded batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from specplan.physics.survival import rounds_for, survival
from specplan.physics.tokens import lockstep_tokens, round_variance
from specplan.questions.weigh import Weighed
from specplan.units import people


@dataclass(frozen=True, slots=True)
class Yield:
    """Of rounds at the chosen k: the standard deviation of their tokens; by how much a padded or
    static batch grows (the most tokens of any sequence, on average); and of a request of
    `output_tokens` the rounds it takes and its seconds per token, where its length is known.
    """

    tokens_sd: float
    lockstep_tokens: float
    output_tokens: int | None
    rounds: float | None
    request_tpot_s: float | None


def yield_of(w: Weighed, best: int) -> Yield:
    """The yield of candidate k[best] at a weighed point; the output is twice what a sequence still
    grows beyond its average context.
    """
    point, k = w.point, w.k[best]
    kept = survival(point.acceptance, k, point.context)
    output = round(2 * point.growth)
    rounds = rounds_for(point.acceptance, k, output, point.context) if output > 1 else None
    round_s = float(w.timing.round_s[0, 0, best])
    return Yield(
        tokens_sd=math.sqrt(float(round_variance(kept))),
        lockstep_tokens=float(lockstep_tokens(kept, point.batch)),
        output_tokens=output if output > 1 else None,
        rounds=rounds,
        request_tpot_s=None if rounds is None else rounds * round_s / (output - 1),
    )


def yield_words(value: Yield, batch: float) -> Iterator[tuple[str, str]]:
    """The same in labelled lines, as far as it says anything."""
    if value.tokens_sd:
        padded = f"; a padded batch grows by {value.lockstep_tokens:.2f}" if batch > 1 else ""
        yield "scatter", f"+-{value.tokens_sd:.2f} tokens a round{padded}"
    if value.rounds is not None and value.request_tpot_s is not None:
        yield (
            "request",
            f"{value.output_tokens:,} tokens in {value.rounds:,.1f} rounds, "
            f"{people(value.request_tpot_s, 's')} a token",
        )
