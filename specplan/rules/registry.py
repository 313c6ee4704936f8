"""Every rule by id, whatever it is about."""

from __future__ import annotations

from specplan.rules import Rule
from specplan.rules.cards import CARD_RULES
from specplan.rules.deployments import DEPLOYMENT_RULES
from specplan.rules.plans import PLAN_RULES

RULES: dict[str, Rule] = {rule.id: rule for rule in (*PLAN_RULES, *CARD_RULES, *DEPLOYMENT_RULES)}
