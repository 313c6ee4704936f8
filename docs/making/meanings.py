"""What the keys of a file mean: from the README of its folder, from options, from rules."""

from __future__ import annotations

import re

from typer.main import get_command

from specplan.catalogue.schema import SCHEMAS, hints_of, unwrap
from specplan.cli.app import app
from specplan.rules.registry import RULES

from making.pages import ROOT, plain, relinked

FOLDERS = {"hardware": "hardware", "model": "models", "engine": "engines", "curve": "curves"}
"""Kinds whose keys a README tells, and its folder."""
_TABLE = re.compile(r"^\|[^\n]*\|\n\|(?: ?:?-+:? ?\|)+\n((?:\|[^\n]*\|\n)+)", re.MULTILINE)
_KEYS = re.compile(r"`([^`]+)`")
_OPTIONS_OF = ("capacity", "simulate", "best-k")


def meanings(kind: str) -> dict[str, dict[str, str]]:
    """Record of the schema ("" for the file itself) -> key -> what it means, in Markdown."""
    if kind == "plan":
        return _of_a_plan()
    if kind not in FOLDERS:
        return {}
    first, *others = _tables(FOLDERS[kind])
    found = {"": first}
    for name, keys in _records(SCHEMAS[kind]).items():
        best = max(others, key=lambda told: len(keys & set(told)), default={})
        if 2 * len(keys & set(best)) > len(keys):  # else it is a table of something else
            found[name] = best
    return found


def _tables(folder: str) -> list[dict[str, str]]:
    home = f"{folder}/README.md"
    text = relinked((ROOT / home).read_text(encoding="utf-8"), home, "reference/schemas/x.md")
    seen = f"see [more](../files/{folder}.md)"
    return [_told(body.replace("see below", seen)) for body in _TABLE.findall(text)]


def _told(body: str) -> dict[str, str]:
    """Key -> what a table says of it; a row of several keys may say as many things."""
    found = {}
    for line in body.splitlines():
        first, second = (cell.strip() for cell in line.strip("|").split("|")[:2])
        keys, said = _KEYS.findall(first), second.split("; ")
        each = said if len(said) == len(keys) else [second] * len(keys)
        found |= dict(zip(keys, each, strict=True))
    return found


def _records(top: type) -> dict[str, set[str]]:
    """The records inside a kind of file, by name."""
    found: dict[str, set[str]] = {}
    waiting = [top]
    while waiting:
        for hint in hints_of(waiting.pop()).values():
            for record in _classes(hint):
                if record.__name__ not in found:
                    found[record.__name__] = set(hints_of(record))
                    waiting.append(record)
    return found


def _classes(hint: object) -> list[type]:
    base, _ = unwrap(hint)
    if hasattr(base, "__dataclass_fields__"):
        return [base]
    return [each for inner in getattr(base, "__args__", ()) for each in _classes(inner)]


def _of_a_plan() -> dict[str, dict[str, str]]:
    asked = _options()
    kept = {getattr(rule, "key", ""): plain(rule.what) for rule in RULES.values()}
    places = {name: asked | _PLAN.get(name, {}) for name in ("", "Workload", "Incoming", "MixPart")}
    return places | {"Expect": kept | _PLAN["Expect"], "At": asked}


_PLAN: dict[str, dict[str, str]] = {
    "": {
        "schema": "The kind of file and its version.",
        "about": "What the plan is for, in your words.",
        "workload": "What the server is given.",
        "traffic": "What comes in and what is promised, for `capacity` and `simulate`.",
        "expect": "What must hold at every point.",
    },
    "Workload": {"mix": "Workloads that share one server."},
    "MixPart": {"weight": "Its share of the output tokens."},
    "Expect": {"at": "The points that this is about."},
}
"""Keys of a plan that are no options."""


def _options() -> dict[str, str]:
    """Key of a plan -> the help of the option of that name."""
    root = get_command(app)
    context = root.context_class(root, info_name="specplan")
    found: dict[str, str] = {}
    for command in _OPTIONS_OF:
        for option in root.get_command(context, command).params:  # type: ignore[union-attr]
            for name in option.opts:
                key = name.lstrip("-").replace("-", "_")
                found.setdefault(key, plain(getattr(option, "help", None) or ""))
    return found
