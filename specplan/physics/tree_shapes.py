"""Trees that engines draft, from the words of their options; what may be typed after --shape.

The shape of an EAGLE-2 tree follows the drafter's confidence in every round. Here it is the tree of
the average round: confidence is taken to be the share of a rank.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from specplan.domain.tree import DEEPEST, MOST_NODES, ByRank, Tree
from specplan.errors import SpecplanError, UsageError, unknown
from specplan.physics.tree import best_trees
from specplan.units import parse_number
from specplan.visible import visible

WIDEST = 64  # children that an engine keeps of a node


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree and what drafts it: `widths` are the tokens of a sequence in each draft pass."""

    label: str
    tree: Tree
    widths: tuple[int, ...]

    @classmethod
    def of(cls, tree: Tree, label: str = "") -> Shape:
        """A tree drafted level by level; only nodes with children are run."""
        return cls(label, tree, tree.widths)


class _Candidate(NamedTuple):
    """A drafted token: its path's product of shares, and where it hangs."""

    score: float
    parent: int
    rank: int


def chain(k: int) -> Shape:
    """A chain of k drafts."""
    return Shape.of(Tree.chain(k), f"chain:{k}")


def eagle(steps: int, topk: int, total: int, ranks: ByRank) -> Shape:
    """EAGLE-2's tree (Li et al. 2024, arXiv 2406.16858) in the words of SGLang's options num-steps,
    eagle-topk and num-draft-tokens, which counts the root.

    Each step takes `topk` choices after each of the `topk` best tokens of the step before; of all
    of them the total - 1 of the largest products are verified. The first pass runs one token, the
    others `topk`, however few of their tokens are verified. EAGLE's own `depth` is steps - 1.
    """
    if topk == 1 and total != steps + 1:
        raise UsageError(
            f"{steps} steps of top 1 are a chain of {steps + 1} with the root, not {total}",
            hint=f"write eagle:{steps},1,{steps + 1}",
        )
    most = topk + (steps - 1) * topk * topk
    if total - 1 > most:
        raise UsageError(
            f"{steps} steps of top {topk} draft {most} tokens, not {total - 1}",
            expected=f"at most {most + 1} with the root",
        )
    drafted = [_Candidate(1.0, -1, 0)]
    frontier = [0]
    for level in range(1, steps + 1):
        start = len(drafted)
        drafted += [
            _Candidate(drafted[node].score * ranks.rate(level, rank), node, rank)
            for node in frontier
            for rank in range(1, topk + 1)
        ]
        frontier = sorted(range(start, len(drafted)), key=lambda n: -drafted[n].score)[:topk]
    kept = sorted(range(len(drafted)), key=lambda n: -drafted[n].score)[
        :total
    ]  # parents come first
    tree = _numbered([drafted[n] for n in sorted(kept)], sorted(kept))
    return Shape(f"eagle:{steps},{topk},{total}", tree, (1, *[topk] * (steps - 1)))


def _numbered(kept: Sequence[_Candidate], names: Sequence[int]) -> Tree:
    """The tree of candidates that called each other by `names`."""
    number = {-1: -1} | {name: n for n, name in enumerate(names)}
    return Tree(tuple(number[c.parent] for c in kept), tuple(c.rank for c in kept))


def medusa(paths: Sequence[Sequence[int]]) -> Shape:
    """Medusa's choices (Cai et al. 2024, arXiv 2401.10774): each path holds the choice of head 1,
    head 2, ..., counted from 0, and verifies one node; the paths it goes on from are given too.
    """
    ordered = sorted({tuple(path) for path in paths}, key=lambda path: (len(path), path))
    if not ordered or () in ordered or len(ordered) != len(paths):
        raise UsageError("choices are empty or said twice", expected=FORMS["medusa"])
    number: dict[tuple[int, ...], int] = {(): 0}
    for path in ordered:
        if path[:-1] not in number:
            missing = ".".join(map(str, path[:-1]))
            raise UsageError(
                f"choice {'.'.join(map(str, path))} follows {missing}, which is none",
                hint=f"add {missing}",
            )
        number[path] = len(number)
    parents = tuple(number[path[:-1]] for path in ordered)
    tree = Tree((-1, *parents), (0, *(path[-1] + 1 for path in ordered)))
    return Shape.of(tree, f"medusa of {len(ordered)} choices")


