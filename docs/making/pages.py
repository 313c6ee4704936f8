"""Markdown pages: tables, escaped words, links that still lead somewhere on the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from specplan.render.markdown import escaped

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCED = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]*)\]\((?P<to>[^)\s]+)\)")
_PARTS = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ \t]*$)", re.MULTILINE | re.DOTALL)

BORROWED = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    **{
        f"{folder}/README.md": f"reference/files/{folder}.md"
        for folder in ("hardware", "models", "engines", "curves", "traffic", "measurements")
    },
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Pages of the repository that lie outside docs/, and where the site has them."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; cells are Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """A word of a program, for a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def plain(text: str) -> str:
    """Somebody's sentence, in which nothing is markup."""
    return escaped(" ".join(text.split()))


def prose(text: str) -> str:
    """A docstring as Markdown: code stays code, nothing else is markup."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        words = re.split(r"(`[^`]+`)", " ".join(paragraph.split()))
        paragraphs.append("".join(w if i % 2 else _quoted(w) for i, w in enumerate(words)))
    return "\n\n".join(paragraphs)


def _quoted(text: str) -> str:
    lead = " " if text[:1] == " " else ""
    tail = " " if len(text) > 1 and text[-1:] == " " else ""
    return f"{lead}{plain(text)}{tail}" if text.strip() else text


def block(text: str, language: str = "text") -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def relinked(text: str, home: str, at: str) -> str:
    """The text of the repository's page `home`, for the place `at` in docs/: its links lead to
    pages of the site; those to files that the site lacks are words alone.
    """
    pieces = _PARTS.split(text)
    return "".join(
        piece if number % 2 else _LINK.sub(lambda link: _led(link, home, at), piece)
        for number, piece in enumerate(pieces)
    )


def _led(link: re.Match[str], home: str, at: str) -> str:
    to, words = link["to"], link["words"]
    if "://" in to or to.startswith("#"):
        return link[0]
    name, _, anchor = to.partition("#")
    there = os.path.normpath(PurePosixPath(home).parent / name)
    page = BORROWED.get(there) or BORROWED.get(f"{there}/README.md") or _in_docs(there)
    if page is None:
        return words
    relative = os.path.relpath(page, PurePosixPath(at).parent)
    return f"[{words}]({relative}{'#' + anchor if anchor else ''})"


def _in_docs(there: str) -> str | None:
    if there == "README.md":
        return "index.md"
    known = there.startswith("docs/") and (ROOT / there).is_file()
    return there.removeprefix("docs/") if known else None


def borrowed() -> dict[str, str]:
    """The pages of the repository that the site shows too."""
    return {
        at: relinked((ROOT / home).read_text(encoding="utf-8"), home, at)
        for home, at in BORROWED.items()
    }


def lay(pages: Mapping[str, str], folder: Path) -> None:
    """Writes pages into a folder; those that are as they were are not touched."""
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
