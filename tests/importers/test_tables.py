"""Tables that an engine dumped: what a file may hold, and how it is refused."""

from __future__ import annotations

import hashlib
import json
import math

import pytest
from foreign import written
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.errors import InputError, SpecplanError
from specplan.importers.tables import DumpedTables, read_tables

GOOD = {"kind": "logits", "target": [[1, 2.5], [0, -3]], "draft": [[0, 1], [1, 0]]}


def read(tmp_path, data, raw=None):
    file = tmp_path / "tables.json"
    return read_tables(written(file, raw if raw is not None else json.dumps(data).encode()))


def refusal(tmp_path, data, raw=None):
    with pytest.raises(SpecplanError) as refused:
        read(tmp_path, data, raw)
    said = str(refused.value)
    assert "\n" not in said
    assert "tables.json" in said
    return said


def test_both_sides_are_read_with_the_digest_of_the_file(tmp_path):
    found = read(tmp_path, GOOD | {"prompt": [1], "history": [0, 0], "drafted": [1]})
    assert found.logits
    assert found.target == [[1.0, 2.5], [0.0, -3.0]]
    assert found.draft == [[0.0, 1.0], [1.0, 0.0]]
    assert (found.prompt, found.history, found.drafted) == ((1,), (0, 0), (1,))
    assert found.sha256 == hashlib.sha256((tmp_path / "tables.json").read_bytes()).hexdigest()


def test_one_row_may_stand_alone(tmp_path):
    found = read(tmp_path, {"kind": "probabilities", "target": [0.5, 0.5], "draft": [1, 0]})
    assert not found.logits
    assert (found.target, found.draft) == ([[0.5, 0.5]], [[1.0, 0.0]])
    assert (found.prompt, found.history, found.drafted) == ((), (), ())


def test_a_token_that_is_ruled_out_has_a_logit_of_minus_infinity(tmp_path):
    found = read(tmp_path, GOOD | {"target": [[-math.inf, 0], [0, 1]]})
    assert found.target[0][0] == -math.inf


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "logit"}, "kind is logit; expected logits or probabilities"),
        ({"kind": 1}, "kind is 1; expected logits or probabilities"),
        ({"targets": []}, "unknown key 'targets'; did you mean 'target'?"),
        ({"target": None}, "target is no list of rows"),
        ({"target": []}, "target is no list of rows"),
        ({"target": [[]]}, "target[0] is no list of numbers"),
        ({"target": [[1, 2], 3]}, "target[1] is no list of numbers"),
        ({"target": [[1, 2], [True, 2]]}, "target[1][0] is True; expected a finite number"),
        ({"target": [[1, "2"], [1, 2]]}, "target[0][1] is 2; expected a finite number"),
        ({"draft": [[1, math.nan]]}, "draft[0][1] is NaN; expected a finite number"),
        ({"draft": [[1, math.inf]]}, "draft[0][1] is Infinity; expected a finite number"),
        ({"draft": [[1, 10**400]]}, "draft[0][1] is 1000"),
        ({"draft": [[1, None]]}, "draft[0][1] is None; expected a finite number"),
        ({"draft": [["\x1b[31m"]]}, "draft[0][0] is \\x1b[31m"),
        ({"draft": [[1]] * 65}, "draft has 65 positions; expected at most 64"),
        ({"history": 3}, "history is no list of tokens"),
        ({"history": [1, -1]}, "history[1] is -1; expected a token id"),
        ({"drafted": [1.5]}, "drafted[0] is 1.5; expected a token id"),
        ({"drafted": [True]}, "drafted[0] is True; expected a token id"),
        ({"prompt": [math.nan]}, "prompt[0] is NaN; expected a token id"),
        ({"prompt": [10**9]}, "prompt[0] is 1000000000; expected a token id"),
    ],
)
def test_what_is_refused(tmp_path, change, says):
    assert says in refusal(tmp_path, GOOD | change)


def test_probabilities_are_all_finite(tmp_path):
    wrong = {"kind": "probabilities", "target": [-math.inf, 1], "draft": [0, 1]}
    assert "target[0][0] is -Infinity" in refusal(tmp_path, wrong)


@pytest.mark.parametrize("key", ["kind", "target", "draft"])
def test_what_must_be_there(tmp_path, key):
    assert key in refusal(tmp_path, {k: v for k, v in GOOD.items() if k != key})


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"[1]", "a list at the top"),
        (b'{"kind": "logits", "kind": "logits"}', "duplicate key 'kind'"),
        (b'{"target": ' + b"[" * 5000 + b"]" * 5000 + b"}", "is nested too deeply"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_what_is_no_table_at_all(tmp_path, raw, says):
    assert says in refusal(tmp_path, None, raw)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file; expected tables of probabilities"):
        read_tables(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        read_tables(tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "prompt", "drafted"]), json_values))
@settings(max_examples=50)
def test_anything_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("tables")
    try:
        found = read(folder, GOOD | data)
    except InputError:
        return
    assert isinstance(found, DumpedTables)
    assert all(isinstance(x, float) and x < math.inf for row in found.target for x in row)
