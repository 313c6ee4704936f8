"""What a plan expects, in a report: each expectation with its limit, what was found, and whether
that holds.
"""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.answer import Answer, Column, Rows, Scalar, table_of
from specplan.questions.check import Checked
from specplan.rules.plans import BY_KEY

ASIDE = (
    Column("held", "", "held", "text", "holds, unsure or fails"),
    Column("limit", "", "expected", "text", "the expectation with its limit as written"),
    Column("told", "", "found", "text", "the figure, and where it is worst"),
    Column("expects", "", "expects", "flag", "is about an expectation"),
)
HELD = {"pass": "holds", "warning": "unsure", "error": "fails"}


def expected(checked: Answer) -> Answer:
    """The check with a row for each expectation above its own lines."""
    records = [record | _told(record) for record in checked.table.records()]
    rows = Rows(columns=("limit", "held", "told"), where="expects")
    return replace(
        checked,
        table=table_of(checked.table.columns, records, ASIDE),
        view=replace(checked.view, sections=(rows, *checked.view.sections)),
    )


def _told(record: dict[str, Scalar]) -> dict[str, Scalar]:
    limit, _, found = str(record["message"]).partition(": ")
    return {
        "held": HELD.get(str(record["level"]), str(record["level"])),
        "limit": limit,
        "told": found,
        "expects": record["name"] in BY_KEY,
    }


def failing_words(checked: Answer | None) -> str:
    """How much of what the plan expects fails, as a verdict ends; "" where nothing does."""
    if checked is None or checked.ok or not isinstance(checked.value, Checked):
        return ""
    value = checked.value
    if not value.fail:
        return "; specplan check finds errors in the plan"
    verb = "fails" if value.fail == 1 else "fail"
    return f"; {value.fail:,} of its {value.expectations:,} expectations {verb}"
