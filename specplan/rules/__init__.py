"""Rules with ids: facts in, findings out. No files, no physics; places are key paths of a card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Level = Literal["pass", "note", "warning", "error"]
KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule as `--rules` lists it and `--rule ID` explains it; `level` is that of its findings."""

    id: str
    level: Level
    title: str
    what: str
    why: str
    remedy: str

    @property
    def help(self) -> str:
        """What it finds, why that matters, and what to do, as one paragraph."""
        return f"{self.what} {self.why} {self.remedy}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule says of one place; `path` leads to the value from the top of the file."""

    rule: str
    level: Level
    message: str
    path: KeyPath = ()
