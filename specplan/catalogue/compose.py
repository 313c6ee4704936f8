"""Bytes become the node graph of one YAML document, bounded before anything is built from it.

Checked here: size, encoding, unseen characters, syntax, one document, depth, and the number of
values with every alias counted as all that it stands for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

import yaml
from yaml.composer import Composer

from specplan.errors import InputError, Where
from specplan.visible import is_hidden, visible

MAX_BYTES: Final = 1_000_000
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 40

PLAIN: Final = "plain scalar"
"""The tag of a plain scalar that has none of its own; no tag in a file can be spelled so."""

_SHOWN_PROBLEM: Final = 80  # PyYAML's own words before it quotes the file take 20 of these
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} deep"
_PLAINER: Final = {
    "exceeded maximum nesting depth": _TOO_DEEP,  # libyaml scans ahead of the composer
    "but found another document": "a second document in the file",
    "second occurrence": "an anchor set twice",
}


def compose(raw: bytes, name: str) -> yaml.Node | None:
    """The root node of the only document in `raw`, or None where there is nothing."""
    text = _text(raw, name)
    try:
        return yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise _refusal(error, name) from error


def place(name: str, mark: yaml.Mark | None) -> Where:
    """The 1-based place of a mark, or of the file's first character."""
    return Where(name, mark.line + 1, mark.column + 1) if mark else Where(name, 1, 1)


def invisible(char: str, where: Where) -> InputError:
    """The refusal of a character that prints nothing."""
    return InputError(f"invisible character {visible(char)}", where=where, hint="remove it")


def _text(raw: bytes, name: str) -> str:
    """`raw` decoded, with the line feed as the only hidden character in it."""
    if len(raw) > MAX_BYTES:
        raise InputError("too large", where=Where(name), expected=f"at most {MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8").removeprefix("\ufeff")
        raise InputError("not UTF-8 text", where=_after(before, name)) from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    directive = ("\n" + text).find("\n%")
    if directive >= 0:  # cards need none, and libyaml takes quadratic time over many
        raise InputError("a % directive", where=_after(text[:directive], name), expected="none")
    if text.replace("\n", "").isprintable():
        return text
    for index, char in enumerate(text):
        if char == "\t":
            # The two parsers disagree on where YAML lets a tab stand.
            where = _after(text[:index], name)
            raise InputError("tab character", where=where, expected="spaces")
        if char != "\n" and is_hidden(char):
            raise invisible(char, _after(text[:index], name))
    return text


def _after(before: str, name: str) -> Where:
    return Where(name, before.count("\n") + 1, len(before) - before.rfind("\n"))


class _LimitError(yaml.MarkedYAMLError):
    """Well-formed YAML beyond what a card or a plan may hold."""

    def __init__(self, problem: str, event: yaml.Event) -> None:
        mark = cast("yaml.Mark", event.start_mark)  # libyaml's class of marks has the same shape
        super().__init__(problem=problem, problem_mark=mark)


class BoundedComposer(Composer):
    """Composes one document, counting every alias as all that it stands for.

    Sizes are added up while the graph is built, each node visited once, so a graph that would
    expand to billions of values is refused at the alias that crosses the limit.
    """

    # Plain scalars keep their spelling here: PyYAML's own resolver is YAML 1.1.
    yaml_implicit_resolvers = {None: [(PLAIN, re.compile(""))]}  # noqa: RUF012 - PyYAML's name

    _nodes: int
    _depth: int
    _deepest: int
    _measured: dict[yaml.Node | None, tuple[int, int]]

    if TYPE_CHECKING:

        def peek_event(self) -> yaml.Event:
            """The parser's next event; each loader brings its own parser."""

    def get_single_node(self) -> yaml.Node | None:
        """The root of the only document, or None where there is nothing."""
        self.anchors = {}
        self._nodes = self._depth = self._deepest = 0
        self._measured = {}
        return super().get_single_node()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node, measured: how many nodes it is and how many levels lie below it."""
        event = self.peek_event()
        is_alias = isinstance(event, yaml.AliasEvent)
        if getattr(event, "tag", None) == "!":  # resolved differently by the two parsers
            raise _LimitError("a tag without a name", event)
        nodes_before, deepest_before = self._nodes, self._deepest
        self._depth += 1
        self._deepest = self._depth
        if not is_alias:
            self._grow(1, 0, event)
        node = super().compose_node(parent, index)
        if not is_alias:
            self._measured[node] = (self._nodes - nodes_before, self._deepest - self._depth)
        elif node in self._measured:
            self._grow(*self._measured[node], event)
        else:
            raise _LimitError("an alias inside the value that it names", event)
        self._deepest = max(deepest_before, self._deepest)
        self._depth -= 1
        return node

    def _grow(self, nodes: int, levels: int, event: yaml.Event) -> None:
        self._nodes += nodes
        self._deepest = max(self._deepest, self._depth + levels)
        if self._nodes > MAX_NODES:
            raise _LimitError(f"more than {MAX_NODES} values, aliases counted in full", event)
        if self._deepest > MAX_DEPTH:
            raise _LimitError(_TOO_DEEP, event)


class PythonLoader(BoundedComposer, yaml.SafeLoader):
    """PyYAML's own scanner and parser under the bounded composer."""

    def get_single_node(self) -> yaml.Node | None:
        """The same; a number that the scanner chokes on becomes an error with its place."""
        try:
            return super().get_single_node()
        except (ValueError, OverflowError) as error:  # from int() and chr() in the scanner
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(problem="out of range", problem_mark=mark) from error


LOADERS: tuple[type[yaml.SafeLoader | yaml.CSafeLoader], ...] = (PythonLoader,)
"""The loaders at hand, fastest first; a test holds them to the same answers."""

if yaml.__with_libyaml__:

    class LibyamlLoader(BoundedComposer, yaml.CSafeLoader):
        """libyaml's scanner and parser under the bounded composer."""

        def __init__(self, stream: str) -> None:
            yaml.CSafeLoader.__init__(self, stream)  # next in line is Composer's, without stream

    LOADERS = (LibyamlLoader, PythonLoader)

LOADER = LOADERS[0]


def _refusal(error: yaml.YAMLError, name: str) -> InputError:
    """PyYAML's complaint in our form, without the source line that str(error) would add."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return InputError("not valid YAML", where=Where(name, 1, 1))
    problem = error.problem or ""
    where = place(name, error.problem_mark or error.context_mark)
    if isinstance(error, _LimitError) or problem in _PLAINER:
        return InputError(_PLAINER.get(problem, problem), where=where)
    parts = [visible(part, _SHOWN_PROBLEM) for part in (error.context, problem) if part]
    return InputError(f"not valid YAML: {': '.join(parts)}", where=where)
