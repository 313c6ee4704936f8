"""Every path of a few tokens as a tree, so that laws of whole rounds can be computed exactly.

Node 0 is the start. The children of node n are n V + 1 ... n V + V, one for each token, so the
nodes at one depth are numbered by their tokens as digits in base V. Tables have a row for each node
down to a depth; penalties make that row depend on the whole path and not on its last token alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from specplan.domain.sampling import Sampling
from specplan.errors import UsageError
from specplan.physics.distributions import logarithms
from specplan.physics.draws import Counts, Floats, Tokens
from specplan.physics.sampling import sampled
from specplan.physics.verify import Bug, tempered

MAX_K = 64
MAX_MARKOV_VOCABULARY = 64
MAX_CELLS = 65_536


class Mismatch(StrEnum):
    """What engines get wrong about sampling settings, planted on request: the rule is right and
    judges by distributions other than those asked for or drawn from.
    """

    RAW_TARGET = "raw-target"  # judged by the target without the settings asked for
    RAW_DRAFT = "raw-draft"  # drawn with settings, judged by the drafter without
    STALE_PENALTIES = "stale-penalties"  # target's penalties miss the drafts, as in SGLang's verify


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Both sides over all paths of k + 1 tokens after the start.

    Rows are of nodes at depths 0 to k. `asked` (nodes, V) is what plain sampling draws from, and
    `drawn` (nodes, V) where drafts come from. What a draft is judged by may depend on how many of
    its round were kept before it: `judged_p` and `judged_q` hold it for 0, 1, ... k of them
    (variants, nodes, V), or once where it does not. `bonus` (nodes, V) follows k kept drafts.
    """

    vocabulary: int
    k: int
    asked: Floats
    drawn: Floats
    judged_p: Floats
    judged_q: Floats
    bonus: Floats

    @classmethod
    def of(
        cls,
        target: Floats,
        draft: Floats,
        k: int,
        *,
        sampling: Sampling | None = None,
        draft_sampling: Sampling | None = None,
        plant: Bug | Mismatch | None = None,
    ) -> Self:
        """The tree of two chains (V, V), row i the distribution after token i, which start after
        token 0; each side with its settings, whose penalties see the tokens of the path.
        """
        vocabulary = len(target)
        asked_for, drafted = sampling or Sampling(), draft_sampling or sampling or Sampling()
        asked = conditionals(target, k, asked_for)
        kept_q = conditionals(draft, k, drafted)
        drawn = tempered(kept_q) if plant is Bug.ONE_SIDED_TEMPERATURE else kept_q
        judged_p, judged_q, bonus = asked[None], kept_q[None], asked
        if plant is Bug.BONUS_FROM_DRAFT:
            bonus = kept_q
        elif plant is Bug.STALE_DRAFT:
            judged_q = _stale_rows(kept_q, vocabulary, k)
            judged_p = np.broadcast_to(asked, judged_q.shape)
        elif plant is Mismatch.RAW_TARGET:
            judged_p = conditionals(target, k, Sampling())[None]
        elif plant is Mismatch.RAW_DRAFT:
            judged_q = conditionals(draft, k, Sampling())[None]
        elif plant is Mismatch.STALE_PENALTIES:
            rows = [conditionals(target, k, asked_for, unseen=kept) for kept in range(k + 1)]
            judged_p = np.stack(rows)
            judged_q = np.broadcast_to(kept_q, judged_p.shape)
            bonus = judged_p[k]
        return cls(vocabulary, k, asked, drawn, judged_p, judged_q, bonus)

    def judged(self, kept: int, nodes: Tokens | slice) -> tuple[Floats, Floats]:
        """Rows p and q (n, V) that judge at nodes, after `kept` drafts of a round."""
        p, q = (side[min(kept, len(side) - 1)] for side in (self.judged_p, self.judged_q))
        return p[nodes], q[nodes]

    @property
    def joint(self) -> Floats:
        """Probabilities (V^(k+1),) of the k + 1 tokens in plain sampling, as digits in base V."""
        mass = np.ones(1)
        for depth in range(self.k + 1):
            mass = (mass[:, None] * self.asked[level(self.vocabulary, depth)]).ravel()
        return mass


def level(vocabulary: int, depth: int) -> slice:
    """The nodes at a depth."""
    first = first_node(vocabulary, depth)
    return slice(first, first + vocabulary**depth)


def first_node(vocabulary: int, depth: int) -> int:
    """Number of the first node at a depth: of all nodes above it."""
    return sum(vocabulary**above for above in range(depth))


def last_tokens(vocabulary: int, depth: int) -> Tokens:
    """The token that leads to each node down to a depth (nodes,); token 0 leads to the start."""
    nodes = np.arange(first_node(vocabulary, depth + 1))
    return np.where(nodes > 0, (nodes - 1) % vocabulary, 0)


def path_counts(vocabulary: int, depth: int, unseen: int = 0) -> Counts:
    """How often each token occurs on the path to each node (nodes, V), its last `unseen` left out;
    the token before the start is not of the path.
    """
    own = np.eye(vocabulary, dtype=np.int64)
    levels = [np.zeros((1, vocabulary), dtype=np.int64)]
    for _ in range(depth):
        above = levels[-1]
        levels.append((above[:, None] + own).reshape(-1, vocabulary))
    counts = np.concatenate(levels)
    seen = np.arange(len(counts))
    for _ in range(unseen):
        seen = parents(seen, vocabulary)
    return counts[seen]


def parents(nodes: Tokens, vocabulary: int) -> Tokens:
    """The node before each (nodes,); the start is its own."""
    return np.where(nodes > 0, (nodes - 1) // vocabulary, 0)


def conditionals(chain: Floats, depth: int, sampling: Sampling, *, unseen: int = 0) -> Floats:
    """What the next token is drawn from at each node down to a depth (nodes, V), for a chain (V, V)
    with settings; penalties do not see the last `unseen` tokens of the path.

    The logarithms of the chain are its logits, which is what a repetition penalty scales.
    """
    last = last_tokens(len(chain), depth)
    if sampling == Sampling():
        return chain[last]
    logits = logarithms(chain)
    if not sampling.penalises:
        return sampled(logits, sampling)[last]
    return sampled(logits[last], sampling, path_counts(len(chain), depth, unseen))


def check_k(k: int) -> None:
    """Refuse a number of drafts outside 1 to `MAX_K`."""
    if not 1 <= k <= MAX_K:
        raise UsageError(f"k is {k}", expected=f"1 to {MAX_K}")


def check_chains(target: Floats, draft: Floats, k: int) -> None:
    """Refuse chains that are not square, not alike, or have too many outcomes of k + 1 tokens."""
    check_k(k)
    vocabulary = len(target)
    if target.shape != draft.shape or target.shape != (vocabulary, vocabulary):
        raise UsageError(
            f"target has shape {target.shape} and draft {draft.shape}", expected="two (V, V)"
        )
    if vocabulary > MAX_MARKOV_VOCABULARY or vocabulary ** (k + 1) > MAX_CELLS:
        raise UsageError(
            f"a vocabulary of {vocabulary} at k = {k} has too many outcomes",
            expected=f"V at most {MAX_MARKOV_VOCABULARY} and V^(k+1) at most {MAX_CELLS}",
        )


def _stale_rows(q: Floats, vocabulary: int, k: int) -> Floats:
    """Rows q of the node before (k + 1, nodes, V), but for the first draft of a round."""
    before = q[parents(np.arange(len(q)), vocabulary)]
    return np.stack([q, *[before] * k])
