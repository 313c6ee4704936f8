"""Files of outputs: lines, limits, gzip, standard input, and whatever else may be in them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys

import pytest
from generated import written
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.outputs import Outputs
from specplan.errors import InputError
from specplan.importers import outputs as module
from specplan.importers.outputs import read_outputs

RECORDS = [
    {"prompt_id": "a", "token_ids": [1, 2]},
    {"prompt_id": "b", "token_ids": [[3], []]},
    {"prompt_id": "a", "token_ids": [1]},
]


def told(found: Outputs) -> dict[str, list[list[int]]]:
    return {prompt: [one.tolist() for one in arm] for prompt, arm in found.prompts.items()}


def refusal(path, pieces=None) -> str:
    with pytest.raises(InputError) as refused:
        read_outputs(str(path), {} if pieces is None else pieces)
    said = str(refused.value)
    assert "\n" not in said
    assert len(said) < 400
    return said


def outcome(path) -> str:
    try:
        found = read_outputs(str(path), {})
    except InputError as error:
        return str(error)
    return "read" if found.outputs else "nothing"


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_records_of_a_prompt_are_put_together(tmp_path, name):
    path = written(tmp_path / name, RECORDS)
    found = read_outputs(str(path), {})
    assert told(found) == {"a": [[1, 2], [1]], "b": [[3], []]}
    assert (found.unit, found.named_by, found.outputs) == ("tokens", "prompt_id", 4)
    assert found.name == str(path)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_standard_input(tmp_path, monkeypatch):
    for name in ("x.jsonl", "x.jsonl.gz"):
        raw = written(tmp_path / name, RECORDS).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(raw))))
        found = read_outputs("-", {})
        assert told(found) == {"a": [[1, 2], [1]], "b": [[3], []]}
        assert (found.name, found.sha256) == ("standard input", None)
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-").startswith("standard input: is closed; expected JSONL")


def test_prompts_without_a_name_are_numbered(tmp_path):
    text = '\n{"text": "a"}\n\n  \n{"text": ["b", "c"]}\n'
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    found = read_outputs(str(path), {})
    assert list(found.prompts) == ["1", "2"]
    assert found.named_by == ""


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_text_is_cut_into_pieces_that_make_it_up(tmp_path_factory, texts):
    path = written(tmp_path_factory.mktemp("text") / "x.jsonl", [{"text": one} for one in texts])
    pieces: dict[str, int] = {}
    found = read_outputs(str(path), pieces)
    spelt = {number: piece for piece, number in pieces.items()}
    assert ["".join(spelt[n] for n in arm[0]) for arm in found.prompts.values()] == texts
    assert all(len(piece.strip()) <= 4 for piece in pieces)
    assert found.unit == "text"


def test_pieces_are_numbered_alike_in_both_files(tmp_path):
    pieces: dict[str, int] = {}
    one = written(tmp_path / "1.jsonl", [{"text": "the cat sat"}])
    two = written(tmp_path / "2.jsonl", [{"text": "sat, the cat sat"}])
    left, right = (read_outputs(str(path), pieces) for path in (one, two))
    assert told(left) == {"1": [[0, 1, 2]]}
    assert told(right) == {"1": [[3, 4, 5, 1, 2]]}  # sat and the at the start have no space
    assert list(pieces) == ["the", " cat", " sat", "sat", ",", " the"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", ": is empty; expected JSONL, a record of a prompt and its outputs a line"),
        (b"\n \n", ": is empty; expected JSONL"),
        (b'{"text": "a"}\n{"text": \n', ":2:10: not JSON: "),
        (b'{"text": "a"}\n\n[1]\n', ":3:1: a list at the top; expected a JSON object"),
        (b'{"text": "a", "text": "b"}\n', ":1:15: duplicate key 'text'"),
        (b'{"text": "a"}\n{"answer": 1}', ":2:1: no outputs among answer; expected token_ids"),
        (b'{"text": "a"}\n{"tokens": [1]}', ":2:1: token ids, after text in the lines before; "),
        (b'{"tokens": [1]}\n{"text": "a"}', ":2:1: text, after token ids in the lines before; "),
        (b'{"id": 1, "text": "a"}\n{"text": "b"}', ":2:1: no id, by which the lines before it "),
        (b'{"text": "\xff"}', ":1:11: is not UTF-8 text; expected JSON in UTF-8"),
        (b'\xef\xbb\xbf{"text": "a"}', ":1:1: starts with a byte order mark; "),
        (b'{"text": ' + b"[" * 100_000, ":1:1: is nested too deeply; expected "),
        (b'{"tokens": [' + b"9" * 5000 + b"]}", ":1:1: a number of too many digits; "),
        (b'{"tokens": [NaN]}', ":1:1: a token in tokens is no number; expected whole numbers"),
        (b'{\n "text": "a"\n}', ":1:2: not JSON: "),
        (b"\x1f\x8bnot gzip", ": is no whole gzip file"),
        (gzip.compress(b'{"text": "a"}\n' * 1000, mtime=0)[:-20], ": is no whole gzip file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, raw, says):
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw)
    assert refusal(path).startswith(f"{path}{says}")


def test_what_is_no_file(tmp_path):
    assert refusal(tmp_path / "none.jsonl").endswith(
        "no such file; " + f"expected {module._WANTED}"
    )
    assert refusal(tmp_path).startswith(f"{tmp_path}: is a folder")
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")


def test_limits(tmp_path, monkeypatch):
    path = written(tmp_path / "x.jsonl", [{"tokens": [1] * 10}] * 5)
    monkeypatch.setattr(module, "MAX_TOKENS", 49)
    assert refusal(path).startswith(f"{path}:5:1: more than 49 tokens or 5,000,000 outputs; ")
    monkeypatch.setattr(module, "MAX_OUTPUTS", 3)
    assert refusal(path).startswith(f"{path}:4:1: more than 49 tokens or 3 outputs; ")
    monkeypatch.setattr(module, "MAX_LINE", 20)
    assert refusal(path).startswith(f"{path}:1:1: a line of more than 64 MiB; expected JSONL")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**33) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["text", "tokens", "outputs", "response", "x"]), inner)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["text", "tokens", "outputs", "choices", "prompt", "id", "response"])


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=4))
def test_any_records_are_read_or_refused_in_one_line(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("any") / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    said = outcome(path)
    assert said == "read" or said.startswith(str(path))
    assert "\n" not in said


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_in_one_line(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("bytes") / "x.jsonl"
    path.write_bytes(raw)
    assert refusal(path).startswith(str(path))
