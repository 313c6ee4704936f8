"""Links and pictures of all pages lead to pages and headings that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from making.reference import written

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("*/README.md")), *written()]
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")  # pictures too


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives a page's headings."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path, text: str) -> list[str]:
    """Those links of a page's text that lead nowhere; addresses of other sites are not followed."""
    found = []
    for link in LINK.findall(FENCED.sub("", text)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_link_to_nowhere_is_found():
    page = ROOT / "README.md"
    text = "[a](docs/nowhere.md) [b](#nowhere) ![c](docs/no.svg) [d](docs/physics/memory.md#memory)"
    assert broken(page, text) == [
        "docs/nowhere.md",
        "#nowhere",
        "docs/no.svg",
    ]
