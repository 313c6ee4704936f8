"""Links of the built site: each leads to a file and an anchor that are there, none is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser loads by itself, and the attribute that says from where."""


class _Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.ids.update(filter(None, (said.get("id"), said.get("name"))))
        to = said.get(FETCHED.get(tag, "href"))
        if to is not None:
            (self.fetched if tag in FETCHED else self.links).append(to)


def broken(site: Path) -> Iterator[str]:
    """Those links of a built site that lead nowhere, and what a reader's browser would fetch."""
    pages = {path.resolve(): _Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for to in page.links + page.fetched:
            parts = urlsplit(to)
            if parts.scheme or parts.netloc:
                if to in page.fetched and parts.scheme != "data":
                    yield f"{where} fetches {to}"
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[there].ids if there in pages else set()
            if not there.exists() or (anchor and there in pages and anchor not in known):
                yield f"{where} leads to {to}"
