"""The one YAML reader: bytes become plain values with a position each, or one InputError.

Scalars follow the YAML 1.2 core schema (`3.35e12` is a number, `yes` and `1:30` are text), so a
card means what it looks like. Duplicate keys, merge keys, foreign tags, unseen characters and
anything larger than a card could ever be are refused with their place in the file.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import yaml

from specplan.catalogue.compose import MAX_BYTES, PLAIN, compose, invisible, place
from specplan.errors import InputError, Where
from specplan.visible import is_hidden, visible

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

KeyPath: TypeAlias = tuple[str | int, ...]
Positions: TypeAlias = Mapping[KeyPath, tuple[int, int]]
Scalar: TypeAlias = str | int | float | bool | None

MAX_NUMBER_CHARS: Final = 64
MAX_TEXT_CHARS: Final = 4096
_SHOWN: Final = 60

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_YAML = "tag:yaml.org,2002:"
_SCALAR_TYPES: dict[str, type] = {
    _YAML + "null": type(None),
    _YAML + "bool": bool,
    _YAML + "int": int,
    _YAML + "float": float,
}


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file as plain values; positions are 1-based (line, column) by path from the top.

    An aliased value stands where its anchor is. `sha256` is of the bytes as read.
    """

    data: dict[str, object]
    positions: Positions
    key_positions: Positions
    name: str
    sha256: str

    def where(self, path: KeyPath, *, key: bool = False) -> Where:
        """The place of the value (or of its key) at `path`, or of the nearest parent there is.

        A value that stands for a list of one is its own first item.
        """
        path = self._written(path)
        for length in range(len(path), -1, -1):
            parent = path[:length]
            if key and parent in self.key_positions:
                return Where(self.name, *self.key_positions[parent])
            if parent in self.positions:
                return Where(self.name, *self.positions[parent])
        return Where(self.name)

    def _written(self, path: KeyPath) -> KeyPath:
        """The path without indices into what is no list."""
        written: KeyPath = ()
        for part in path:
            if part != 0 or (*written, part) in self.positions:
                written = (*written, part)
        return written


def read_file(path: Path | Traversable, name: str | None = None) -> Document:
    """The document in a regular file of at most 1 MB; messages call it `name`."""
    shown = name or (str(path) if isinstance(path, Path) else path.name)
    return read_yaml(read_bytes(path, shown, "a YAML file", MAX_BYTES), shown)


def read_bytes(path: Path | Traversable, name: str, wanted: str, limit: int) -> bytes:
    """The bytes of a regular file, at most one more than `limit`."""
    where = Where(visible(name))
    try:
        if path.is_dir():
            raise InputError("is a folder", where=where, expected=wanted)
        # A FIFO or a device would block or never end.
        if not path.is_file():
            exists = isinstance(path, Path) and path.exists()
            raise InputError("not a regular file" if exists else "no such file", where=where)
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read: {reason}", where=where) from error


def read_yaml(raw: bytes, name: str) -> Document:
    """The document in `raw`: UTF-8, with or without a byte order mark."""
    name = visible(name)
    root = compose(raw, name)
    if not isinstance(root, yaml.MappingNode):
        where = place(name, root.start_mark if root and root.value else None)
        raise InputError(f"expected a mapping at the top, found {_kind(root)}", where=where)
    walk = _Walk(name)
    data = walk.mapping(root, ())
    digest = hashlib.sha256(raw).hexdigest()
    return Document(data, walk.positions, walk.key_positions, name, digest)


