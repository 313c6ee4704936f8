"""What best-tree shows people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from specplan.domain.answer import Facts, Lines, Rows, Section, View
from specplan.domain.scenario import Scenario
from specplan.domain.tree import Tree
from specplan.questions.common import dtype_words, percent, setups_caption, times
from specplan.questions.memory_view import misfit_words
from specplan.questions.servings import varied
from specplan.questions.tree_drawing import drawn
from specplan.questions.trees_weighed import BestTree, BestTrees, Weighed
from specplan.units import people

SHOWN = (
    *("kind", "nodes", "depth", "tokens_per_round", "draft_s", "verify_s", "tpot_s"),
    *("speedup", "chain_speedup"),
)
MANY = ("nodes", "depth", "tokens_per_round", "tpot_s", "speedup")
FEW_RANKS = 6
ROOM = 36  # characters in which the passes of a round are listed one by one
SAME = 5e-4  # leads smaller than this are none


def one(value: BestTree, scenario: Scenario) -> View:
    """One workload in full."""
    setup = scenario.setups[0]
    sections: list[Section] = [Facts(tuple(_facts(value)))]
    if not value.fits:
        told = misfit_words(value.memory, value.batch, value.fitting_tp)
        sections.insert(0, Lines((told,), wrap=True))
    if value.choice.nodes > 1:
        sections.append(Lines(drawn(Tree(value.parents, value.child_ranks)), drawn=True))
    sections.append(Rows(columns=SHOWN, where="shown", mark="best", marked="speedup"))
    sections.append(Lines((_verdict(value),), wrap=True))
    return View(
        title=_title(value),
        caption=(
            f"{setup.label}, {dtype_words(setup)}",
            f"batch {value.batch:,.0f}, context {people(value.context, 'tokens')}, "
            f"{_ranks_words(value.ranks)}",
        ),
        sections=tuple(sections),
    )


def many(value: BestTrees, scenario: Scenario) -> View:
    """The best tree of each workload."""
    setups = scenario.setups
    axes: tuple[tuple[str, Collection[object]], ...] = (
        ("target", {s.target.name for s in setups}),
        ("draft", {s.draft.label for s in setups}),
        ("hardware", {s.hardware.name for s in setups}),
        ("tp", {s.tp for s in setups}),
        *((name, {s.serving for s in setups}) for name in varied(setups)),
        ("dtype", {s.dtype for s in setups}),
        ("context", set(scenario.context)),
        ("batch", set(scenario.batch)),
    )
    several = [name for name, values in axes if len(values) > 1]
    told = [setups_caption(scenario), _ranks_words(value.ranks)]
    names = (*several, *MANY, "best_chain_k", "best_chain_speedup")
    rows = Rows(columns=names if value.all_fit else (*names, "fits"), where="best")
    sections = (rows, Lines((f"{_measured(value)}: measure the chain too.",), wrap=True))
    return View(title="Best trees", caption=tuple(told), sections=sections)


def _title(value: BestTree) -> str:
    if value.asked_about:
        return f"{value.asked_about}: {times(value.choice.speedup)}"
    if value.choice.nodes == 1:
        return "No tree pays" if value.best_chain.speedup > 1 else "Plain decoding is best"
    if value.is_chain:
        return f"A chain of k = {value.choice.depth - 1}: {times(value.choice.speedup)}"
    return f"Tree of {value.choice.nodes}, {value.choice.depth} deep: {times(value.choice.speedup)}"


def _ranks_words(levels: Sequence[Sequence[float]]) -> str:
    row = levels[0]
    shares = " ".join(f"{share:.3g}" for share in row[:FEW_RANKS])
    more = f" and {len(row) - FEW_RANKS} more" if len(row) > FEW_RANKS else ""
    below = f", {len(levels)} levels apart" if len(levels) > 1 else ""
    return f"ranks {shares}{more}{below}"


def _facts(value: BestTree) -> list[tuple[str, str]]:
    choice = value.choice
    facts = [
        ("TPOT", f"{people(choice.tpot_s, 's')}   (plain {people(value.plain_tpot_s, 's')})"),
        ("tokens/round", f"{choice.tokens_per_round:.2f} of {choice.nodes} verified a sequence"),
    ]
    if choice.nodes > 1:
        share = choice.verify_s / choice.round_s
        facts += [
            ("draft", _passes_words(value)),
            (
                "",
                "depth l, l - 1 passes; with l, as Sequoia's search has it: "
                f"{times(choice.reference_speedup)}",
            ),
            ("verify", f"{percent(share, 0)} of the round, by {choice.verify_bound_by}"),
        ]
    if value.equal_nodes_tree:
        facts.append((f"best of {choice.nodes}", _tree_words(value, value.equal_nodes_tree)))
        if value.best_tree.nodes != choice.nodes:
            facts.append(("best of all", _tree_words(value, value.best_tree)))
    alike = value.equal_nodes_chain
    if alike and alike.depth != value.best_chain.depth and not value.is_chain:
        facts.append(("same width", _chain_words(value, alike)))
    facts.append(("best chain", _chain_words(value, value.best_chain)))
    facts.append(("memory", f"ends at batch {value.memory.largest_batch:,}"))
    return facts


def _passes_words(value: BestTree) -> str:
    """How many passes, and the tokens of a sequence in each, runs of the same number as one."""
    runs = [(width, len(list(alike))) for width, alike in groupby(value.pass_tokens)]
    tokens = ", ".join(f"{width} x{n}" if n > 1 else str(width) for width, n in runs)
    passes = f"{value.choice.draft_passes} pass{'es' if value.choice.draft_passes > 1 else ''}"
    if not value.choice.draft_passes:
        return "no pass"
    if value.choice.widest_pass == 1:
        return f"{passes} of one token a sequence"
    if len(tokens) > ROOM:
        return f"{passes} of up to {value.choice.widest_pass} tokens a sequence"
    return f"{passes} of {tokens} tokens a sequence"


def _tree_words(value: BestTree, other: Weighed) -> str:
    what = f"{other.nodes} nodes, {other.depth} deep: {times(other.speedup)}"
    if other.nodes == 1:
        what = "plain decoding"
    return f"{what}; {_lead(value, other)}"


def _chain_words(value: BestTree, chain: Weighed) -> str:
    if chain.nodes == 1:
        return "none: nothing drafts"
    return f"k={chain.depth - 1}: {times(chain.speedup)}; {_lead(value, chain)}"


def _lead(value: BestTree, other: Weighed) -> str:
    """What the choice is against another."""
    lead = value.choice.speedup / other.speedup - 1
    if abs(lead) < SAME:
        return "as fast"
    who = "this shape" if value.asked_about else "the tree"
    if value.choice.nodes == 1:
        who = "plain decoding"
    return f"{who} is {percent(abs(lead))} {'faster' if lead > 0 else 'slower'}"


def _verdict(value: BestTree) -> str:
    """Whether to draft this tree, in the light of what was measured."""
    chain, lead = value.best_chain, value.lead_over_best_chain
    loses = value.choice.nodes == 1 or value.choice.speedup <= 1
    if loses and chain.speedup > 1:
        return f"No tree, but a chain pays: draft k={chain.depth - 1} in a row."
    if loses:
        return "Neither this tree nor a chain pays here: decode without drafts."
    if lead < -SAME:
        return f"A chain is faster: draft k={chain.depth - 1} in a row, without a tree."
    if lead < SAME or value.is_chain:
        return f"A chain does as well: draft k={chain.depth - 1} in a row, without a tree."
    return (
        f"On paper the tree leads by {percent(lead)}. {_measured(value)}: measure "
        f"k={chain.depth - 1} first."
    )


def _measured(value: BestTree | BestTrees) -> str:
    return (
        f"Of {value.measured_pairs} measured pairs of a tree and a chain that verified as many "
        f"tokens, the chain won {value.measured_chain_wins} (SpecBundle, 6 and 8 tokens, batch 1 "
        "and 8)"
    )
