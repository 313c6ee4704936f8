"""The accuracy ledger: what `specplan accuracy` prints, as a page."""

from __future__ import annotations

import io

import specplan
from specplan.render import renderer
from specplan.render.look import Look

from making.pages import relinked

INTRO = """\
# The accuracy ledger

Made by `specplan accuracy -f markdown`; what it means, and what is missed, is told in
[accuracy](accuracy.md). Errors are those of predictions against figures that others measured.

![Measured figures over predicted ones](pictures/accuracy.svg)
"""


def page() -> str:
    """`ledger.md`."""
    out = io.StringIO()
    renderer("markdown")(specplan.accuracy(), out, Look(color=False, width=None, unicode=True))
    told = out.getvalue().replace("\n### ", "\n## ")
    told = f"#{told}" if told.startswith("# ") else told.removeprefix("#")
    return f"{INTRO}\n{relinked(told, 'docs/ledger.md', 'ledger.md')}"