@dataclass(slots=True)
class _Walk:
    """Turns composed nodes into plain values and notes where each of them stands."""

    name: str
    positions: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    key_positions: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def value(self, node: yaml.Node, path: KeyPath) -> object:
        """The value of any node."""
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        self.positions[path] = self._at(node)[1:]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if node.tag != _YAML + "seq":
            raise self._foreign(node)
        return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        """The entries of a mapping, in the file's order."""
        if node.tag != _YAML + "map":
            raise self._foreign(node)
        self.positions[path] = self._at(node)[1:]
        entries: dict[str, object] = {}
        for key_node, value_node in node.value:
            key, where = self.key(key_node), self._at(key_node)
            here = (*path, key)
            if key in entries:
                what = f"duplicate key '{visible(key, _SHOWN)}'"
                hint = f"first set on line {self.key_positions[here][0]}; keep one"
                raise InputError(what, where=where, hint=hint)
            self.key_positions[here] = where[1:]
            entries[key] = self.value(value_node, here)
            if value_node.tag == PLAIN and not value_node.value:
                self.positions[here] = where[1:]  # the parsers disagree on where nothing stands
        return entries

    def key(self, node: yaml.Node) -> str:
        """The text of a key."""
        where = self._at(node)
        if not isinstance(node, yaml.ScalarNode):
            raise InputError("keys must be text", where=where, hint=f"found {_kind(node)}")
        if node.tag == PLAIN and node.value == "<<":
            raise InputError("merge key <<", where=where, expected="the keys written out")
        key = self.scalar(node)
        if isinstance(key, str):
            if "\n" in key:
                raise InputError("line break in a key", where=where)
            return key
        shown = visible(node.value, _SHOWN)
        hint = f"put {shown} in quotes" if shown else "found nothing"
        raise InputError("keys must be text", where=where, hint=hint)

    def scalar(self, node: yaml.ScalarNode) -> Scalar:
        """The value of a scalar: by its tag, or by its spelling where it is plain."""
        wanted = _SCALAR_TYPES.get(node.tag)
        if node.tag == _YAML + "str":
            return self._text(node)
        if wanted is None and node.tag != PLAIN:
            raise self._foreign(node)
        value = _core(node.value, self._at(node))
        if wanted is None:
            return self._text(node) if isinstance(value, str) else value
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is not wanted:
            what = f"'{visible(node.value, _SHOWN)}' does not fit its tag {_shown_tag(node.tag)}"
            raise InputError(what, where=self._at(node))
        return value

    def _text(self, node: yaml.ScalarNode) -> str:
        text: str = node.value
        if len(text) > MAX_TEXT_CHARS:
            what = f"text of {len(text)} characters"
            raise InputError(what, where=self._at(node), expected=f"at most {MAX_TEXT_CHARS}")
        for char in "" if text.isprintable() else text:
            if char != "\n" and is_hidden(char):
                raise invisible(char, self._at(node))
            if char == "\n" and node.style not in {"|", ">"}:
                raise InputError("line break in text", where=self._at(node), hint="use a block: |")
        return text

    def _at(self, node: yaml.Node) -> Where:
        return place(self.name, node.start_mark)

    def _foreign(self, node: yaml.Node) -> InputError:
        what = f"tag {_shown_tag(node.tag)} on {_kind(node)}"
        return InputError(what, where=self._at(node), expected="no tag")


def _core(text: str, where: Where) -> Scalar:
    """The value of a plain scalar by the YAML 1.2 core schema."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    whole = _INT.fullmatch(text)
    if whole or _FLOAT.fullmatch(text):
        if len(text) > MAX_NUMBER_CHARS:
            what = f"number of {len(text)} characters"
            raise InputError(what, where=where, expected=f"at most {MAX_NUMBER_CHARS}")
        if whole:
            return int(text, 0 if text[:2] in {"0o", "0x"} else 10)
        value = float(text)
        if math.isfinite(value):
            return value
    elif not _NOT_FINITE.fullmatch(text):
        return text
    raise InputError(f"'{visible(text, _SHOWN)}' is not a finite number", where=where)


def _shown_tag(tag: str) -> str:
    short = "!!" + tag.removeprefix(_YAML) if tag.startswith(_YAML) else tag
    return visible(short, _SHOWN)


def _kind(node: yaml.Node | None) -> str:
    """A node in words; a scalar that says nothing counts as nothing."""
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "text" if node and node.value else "nothing"
