"""Lists of modules as quantised checkpoints write them: names, globs, regular expressions.

A name or glob stands for a module and all that lies in it, wherever whole parts of it fit, so that
`self_attn` reaches `layers.2.self_attn.q_proj` and `layers.1` does not reach `layers.16`; what
wraps a model around its layers is left out. A `re:` pattern must match from the start, with any
wrapping. Lists run to 100,000 entries: names are looked up, and a pattern for one layer is tried
on that layer alone.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Final

from specplan.errors import InputError
from specplan.importers.quant_modules import MTP, Module
from specplan.visible import visible

_WRAPS: Final = frozenset({"model", "language_model", "text_model", "backbone", "transformer"})
_PREFIXES: Final = (
    "",
    "model.",
    "model.language_model.",
    "language_model.model.",
    "backbone.",
)
_REGEX: Final = "re:"
_DRAFTING: Final = MTP.rstrip(".")
_LAYER = re.compile(r"layers\.(\d+)\.")
_ESCAPED_LAYER = re.compile(r"layers\\\.(\d+)\\\.(?![*+?{])")
_GROUP_AGAIN = re.compile(r"\)[*+{]")
_REPEATS = re.compile(r"(?<!\\)[*+{]")
_MOST_REPEATS = 4
_MOST_GENERAL = 128  # patterns that every module is held against
_LONGEST = 1000
_SHOWN = 60

Pattern = re.Pattern[str]


@dataclass(slots=True)
class Names:
    """A list of modules. `stems` are beginnings of names, of these `lengths`; patterns for one
    layer lie under its number, all others under -1.
    """

    exact: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    globs: dict[int, list[Pattern]] = field(default_factory=dict)
    regexes: dict[int, list[Pattern]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.exact or self.stems or self.globs or self.regexes)

    def hits(self, module: Module) -> bool:
        """Whether an entry stands for this module, by any of its names."""
        if not self:
            return False
        number = -1 if module.layer is None else module.layer
        globs = self._for(self.globs, number)
        regexes = self._for(self.regexes, number)
        return any(self._hits(name, globs, regexes) for name in module.names)

    def _hits(self, name: str, globs: list[Pattern], regexes: list[Pattern]) -> bool:
        if self.exact and not self.exact.isdisjoint(_runs(name)):
            return True
        if any(name[:length] in self.stems for length in self.lengths):
            return True
        if any(glob.match(name) for glob in globs):
            return True
        return any(regex.match(prefix + name) for regex in regexes for prefix in _PREFIXES)

    @staticmethod
    def _for(patterns: dict[int, list[Pattern]], number: int) -> list[Pattern]:
        return patterns.get(-1, []) + (patterns.get(number, []) if number >= 0 else [])


def names_in(entries: Iterable[str]) -> Names:
    """The entries of a list, compiled."""
    found = Names()
    for entry in dict.fromkeys(entries):
        if entry.startswith(_REGEX):
            text = entry.removeprefix(_REGEX)
            general = "|" in text or _DRAFTING in text
            at = -1 if general else _number(_ESCAPED_LAYER.search(text))
            found.regexes.setdefault(at, []).append(_regex(text))
            continue
        name = _bare(entry)
        if not name:
            continue
        if not set("*?[").intersection(name):
            found.exact.add(name)
        elif name.startswith("layers.") and not set("*?[").intersection(name[:-1]):
            found.stems.add(name[:-1])
            found.lengths.add(len(name) - 1)
        else:
            general = "[" in name or _DRAFTING in name
            at = -1 if general else _number(_LAYER.search(name))
            found.globs.setdefault(at, []).append(_glob(name))
    unplaced = len(found.globs.get(-1, ())) + len(found.regexes.get(-1, ()))
    if unplaced > _MOST_GENERAL:
        raise InputError(
            f"a list of modules has {unplaced} patterns that are for no one layer",
            expected=f"at most {_MOST_GENERAL}",
        )
    return found


def _bare(entry: str) -> str:
    """A name without what wraps a model around its layers; nothing if it names only that."""
    parts = entry.strip(".").split(".")
    while parts and parts[0] in _WRAPS:
        parts.pop(0)
    return ".".join(parts)


def _runs(name: str) -> Iterator[str]:
    """Every run of whole parts of a name; layers of a module that drafts are not the model's."""
    ends = [at for at, letter in enumerate(name) if letter == "."] + [len(name)]
    start = 0
    for place, stop in enumerate(ends):
        if start != len(MTP) or not name.startswith(MTP):
            yield from (name[start:end] for end in ends[place:])
        start = stop + 1


def _number(found: re.Match[str] | None) -> int:
    return int(found.group(1)) if found and len(found.group(1)) < 9 else -1


def _glob(name: str) -> Pattern:
    """It, or what lies in it, at the start of a name or after a dot."""
    return re.compile("|".join(map(translate, (name, f"{name}.*", f"*.{name}", f"*.{name}.*"))))


def _regex(text: str) -> Pattern:
    """A pattern from the file, unless matching it could take for ever."""
    shown = visible(text, _SHOWN)
    body = text.removesuffix(".*")
    if (
        len(text) > _LONGEST
        or _GROUP_AGAIN.search(text)
        or len(_REPEATS.findall(body)) > _MOST_REPEATS
    ):
        raise InputError(
            f"pattern '{shown}' could take too long to match",
            expected=f"at most {_MOST_REPEATS} of * and +, none of them after a group",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python may come to read otherwise
            return re.compile(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise InputError(f"pattern '{shown}' is no regular expression") from error
