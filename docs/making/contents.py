"""Tables of contents, appended to pages that GitHub shows without."""

from __future__ import annotations


def _tree(caption: str, *pages: str, depth: int = 1) -> str:
    named = f":caption: {caption}\n" if caption else ""
    listed = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:glob:\n:maxdepth: {depth}\n{named}\n{listed}\n```\n"


HOW_TOS = (
    "drafter", "choose-k", "acceptance", "gate", "memory", "trees", "capacity", "simulate",
    "logs", "calibrate", "engine-flags", "equivalence", "ci", "gpu", "model", "pictures",
)  # fmt: skip
PHYSICS = (
    "tokens", "rounds", "memory", "passes", "constants", "exactness", "counters", "servers",
)  # fmt: skip

SAMPLE = """
## A sample

<p><a href="report.html">A report</a>, as <code>specplan report</code> writes it: one page that
opens without a network; turn its acceptance, batch, context and k.</p>
"""

CONTENTS = {
    "index": "".join(
        (
            SAMPLE,
            _tree("Guide", "guide"),
            _tree("How-tos", *(f"how-to/{name}" for name in HOW_TOS)),
            _tree("Topics", "topics/engines", "topics/catalogue", "topics/*"),
            _tree("Physics", "physics"),
            _tree("Accuracy", "accuracy", "ledger"),
            _tree(
                "Reference",
                "reference/cli/index",
                "reference/schemas/index",
                "reference/rules",
                "reference/formats",
                "environment",
                "reference/python",
                "reference/files/*",
            ),
            _tree("Contributing", "project/contributing", "project/changelog", "project/*"),
        )
    ),
    "physics": _tree("", *(f"physics/{name}" for name in PHYSICS)),
    "reference/cli/index": _tree("", "*"),
    "reference/schemas/index": _tree("", "*"),
}
