"""A panel of the picture of a best k: the acceptance at which speculation pays, and how much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from specplan.domain.forms import prefixed
from specplan.domain.picture import Curve, Mark, Plot, Rule
from specplan.physics.choose import break_even_alpha
from specplan.physics.tokens import FloatArray, expected_tokens
from specplan.questions.pictures import LABELS, likely
from specplan.questions.weigh import Objective, Weighed

POINTS = 101  # of a line, from alpha 0 to 1
TALL = 0.8


def over_alpha(
    w: Weighed, objective: Objective, label: str, parity: Rule, band: tuple[float, float] | None
) -> Iterator[Plot]:
    """What the best of the candidates at every alpha and one of them score, with the alpha below
    which that one loses and the alpha asked: of the chosen k, or where it is 0 of the k that pays
    first.

    Nothing where no single alpha is known, nothing is drafted or nothing fits.
    """
    alpha, best, k = w.point.acceptance.iid, w.best(objective), np.asarray(w.k)
    gain = w.score(objective) / w.tokens  # of each token of a round
    if alpha is None or not (gain[k > 0] > 0).any():
        return
    pays = np.asarray([_break_even(*pair) for pair in zip(gain, w.k, strict=True)])
    shown = best if w.k[best] else int(np.argmin(np.where(k > 0, pays, np.inf)))
    alphas = np.arange(POINTS) / (POINTS - 1)
    scores = expected_tokens(alphas[:, np.newaxis], k) * gain
    top = _curve("best k", alphas, _told(scores.max(axis=1), objective))
    one = _curve(f"k = {w.k[shown]}", alphas, _told(scores[:, shown], objective))
    here = _told(w.score(objective)[best : best + 1], objective)
    yield Plot(
        title="over acceptance",
        x_label=LABELS["alpha"],
        y_label=label,
        curves=(top, one),
        bands=() if band is None else (likely(top.points, band),),
        marks=(Mark("*", f"as asked, k = {w.k[best]}", alpha, float(here[0])),),
        rules=(parity, *_loses(w.k[shown], float(pays[shown]))),
        x_scale="linear",
        y_scale="linear",
        tall=TALL,
    )


def _break_even(gain: float, k: int) -> float:
    """The alpha from which a k scores no less than plain decoding; endless where none is enough."""
    return float(break_even_alpha(1 / gain, k)) if gain > 0 else np.inf


def _told(scores: FloatArray, objective: Objective) -> FloatArray:
    """Scores as they are told: of a cost, less is better."""
    return 1 / scores if objective is Objective.COST else scores


def _curve(name: str, alphas: FloatArray, values: FloatArray) -> Curve:
    return Curve(name, tuple(zip(alphas.tolist(), values.tolist(), strict=True)))


def _loses(k: int, alpha: float) -> Iterator[Rule]:
    if 0 < alpha <= 1:
        yield Rule(f"k = {k} loses below alpha {prefixed(alpha)}", "x", alpha)
