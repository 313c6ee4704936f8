"""How long a step of a server takes: sequences that decode, and prompt tokens that share the step.

A round of B sequences is what `physics` says of it. Prompt tokens beside it run through the same
matrices, so they cost what more rows cost there (little where weights are read anyway, all of their
arithmetic where not), the attention of their own, and the drafter's pass over them (theory: chunked
prefill, `physics.mixed`). Everything is tabled once: a simulation looks up millions of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specplan.domain.drafter import Does
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.drafting import passes_of
from specplan.physics.engine_round import draft_layout, target_layout
from specplan.physics.forward import Layout, forward_terms, key_terms
from specplan.physics.mixed import ATTENTION, prompt_attention_s
from specplan.physics.round import time_rounds
from specplan.physics.silicon import Silicon
from specplan.physics.steps import gpu_step, is_last
from specplan.physics.tokens import FloatArray
from specplan.physics.whole import prompt_s
from specplan.physics.work import Term, load

CONTEXTS = 9  # of a table, the first 0: attention is nearly linear between them
SHORTEST = 256.0  # the first context above 0
FINE_ROWS = 1024  # up to where every number of rows is timed; beyond, every COARSE-th
COARSE = 32
_TOGETHER = 1 << 15  # cells of rounds that are timed at once


@dataclass(frozen=True, slots=True)
class Prompts:
    """What prompt tokens cost one model: `wide_s` of its matrices at `rows` (both (R,)),
    `attend_s` of their attention for one token by the mean context that it sees (C,), `last_s` of
    the head and the sampler for one that ends a prompt.
    """

    rows: FloatArray
    wide_s: FloatArray
    context: FloatArray
    attend_s: FloatArray
    last_s: float

    def beside_s(
        self, rows: npt.ArrayLike, prompt: npt.ArrayLike, attended: npt.ArrayLike
    ) -> FloatArray:
        """Seconds that `prompt` tokens add to a pass over `rows` (0 or more) others, each of them
        attending to `attended` tokens on average; arrays broadcast.
        """
        before, new = np.asarray(rows, np.float64), np.asarray(prompt, np.float64)
        more_s = self._of(before + new) - self._of(before)
        seen = np.interp(np.asarray(attended, np.float64), self.context, self.attend_s)
        found: FloatArray = more_s + new * seen
        return found

    def _of(self, rows: FloatArray) -> FloatArray:
        """Seconds of the matrices at the next number of rows that was timed: time rises in steps,
        where a further tile begins.
        """
        place = np.searchsorted(self.rows, rows - 1e-9)
        return self.wide_s[np.minimum(place, len(self.rows) - 1)]


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of one replica. `round_s` (K, B, C) is a round of 1..B sequences with k[0], k[1], ...
    drafts at each of `context` (C,); `width` (K,) are the rows that a sequence brings to it.

    `target` and, where the drafter reads prompts too, `draft` are what prompt tokens cost; under
    attention data-parallel over `groups`, rows are those of one. A step without sequences takes
    `idle_s` of the host at least, or (`host_hidden` false) besides.
    """

    k: tuple[int, ...]
    width: FloatArray
    context: FloatArray
    round_s: FloatArray
    target: Prompts
    draft: Prompts | None
    groups: int
    idle_s: float
    host_hidden: bool

    @property
    def most(self) -> int:
        """The largest batch of the table."""
        return int(self.round_s.shape[1])

    def at(self, k: int, batch: npt.ArrayLike, context: npt.ArrayLike) -> FloatArray:
        """Seconds of rounds of k drafts over batches of 1..most (fractions lie between whole ones)
        whose sequences have `context` tokens on average; arrays broadcast.
        """
        table = self.round_s[self.k.index(k)]
        b, c = np.broadcast_arrays(
            np.clip(np.asarray(batch, np.float64), 1, self.most) - 1,
            np.clip(np.asarray(context, np.float64), 0, self.context[-1]),
        )
        low = np.minimum(b.astype(np.int64), max(self.most - 2, 0))
        high = np.minimum(low + 1, self.most - 1)
        left = np.clip(np.searchsorted(self.context, c, side="right") - 1, 0, len(self.context) - 2)
        span = self.context[left + 1] - self.context[left]
        x, y = b - low, (c - self.context[left]) / span
        below = table[low, left] * (1 - y) + table[low, left + 1] * y
        above = table[high, left] * (1 - y) + table[high, left + 1] * y
        found: FloatArray = below * (1 - x) + above * x
        return found

    def prompt_s(
        self, rows: npt.ArrayLike, prompt: npt.ArrayLike, attended: npt.ArrayLike
    ) -> FloatArray:
        """Seconds that `prompt` tokens add to a round that verifies `rows` rows (batch times width;
        0 where nothing decodes), the drafter's pass over them included; arrays broadcast.
        """
        before = np.asarray(rows, np.float64) / self.groups
        new = np.asarray(prompt, np.float64) / self.groups
        found = self.target.beside_s(before, new, attended)
        if self.draft is not None:
            found = found + self.draft.beside_s(before, new, attended)
        alone = (before == 0) & (new > 0)
        waits = np.maximum(self.idle_s - found, 0.0) if self.host_hidden else self.idle_s
        return found + np.where(alone, self.target.last_s + waits, 0.0)


