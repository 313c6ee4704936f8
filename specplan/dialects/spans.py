"""Which versions have what: tables of spans, and the drafters that an engine has words for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from specplan.domain.deployment import Deployment
from specplan.domain.version import ordered
from specplan.errors import Refused
from specplan.visible import visible

Age = tuple[tuple[int, ...], tuple[int, int]]

_CANDIDATE = re.compile(r"rc[._-]?([0-9]{1,6})")


def age(version: str) -> Age:
    """What versions are compared by, candidates before their release: 1.3.0rc8 < 1.3 = 1.3.0."""
    found = _CANDIDATE.search(version)
    return ordered(version), (0, int(found[1])) if found else (1, 0)


@dataclass(frozen=True, slots=True)
class Span:
    """The engine's `word` for something, in versions from `since` on: the first that was read with
    it. `until` is the last that was read with it, and its numbers count alone: 0.26 holds 0.26.3;
    unless it is a candidate. `why` says what became of it.
    """

    word: str
    since: str
    until: str = ""
    why: str = ""

    def holds(self, version: str) -> bool:
        """Whether a version has it."""
        if age(version) < age(self.since):
            return False
        if _CANDIDATE.search(self.until):
            return age(version) <= age(self.until)
        last = ordered(self.until) if self.until else ()
        return not last or ordered(version)[: len(last)] <= last

    @property
    def says(self) -> str:
        """Which versions those are, in words."""
        if not self.until:
            return f"{self.since} and later"
        return f"{self.since} to {self.until}" + (f" ({self.why})" if self.why else "")


Ways = Mapping[str, tuple[Span, ...]]
"""How an engine calls each way to draft, by version."""

_NO_DRAFTERS = {
    "ratio": "is a cost, not a drafter",
    "free": "is a bound, not a drafter",
}


def word_for(deployment: Deployment, ways: Ways) -> str:
    """The engine's word for the deployment's way to draft, "" for none; refused where it has no
    word, whether anything is to be drafted or not.
    """
    if deployment.way == "none":
        return ""
    spans = ways.get(deployment.way, ())
    for span in spans:
        if span.holds(deployment.version):
            return span.word
    names = [way for way, each in ways.items() if any(s.holds(deployment.version) for s in each)]
    have = ", ".join(names)
    named = visible(deployment.draft_name, 60)
    if deployment.way in _NO_DRAFTERS:
        what = f"-d {named} {_NO_DRAFTERS[deployment.way]}"
    elif spans:
        what = f"{deployment.at} has no drafters of kind {deployment.way}"
        versions = " and ".join(span.says for span in spans)
        if not names:
            raise Refused(what, expected=f"{deployment.engine} {versions}")
        have = f"{have}; {deployment.way} is in {versions}"
    else:
        what = f"{deployment.engine} has no drafters of kind {visible(deployment.way, 60)}"
    raise Refused(what, expected=f"one of those it has: {have}" if have else "")


def whole_flag(flags: Mapping[str, str | None], name: str) -> int:
    """The whole number of a flag that needs one; refused where it is missing or none above 0."""
    text = flags.get(name) or ""
    if not text.isdigit() or not int(text):
        raise Refused(f"{name} is {text or 'missing'}", expected="a whole number above 0")
    return int(text)
