"""What a hostile or careless YAML file does to the reader: hardening, row by row.

Every case runs under each loader that is installed. Expected messages are written by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import unicodedata
import zipfile
from pathlib import Path
from unittest import mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from specplan.catalogue import compose
from specplan.catalogue.read import Document, read_file, read_yaml
from specplan.errors import InputError, Where
from specplan.visible import HIDDEN, visible

each_loader = pytest.mark.parametrize("loader", compose.LOADERS, ids=lambda c: c.__name__)


def read(raw: bytes, loader: type) -> Document:
    with mock.patch.object(compose, "LOADER", loader):
        return read_yaml(raw, "h100.yaml")


def refusal(raw: bytes, loader: type) -> str:
    with pytest.raises(InputError) as caught:
        read(raw, loader)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_both_loaders_are_tested_where_libyaml_is_installed():
    assert len(compose.LOADERS) == (2 if yaml.__with_libyaml__ else 1)
    assert compose.LOADERS[0] is compose.LOADER


NUMBERS = [
    ("0", 0),
    ("7", 7),
    ("+7", 7),
    ("-7", -7),
    ("-0", 0),
    ("010", 10),
    ("0o17", 15),
    ("0x1f", 31),
    ("0xFF", 255),
    ("9" * 64, int("9" * 64)),
    ("3.35e12", 3.35e12),
    ("989e12", 989e12),
    ("1e3", 1000.0),
    ("1E12", 1e12),
    ("1e+3", 1000.0),
    ("1e-3", 0.001),
    (".5e3", 500.0),
    (".5", 0.5),
    ("-.5", -0.5),
    ("3.", 3.0),
    ("3.e2", 300.0),
    ("+1.5", 1.5),
    ("-3.35e+12", -3.35e12),
    ("0.9", 0.9),
    ("00.5", 0.5),
    ("1e308", 1e308),
    ("!!float 3", 3.0),
    ("!!int 3", 3),
    ('!!int "3"', 3),
]

NOT_NUMBERS = [
    *["1:30", "12:30:45", "3_350", "1_0", "1,000", "0b11", "0x", "0o8", "+0x1f", "-0o7", "017h"],
    *["e3", "1e", "1e+", ".", "+", "--1", "1.2.3", "1 2", "3.35e12 B/s", "80 GiB"],
    *["inf", "nan", "NaN", "Infinity", ".iNf", "-.nan", "٣", "1٣"],
    *["yes", "no", "on", "off", "Yes", "NO", "y", "n", "tRUE", "fALSE", "nULL", "None"],
    *["2024-01-01", "2024-01-01T00:00:00Z", "=", "!!str 1e3", "!!str"],
]

WORDS = [
    *[("true", True), ("True", True), ("TRUE", True), ("!!bool true", True)],
    *[("false", False), ("False", False), ("FALSE", False)],
    *[("null", None), ("Null", None), ("NULL", None), ("~", None), ("", None), ("!!null", None)],
]


@each_loader
@pytest.mark.parametrize(("spelling", "value"), NUMBERS + WORDS)
def test_yaml_1_2_scalars(spelling, value, loader):
    found = read(f"a: {spelling}\n".encode(), loader).data["a"]
    assert found == value
    assert type(found) is type(value)


@each_loader
@pytest.mark.parametrize("spelling", NOT_NUMBERS)
def test_what_yaml_1_2_leaves_as_text(spelling, loader):
    text = spelling.removeprefix("!!str").strip()
    assert read(f"a: {spelling}\n".encode(), loader).data["a"] == text


@each_loader
@pytest.mark.parametrize("spelling", ["1e3", "true", "null", "~", ".inf", "<<", "", "9" * 65])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_quotes_make_text(spelling, quote, loader):
    assert read(f"a: {quote}{spelling}{quote}\n".encode(), loader).data == {"a": spelling}


@each_loader
@pytest.mark.parametrize("spelling", [".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", ".NAN"])
def test_infinities_are_refused(spelling, loader):
    assert refusal(f"b: 1\na: {spelling}\n".encode(), loader) == (
        f"h100.yaml:2:4: '{spelling}' is not a finite number"
    )


@each_loader
@pytest.mark.parametrize("spelling", ["1e999", "1.0e+400", "-1e999", "!!float 1e999"])
def test_floats_that_overflow_are_refused(spelling, loader):
    number = spelling.split()[-1]
    expected = f"h100.yaml:1:4: '{number}' is not a finite number"
    assert refusal(f"a: {spelling}\n".encode(), loader) == expected


@each_loader
@pytest.mark.parametrize("digits", ["9" * 5000, "9" * 65, "0." + "3" * 63, "0x" + "f" * 63])
def test_endless_numbers_are_refused(digits, loader):
    assert refusal(f"a: {digits}\n".encode(), loader) == (
        f"h100.yaml:1:4: number of {len(digits)} characters; expected at most 64"
    )


def laughs(levels: int, width: int = 9) -> bytes:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def merge_bomb(levels: int) -> bytes:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, levels)]
    return "\n".join(lines).encode()


def nested_alias(lists: int) -> bytes:
    """A value 30 levels deep, its deepest part first, put inside so many more lists."""
    deep = b"a: &a [" + b"[" * 29 + b"]" * 29 + b", 1]\n"
    return deep + b"b: " + b"[" * lists + b"*a" + b"]" * lists + b"\n"


TOP = "expected a mapping at the top, found"
TOO_MANY = "more than 20000 values, aliases counted in full"
TAG_OS = "tag !!python/object/apply:os.system on a list"

# raw, line, column, start of the message behind them
REFUSED = {
    "duplicate": (b"a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a'; first set on line 1; keep one"),
    "duplicate flow": (b"a: 1\nb: {c: 1, c: 2}\n", 2, 11, "duplicate key 'c'; first set on line 2"),
    "duplicate nested": (b"a:\n  b: 1\n  b: 1\n", 3, 3, "duplicate key 'b'; first set on line 2"),
    "duplicate in list": (b"- 1\n".join([b"a:\n", b"- {x: 1,\n   x: 2}\n"]), 4, 4, "duplicate key"),
    "duplicate quoted": (b"a: 1\n'a': 2\n", 2, 1, "duplicate key 'a'; first set on line 1"),
    "duplicate CRLF": (b"a: 1\r\nb: 2\r\nb: 3\r\n", 3, 1, "duplicate key 'b'; first set on line 2"),
    "duplicate long": (
        b"k" * 90 + b": 1\n" + b"k" * 90 + b": 1\n",
        2,
        1,
        f"duplicate key '{'k' * 57}...'",
    ),
    "key int": (b"a: 2\n1: x\n", 2, 1, "keys must be text; put 1 in quotes"),
    "key float": (b"1.0: x\n", 1, 1, "keys must be text; put 1.0 in quotes"),
    "key exponent": (b"a:\n  1e3: x\n", 2, 3, "keys must be text; put 1e3 in quotes"),
    "key bool": (b"true: x\n", 1, 1, "keys must be text; put true in quotes"),
    "key null": (b"~: x\n", 1, 1, "keys must be text; put ~ in quotes"),
    "key empty": (b"?\n: x\n", 1, 2, "keys must be text; found nothing"),
    "key list": (b"? [1]\n: x\n", 1, 3, "keys must be text; found a list"),
    "key mapping": (b"? {a: 1}\n: x\n", 1, 3, "keys must be text; found a mapping"),
    "key infinite": (b".inf: x\n", 1, 1, "'.inf' is not a finite number"),
    "key block": (b"? |\n  a\n: x\n", 1, 3, "line break in a key"),
    "key escape": (b'"\\e": x\n', 1, 1, "invisible character \\x1b; remove it"),
    "merge": (b"b: &b {x: 1}\nc:\n  <<: *b\n", 3, 3, "merge key <<; expected the keys written out"),
    "merge plain": (b"<<: 1\n", 1, 1, "merge key <<"),
    "merge list": (merge_bomb(3), 2, 10, "merge key <<"),
    "merge bomb": (merge_bomb(30), 5, 50, TOO_MANY),
    "empty": (b"", 1, 1, f"{TOP} nothing"),
    "byte order mark": (b"\xef\xbb\xbf", 1, 1, f"{TOP} nothing"),
    "comments": (b"# a\n# b\n", 1, 1, f"{TOP} nothing"),
    "marker": (b"---\n\n", 1, 1, f"{TOP} nothing"),
    "null": (b"\n~\n", 2, 1, f"{TOP} text"),
    "list": (b"# a\n- 1\n", 2, 1, f"{TOP} a list"),
    "text": (b"\n  h100\n", 2, 3, f"{TOP} text"),
    "two documents": (b"---\na: 1\n---\nb: 2\n", 3, 1, "a second document in the file"),
    "python tag": (b"a: !!python/object/apply:os.system [x]\n", 1, 4, TAG_OS),
    "python root": (b"!!python/object:a.b {a: 1}\n", 1, 1, "tag !!python/object:a.b on a mapping"),
    "python name": (
        b"a: !!python/name:os.system\n",
        1,
        4,
        "tag !!python/name:os.system on nothing",
    ),
    "binary": (b"a: !!binary aGk=\n", 1, 4, "tag !!binary on text; expected no tag"),
    "set": (b"a: !!set {b, c}\n", 1, 4, "tag !!set on a mapping; expected no tag"),
    "omap": (b"a: !!omap [b: 1]\n", 1, 4, "tag !!omap on a list; expected no tag"),
    "timestamp": (b"a: !!timestamp 2024-01-01\n", 1, 4, "tag !!timestamp on text"),
    "local tag": (b"a: !gib 80\n", 1, 4, "tag !gib on text; expected no tag"),
    "empty tag": (b"a: ! 80\n", 1, 4, "a tag without a name"),
    "tag on key": (b"!x a: 1\n", 1, 1, "tag !x on text"),
    "long tag": (b"a: !" + b"x" * 200 + b" 1\n", 1, 4, f"tag !{'x' * 56}... on text"),
    "str list": (b"a: !!str [1]\n", 1, 4, "tag !!str on a list"),
    "map text": (b"a: !!map x\n", 1, 4, "tag !!map on text"),
    "int text": (b"a: !!int 1_0\n", 1, 4, "'1_0' does not fit its tag !!int"),
    "int float": (b"a: !!int 1.0\n", 1, 4, "'1.0' does not fit its tag !!int"),
    "int bool": (b"a: !!int true\n", 1, 4, "'true' does not fit its tag !!int"),
    "bool yes": (b"a: !!bool yes\n", 1, 4, "'yes' does not fit its tag !!bool"),
    "float text": (b"a: !!float nan\n", 1, 4, "'nan' does not fit its tag !!float"),
    "YAML directive": (b"%YAML 1." + b"9" * 5000 + b"\n---\na: 1\n", 1, 1, "a % directive"),
    "TAG directive": (b"# c\n%TAG ! tag:x,1:\n---\na: 1\n", 2, 1, "a % directive; expected none"),
    "late directive": (b"a: 1\n...\n%TAG ! x\n---\n", 3, 1, "a % directive; expected none"),
    "tab indent": (b"a:\n\tb: 1\n", 2, 1, "tab character; expected spaces"),
    "tab separator": (b"a:\t1\n", 1, 3, "tab character; expected spaces"),
    "tab in comment": (b"a: 1  #\tb\n", 1, 8, "tab character; expected spaces"),
    "raw ESC": (b"a: 1\nb: x\x1b[31m\n", 2, 5, "invisible character \\x1b; remove it"),
    "raw NUL": (b"a: \x00\n", 1, 4, "invisible character \\x00"),
    "raw CR": (b"a: 1\rb: 2\n", 1, 5, "invisible character \\x0d"),
    "raw C1": ("a: é\x9b\n".encode(), 1, 5, "invisible character \\x9b"),
    "raw NEL": ("a: 1\x85b: 2\n".encode(), 1, 5, "invisible character \\x85"),
    "raw LS": ("a: 1\u2028b: 2\n".encode(), 1, 5, "invisible character \\u2028"),
    "raw bidi": ("a: x\u202e\n".encode(), 1, 5, "invisible character \\u202e"),
    "zero width": ("a: 'x\u200b'\n".encode(), 1, 6, "invisible character \\u200b"),
    "late mark": ("a: 1\n\ufeffb: 2\n".encode(), 2, 1, "invisible character \\ufeff"),
    "private use": ("a: \ue000\n".encode(), 1, 4, "invisible character \\ue000"),
    "unassigned": ("a: \uffff\n".encode(), 1, 4, "invisible character \\uffff"),
    "tag space": ("a: \U000e0041\n".encode(), 1, 4, "invisible character \\U000e0041"),
    "bidi in comment": ("a: 1 # \u202e\n".encode(), 1, 8, "invisible character \\u202e"),
    "escaped ESC": (b'a: 1\nb: ["\\x1b[31m"]\n', 2, 5, "invisible character \\x1b; remove it"),
    "escaped tab": (b'a: "\\t"\n', 1, 4, "invisible character \\x09"),
    "escaped bidi": (b'a: "\\u202e"\n', 1, 4, "invisible character \\u202e"),
    "escaped break": (b'a: "x\\ny"\n', 1, 4, "line break in text; use a block: |"),
    "folded break": (b"a: 'x\n\n  y'\n", 1, 4, "line break in text; use a block: |"),
    "escape range": (b'a: "\\U00110000"\n', 1, 7, "not valid YAML"),
    "escape overflow": (b'a: "\\UFFFFFFFF"\n', 1, 7, "not valid YAML"),
    "not UTF-8": (b"a: 1\nb: \xc3\xa9\xff\n", 2, 5, "not UTF-8 text"),
    "not UTF-8, mark": (b"\xef\xbb\xbfa: \xff\n", 1, 4, "not UTF-8 text"),
    "cut short": (b"a: \xf0\x9f", 1, 4, "not UTF-8 text"),
    "surrogate": (b"a: \xed\xa0\x80\n", 1, 4, "not UTF-8 text"),
    "UTF-16": ("a: 1\n".encode("utf-16"), 1, 1, "not UTF-8 text"),
    "long text": (
        b"a: " + b"x" * 4097 + b"\n",
        1,
        4,
        "text of 4097 characters; expected at most 4096",
    ),
    "9 laughs": (laughs(9), 5, 15, TOO_MANY),
    "200 laughs": (laughs(200), 5, 15, TOO_MANY),
    "aliases": (b"a: &a [1]\nb:\n" + b"- *a\n" * 9998, 10000, 3, TOO_MANY),
    "wide": (b"a:\n" + b"- 1\n" * 20000, 19999, 3, TOO_MANY),
    "recursive": (b"a: &x [*x]\n", 1, 8, "an alias inside the value that it names"),
    "recursive map": (b"&x a: 1\nb: &y\n  c: {d: *y}\n", 3, 10, "an alias inside the value"),
    "recursive key": (b"a: &x {*x : 1}\n", 1, 8, "an alias inside the value that it names"),
    "recursive root": (b"&x {a: *x}\n", 1, 8, "an alias inside the value that it names"),
    "undefined": (b"a: *b\n", 1, 4, "not valid YAML: found undefined alias 'b'"),
    "anchor twice": (b"a: &x 1\nb: &x 2\n", 2, 4, "an anchor set twice"),
    "41 deep": (b"a: " + b"[" * 39 + b"1" + b"]" * 39, 1, 43, "nested more than 40 deep"),
    "500 deep": (b"a: " + b"[" * 500 + b"]" * 500, 1, 43, "nested more than 40 deep"),
    "500 unclosed": (b"a: " + b"[" * 500, 1, 43, "nested more than 40 deep"),
    "500 dashes": (b"a:\n  " + b"- " * 500, 2, 81, "nested more than 40 deep"),
    "5000 dashes": (b"a:\n  " + b"- " * 5000, 2, 81, "nested more than 40 deep"),
    "41 deep by alias": (nested_alias(10), 2, 14, "nested more than 40 deep"),
    "100 aliases deep": (
        b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (i, i, i - 1) for i in range(1, 99)),
        *(39, 12, "nested more than 40 deep"),
    ),
    "unclosed": (b"a: 'b", 1, 6, "not valid YAML: while scanning a quoted scalar"),
    "value in value": (b"a: b: c\n", 1, 5, "not valid YAML: mapping values are not allowed"),
}


@each_loader
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_place_and_reason(case, loader):
    raw, line, column, message = REFUSED[case]
    assert refusal(raw, loader).startswith(f"h100.yaml:{line}:{column}: {message}")


@each_loader
def test_five_thousand_deep_is_refused(loader):
    # libyaml gives up a thousand levels in, before the composer sees the first: another column
    message = refusal(b"a: " + b"[" * 5000 + b"]" * 5000, loader)
    column = 43 if loader is compose.PythonLoader else 1003
    assert message == f"h100.yaml:1:{column}: nested more than 40 deep"


def test_a_file_beyond_a_megabyte_is_not_even_decoded():
    full = b"a: 1\n#".ljust(1_000_000, b"#")
    assert read_yaml(full, "h100.yaml").data == {"a": 1}
    with pytest.raises(InputError) as caught:
        read_yaml(b"\xff" * 1_000_001, "h100.yaml")
    assert str(caught.value) == "h100.yaml: too large; expected at most 1000000 bytes"


@each_loader
def test_what_lies_just_inside_the_limits(loader):
    nested = read(b"a: " + b"[" * 38 + b"1" + b"]" * 38, loader).data["a"]
    for _ in range(38):
        (nested,) = nested
    assert nested == 1
    assert read(nested_alias(9), loader).data["a"][1] == 1
    shallow = b"a: " + b"[" * 39 + b"]" * 39 + b"\nb: &b 1\nc: [[*b]]\n"
    assert read(shallow, loader).data["c"] == [[1]]
    assert read(b"a: &a [1]\nb:\n" + b"- *a\n" * 9997, loader).data["b"] == [[1]] * 9997
    assert read(b"a: " + b"x" * 4096, loader).data["a"] == "x" * 4096


@each_loader
def test_byte_order_mark_line_ends_blocks_and_aliases(loader):
    assert read(b"\xef\xbb\xbfa: 1\n", loader).positions["a",] == (1, 4)
    assert read(b"a: 1\r\nb: 2\r\n", loader).data == {"a": 1, "b": 2}
    assert read(b"a: |\n  x\n  y\nb: >\n  x\n  y\n", loader).data == {"a": "x\ny\n", "b": "x y\n"}
    assert read(b"a: &x {b: 1}\nc: [*x, *x]\n", loader).data["c"] == [{"b": 1}, {"b": 1}]
    assert read("a: é 😀 中文\u00a0x\n".encode(), loader).data == {"a": "é 😀 中文\u00a0x"}
    assert read(b"'1': a\n\"true\": b\nyes: c\n", loader).data == {
        "1": "a",
        "true": "b",
        "yes": "c",
    }


@each_loader
def test_aliased_values_are_separate(loader):
    data = read(b"a: &x [1]\nb: *x\n", loader).data
    data["b"].append(2)
    assert data["a"] == [1]


CARD = b"""# yaml-language-server: $schema=x
name: H100 SXM
memory:
  bandwidth: 3.35 TB/s
  "capacity": 81559 MiB
