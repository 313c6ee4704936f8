"""Safetensors headers: what they say, and what a file that lies about itself is told."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from foreign import framed, safetensors, written
from hypothesis import given
from hypothesis import strategies as st

from specplan.errors import InputError
from specplan.importers.safetensors import BITS, Checkpoint, read_folder, read_header
from specplan.importers.tensor import Stored, Tensor, stored

PLAIN = {"w": ("BF16", (4, 8)), "s": ("F32", ()), "e": ("U8", (0, 3)), "q": ("F8_E4M3", (2, 2))}


def folder(path: Path, files: dict[str, bytes], index: dict[str, str] | None = None) -> Path:
    for name, raw in files.items():
        written(path / name, raw)
    if index is not None:
        raw = json.dumps({"metadata": {"total_size": 1}, "weight_map": index}).encode()
        written(path / "model.safetensors.index.json", raw)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_folder(path) if path.is_dir() else read_header(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message.removeprefix(f"{path}: ").removeprefix(f"{path}/")


def test_a_header_says_shapes_and_exact_bytes(tmp_path):
    path = written(tmp_path / "a.safetensors", safetensors(PLAIN, __metadata__={"format": "pt"}))
    assert read_header(path) == (
        Tensor("w", "BF16", (4, 8), 64),
        Tensor("s", "F32", (), 4),
        Tensor("e", "U8", (0, 3), 0),
        Tensor("q", "F8_E4M3", (2, 2), 4),
    )


def test_bytes_that_the_published_format_shows_are_read(tmp_path):
    # safetensors/src/tensor.rs, test_empty_shapes_allowed and test_empty
    header = b'{"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}'
    path = written(tmp_path / "a.safetensors", b"8" + bytes(7) + header + bytes(4))
    assert read_header(path) == (Tensor("test", "I32", (), 4),)
    path = written(tmp_path / "b.safetensors", b"\x08" + bytes(7) + b"{}      ")
    assert read_header(path) == ()


def test_counts_per_dtype_are_exact():
    tensors = [
        Tensor("a", "BF16", (3, 5), 30),
        Tensor("b", "U8", (7,), 7),
        Tensor("c", "BF16", (2,), 4),
        Tensor("d", "F8_E8M0", (7,), 7),
    ]
    assert stored(tensors) == (
        Stored("BF16", 2, 17, 34),
        Stored("F8_E8M0", 1, 7, 7),
        Stored("U8", 1, 7, 7),
    )


def test_four_bit_elements_are_half_a_byte(tmp_path):
    header = json.dumps({"w": {"dtype": "F4", "shape": [3, 2], "data_offsets": [0, 3]}}).encode()
    assert read_header(written(tmp_path / "a.safetensors", framed(header, 3)))[0].bytes == 3
    assert BITS["F6_E2M3"] == 6
    header = json.dumps({"w": {"dtype": "F4", "shape": [3], "data_offsets": [0, 2]}}).encode()
    path = written(tmp_path / "b.safetensors", framed(header, 2))
    assert refusal(path) == "'w' needs 12 bits and has 2 bytes"


def one(**info: object) -> bytes:
    described = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]} | info
    return framed(json.dumps({"w": described}).encode(), 2)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "a header of 0 bytes in a file of 0; expected a safetensors file"),
        (b"\x01\0\0", "a header of 1 bytes in a file of 3; expected a safetensors file"),
        (b"\xff" * 8, "a header of 18446744073709551615 bytes in a file of 8; expected"),
        (framed(b'{"a": 1}')[:-1], "a header of 8 bytes in a file of 15; expected"),
        (framed(b"not json"), "1:1: not JSON: expecting value"),
        (framed(b"[]"), "1:1: a list at the top; expected a JSON object"),
        (framed(b"[" * 100_000), "is nested too deeply"),
        (framed(b'{"a": 1}'), "'a' is no description of a tensor"),
        (framed(b'{"a":{}, "a":{}}'), "1:10: duplicate key 'a'"),
        (framed(b'{"__metadata__": {"a": 1}}'), "__metadata__ is no map of texts"),
        (one(dtype="U7"), "'w' has dtype 'U7'; expected one of BF16, BOOL, C64, F16, "),
        (one(dtype=["U8"]), "'w' has dtype '['U8']'; expected"),
        (one(dtype="U16"), "'w' needs 4 bytes and has 2 bytes"),
        (one(shape=[-2]), "'w' has no valid shape"),
        (one(shape=[2.0]), "'w' has no valid shape"),
        (one(shape=[True]), "'w' has no valid shape"),
        (one(shape=[float("nan")]), "'w' has no valid shape"),
        (one(shape="2"), "'w' has no valid shape"),
        (one(shape=None), "'w' has no valid shape"),
        (one(shape=[2**63]), "'w' has no valid shape"),
        (one(shape=[1] * 33), "'w' has no valid shape"),
        (one(shape=[2**62, 2**62]), "'w' needs 21267647932558653966460912964485513216 bytes"),
        (one(data_offsets=[2, 0]), "'w' has no valid data_offsets"),
        (one(data_offsets=[0]), "'w' has no valid data_offsets"),
        (one(data_offsets=[0, 2, 4]), "'w' has no valid data_offsets"),
        (one(data_offsets=[1, 3]), "'w' begins at byte 1, where 0 is due; expected data without"),
        (one() + b"x", "its tensors need 2 bytes and the file holds 3"),
        (one()[:-1], "its tensors need 2 bytes and the file holds 1; it may be cut off"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "is a Git LFS pointer, not",
        ),
    ],
    ids=range(29),
)
def test_a_file_that_lies_about_itself_is_one_line(tmp_path, raw, message):
    path = written(tmp_path / "a.safetensors", raw)
    assert refusal(path).removeprefix(f"{path}:").startswith(message)


@pytest.mark.parametrize(
    ("second", "message"),
    [([1, 3], "'b' begins at byte 1, where 2 is due"), ([3, 5], "'b' begins at byte 3, where 2")],
    ids=["overlap", "gap"],
)
def test_data_neither_overlaps_nor_leaves_a_gap(tmp_path, second, message):
    header = {
        "a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
        "b": {"dtype": "U8", "shape": [2], "data_offsets": second},
    }
    path = written(tmp_path / "a.safetensors", framed(json.dumps(header).encode(), second[1]))
    assert refusal(path).startswith(message)


def test_a_header_is_no_longer_than_the_format_allows(tmp_path):
    path = tmp_path / "a.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 100_000_001))
        file.truncate(100_000_100)  # sparse: takes no room
    assert refusal(path) == "a header of 100000001 bytes; expected at most 100000000"


def test_no_data_is_read(tmp_path):
    header = json.dumps({"w": {"dtype": "U8", "shape": [2**40], "data_offsets": [0, 2**40]}})
    path = written(tmp_path / "a.safetensors", framed(header.encode()))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + 2**40)
    assert read_header(path) == (Tensor("w", "U8", (2**40,), 2**40),)


class TestFolders:
    def test_all_files_of_a_folder_without_an_index(self, tmp_path):
        path = folder(
            tmp_path,
            {
                "b.safetensors": safetensors({"b": ("BF16", (2,))}),
                "a.safetensors": safetensors({"a": ("F32", (2,))}),
                "notes.txt": b"",
            },
        )
        assert read_folder(path) == Checkpoint(
            (Tensor("a", "F32", (2,), 8), Tensor("b", "BF16", (2,), 4)),
            ("a.safetensors", "b.safetensors"),
        )

    def test_a_folder_without_weights_has_no_tensors(self, tmp_path):
        assert read_folder(tmp_path) == Checkpoint((), ())

    def test_model_safetensors_is_taken_and_the_rest_named(self, tmp_path):
        path = folder(
            tmp_path,
            {
                "model.safetensors": safetensors({"a": ("BF16", (2,))}),
                "consolidated.safetensors": safetensors({"a": ("BF16", (2,))}),
            },
        )
        found = read_folder(path)
        assert found.files == ("model.safetensors",)
        assert found.notes == ("not counted: consolidated.safetensors",)

    def test_an_index_says_which_files_count(self, tmp_path):
        path = folder(
            tmp_path,
            {
                "s-1.safetensors": safetensors({"a": ("BF16", (2,))}),
                "s-2.safetensors": safetensors({"b": ("BF16", (3,)), "c": ("I64", (1,))}),
                "old.safetensors": b"nonsense",
            },
            {"a": "s-1.safetensors", "b": "s-2.safetensors"},
        )
        found = read_folder(path)
        assert [tensor.name for tensor in found.tensors] == ["a", "b", "c"]
        assert found.files == ("s-1.safetensors", "s-2.safetensors")
        assert found.notes == ("not counted: old.safetensors",)

    def test_missing_shards_are_named(self, tmp_path):
        index = {f"t{n}": f"s-{n}.safetensors" for n in range(6)}
        path = folder(tmp_path, {"s-2.safetensors": safetensors({"t2": ("U8", (1,))})}, index)
        assert refusal(path) == (
            "model.safetensors.index.json: 5 of 6 shards are missing: "
            "s-0.safetensors, s-1.safetensors, s-3.safetensors and 2 more"
        )

    def test_a_tensor_in_two_shards_is_refused(self, tmp_path):
        raw = safetensors({"a": ("U8", (1,))})
        path = folder(tmp_path, {"s-1.safetensors": raw, "s-2.safetensors": raw})
        assert refusal(path) == "s-2.safetensors: 'a' is also in s-1.safetensors"

    def test_an_index_that_disagrees_with_its_shards_is_refused(self, tmp_path):
        files = {"s-1.safetensors": safetensors({"a": ("U8", (1,))})}
        path = folder(tmp_path, files, {"a": "s-1.safetensors", "b": "s-1.safetensors"})
        assert refusal(path) == "model.safetensors.index.json: 'b' is not in s-1.safetensors"

    @pytest.mark.parametrize(
        "file", ["../s-1.safetensors", "/s-1.safetensors", "a\\s.safetensors", "x.bin", 3, None]
    )
    def test_an_index_names_files_beside_it_only(self, tmp_path, file):
        path = folder(tmp_path, {}, {"a": file})
        assert "expected a .safetensors file beside it" in refusal(path)

    @pytest.mark.parametrize("mapped", ["{}", '{"weight_map": {}}', '{"weight_map": ["a"]}'])
    def test_an_index_without_a_map_is_refused(self, tmp_path, mapped):
        written(tmp_path / "model.safetensors.index.json", mapped.encode())
        assert refusal(tmp_path).startswith("model.safetensors.index.json: no weight_map")


SOUND = safetensors(PLAIN, __metadata__={"format": "pt"})
HEADER_BYTES = len(SOUND) - 72


def outcome(path: Path, raw: bytes) -> str:
    """`read`, or the message of the one error there may be."""
    try:
        read_header(written(path, raw))
    except InputError as error:
        return str(error)
    return "read"


def test_every_truncation_is_an_input_error(tmp_path):
    path = tmp_path / "a.safetensors"
    assert outcome(path, SOUND) == "read"
    for length in range(len(SOUND)):
        assert outcome(path, SOUND[:length]).startswith(str(path))


@given(position=st.integers(0, HEADER_BYTES - 1), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_an_input_error(tmp_path_factory, position, byte):
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    raw = bytearray(SOUND)
    raw[position] = byte
    found = outcome(path, bytes(raw))
    assert found == "read" or found.startswith(str(path))
