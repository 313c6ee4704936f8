"""The picture of an answer, or that it has none."""

from __future__ import annotations

from specplan.domain.answer import Answer
from specplan.domain.picture import Picture
from specplan.errors import UsageError, Where
from specplan.render.drawable import drawable


def pictured(answer: Answer, where: Where | None = None) -> Picture:
    """The picture, made now, as far as axes show it; UsageError where the answer has none."""
    if answer.view.picture is None:
        why = "" if answer.ok else f" of this: {answer.view.title}"
        what = f"{answer.command} has no picture{why}"
        raise UsageError(what, where=where, hint="use -f table")
    return drawable(answer.view.picture())
