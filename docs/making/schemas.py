"""A page for each kind of file, from what `specplan schema KIND` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from specplan.catalogue.json_schema import schema_text
from specplan.catalogue.schema import SCHEMAS

from making.meanings import meanings
from making.pages import block, code, prose, table
from making.takes import Node, takes

FILES = {
    "hardware": ("An accelerator's card", "hardware"),
    "model": ("A model's or drafter's card", "models"),
    "engine": ("An engine's card", "engines"),
    "curve": ("A card of acceptance curves", "curves"),
    "measurements": ("A row of measurements", "measurements"),
    "held-out": ("Constants fitted without a fold", "measurements"),
    "plan": ("A plan", ""),
}
"""Kind -> (what the file is, the folder whose README tells more)."""


def pages() -> dict[str, str]:
    """`reference/schemas/KIND.md` of every kind, and the list of them."""
    kinds = sorted(SCHEMAS, key=list(FILES).index)
    found = {f"reference/schemas/{kind}.md": _page(kind) for kind in kinds}
    rows = ((f"[`{kind}`]({kind}.md)", FILES[kind][0]) for kind in kinds)
    intro = (
        "# Files\n\nWhat each kind of YAML file holds. Editors take the schema itself from "
        "`specplan schema KIND`;\n`specplan check FILE` names what is wrong with a file, at its "
        "line.\n"
    )
    return {"reference/schemas/index.md": f"{intro}\n{table(('kind', 'is'), rows)}"} | found


def _page(kind: str) -> str:
    schema = json.loads(schema_text(kind))
    told = meanings(kind)
    title, folder = FILES[kind]
    more = f"\n[More of these files](../files/{folder}.md).\n" if folder else ""
    parts = [
        f"# {title}: `{kind}`\n\n{_about(schema)}{more}",
        "A quantity is a text with its unit, or a bare number in the first unit named.\n",
        _record(schema, told.get("", {})),
    ]
    for name, node in sorted(schema.get("$defs", {}).items()):
        parts.append(f"## {name}\n\n{_about(node)}")
        body = _record(node, told.get(name, {})) if "properties" in node else takes(node).words
        parts.append(f"{body.rstrip()}\n")
    parts.append(f"## The schema\n\n{block(f'$ specplan schema {kind} -o {kind}.schema.json')}")
    return "\n".join(parts)


def _about(node: Node) -> str:
    said = prose(node.get("description", ""))
    return f"{said}\n" if said else ""


def _record(node: Node, told: Mapping[str, str]) -> str:
    return table(("key", "takes", "unit", "bounds", "if absent", "means"), _rows(node, told))


def _rows(node: Node, told: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    required = node.get("required", ())
    for name, field in node["properties"].items():
        what = takes(field)
        absent = "required" if name in required else _default(field)
        yield code(name), what.words, what.unit, what.bounds, absent, told.get(name, "")


def _default(field: Node) -> str:
    value: Any = field.get("default")
    return "" if value in (None, [], {}) else code(json.dumps(value).strip('"'))
