"""A second opinion on two sets of outputs, by SciPy's own tests: another way to the same question.

Its p-values follow limits for many outputs, where those of permutations hold for any number; so
they decide nothing, and stand beside the verdict of those that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from specplan.domain.outputs import Output
from specplan.errors import Refused

Pair = tuple[Sequence[Output], Sequence[Output]]
FEWEST = 5.0  # expected outputs of a column of a table; rarer first tokens are taken together


@dataclass(frozen=True, slots=True)
class Opinion:
    """p-values over all prompts (Fisher's method): of lengths by Kolmogorov and Smirnov's test, of
    first tokens by Pearson's; None where no prompt has enough outputs.
    """

    lengths_p: float | None
    first_tokens_p: float | None


def second_opinion(pairs: Sequence[Pair]) -> Opinion:
    """The opinion on the outputs of both engines to each prompt. Refused without SciPy."""
    try:
        stats: Any = import_module("scipy.stats")
    except ImportError:
        raise Refused(
            "a second opinion is SciPy's, which is not installed",
            hint="pip install 'specplan[stats]'",
        ) from None
    lengths = [
        float(stats.ks_2samp(*([len(output) for output in arm] for arm in pair)).pvalue)
        for pair in pairs
        if min(map(len, pair)) > 1
    ]
    tables = filter(None, map(_table, pairs))
    first = [float(stats.chi2_contingency(table).pvalue) for table in tables]
    return Opinion(_combined(stats, lengths), _combined(stats, first))


def _combined(stats: Any, values: Sequence[float]) -> float | None:  # noqa: ANN401
    return float(stats.combine_pvalues(values, method="fisher").pvalue) if values else None


def _table(pair: Pair) -> list[list[float]] | None:
    """How often each first token stands in either arm; None where there is but one to compare."""
    firsts = [np.asarray([output[0] if len(output) else -1 for output in arm]) for arm in pair]
    tokens = np.unique(np.concatenate(firsts))
    counts = np.asarray([[np.count_nonzero(arm == t) for t in tokens] for arm in firsts], float)
    expected = counts.sum(axis=0) * min(counts.sum(axis=1)) / counts.sum()
    rare = expected < FEWEST
    columns = [counts[:, ~rare], counts[:, rare].sum(axis=1, keepdims=True)]
    table = np.concatenate([c for c in columns if c.sum()], axis=1)
    enough = table.shape[1] > 1 and (table.sum(axis=0) * min(counts.sum(axis=1)) > 0).all()
    found: list[list[float]] | None = table.tolist() if enough else None
    return found
