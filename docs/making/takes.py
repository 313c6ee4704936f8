"""What a field of a JSON Schema takes, in words: its type, its unit and its bounds."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from making.pages import code

Node = dict[str, Any]
_UNITS = re.compile(r"\(\?: \*\(([^()]+)\)\)")
_KNOWN = {
    "^[a-z0-9][a-z0-9._-]{0,63}$": "name in lower case",
    r"^https://[^\s]+$": "https address",
    r"^\d{4}-\d{2}-\d{2}$": "date, YYYY-MM-DD",
    r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$": "version: digits and dots",
}
_TYPES = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "`true` or `false`",
    "object": "mapping",
}


class Takes(NamedTuple):
    """Words for one field; all of them Markdown."""

    words: str
    unit: str = ""
    bounds: str = ""


def takes(node: Node) -> Takes:
    """What a field takes."""
    arms = [takes(arm) for arm in node.get("anyOf", ()) if arm.get("type") != "null"]
    return _either(arms, node) if arms else _simple(node)


def _either(arms: list[Takes], node: Node) -> Takes:
    words = list(dict.fromkeys(arm.words for arm in arms))
    unit = next((arm.unit for arm in arms if arm.unit), "")
    bounds = _joined(*dict.fromkeys(b for arm in arms for b in arm.bounds.split("; ")))
    if unit:  # a bare number beside a text with a unit is the same quantity
        said = next(arm.words for arm in arms if arm.unit)
        words = [said, *(w for w in words if w not in {said, "number", "whole number"})]
    lists = [arm for arm in node["anyOf"] if arm.get("type") == "array"]
    if lists and len(words) > 1:  # one value stands for a list of one
        words = [w for w in words if not w.startswith("list of")]
        return Takes(f"{' or '.join(words)}, or a list", unit, bounds)
    return Takes(" or ".join(words), unit, bounds)


def _simple(node: Node) -> Takes:  # noqa: PLR0911 - a case for each form of a schema
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return Takes(f"[{name}](#{name.lower()})")
    if "const" in node:
        return Takes(code(str(node["const"])))
    if "enum" in node:
        return Takes(", ".join(code(str(word)) for word in node["enum"]))
    kind = node.get("type", "")
    if kind == "array":
        inner = takes(node["items"])
        return Takes(f"list of {inner.words}", inner.unit, _joined(inner.bounds, _items(node)))
    if kind == "object" and isinstance(node.get("additionalProperties"), dict):
        key = takes(node["propertyNames"]).words if "propertyNames" in node else "name"
        inner = takes(node["additionalProperties"])
        return Takes(f"mapping of {key} to {inner.words}", inner.unit, inner.bounds)
    if kind == "string":
        return _text(node)
    return Takes(_TYPES.get(kind, "anything"), "", _range(node))


def _text(node: Node) -> Takes:
    pattern = node.get("pattern", "")
    units = _UNITS.search(pattern)
    if units:
        optional = "" if pattern.endswith(")?$") else ", with its unit"
        such = node.get("description", "").removeprefix("such as ").split(" or ")
        words = f"quantity{optional}" + (f", such as {code(such[0])}" if such[0] else "")
        return Takes(words, _few(units[1].split("|")))
    longest = f"{node['maxLength']} characters" if "maxLength" in node and not pattern else ""
    words = "version" if "post|dev" in pattern else _KNOWN.get(pattern, "text")
    return Takes(words, "", f"up to {longest}" if longest else "")


def _few(units: list[str]) -> str:
    """The first units in full; of a long list the last one too."""
    shown = [code(unit) for unit in units]
    return ", ".join(shown) if len(shown) <= 4 else f"{', '.join(shown[:2])} … {shown[-1]}"


def _items(node: Node) -> str:
    least, most = node.get("minItems"), node.get("maxItems")
    if most is None:
        return f"from {least} of them" if least and least > 1 else ""
    return f"{most} of them" if least == most else f"up to {most} of them"


def _range(node: Node) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if least is None and most is None:
        return ""
    if least is None or most is None:
        return f"from {least:g}" if most is None else f"to {most:g}"
    return f"{least:g} to {most:g}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
