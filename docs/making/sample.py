"""A sample report, for a link of the site: what `specplan report -o report.html` writes."""

from __future__ import annotations

import io

import specplan
from specplan.render import renderer
from specplan.render.look import Look

OPTIONS = {
    "target": "llama-3.1-8b",
    "draft": "eagle3",
    "hardware": "h100",
    "engine": "vllm@0.33",
    "batch": 32,
    "acceptance": 0.7,
    "k": 3,
}


def page() -> str:
    """`report.html`."""
    out = io.StringIO()
    answer = specplan.report(**OPTIONS)
    renderer("html")(answer, out, Look(color=False, width=None, unicode=True))
    return out.getvalue()
