"""A tree of drafts in characters: levels to the right, each node as its rank among its siblings.

    o--1--1--1
    |  `--2
    `--2:4

The root is `o`; siblings without children that follow one another are drawn as a range.
"""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.tree import Tree

STEM = 2  # characters from a node to its children


def drawn(tree: Tree) -> tuple[str, ...]:
    """The lines of the drawing, ASCII alone: one for each path, less those of ranges."""
    return tuple(_lines(tree, 0, "o"))


def _lines(tree: Tree, node: int, label: str) -> Iterator[str]:
    """A node with everything below it; the first child goes on in the node's own line."""
    groups = list(_groups(tree, node))
    if not groups:
        yield label
    room = len(label) + STEM
    for number, (child, text) in enumerate(groups):
        last = number == len(groups) - 1
        sign = ("`" if last else "+") if number else label
        past = "" if last else "|"
        for row, line in enumerate(_lines(tree, child, text)):
            yield f"{past:{room}}{line}" if row else f"{sign:-<{room}}{line}"


def _groups(tree: Tree, node: int) -> Iterator[tuple[int, str]]:
    """The children of a node and their labels, ranges of childless ones as one."""
    runs: list[list[int]] = []
    for child in tree.children[node]:
        before = runs[-1][-1] if runs else child
        leaves = not tree.children[child] and not tree.children[before]
        if runs and leaves and tree.ranks[child] == tree.ranks[before] + 1:
            runs[-1].append(child)
        else:
            runs.append([child])
    for first, *more in runs:
        start = tree.ranks[first]
        yield first, f"{start}:{tree.ranks[more[-1]]}" if more else str(start)
