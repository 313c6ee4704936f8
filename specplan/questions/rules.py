"""The rules that check goes by: all of them, or one in full."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.answer import Answer, Basis, Column, Facts, Rows, View, table_of
from specplan.errors import unknown
from specplan.rules import Rule
from specplan.rules.expected import Keyed
from specplan.rules.registry import RULES

COLUMNS = (
    Column("id", "", "rule", "text", "what to write after --rule"),
    Column("level", "", "level", "text", "of its findings"),
    Column("expectation", "", "expectation", "text", "key of `expect`, if it is about one"),
    Column("title", "", "finds", "text", "what it finds, in a few words"),
    Column("what", "", "what", "text", "what it looks at"),
    Column("why", "", "why", "text", "why that matters"),
    Column("remedy", "", "remedy", "text", "what to do"),
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The ids of the rules told of."""

    rules: tuple[str, ...]


def every_rule() -> Answer:
    """All rules, a line each."""
    shown = Rows(columns=("id", "level", "expectation", "title"))
    return _answer(tuple(RULES.values()), View(title="Rules", sections=(shown,)))


def one_rule(name: str) -> Answer:
    """One rule in full, by its id or by the expectation that it is about."""
    by_key = {rule.key: rule for rule in RULES.values() if isinstance(rule, Keyed)}
    rule = RULES.get(name.upper()) or by_key.get(name)
    if rule is None:
        raise unknown("rule", name, RULES | by_key, hint="specplan check --rules lists all")
    facts = Facts((("what", rule.what), ("why", rule.why), ("remedy", rule.remedy)))
    view = View(
        title=f"{rule.id} {_key(rule) or rule.title}",
        caption=(f"{rule.level}: {rule.title}",),
        sections=(facts,),
    )
    return _answer((rule,), view)


def _key(rule: Rule) -> str:
    return rule.key if isinstance(rule, Keyed) else ""


def _answer(rules: tuple[Rule, ...], view: View) -> Answer:
    records = [
        {c.name: getattr(rule, c.name, None) for c in COLUMNS} | {"expectation": _key(rule) or None}
        for rule in rules
    ]
    return Answer(
        command="rules",
        value=Rules(tuple(rule.id for rule in rules)),
        table=table_of(COLUMNS, records),
        view=view,
        basis=Basis(kind="exact", says=""),
    )
