"""One self-contained HTML page: text by a template that escapes it, data as JSON, no network.

Pictures and dials are drawn by the page's own script from its own data; without scripts all
figures are there as tables. The policy in its head lets no other script, style or address in.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TextIO

from specplan.domain.answer import Answer
from specplan.errors import UsageError, Where
from specplan.render.html.colours import colours
from specplan.render.html.content import content
from specplan.render.look import Look

SCRIPTS = ("svg.js", "plot.js", "bars.js", "cells.js", "dials.js", "page.js")


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write the page to `out`; UsageError where the template engine is not installed."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 - an extra
        from markupsafe import Markup  # noqa: PLC0415 - comes with it
    except ImportError:
        raise UsageError(
            "HTML pages are made by jinja2, which is not installed",
            where=Where("--format"),
            hint="pip install 'specplan[report]'",
        ) from None
    script = "(() => {\n" + "\n".join(map(_text, SCRIPTS)) + "\n})();\n"
    style = colours() + _text("page.css")
    environment = Environment(
        loader=DictLoader({"page": _text("page.html")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment.get_template("page").generate(
        policy=policy,
        # Ours, word for word: neither holds anything of the answer, and escaped they would not run.
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        **content(answer),
    )
    out.writelines(page)
    out.write("\n")


def _text(name: str) -> str:
    return (files("specplan.render.html") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """A source expression of the policy: what has this hash, and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