def sequoia(nodes: int, depth: int, ranks: ByRank) -> Shape:
    """The tree of most expected tokens with so many nodes and levels below the root."""
    return Shape.of(best_trees(ranks, nodes, depth).tree(nodes, depth), f"sequoia:{nodes},{depth}")


FORMS = {
    "chain": "chain:K, such as chain:4",
    "eagle": "eagle:STEPS,TOPK,TOTAL, such as eagle:5,4,8",
    "medusa": "medusa:PATH,..., such as medusa:0,0.0,0.1,1",
    "sequoia": "sequoia:NODES,DEPTH, such as sequoia:32,8",
}


def _chain(argument: str, ranks: ByRank) -> Shape:  # noqa: ARG001 - one signature for all
    (k,) = _counts(argument, "chain", (1, DEEPEST))
    return chain(k)


def _eagle(argument: str, ranks: ByRank) -> Shape:
    steps, topk, total = _counts(argument, "eagle", (1, DEEPEST), (1, WIDEST), (2, MOST_NODES))
    return eagle(steps, topk, total, ranks)


def _medusa(argument: str, ranks: ByRank) -> Shape:  # noqa: ARG001 - one signature for all
    """Paths with dots, or the list of lists that Medusa's own files hold."""
    text = argument.strip()
    try:
        listed = text.startswith("[")
        paths = json.loads(text) if listed else [p.split(".") for p in text.split(",")]
        choices = [[_whole(str(choice)) for choice in path] for path in paths]
    except (SpecplanError, TypeError, ValueError, RecursionError):
        choices = []
    wide = max((choice for path in choices for choice in path), default=WIDEST)
    if wide >= WIDEST or len(choices) >= MOST_NODES or max(map(len, choices)) > DEEPEST:
        raise UsageError(f"'{visible(text, 60)}' are no choices", expected=FORMS["medusa"])
    return medusa(choices)


def _sequoia(argument: str, ranks: ByRank) -> Shape:
    nodes, depth = _counts(argument, "sequoia", (2, MOST_NODES), (1, DEEPEST))
    return sequoia(nodes, depth, ranks)


SHAPES: dict[str, Callable[[str, ByRank], Shape]] = {
    "chain": _chain,
    "eagle": _eagle,
    "medusa": _medusa,
    "sequoia": _sequoia,
}


def shape_of(text: str, ranks: ByRank) -> Shape:
    """The shape that a text describes: a word of SHAPES, a colon, its figures."""
    kind, colon, argument = text.partition(":")
    if kind not in SHAPES:
        raise unknown("shape", kind, SHAPES)
    if not colon:
        raise UsageError(f"shape {kind} has no figures", expected=FORMS[kind])
    return SHAPES[kind](argument, ranks)


def _counts(text: str, kind: str, *limits: tuple[int, int]) -> list[int]:
    """As many whole numbers as there are limits, each within its own."""
    try:
        values = [_whole(item) for item in text.split(",")]
    except SpecplanError:
        values = []
    if len(values) != len(limits):
        told = f"'{visible(text, 60)}' are not the figures of {kind}"
        raise UsageError(told, expected=FORMS[kind])
    for value, (low, high) in zip(values, limits, strict=True):
        if not low <= value <= high:
            expected = f"{low} to {high} there in {FORMS[kind]}"
            raise UsageError(f"{value} is out of range", expected=expected)
    return values


def _whole(text: str) -> int:
    """A whole number from 0."""
    value = parse_number(text.strip())
    if value < 0 or value != int(value):
        raise UsageError(f"{value:g} is no count")
    return int(value)
