"""ServeGen's clients: their two files, and dictionaries that are text and must stay so."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.domain.clients import Clients
from specplan.errors import InputError, Where
from specplan.importers.traces.read import read_trace
from specplan.importers.traces.servegen import MAX_DICTIONARY, dictionary

FILES = Path(__file__).parent / "traffic" / "servegen"
HERE = Where("f.json")


def read(path: Path) -> Clients:
    found = read_trace(path)
    assert isinstance(found, Clients)
    return found


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        read_trace(path)
    said = str(refused.value)
    assert "\n" not in said
    return said


def test_a_client_is_its_windows_and_its_lengths():
    found = read(FILES / "chat-trace.csv")
    (client,) = found.clients
    assert (found.form, found.covers_s, client.name) == ("ServeGen", 3000.0, "chat")
    asked = [(w.start_s, w.length_s, w.rate_per_s, w.law, w.shape) for w in client.windows]
    assert asked == [
        (600.0, 600.0, 0.5, "poisson", 1.0),
        (1200.0, 600.0, 0.25, "gamma", 0.25),
        (1800.0, 600.0, 1.0, "weibull", 0.4),
    ]
    first, second = client.lengths
    assert (first.start_s, first.isl, first.isl_share) == (1200.0, (60, 61, 90), (0.5, 0.25, 0.25))
    assert (second.isl, second.osl, second.osl_share) == ((200,), (8, 10), (0.5, 0.5))


def test_a_folder_is_all_its_clients():
    found = read(FILES)
    assert [client.name for client in found.clients] == ["batch", "chat"]
    assert found.covers_s == 3000.0


def copied(tmp_path, **text):
    for file in FILES.iterdir():
        shutil.copy(file, tmp_path / file.name)
    for name, content in text.items():
        (tmp_path / f"chat-{name}.{'csv' if name == 'trace' else 'json'}").write_text(content)
    return tmp_path / "chat-trace.csv"


def test_what_is_missing_is_said(tmp_path):
    path = copied(tmp_path)
    (tmp_path / "chat-dataset.json").unlink()
    assert "has no lengths beside it" in refusal(path)
    (empty := tmp_path / "empty").mkdir()
    assert "0 files that end in -trace.csv" in refusal(empty)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        ("0,1,1,,0,0\n300,1,1,,0,0\n", "chat-trace.csv:2:1: the window at 300 s begins before"),
        ("0,1,1,,0,0\n600,1,1,Pareto,0,0\n", "chat-trace.csv:2:1: '600,1,1,Pareto,0,0' is no"),
        ("0,1,1,,0,0\n600,nan,1,,0,0\n", "is no window"),
        ("0,1e9,1,,0,0\n", "1e+09 requests a second"),
        ("0,1,1,Gamma,0,0\n", "a shape of 0; expected 0.001 to 10000"),
        ("0,1,1,,0,0\n600,1\r,1,,0,0\n5", "chat-trace.csv:3:1: '5' is no window"),
        ("0,0,0,,0,0\n", "no window has a request"),
    ],
)
def test_windows_that_are_wrong(tmp_path, trace, says):
    assert says in refusal(copied(tmp_path, trace=trace))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"x": {"input_tokens": "{}", "output_tokens": "{}"}}, "key 'x' is no window"),
        ({"0": []}, "key '0' is no window"),
        ({"0": {"input_tokens": "{}"}}, "0.output_tokens: is no text"),
        ({"0": {"input_tokens": {"1": 1}, "output_tokens": "{}"}}, "0.input_tokens: is no text"),
        ({"0": {"input_tokens": "{}", "output_tokens": "{}"}}, "no window has lengths"),
    ],
)
def test_lengths_that_are_wrong(tmp_path, data, says):
    assert says in refusal(copied(tmp_path, dataset=json.dumps(data)))


@given(st.dictionaries(st.integers(0, 10**6), st.floats(0, 1)))
def test_a_dictionary_is_read_as_python_writes_it(pairs):
    assert dictionary(str(pairs), HERE) == pairs


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "{1: __import__('os').getpid()}",
        "{1: 1.0 for x in (1,)}",
        "{1: [0.5] * 1000000000}",
        "{1: 9 ** 9 ** 9}",
        "{1: 1-1-1}",
        "{1: " + "-" * 100_000 + "1}",
        "{1: " + "(" * 100_000 + "1}",
        "{" * 100_000,
        "{1: {2: 0.5}}",
        "{'a': 0.5}",
        "{1: 'x'}",
        "{1: True}",
        "{1: nan}",
        "{1: 0.5",
        "{1: 0.5 2: 0.5}",
        "{1: 0.5};",
        "{1: 1" + "0" * 10_000 + "}",
        "{1: 2.0}",
        "{-1: 0.5}",
        "{1.5: 0.5}",
        "{900000000: 0.5}",
        "{1: -0.5}",
        "{1: 0.5}\n{2: 0.5}",
        "{\u0661: 0.5}",
        " " * MAX_DICTIONARY + "{}",
        "{" + "1: 0.5, " * 300_000 + "}",
        "{" + "1" * 1_000_000,
        "",
    ],
    ids=range(29),
)
def test_no_text_but_numbers_gets_through_and_none_takes_long(text, monkeypatch):
    monkeypatch.setattr("builtins.eval", pytest.fail)
    start = time.monotonic()
    with pytest.raises(InputError):
        dictionary(text, HERE)
    assert time.monotonic() - start < 2


def test_an_attack_in_a_file_has_its_place(tmp_path):
    data = {"600": {"input_tokens": "{1: __import__('os')}", "output_tokens": "{1: 1.0}"}}
    said = refusal(copied(tmp_path, dataset=json.dumps(data)))
    assert "chat-dataset.json: 600.input_tokens: '{1: __import__('os')}' is no dictionary" in said
