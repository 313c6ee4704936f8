"""SARIF 2.1.0 for code scanning. Passes are left out: viewers would show them as alerts.

A fingerprint is made of rule, file and what was expected there, not of lines or figures, so that
an alert stays the same alert while a plan is edited or a verdict's numbers move.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from json import JSONEncoder
from typing import TextIO
from urllib.parse import quote

from specplan.domain.answer import Answer
from specplan.render.findings import Finding, findings
from specplan.render.json_ import Json, version
from specplan.render.look import Look

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "note": "note"}

_encode = JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write one run to `out`, its rules after the results that name them."""
    rules: dict[str, Json] = {}
    seen: Counter[str] = Counter()
    found = findings(answer, "sarif")
    out.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"results": [')
    separator = "\n"
    for finding in found:
        rules.setdefault(finding.rule, _rule(finding))
        if finding.level in LEVELS:
            out.write(separator + _encode(_result(finding, seen)))
            separator = ",\n"
    driver: Json = {"name": "specplan", "version": version(), "rules": list(rules.values())}
    out.write(
        f'],\n"columnKind": "unicodeCodePoints",\n"tool": {_encode({"driver": driver})}}}]}}\n'
    )


def _rule(finding: Finding) -> Json:
    return {
        "id": finding.rule,
        "shortDescription": {"text": finding.name or finding.rule},
        "help": {"text": finding.help or finding.name or finding.rule},
    }


def _result(finding: Finding, seen: Counter[str]) -> Json:
    result: dict[str, Json] = {
        "ruleId": finding.rule,
        "level": LEVELS[finding.level],
        "message": {"text": finding.message},
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding, seen)},
    }
    if finding.file:
        result["locations"] = [{"physicalLocation": _location(finding)}]
    return result


def _location(finding: Finding) -> Json:
    location: dict[str, Json] = {"artifactLocation": {"uri": quote(finding.file)}}
    if finding.line:
        column: dict[str, Json] = {"startColumn": finding.column} if finding.column else {}
        location["region"] = {"startLine": finding.line, **column}
    return location


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """A hash, and which of the findings that share it this one is."""
    text = f"{finding.rule}\0{finding.file}\0{finding.name}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"
