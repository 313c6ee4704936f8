"""GGUF headers of both byte orders, split models, and files that are not what they say."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from foreign import ARRAY, BOOL, F64, I64, STRING, U8, U16, U64, gguf, text, value, written
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.errors import InputError
from specplan.importers import gguf_values
from specplan.importers.ggml import KINDS
from specplan.importers.gguf import read_gguf
from specplan.importers.gguf_values import KEPT_ITEMS, Items
from specplan.importers.tensor import Tensor, stored

TENSORS = {
    "token_embd.weight": (8, (3, 64)),
    "blk.0.attn_q.weight": (12, (5, 256)),
    "odd": (0, (7,)),
    "experts": (39, (2, 3, 32)),
    "scalar": (30, ()),
}
METADATA = {
    "general.architecture": "llama",
    "a.u8": value(7, kind=U8),
    "a.u64": value(2**63, kind=U64),
    "a.i64": value(-5, kind=I64),
    "a.f64": value(0.5, kind=F64),
    "a.bool": True,
    "a.list": [1, -2, 3],
    "a.flags": value([True, False], kind=BOOL),
    "a.texts": ["x", "", "zé"],
}


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_gguf(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_says_metadata_shapes_and_exact_bytes(tmp_path, version):
    path = written(tmp_path / "a.gguf", gguf(METADATA, TENSORS, version=version))
    header = read_gguf(path)
    assert (header.version, header.big_endian, header.files) == (version, False, ("a.gguf",))
    assert header.metadata == {
        "general.architecture": "llama",
        "a.u8": 7,
        "a.u64": 2**63,
        "a.i64": -5,
        "a.f64": 0.5,
        "a.bool": True,
        "a.list": Items(3, (1, -2, 3)),
        "a.flags": Items(2, (True, False)),
        "a.texts": Items(3),
    }
    assert header.tensors == (
        Tensor("token_embd.weight", "Q8_0", (3, 64), 3 * 2 * 34),
        Tensor("blk.0.attn_q.weight", "Q4_K", (5, 256), 5 * 144),
        Tensor("odd", "F32", (7,), 28),
        Tensor("experts", "MXFP4", (2, 3, 32), 6 * 17),
        Tensor("scalar", "BF16", (), 2),
    )
    assert stored(header.tensors)[0].elements == 5 * 256


def test_the_byte_order_is_found_out(tmp_path):
    metadata = {"general.architecture": "llama", "n": 3, "l": [1, 2], "t": ["x"]}
    path = written(tmp_path / "a.gguf", gguf(metadata, TENSORS, order=">"))
    little = written(tmp_path / "b.gguf", gguf(metadata, TENSORS))
    header = read_gguf(path)
    assert header.big_endian
    assert header.metadata == read_gguf(little).metadata
    assert header.tensors == read_gguf(little).tensors


def test_another_alignment_moves_the_data(tmp_path):
    metadata = {"general.alignment": 64}
    path = written(tmp_path / "a.gguf", gguf(metadata, TENSORS, alignment=64))
    assert len(read_gguf(path).tensors) == 5
    path = written(tmp_path / "b.gguf", gguf(metadata, TENSORS, alignment=32))
    assert "begins at byte" in refusal(path)


@pytest.mark.parametrize("alignment", [0, 3, 2**30, "x", 1.5])
def test_alignment_is_a_power_of_two(tmp_path, alignment):
    path = written(tmp_path / "a.gguf", gguf({"general.alignment": alignment}, TENSORS))
    assert refusal(path) == "general.alignment is no power of two"


def test_no_data_is_read_and_a_cut_file_is_told(tmp_path):
    path = written(tmp_path / "a.gguf", gguf({}, {"w": (1, (2**20, 2**20))}, data=False))
    size = path.stat().st_size
    assert refusal(path).startswith("its tensors end at byte ")
    with path.open("r+b") as file:
        file.truncate(size + 32 + 2**41)  # sparse: takes no room
    assert read_gguf(path).tensors == (Tensor("w", "F16", (2**20, 2**20), 2**41),)


def test_long_lists_are_counted_only(tmp_path):
    many = [0] * (KEPT_ITEMS + 1)
    path = written(tmp_path / "a.gguf", gguf({"few": many[1:], "many": many}, {}))
    metadata = read_gguf(path).metadata
    assert metadata["few"] == Items(KEPT_ITEMS, tuple(many[1:]))
    assert metadata["many"] == Items(KEPT_ITEMS + 1)


def test_block_sizes_are_bits_per_weight_that_llama_cpp_prints():
    # tools/quantize/README.md there: bits per weight of each type alone
    for name, bits in {
        "Q4_0": 4.5,
        "Q4_K": 4.5,
        "Q6_K": 6.5625,
        "Q8_0": 8.5,
        "IQ4_XS": 4.25,
    }.items():
        kind = next(kind for kind in KINDS.values() if kind.name == name)
        assert kind.bytes * 8 / kind.elements == bits
    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)


def counted(tensors: int = 0, keys: int = 0, rest: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


def nested(depth: int) -> bytes:
    return struct.pack("<I", ARRAY) + struct.pack("<IQ", ARRAY, 1) * depth


def tensor(name: str = "w", dims: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    packed = struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
    return text(name) + packed + bytes(64)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "does not start with GGUF; expected a GGUF file"),
        (b"GGML" + bytes(60), "does not start with GGUF; expected a GGUF file"),
        (b"GGUF", "ends within its header, at byte 4; it may be cut off"),
        (counted(version=1), "GGUF version 1; expected version 2 or 3; convert it again"),
        (counted(version=4), "GGUF version 4; expected version 2 or 3"),
        (counted(version=0), "GGUF version 0; expected version 2 or 3"),
        (counted(tensors=2**63), "announces 9223372036854775808 tensors and 0 keys"),
        (counted(keys=2**40), "announces 0 tensors and 1099511627776 keys"),
        (counted(keys=1, rest=struct.pack("<Q", 2**60)), "a text of 1152921504606846976 bytes"),
        (counted(keys=1, rest=text("k") + struct.pack("<I", 13)), "'k' has unknown value type 13"),
        (counted(keys=1, rest=text("k") + struct.pack("<IB", BOOL, 2)), "'k' is neither true nor"),
        (counted(keys=1, rest=text("k") + struct.pack("<IQ", STRING, 2**50)), "a text of 11258999"),
        (counted(keys=2, rest=(text("k") + value(1)) * 2), "duplicate key 'k'"),
        (counted(keys=1, rest=struct.pack("<Q", 1) + b"\xff"), "text at byte 32 is not UTF-8"),
        (counted(keys=1, rest=text("k") + nested(5)), "'k' holds too much: 1 items at depth 4"),
        (
            counted(keys=1, rest=text("k") + struct.pack("<IIQ", ARRAY, STRING, 2**40)),
            "'k' holds too much: 1099511627776 items at depth 1",
        ),
        (
            counted(keys=1, rest=text("k") + struct.pack("<IIQ", ARRAY, U64, 2**60)),
            "ends within its header",
        ),
        (
            counted(keys=1, rest=text("k") + struct.pack("<IIQ", ARRAY, 99, 1)),
            "'k' has unknown value type 99",
        ),
        (
            counted(keys=1, rest=text("k") + struct.pack("<IIQQ", ARRAY, STRING, 1, 2**63)),
            "ends within its header",
        ),
        (counted(1, rest=text("w") + struct.pack("<I", 5)), "'w' has 5 dimensions; expected at"),
        (counted(1, rest=tensor(dims=(2**63,))), "'w' has no valid shape"),
        (counted(1, rest=tensor(kind=99)), "'w' has ggml type 99: none that ggml names"),
        (counted(1, rest=tensor(kind=33)), "'w' has ggml type 33: repacked types were removed"),
        (counted(1, rest=tensor(kind=42)), "'w' has ggml type 42: Q2_0 has blocks of 64 in"),
        (counted(1, rest=tensor(kind=12)), "'w' has rows of 32, which Q4_K cannot store"),
        (counted(1, rest=tensor(offset=32)), "'w' begins at byte 32, where 0 is due"),
        (counted(2, rest=tensor(dims=(0,))[:-64] * 2), "duplicate tensor 'w'"),
        (counted(1, rest=tensor(dims=(2**62, 2**62, 2**62, 2**62))), "its tensors end at byte "),
    ],
    ids=range(28),
)
def test_a_file_that_is_not_what_it_says_is_one_line(tmp_path, raw, message):
    assert refusal(written(tmp_path / "a.gguf", raw)).startswith(message)


def test_what_has_to_be_walked_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_values, "MAX_ITEMS", 5)
    path = written(tmp_path / "a.gguf", gguf({"a": ["x"] * 3, "b": ["x"] * 3}, {}))
    assert refusal(path) == "'b' holds too much: 3 items at depth 1"


class TestSplit:
    def part(self, folder: Path, number: int, count: int, **extra: object) -> Path:
        metadata = {
            "split.no": value(number, kind=U16),
            "split.count": value(count, kind=U16),
            "split.tensors.count": count,
        } | extra
        if number == 0:
            metadata["general.architecture"] = "llama"
        raw = gguf(metadata, {f"t{number}": (0, (8,))})
        return written(folder / f"model-{number + 1:05}-of-{count:05}.gguf", raw)

    def test_any_part_stands_for_all_of_them(self, tmp_path):
        paths = [self.part(tmp_path, number, 3) for number in range(3)]
        for path in paths:
            header = read_gguf(path)
            assert [t.name for t in header.tensors] == ["t0", "t1", "t2"]
            assert header.files == tuple(each.name for each in paths)
            assert header.metadata["general.architecture"] == "llama"
            assert header.sha256 == read_gguf(paths[0]).sha256

    def test_missing_parts_are_named(self, tmp_path):
        assert refusal(self.part(tmp_path, 1, 6)) == (
            "5 of its 6 files are missing beside it: model-00001-of-00006.gguf, "
            "model-00003-of-00006.gguf, model-00004-of-00006.gguf and 2 more"
        )

    def test_a_name_that_does_not_say_which_part(self, tmp_path):
        path = self.part(tmp_path, 0, 2).rename(tmp_path / "a.gguf")
        assert refusal(path).startswith("is one of 2 files and its name does not say which")

    def test_parts_say_themselves_which_they_are(self, tmp_path):
        first = self.part(tmp_path, 0, 2)
        second = tmp_path / "model-00002-of-00002.gguf"
        second.write_bytes(first.read_bytes())
        assert "does not say it is part 1 of 2" in refusal(first)

    def test_the_parts_hold_what_the_first_announces(self, tmp_path):
        self.part(tmp_path, 1, 2)
        path = self.part(tmp_path, 0, 2, **{"split.tensors.count": 9})
        assert refusal(path) == "its files hold 2 tensors and announce 9"

    def test_a_split_count_that_is_no_number(self, tmp_path):
        path = written(tmp_path / "a.gguf", gguf({"split.count": "2"}, {}))
        assert refusal(path) == "split.count is no number"


SOUND = gguf(METADATA, TENSORS)
DATA = 34 * 6 + 20 + 5 * 144 + 16 + 32 + 102 + 26 + 2
HEADER_BYTES = len(SOUND) - DATA


def outcome(path: Path, raw: bytes) -> str:
    """`read`, or the message of the one error there may be."""
    try:
        read_gguf(written(path, raw))
    except InputError as error:
        return str(error)
    return "read"


def test_every_truncation_is_an_input_error(tmp_path):
    path = tmp_path / "a.gguf"
    assert outcome(path, SOUND) == "read"
    for length in range(len(SOUND)):
        assert outcome(path, SOUND[:length]).startswith(str(path))


@settings(max_examples=300)
@given(position=st.integers(4, HEADER_BYTES - 1), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_an_input_error(tmp_path_factory, position, byte):
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    raw = bytearray(SOUND)
    raw[position] = byte
    found = outcome(path, bytes(raw))
    assert found == "read" or found.startswith(str(path))
