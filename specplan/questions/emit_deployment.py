"""The plan as an engine is to run it: its drafter, what is loaded, and at which load."""

from __future__ import annotations

import math
from dataclasses import replace

from specplan.domain.deployment import Deployment, TreeShape
from specplan.domain.heads import MADE
from specplan.domain.hub import hub_name
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError, Where
from specplan.physics.survival import survival
from specplan.questions.emit_k import Chosen
from specplan.visible import is_hidden, visible

IN_TARGET = "mtp"  # lies in the target's own checkpoint, unless another is named


def deployment_of(
    scenario: Scenario,
    engine: str,
    chosen: Chosen,
    paths: tuple[str | None, str | None],
    shape: TreeShape | None,
) -> Deployment:
    """The one setup of a scenario with what was chosen; `paths` are what is to be loaded as the
    target and as the drafter instead of what their cards name.
    """
    setup = scenario.setups[0]
    drafter, card = setup.draft, setup.draft.model
    own = hub_name(card) if card and _way(setup) != IN_TARGET else None
    return Deployment(
        engine=engine,
        version=str(setup.version),
        target_name=setup.target.name,
        target=_loadable(paths[0], "--target-path") or hub_name(setup.target),
        draft_name=drafter.label,
        draft=_drafter(setup, paths[1]) or own,
        way=_way(setup),
        draws=str(drafter.draws),
        modules=card.drafts.modules if card and card.drafts else 1,
        target_family=setup.target.family,
        vocabs=_vocabs(setup),
        k=chosen.k,
        schedule=chosen.schedule,
        instead=chosen.instead,
        tree=shape,
        tp=setup.tp,
        draft_tp=setup.draft_tp,
        attention_dp=setup.attention_dp,
        ep=setup.ep,
        kv_dtype=setup.kv_dtype,
        batch=chosen.batch,
        context=_context(scenario, chosen),
    )


def pretending(scenario: Scenario, deployment: Deployment) -> Deployment:
    """With the shares of rounds that keep each position."""
    where = Where("--synthetic")
    if deployment.tree:
        raise UsageError(
            "what a chain keeps is not what a tree keeps", where=where, hint="leave out --shape"
        )
    if len(scenario.acceptance) != 1 or len(scenario.context) != 1:
        raise UsageError("one acceptance can be pretended, at one context", where=where)
    kept = survival(scenario.acceptance[0], deployment.k, scenario.context[0])
    return replace(deployment, acceptance=tuple(map(float, kept)))


def _context(scenario: Scenario, chosen: Chosen) -> int:
    """Tokens that the longest sequence comes to, where they were asked for or planned with."""
    asked = scenario.inputs.get("context")
    if not (chosen.said or chosen.schedule or (asked and asked.origin != "default")):
        return 0
    return math.ceil(max(scenario.context) + scenario.growth)


def _vocabs(setup: Setup) -> tuple[int, int] | None:
    """Tokens of the target and of its drafter, where both cards say."""
    card = setup.draft.model
    own, other = setup.target.architecture, card.architecture if card else None
    return (own.vocab, other.vocab) if own and other else None


def _way(setup: Setup) -> str:
    """How it drafts, as engines tell drafters apart: block drafters by how they were made."""
    card = setup.draft.model
    if setup.draft.kind == "block" and card and card.family in MADE:
        return card.family
    return setup.draft.kind


def _drafter(setup: Setup, path: str | None) -> str | None:
    """What is loaded as the drafter instead of what its card names."""
    if path is not None and setup.draft.model is None:
        raise UsageError(
            f"-d {visible(setup.draft.label, 60)} loads nothing", where=Where("--draft-path")
        )
    return _loadable(path, "--draft-path")


def _loadable(path: str | None, option: str) -> str | None:
    """A path or a name that every form carries as it was typed."""
    if path is None:
        return None
    where, shown = Where(option), visible(path, 60)
    if not path.strip():
        raise UsageError(
            f"'{shown}' is no path", where=where, expected="a folder, file or ORG/NAME"
        )
    if path.startswith("-"):
        raise UsageError(f"'{shown}' would be read as a flag", where=where, hint=f"./{shown}")
    if any(is_hidden(character) and character not in "\t\n" for character in path):
        raise UsageError(f"'{shown}' has characters that nobody sees", where=where)
    return path
