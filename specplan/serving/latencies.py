"""From steps and crowd to what people wait: laws of TTFT, TPOT, gaps and end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.physics.tokens import FloatArray
from specplan.serving.demands import Demands
from specplan.serving.law import Law, always, delayed, lognormals, mixture

_RARE = 1e-6  # of all requests: not followed


@dataclass(frozen=True, slots=True)
class Decode:
    """How requests of each length (L,) fare: `mean_s` and `variance` of the time from the first to
    the last token.
    """

    mean_s: FloatArray
    variance: FloatArray


def first_token(
    laws: Sequence[Law], weight: FloatArray, waits: float, wait_s: float
) -> tuple[Law, float]:
    """The law of the time to the first token and its variance: laws at some batches, of which the
    last is the full one, by weight; a share `waits` of the requests waits for a place before,
    exponentially of mean `wait_s`.
    """
    parts, shares = list(laws), weight * (1 - waits)
    if waits > _RARE:
        parts.append(delayed(laws[-1], wait_s))
        shares = np.append(shares, waits)
    law = mixture(parts, shares)
    middle = (law.at_s[1:] + law.at_s[:-1]) / 2
    variance = float(np.diff(law.share) @ (middle - law.mean) ** 2) if len(middle) else 0.0
    return law, variance


def per_token(decode: Decode, demands: Demands) -> Law:
    """The law over requests of seconds per token after the first."""
    some = demands.after > 0
    if not some.any():
        return always(0.0)
    after = demands.after[some]
    return lognormals(
        decode.mean_s[some] / after, decode.variance[some] / after**2, demands.weight[some]
    )


def end_to_end(first: Law, first_variance: float, decode: Decode, demands: Demands) -> Law:
    """The law over requests of the time to the last token."""
    none = demands.after <= 0
    alone = float(demands.weight[none].sum())
    if alone >= 1:
        return first
    rest = lognormals(
        decode.mean_s[~none] + first.mean,
        decode.variance[~none] + first_variance,
        demands.weight[~none],
    )
    return mixture([first, rest], np.asarray([alone, 1 - alone])) if alone else rest


def gaps(laws: Sequence[Law], weight: FloatArray, chunks: float, mean_s: float) -> tuple[Law, Law]:
    """The laws of the gaps of tokens and of chunks: laws of steps by weight; of all tokens, a share
    `chunks` begins one, and the others come with it. `mean_s` is the mean gap of tokens.
    """
    law = mixture(list(laws), weight)
    at = np.concatenate(([0.0, 0.0], law.at_s))
    share = np.concatenate(([0.0, 1 - chunks], 1 - chunks + chunks * law.share))
    return Law(at, share, mean_s), replace(law, mean=mean_s / chunks)
