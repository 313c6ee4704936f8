"""The site: `sphinx-build -W --keep-going -n docs build/site`. Nothing is fetched, at build or by
a reader's browser.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import specplan  # noqa: E402

from making import reference  # noqa: E402 - they are found from here
from making.contents import CONTENTS  # noqa: E402
from making.pages import relinked  # noqa: E402

project = "specplan"
author = "The specplan developers"
copyright = author  # noqa: A001 - Sphinx's name; no year, so that a page does not age
version = release = specplan.__version__

extensions = ["myst_parser"]
exclude_patterns = ["making"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
html_theme = "furo"
html_title = "specplan"
html_show_sphinx = False
html_copy_source = False
html_extra_path = ["reference/report.html"]
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def _made(app: Sphinx, config: Config) -> None:  # noqa: ARG001 - what Sphinx hands over
    reference.make()


def _read(app: Sphinx, name: str, source: list[str]) -> None:  # noqa: ARG001
    """Pages as GitHub shows them get what the site alone has: tables of contents, links of ours."""
    page = f"{name}.md"
    if not name.startswith(reference.FOLDERS):
        source[0] = relinked(source[0], f"docs/{page}", page)
    source[0] += CONTENTS.get(name, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx asks of an extension."""
    for words in ("csv", "log"):
        app.add_lexer(words, TextLexer)
    app.connect("config-inited", _made)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
