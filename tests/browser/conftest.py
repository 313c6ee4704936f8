"""A real Chromium, headless, with a profile of its own and no network; skipped where there is none.

`.ci/run` installs the extra `browser` and, where it can, Chromium.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from specplan.cli.reported import report
from specplan.domain.answer import Answer
from specplan.render import renderer
from specplan.render.look import Look

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
MORE = ("--disable-component-update", "--disable-sync", "--no-first-run")
NAMES = ("chromium", "chromium-browser", "google-chrome")
SETUP = {
    "target": "llama-3.1-8b",
    "draft": "eagle3",
    "hardware": "h100",
    "engine": "vllm@0.33",
    "acceptance": 0.7,
    "batch": 32,
    "k": 3,
}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser; every page of it is watched by `Seen`."""
    reason = "playwright is not installed: pip install -e '.[browser]'"
    playwright = pytest.importorskip("playwright.sync_api", reason=reason)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=[*FLAGS, *MORE])
        yield browser
        browser.close()


class Seen:
    """A page with all that it said and asked for."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(path.as_uri())

    def place(self, dial: str, place: int) -> None:
        """Moves a dial to a place by the keyboard alone."""
        thumb = self.page.locator(f"#dial-{dial}")
        thumb.focus()
        self.page.keyboard.press("Home")
        for _ in range(place):
            self.page.keyboard.press("ArrowRight")

    def figure(self, name: str) -> str:
        """What a reading shows."""
        return str(self.page.locator(f"[data-reading={name}] dd").text_content())


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Callable[[Answer, str], Path]:
    """The file of an answer's page."""
    folder = tmp_path_factory.mktemp("pages")

    def write(answer: Answer, name: str) -> Path:
        out = io.StringIO()
        renderer("html")(answer, out, Look())
        path = folder / f"{name}.html"
        path.write_text(out.getvalue(), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def reported() -> Answer:
    return report(**SETUP)


@pytest.fixture(scope="session")
def page_file(written, reported) -> Path:
    return written(reported, "report")


@pytest.fixture(scope="session")
def served_file(written) -> Path:
    """The page of a plan with traffic: capacity, bars below nothing, queues."""
    return written(report(**SETUP, rate="5/s", isl="1000", osl="200"), "served")


@pytest.fixture
def opened(chromium, page_file) -> Iterator[Callable[..., Seen]]:
    """Opens the report's file, or another one, in a context with the options given."""
    contexts = []

    def opening(path: Path = page_file, **options: Any) -> Seen:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        return Seen(context.new_page(), path)

    yield opening
    for context in contexts:
        context.close()
