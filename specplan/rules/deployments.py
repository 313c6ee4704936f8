"""What is wrong with a deployment that speculates (SD): every rule, and what all say of one."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.rules.counting import COUNTING_RULES
from specplan.rules.deployed import Deployed, DeploymentRule, Symptom
from specplan.rules.drafting import DRAFTING_RULES
from specplan.rules.loading import LOADING_RULES
from specplan.rules.pacing import PACING_RULES
from specplan.rules.settings import SETTING_RULES

DEPLOYMENT_RULES: tuple[DeploymentRule, ...] = (
    *PACING_RULES,
    *DRAFTING_RULES,
    *LOADING_RULES,
    *SETTING_RULES,
    *COUNTING_RULES,
)
_WORST_FIRST = ("error", "warning", "note", "pass")


def symptoms(deployed: Deployed) -> tuple[Symptom, ...]:
    """What the rules find, errors first, each kind in the order of the rules."""
    found = sorted(_found(deployed), key=lambda one: _WORST_FIRST.index(one.level))
    return tuple(found)


def _found(deployed: Deployed) -> Iterator[Symptom]:
    for rule in DEPLOYMENT_RULES:
        told = rule.look(deployed)
        if told is not None:
            title = told.title or rule.title
            message = f"{title}: {told.evidence}; {told.consequence}"
            level = told.level or rule.level
            yield Symptom(rule.id, level, message, title=title, told=told)
