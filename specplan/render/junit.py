"""JUnit XML: each rule at each place is a test case.

An error is a failure. JUnit knows no warning: one is a skipped case, which every viewer shows
apart from the passes and which fails no build. A note is a passing case with its text as output.
"""

from __future__ import annotations

from collections import Counter
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from specplan.domain.answer import Answer
from specplan.render.findings import Finding, findings
from specplan.render.look import Look


def write(answer: Answer, out: TextIO, look: Look) -> None:  # noqa: ARG001 - one signature for all
    """Write one suite to `out`, in ASCII; findings are made twice, as their counts come first."""
    levels = Counter(finding.level for finding in findings(answer, "junit"))
    suite = f"specplan {answer.command}"
    counts = (
        f'tests="{levels.total()}" failures="{levels["error"]}" errors="0"'
        f' skipped="{levels["warning"]}"'
    )
    out.write('<?xml version="1.0" encoding="utf-8"?>\n')
    out.write(f"<testsuites name={_attribute(suite)} {counts}>\n")
    out.write(f"  <testsuite name={_attribute(suite)} {counts}>\n")
    out.writelines(map(_case, findings(answer, "junit")))
    out.write("  </testsuite>\n</testsuites>\n")


def _case(finding: Finding) -> str:
    name = " ".join(part for part in (finding.rule, finding.name) if part)
    line = f' line="{finding.line}"' if finding.line else ""
    opening = (
        f"    <testcase classname={_attribute(finding.file or 'specplan')}"
        f" name={_attribute(f'{name} ({finding.place})' if finding.place else name)}"
        f" file={_attribute(finding.file)}{line}"
    )
    outcome = _outcome(finding)
    return f"{opening}>{outcome}</testcase>\n" if outcome else f"{opening}/>\n"


def _outcome(finding: Finding) -> str:
    message = _attribute(finding.message)
    said = ": ".join(part for part in (finding.place, finding.message) if part)
    if finding.level == "error":
        body = _ascii(escape(f"{said}\n{finding.help}".rstrip()))
        return f"<failure message={message} type={_attribute(finding.rule)}>{body}</failure>"
    if finding.level == "warning":
        return f"<skipped message={message}/>"
    if finding.level == "note":
        return f"<system-out>{_ascii(escape(said))}</system-out>"
    return ""


def _attribute(text: str) -> str:
    return _ascii(quoteattr(text))


def _ascii(text: str) -> str:
    """References for what is not ASCII: right in whatever encoding the stream has."""
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")