def pace_of(setup: Setup, k: Sequence[int], most: int, context: float, rows: int) -> Pace:
    """The pace of a setup under its engine with rounds of each k (ascending, 0 included), batches
    up to `most`, contexts up to `context` tokens, and steps of up to `rows` rows.

    Without any k above 0 no drafter runs, and none reads prompts.
    """
    places = np.concatenate(([0.0], np.geomspace(SHORTEST, max(context, 2 * SHORTEST), CONTEXTS)))
    size = max(_TOGETHER // (len(places) * len(k)), 1)
    parts = []
    for first in range(1, most + 1, size):
        batch = [float(b) for b in range(first, min(first + size, most + 1))]
        timing = time_rounds(setup, places.tolist(), batch, k)
        parts.append(np.broadcast_to(timing.round_s, (len(places), len(batch), len(k))))
    table = np.ascontiguousarray(np.concatenate(parts, axis=1).transpose(2, 1, 0))
    verified = [setup.draft.verified(n) + 1.0 for n in k]
    some = passes_of(setup.draft, (1,)) if max(k) else ()
    release = setup.release
    return Pace(
        k=tuple(k),
        width=np.asarray(verified, np.float64),
        context=places,
        round_s=table,
        target=_prompts(setup, setup.target, target_layout(setup), places, rows),
        draft=_prompts(
            setup,
            some[0].model,
            draft_layout(setup),
            places,
            rows,
            does=some[0].does,
            times=setup.draft.caches,
        )
        if some and setup.draft.prefills
        else None,
        groups=setup.attention_dp,
        idle_s=release.host if release and not setup.engine.steps else 0.0,
        host_hidden=release.host_hidden if release else True,
    )


def _prompts(
    setup: Setup,
    model: Model,
    layout: Layout,
    context: FloatArray,
    rows: int,
    does: Does = Does.WHOLE,
    times: float = 1.0,
) -> Prompts:
    """What prompt tokens cost a model that runs `times` over them."""
    fine = np.arange(0.0, min(rows, FINE_ROWS) + 1)
    places = np.concatenate((fine, np.arange(FINE_ROWS + COARSE, rows + COARSE, COARSE)))
    if setup.engine.fitted:
        wide_s = prompt_s(setup, model, layout, does, places[1:], 0)
        attend_s, last_s = np.zeros(len(context)), 0.0
    else:
        silicon = Silicon(setup.hardware, setup.engine)
        make = key_terms if does is Does.KEYS else forward_terms
        terms = tuple(make(model, layout, silicon.small))
        attention = [term for term in terms if isinstance(term, ATTENTION)]
        last = [term for term in terms if is_last(term)]
        wide = [term for term in terms if not isinstance(term, ATTENTION) and not is_last(term)]
        wide_s = _step_s(wide, places[1:], silicon)
        attend_s = sum(
            (prompt_attention_s(term, np.ones(1), context, silicon) for term in attention),
            start=np.zeros(len(context)),
        )
        last_s = float(_step_s(last, np.ones(1), silicon)[0]) if last else 0.0
    wide_s = np.concatenate(([0.0], np.broadcast_to(wide_s, places[1:].shape)))
    return Prompts(places, times * wide_s, context, times * attend_s, times * last_s)


def _step_s(terms: Iterable[Term], rows: FloatArray, silicon: Silicon) -> FloatArray:
    """Seconds of these terms over rows of as many sequences."""
    return gpu_step(tuple(terms), load(rows, 1, 0), silicon).time_s
