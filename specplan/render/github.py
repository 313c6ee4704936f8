"""Annotations for GitHub Actions: one workflow command a finding, shown at its line of the diff."""

from __future__ import annotations

from typing import TextIO

from specplan.domain.answer import Answer
from specplan.render.findings import Finding, findings
from specplan.render.look import Look

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write a line for everything that is not a pass."""
    for finding in findings(answer, "github"):
        if finding.level in COMMANDS:
            out.write(_command(finding) + "\n")


def _command(finding: Finding) -> str:
    properties = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column if finding.line else 0,
        "title": finding.rule,
    }
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{COMMANDS[finding.level]} {given}::{_message(finding.message)}"


def _message(text: str) -> str:
    """A line break would begin a new command of the finding's own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