rates:
- {dtype: bf16, value: 989e12}
- dtype: fp8
  value:
sources: &s [a, b]
same: *s
"""


@each_loader
def test_positions_of_values_and_keys(loader):
    card = read(CARD, loader)
    assert card.positions == {
        (): (2, 1),
        ("name",): (2, 7),
        ("memory",): (4, 3),
        ("memory", "bandwidth"): (4, 14),
        ("memory", "capacity"): (5, 15),
        ("rates",): (7, 1),
        ("rates", 0): (7, 3),
        ("rates", 0, "dtype"): (7, 11),
        ("rates", 0, "value"): (7, 24),
        ("rates", 1): (8, 3),
        ("rates", 1, "dtype"): (8, 10),
        ("rates", 1, "value"): (9, 3),  # nothing there: its key
        ("sources",): (10, 10),
        ("sources", 0): (10, 14),
        ("sources", 1): (10, 17),
        ("same",): (10, 10),  # its anchor
        ("same", 0): (10, 14),
        ("same", 1): (10, 17),
    }
    assert card.key_positions == {
        ("name",): (2, 1),
        ("memory",): (3, 1),
        ("memory", "bandwidth"): (4, 3),
        ("memory", "capacity"): (5, 3),
        ("rates",): (6, 1),
        ("rates", 0, "dtype"): (7, 4),
        ("rates", 0, "value"): (7, 17),
        ("rates", 1, "dtype"): (8, 3),
        ("rates", 1, "value"): (9, 3),
        ("sources",): (10, 1),
        ("same",): (11, 1),
    }
    assert card.sha256 == hashlib.sha256(CARD).hexdigest()


@pytest.mark.parametrize(
    ("path", "key", "line", "column"),
    [
        ((), False, 2, 1),
        ((), True, 2, 1),
        (("memory", "bandwidth"), False, 4, 14),
        (("memory", "bandwidth"), True, 4, 3),
        (("memory", "missing"), False, 4, 3),
        (("memory", "missing"), True, 3, 1),
        (("memory", "missing", 3, "deep"), False, 4, 3),
        (("rates", 0), True, 7, 3),
        (("rates", 9), False, 7, 1),
        (("missing",), True, 2, 1),
    ],
)
def test_where_falls_back_to_the_nearest_parent(path, key, line, column):
    assert read_yaml(CARD, "h100.yaml").where(path, key=key) == Where("h100.yaml", line, column)


@each_loader
def test_work_grows_with_the_file_and_not_with_what_it_expands_to(loader):
    def composed(raw: bytes) -> int:
        calls = 0

        class Counting(loader):
            def compose_node(self, parent, index):
                nonlocal calls
                calls += 1
                return super().compose_node(parent, index)

        try:
            read(raw, Counting)
        except InputError:
            return -calls
        return calls

    per_level = 1 + 1 + 9  # a key, a list, nine items
    assert [composed(laughs(n)) for n in (1, 2, 3, 4)] == [1 + per_level * n for n in (1, 2, 3, 4)]
    refused = [composed(laughs(levels)) for levels in (5, 9, 50, 200)]
    assert len(set(refused)) == 1
    assert 0 < -refused[0] <= 1 + per_level * 5


@each_loader
def test_errors_do_not_quote_the_file(loader):
    secret = b"root: '$6$" + b"hunter2" * 30 + b"\nx: y: z\n"
    assert "hunter2" not in refusal(secret, loader)
    assert "hunter2" not in refusal(b"a: b: c hunter2\n", loader)
    assert len(refusal(b"a: *" + b"b" * 500 + b"\n", loader)) < 150


def test_a_file_name_cannot_reach_the_terminal_raw():
    with pytest.raises(InputError) as caught:
        read_yaml(b"", "a\x1b[31m\n.yaml")
    assert str(caught.value).startswith("a\\x1b[31m\\x0a.yaml:1:1: expected")
    assert read_yaml(b"a: 1", "\u202ea.yaml").name == "\\u202ea.yaml"


def file_refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        read_file(path, "card.yaml")
    return str(caught.value)


def test_a_regular_file_is_read_under_its_path_or_a_given_name(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\n")
    (tmp_path / "link.yaml").symlink_to(path)
    assert read_file(path).name == str(path)
    assert read_file(path, "plans/a.yaml").name == "plans/a.yaml"
    assert read_file(tmp_path / "link.yaml").data == {"a": 1}
    path.write_bytes(b"a: 1\na: 2\n")
    assert file_refusal(path).startswith("card.yaml:2:1: duplicate key 'a'")


def test_a_card_inside_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "cards.zip", "w") as archive:
        archive.writestr("hardware/h100.yaml", "a: 1\n")
    root = zipfile.Path(tmp_path / "cards.zip")
    card = read_file(root / "hardware" / "h100.yaml")
    assert (card.data, card.name) == ({"a": 1}, "h100.yaml")
    assert file_refusal(root / "hardware/") == "card.yaml: is a folder; expected a YAML file"
    assert file_refusal(root / "hardware/b200.yaml") == "card.yaml: no such file"


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert file_refusal(tmp_path) == "card.yaml: is a folder; expected a YAML file"
    assert file_refusal(tmp_path / "fifo") == "card.yaml: not a regular file"
    assert file_refusal(tmp_path / "zero") == "card.yaml: not a regular file"
    assert file_refusal(tmp_path / "broken") == "card.yaml: no such file"
    assert file_refusal(tmp_path / "loop") == "card.yaml: no such file"
    assert file_refusal(tmp_path / "missing") == "card.yaml: no such file"
    assert file_refusal(Path("a\0b")) == "card.yaml: no such file"


def test_a_name_too_long_for_the_system():
    # Python before 3.14 passes the system's complaint on; later ones see no file
    message = file_refusal(Path("a" * 5000))
    assert message in {"card.yaml: cannot be read: File name too long", "card.yaml: no such file"}


def test_a_sparse_giant_is_read_only_to_the_limit(tmp_path):
    with (tmp_path / "giant.yaml").open("wb") as file:
        file.truncate(10**12)
    assert file_refusal(tmp_path / "giant.yaml") == (
        "card.yaml: too large; expected at most 1000000 bytes"
    )


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\n")
    refused = PermissionError(13, "Permission denied", str(path))
    with mock.patch.object(Path, "open", side_effect=refused):
        assert file_refusal(path) == "card.yaml: cannot be read: Permission denied"


PIECES = [
    *[
        "a",
        "b: ",
        ":",
        "\n",
        "\n  ",
        "- ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        " ",
        "'",
        '"',
        "|\n  ",
        ">",
    ],
    *[
        "&x ",
        "*x",
        "!!str ",
        "!!int ",
        "!x ",
        "!",
        "#",
        "1e3",
        "0x",
        "~",
        "<<",
        ": ",
        "---\n",
        "...\n",
    ],
    *["\\n", "\\x1b", "\\U00110000", "\r\n", "\t", "%", "@", "`", "é", "\ufeff", "\u202e", "\x00"],
]


def check_any(raw: bytes, loader: type) -> None:
    try:
        document = read(raw, loader)
    except InputError as error:
        check_refusal(error)
    else:
        json.dumps(document.data, allow_nan=False)
        lines = raw.count(b"\n") + 1
        places = [*document.positions.values(), *document.key_positions.values()]
        assert all(1 <= line <= lines and column >= 1 for line, column in places)


def check_refusal(error: InputError) -> None:
    assert str(error) == visible(str(error))
    assert len(str(error)) < 300
    assert error.where is not None
    assert error.where.line >= 1
    assert error.where.column >= 1


@each_loader
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_a_document_or_an_input_error(raw, loader):
    check_any(raw, loader)


@each_loader
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_yaml_like_text_is_a_document_or_an_input_error(pieces, loader):
    check_any("".join(["a: ", *pieces]).encode(), loader)


@each_loader
@given(at=st.integers(0, len(CARD)), cut=st.integers(0, 8), piece=st.sampled_from(PIECES))
def test_any_damage_to_a_card_is_a_document_or_an_input_error(at, cut, piece, loader):
    check_any(CARD[:at] + piece.encode() + CARD[at + cut :], loader)


texts = st.text(st.characters(exclude_categories=sorted(HIDDEN)), max_size=20)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@each_loader
@given(data=st.dictionaries(texts, plain_values, max_size=5), indent=st.sampled_from([None, 2]))
def test_json_comes_back_as_it_went(data, indent, loader):
    document = read(json.dumps(data, ensure_ascii=False, indent=indent).encode(), loader)
    assert document.data == data
    assert repr(document.data) == repr(data)


@given(data=st.dictionaries(texts, plain_values, max_size=5))
def test_the_loaders_agree_on_values_and_places(data):
    # Block style, quoted only where YAML 1.1 needs it: 1.2 may read other types, or refuse.
    raw = yaml.safe_dump(data, allow_unicode=True, width=math.inf).encode()
    outcomes = []
    for loader in compose.LOADERS:
        try:
            document = read(raw, loader)
        except InputError as error:
            outcomes.append(str(error))
        else:
            outcomes.append((document.data, document.positions, document.key_positions))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("H100 [red]é 中\u00a0", None, "H100 [red]é 中\u00a0"),
        ("\x1b[31m\x9b\x7f\t\n", None, "\\x1b[31m\\x9b\\x7f\\x09\\x0a"),
        (
            "\u202e\u200b\u2028\u2029\ue000\ud800",
            None,
            "\\u202e\\u200b\\u2028\\u2029\\ue000\\ud800",
        ),
        ("\U000e0041\uffff", None, "\\U000e0041\\uffff"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("a\x1bbc", 7, "a\\x1bbc"),
        ("a\x1bbcd", 7, "a..."),
        ("", 3, ""),
        ("x" * 10**6, 60, "x" * 57 + "..."),
    ],
)
def test_visible(text, limit, shown):
    assert visible(text, limit) == shown


@given(text=st.text(), limit=st.integers(3, 80) | st.none())
def test_visible_shows_all_and_keeps_to_its_limit(text, limit):
    shown = visible(text, limit)
    assert not any(unicodedata.category(char) in HIDDEN for char in shown)
    assert limit is None or len(shown) <= limit
