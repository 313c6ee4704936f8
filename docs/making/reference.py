"""All pages of the site that are made anew for each build, none of which is committed."""

from __future__ import annotations

from pathlib import Path

from making import commands, listed, sample, schemas
from making.pages import DOCS, borrowed, lay

FOLDERS = ("reference", "project")


def written() -> list[Path]:
    """The pages of docs/ that are committed."""
    found = sorted(DOCS.rglob("*.md"))
    return [path for path in found if path.relative_to(DOCS).parts[0] not in FOLDERS]


def pages() -> dict[str, str]:
    """Place in docs/ -> Markdown."""
    return commands.pages() | schemas.pages() | listed.pages() | borrowed()


def make() -> None:
    """Lays all pages where the builder finds them, and takes away those that are no more."""
    made = pages()
    lay(made | {"reference/report.html": sample.page()}, DOCS)
    for folder in FOLDERS:
        for path in (DOCS / folder).rglob("*.md"):
            if path.relative_to(DOCS).as_posix() not in made:
                path.unlink()
