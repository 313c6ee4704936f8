"""What rounds that draft trees cost, and the tree of the fastest tokens.

Verification is that of a chain of as many tokens. A tree `d` levels deep takes the draft passes of
a chain of d drafts, each of them over as many tokens of a sequence as its level has to run. The
root needs none: it is the last token known. The search published with Sequoia charges it a pass of
its own all the same (`root_drafts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from specplan.domain.drafter import Does, Drafter, Draws, Run
from specplan.domain.scenario import Setup
from specplan.physics.choose import best_index
from specplan.physics.round import bound_names, time_rounds
from specplan.physics.tokens import FloatArray
from specplan.physics.tree_shapes import Shape


@dataclass(frozen=True, slots=True)
class TreeTiming:
    """Seconds of the rounds of each shape (T,) at one setup, context and batch, and of a plain
    step; `pass_s` is what a second draft adds to a chain's, 0 for heads that draft in one pass.
    `passes` and `bound_by` are the draft passes of each and what binds its verification.
    """

    plain_s: float
    draft_s: FloatArray
    verify_s: FloatArray
    pass_s: float
    passes: tuple[int, ...] = ()
    bound_by: tuple[str, ...] = ()

    @property
    def round_s(self) -> FloatArray:
        """Draft passes and verification of every node."""
        return self.draft_s + self.verify_s

    def speedup(
        self, tokens: Sequence[float] | FloatArray, *, root_drafts: bool = False
    ) -> FloatArray:
        """Tokens per second over plain decoding (T,), for the tokens of each shape's round."""
        more_s = np.where(self.draft_s > 0, self.pass_s, 0.0) if root_drafts else 0.0
        return np.asarray(tokens, np.float64) * self.plain_s / (self.round_s + more_s)

    def fastest(
        self,
        tokens: Sequence[float] | FloatArray,
        among: Sequence[int] = (),
        *,
        root_drafts: bool = False,
    ) -> int:
        """The index of the largest speedup, of all or `among` some; the first of those alike."""
        some = list(among) or list(range(len(tokens)))
        return some[int(best_index(self.speedup(tokens, root_drafts=root_drafts)[some]))]


def time_trees(
    setup: Setup, context: Sequence[float], batch: Sequence[float], drafts: TreeDrafts
) -> Iterator[TreeTiming]:
    """The rounds that draft the shapes of `drafts`, which are of the setup's own drafter, at every
    batch of every context. A drafter that is priced by a ratio costs as much for every pass,
    however many tokens of a sequence it runs.
    """
    asked = [n if drafts.verified(n) else PLAIN for n in range(len(drafts.shapes))]
    timing = time_rounds(replace(setup, draft=drafts), context, batch, asked)
    chain = time_rounds(setup, context, batch, (1, 2))
    passes, bound_by = tuple(map(drafts.passes, asked)), bound_names(timing.verify)
    shape = (len(context), len(batch), len(asked))
    draft_s = np.broadcast_to(timing.draft_s, shape)
    verify_s = np.broadcast_to(timing.verify_s, shape)
    names = np.broadcast_to(bound_by, shape)
    further = setup.draft.passes(2) > setup.draft.passes(1)
    chain_s = np.broadcast_to(chain.draft_s, (*shape[:2], 2))
    for c, b in np.ndindex(shape[:2]):
        one_s, two_s = chain_s[c, b].tolist()
        yield TreeTiming(
            plain_s=float(timing.plain_s[c, b, 0]),
            draft_s=draft_s[c, b],
            verify_s=verify_s[c, b],
            pass_s=two_s - one_s if further else 0.0,
            passes=passes,
            bound_by=tuple(names[c, b].tolist()),
        )


PLAIN = 0  # the number of the round that drafts nothing: physics takes it for a plain step


@dataclass(frozen=True, slots=True)
class TreeDrafts(Drafter):
    """A drafter whose rounds draft trees: a round of "k" is that of shape k, the first of which
    drafts nothing. Passes alike stand at one place in all rounds, whether a round has any or not.
    """

    base: Drafter
    shapes: tuple[Shape, ...]
    rounds: tuple[tuple[Run, ...], ...]

    @classmethod
    def of(cls, base: Drafter, shapes: Sequence[Shape]) -> TreeDrafts:
        """The drafts of these shapes."""
        if not shapes or shapes[PLAIN].tree.nodes > 1:
            raise ValueError("the first shape drafts nothing")
        counted = [_counted(base, shape.widths) for shape in shapes]
        places: dict[tuple[int, int], Run] = {}
        for found in counted:
            for place, run in found.items():
                places.setdefault(place, replace(run, count=0))
        order = sorted(places)
        rounds = tuple(tuple(found.get(p, places[p]) for p in order) for found in counted)
        return cls(base, tuple(shapes), rounds)

    @property
    def ratio(self) -> float:
        """That of the drafter."""
        return self.base.ratio

    @property
    def draws(self) -> Draws:
        """From where the drafter does."""
        return self.base.draws

    def runs(self, k: int) -> tuple[Run, ...]:
        """The passes of shape k; of passes that only others have, none."""
        return self.rounds[k]

    def passes(self, k: int) -> int:
        """As many as the drafter takes for so many levels."""
        return self.base.passes(len(self.shapes[k].widths))

    def verified(self, k: int) -> float:
        """Every node but the root."""
        return self.shapes[k].tree.nodes - 1


def _counted(base: Drafter, widths: Sequence[int]) -> dict[tuple[int, int], Run]:
    """The passes of one shape by their kind and width: those that the drafter takes for as many
    levels, each over the further tokens of its level, which propose as well.
    """
    found: dict[tuple[int, int], Run] = {}
    levels = iter(widths)
    for kind, run in enumerate(base.runs(len(widths))):
        for _ in range(run.count):
            width = next(levels, 1) if run.does is Does.WHOLE else 1
            before = found.get((kind, width))
            found[kind, width] = replace(
                run,
                count=before.count + 1 if before else 1,
                tokens=run.tokens + width - 1,
                outputs=run.outputs + width - 1,
            )
    return found
