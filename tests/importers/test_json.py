"""The strict JSON reader: places, limits, and tokens that are no JSON."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from foreign import written
from hypothesis import given
from hypothesis import strategies as st

from specplan.errors import InputError
from specplan.importers.json_ import MAX_BYTES, Bare, parse_json, read_json

NAME = Path("config.json")


def refusal(raw: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_json(raw, NAME)
    return str(caught.value)


def outcome(raw: bytes) -> str:
    try:
        return "read" if isinstance(parse_json(raw, NAME), dict) else "something else"
    except InputError as error:
        return str(error)


def test_an_object_is_read_with_the_digest_of_its_bytes(tmp_path):
    raw = '{"a": 1, "b": [true, null, "é"], "c": {"a": 2.5}}'.encode()
    found = read_json(written(tmp_path / "config.json", raw), "a config")
    assert found.data == {"a": 1, "b": [True, None, "é"], "c": {"a": 2.5}}
    assert found.sha256 == hashlib.sha256(raw).hexdigest()
    assert found.bare == ()


def test_bare_tokens_are_no_numbers_and_are_named(tmp_path):
    raw = b'{"time_step_limit": [0.0, Infinity], "x": {"y": NaN}, "z": -Infinity, "w": 1e999}'
    found = read_json(written(tmp_path / "config.json", raw), "a config")
    assert found.data["time_step_limit"] == [0.0, Bare("Infinity")]
    assert found.data["w"] == Bare("1e999")
    assert found.bare == (
        "time_step_limit[1] is Infinity",
        "x.y is NaN",
        "z is -Infinity",
        "w is 1e999",
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "config.json: is empty; expected a JSON object"),
        (b" \n ", "config.json: is empty; expected a JSON object"),
        (b"[1, 2]", "config.json:1:1: a list at the top; expected a JSON object"),
        (b'"x"', "config.json:1:1: a single value at the top; expected a JSON object"),
        (b"null", "config.json:1:1: a single value at the top; expected a JSON object"),
        (b'{\n "a": 1,\n}', "config.json:3:1: not JSON: "),
        (b'{"a": 1} x', "config.json:1:10: not JSON: extra data"),
        (b"{'a': 1}", "config.json:1:2: not JSON: "),
        (b'{"a": 01}', "config.json:1:8: not JSON: "),
        (b'{"a": 1,\n "b": 2,\n  "a": 3}', "config.json:3:3: duplicate key 'a'"),
        (b'{"x": "\\"}{", "b": {"k:": 1, "k:": 2}}', "config.json:1:30: duplicate key 'k:'"),
        (b'{"b": {"k": 1}, "c": {"\\u006b": 1, "k" : 2}}', "config.json:1:36: duplicate key 'k'"),
        (b'\xef\xbb\xbf{"a": 1}', "config.json: starts with a byte order mark; save it as UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "config.json: is not UTF-8 text; expected JSON in UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), "config.json: is not UTF-8 text; expected JSON in UTF-8"),
        ('{"a": 1}'.encode("utf-32"), "config.json: is not UTF-8 text; expected JSON in UTF-8"),
        (b'{\n"a": "\xff"}', "config.json:2:7: is not UTF-8 text; expected JSON in UTF-8"),
        (b'{"a": ' + b"9" * 5000 + b"}", "config.json: a number of too many digits"),
        (b'{"a": ' + b"[" * 200_000, "config.json: is nested too deeply; expected 64 levels"),
        (b'{"a":' * 200_000, "config.json: is nested too deeply; expected 64 levels"),
        (b'{"\x1b[31m": 1, "\x1b[31m": 1}', "config.json:1:3: not JSON: invalid control character"),
        (b'{"\\u001b": 1, "\\u001b": 1}', "config.json:1:15: duplicate key '\\x1b'"),
    ],
    ids=range(22),
)
def test_what_is_no_such_object_is_one_line(raw, message):
    found = refusal(raw)
    assert found.startswith(message)
    assert "\n" not in found
    assert len(found) < 200


def test_nesting_ends_at_64_levels(tmp_path):
    for levels, fits in ((64, True), (65, False)):
        raw = b'{"a":' + b"[" * (levels - 1) + b"1" + b"]" * (levels - 1) + b"}"
        path = written(tmp_path / "config.json", raw)
        if fits:
            assert read_json(path, "a config").bare == ()
        else:
            with pytest.raises(InputError, match="nested too deeply"):
                read_json(path, "a config")


def test_a_file_is_not_larger_than_a_config_can_be(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # sparse: takes no room
    with pytest.raises(InputError, match=f"{MAX_BYTES + 1} bytes are too many for a config"):
        read_json(path, "a config")


def test_a_config_of_three_megabytes_is_read(tmp_path):
    names = ",".join(f'"model.layers.{n}.self_attn.q_proj"' for n in range(90_000))
    path = written(tmp_path / "config.json", f'{{"ignore": [{names}]}}'.encode())
    assert path.stat().st_size > 3e6
    ignored = read_json(path, "a config").data["ignore"]
    assert isinstance(ignored, list)
    assert len(ignored) == 90_000


def test_what_is_no_regular_file_is_one_line(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, message in {
        "fifo": "not a regular file; expected a config",
        "loop": "cannot be read: ",
        ".": "is a folder; expected a config",
        "nothing": "no such file; expected a config",
        "a\0b": "cannot be read: not a file name",
        "x" * 5000: "cannot be read: ",
    }.items():
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            read_json(tmp_path / name, "a config")
        assert "\n" not in str(caught.value)
        assert "\0" not in str(caught.value)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_an_input_error(raw):
    assert "\n" not in outcome(raw)


@given(st.data())
def test_a_changed_config_is_an_object_or_an_input_error(data):
    raw = bytearray(b'{"a": [1, {"b": "c\\u0041"}], "d": {"e": -1.5e3, "f": null}, "g": NaN}')
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    for each in (bytes(raw), bytes(raw[:cut])):
        assert outcome(each) == "read" or outcome(each).startswith("config.json")
