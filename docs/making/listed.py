"""Rules, formats, exit codes and the Python API, each from where the program has it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module

import specplan
from specplan.render import FORMATS, SUFFIXES
from specplan.rules import Rule
from specplan.rules.registry import RULES

from making.pages import ROOT, block, code, plain, prose, relinked, table

KINDS = {
    "SP": ("Plans", "What `specplan check` says of a plan."),
    "SC": ("Cards", "What `specplan check` says of a card."),
    "SD": ("Deployments", "What `specplan diagnose` says of a server."),
}
"""First letters of a rule -> what it is about."""


def pages() -> dict[str, str]:
    """The pages of the reference that are lists."""
    return {
        "reference/rules.md": _rules(),
        "reference/formats.md": _formats(),
        "reference/python.md": _python(),
    }


def _rules() -> str:
    parts = [
        "# Rules\n\n`specplan check --rules` lists them, `specplan check --rule ID` prints one.\n"
    ]
    for letters, (title, about) in KINDS.items():
        mine = [rule for rule in RULES.values() if rule.id.startswith(letters)]
        parts.append(f"## {title}\n\n{about}\n")
        parts += map(_rule, mine)
    return "\n".join(parts)


def _rule(rule: Rule) -> str:
    key = getattr(rule, "key", "")
    where = f", of the expectation {code(key)}" if key else ""
    said = (("what", rule.what), ("why", rule.why), ("remedy", rule.remedy))
    facts = "\n".join(f"- *{name}*: {plain(text)}" for name, text in said)
    return f"### {rule.id}: {plain(rule.title)}\n\n{rule.level}{where}\n\n{facts}\n"


def _formats() -> str:
    endings = {name: suffix for suffix, name in SUFFIXES.items()}
    rows = ((code(n), code(endings.get(n, "")), plain(_said(home))) for n, home in FORMATS.items())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"^## Scripting\n(.*?)(?=^## )", readme, re.MULTILINE | re.DOTALL)
    if said is None:
        raise ValueError("the README has no section on scripting")
    about = relinked(said[1].strip(), "README.md", "reference/formats.md")
    listed = table(("format", "suffix of `-o`", "is"), rows)
    return f"# Formats and exit codes\n\n{about}\n\n## All formats\n\n{listed}"


def _said(home: str) -> str:
    module, function = home.split(":")
    found = import_module(module)
    text = inspect.getdoc(found if function == "write" else getattr(found, function)) or ""
    return text.split("\n\n")[0]


def _python() -> str:
    intro = (
        "# From Python\n\nEverything that `import specplan` offers. A question returns an "
        "`Answer`; what has no answer raises\na `SpecplanError` whose text is the line that the "
        "program prints.\n"
    )
    return "\n".join([intro, *(part for name in specplan.__all__ for part in _entry(name))])


def _entry(name: str) -> Iterator[str]:
    thing = getattr(specplan, name)
    yield f"## {name}\n"
    yield block(_signature(name, thing), "python")
    yield f"{prose(inspect.getdoc(thing) or '')}\n"


def _signature(name: str, thing: object) -> str:
    parameters = list(inspect.signature(thing).parameters.values())  # type: ignore[arg-type]
    shown = [_parameter(each) for each in parameters]
    named = [i for i, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY]
    before = {each.kind for each in parameters}
    if named and inspect.Parameter.VAR_POSITIONAL not in before:
        shown.insert(named[0], "*")
    returns = inspect.signature(thing).return_annotation  # type: ignore[arg-type]
    ends = "" if isinstance(thing, type) or returns is inspect.Signature.empty else f" -> {returns}"
    line = f"specplan.{name}({', '.join(shown)}){ends}"
    if len(line) <= 88:
        return line
    return f"specplan.{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){ends}"


def _parameter(each: inspect.Parameter) -> str:
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = "" if each.annotation is each.empty else f": {str(each.annotation).strip(chr(34))}"
    return f"{stars}{each.name}{kind}{_default(each)}"


def _default(each: inspect.Parameter) -> str:
    """A default as it can be typed; that of an object is not."""
    if each.default is each.empty:
        return ""
    typed = isinstance(each.default, str | int | float | tuple | type(None))
    plain_one = typed and type(each.default) in {str, int, float, bool, tuple, type(None)}
    return f" = {each.default!r}" if plain_one else " = ..."
