"""Safetensors files by their headers alone: exact shapes and bytes, no weight is read.

A file is the header's length (8 bytes, little-endian), the header (JSON: name -> dtype, shape,
data_offsets) and the data, which the offsets cover without gap or overlap. Format and dtype names:
huggingface/safetensors (Apache-2.0), README and safetensors/src/tensor.rs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard

from specplan.errors import InputError
from specplan.importers.json_ import parse_json, read_json
from specplan.importers.tensor import Tensor
from specplan.opening import opened, place
from specplan.visible import visible

MAX_HEADER: Final = 100_000_000
"""The format's own limit on a header's bytes."""
MAX_RANK: Final = 32
_SHOWN: Final = 80
_LISTED: Final = 3

BITS: Final = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E8M0"), 8),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
"""Bits of an element by dtype."""

_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_LFS = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tensors of a folder's weight files, in the files' order."""

    tensors: tuple[Tensor, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_folder(folder: Path) -> Checkpoint:
    """What the weight files of a folder hold; no tensors if it has none.

    Of several sets the one that loaders take: the index's shards, else model.safetensors, else all.
    """
    there = sorted(path.name for path in folder.glob("*.safetensors"))
    indices = sorted(path.name for path in folder.glob("*.safetensors.index.json"))
    index = folder / (_INDEX if _INDEX in indices or len(indices) != 1 else indices[0])
    if index.name in indices:
        mapped = read_index(index)
        names = sorted(set(mapped.values()))
        missing = [name for name in names if name not in there]
        if missing:
            what = f"{len(missing)} of {len(names)} shards are missing: {listed(missing)}"
            raise InputError(what, where=place(index))
    else:
        mapped = {}
        names = [_SINGLE] if _SINGLE in there else there
    by_file = {name: read_header(folder / name) for name in names}
    if mapped:
        _agrees(index, mapped, by_file)
    left = [name for name in there if name not in by_file]
    notes = (f"not counted: {listed(left)}",) if left else ()
    return Checkpoint(merged(folder, by_file), tuple(names), notes)


def read_index(path: Path) -> dict[str, str]:
    """File by tensor, as an index maps them. Files lie beside it: a path is refused."""
    mapped = read_json(path, "a safetensors index").data.get("weight_map")
    if not isinstance(mapped, dict) or not mapped:
        raise InputError("no weight_map", where=place(path), expected="tensors and their files")
    files: dict[str, str] = {}
    for name, file in mapped.items():
        if not isinstance(file, str) or not re.fullmatch(r"[^/\\\0]+\.safetensors", file):
            what = f"{_quoted(name)} lies in {_quoted(str(file))}"
            raise InputError(what, where=place(path), expected="a .safetensors file beside it")
        files[name] = file
    return files


def read_header(path: Path) -> tuple[Tensor, ...]:
    """The tensors of one file in the order of their data; its size must be what they need."""
    with opened(path, "a safetensors file") as (file, size):
        start = file.read(8)
        if start == _LFS[:8] and size < 1024:
            hint = "run git lfs pull, or import config.json alone"
            raise InputError("is a Git LFS pointer, not the file", where=place(path), hint=hint)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > size - 8:
            what = f"a header of {length} bytes in a file of {size}"
            raise InputError(what, where=place(path), expected="a safetensors file")
        if length > MAX_HEADER:
            what = f"a header of {length} bytes"
            raise InputError(what, where=place(path), expected=f"at most {MAX_HEADER}")
        raw = file.read(length)
    return tensors_of(parse_json(raw, path), size - 8 - length, path)


def tensors_of(header: dict[str, object], data_bytes: int, path: Path) -> tuple[Tensor, ...]:
    """The tensors that a header describes; they must cover `data_bytes` exactly."""
    spans = [
        (*_span(name, info, path), name)
        for name, info in header.items()
        if name != "__metadata__" or not _is_metadata(info, path)
    ]
    spans.sort(key=lambda span: span[:2])
    tensors: list[Tensor] = []
    end = 0
    for begin, stop, dtype, shape, name in spans:
        if begin != end:
            what = f"{_quoted(name)} begins at byte {begin}, where {end} is due"
            raise InputError(what, where=place(path), expected="data without gap or overlap")
        end = stop
        tensors.append(Tensor(name, dtype, shape, stop - begin))
    if end != data_bytes:
        what = f"its tensors need {end} bytes and the file holds {data_bytes}"
        hint = "it may be cut off" if data_bytes < end else ""
        raise InputError(what, where=place(path), hint=hint)
    return tuple(tensors)


def merged(folder: Path, by_file: dict[str, tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """The tensors of all files; a name in two of them is refused."""
    homes: dict[str, str] = {}
    for file, tensors in by_file.items():
        for tensor in tensors:
            if tensor.name in homes:
                what = f"{_quoted(tensor.name)} is also in {visible(homes[tensor.name], _SHOWN)}"
                raise InputError(what, where=place(folder / file))
            homes[tensor.name] = file
    return tuple(tensor for tensors in by_file.values() for tensor in tensors)


def listed(names: Sequence[str]) -> str:
    """The first few names and how many more there are."""
    more = len(names) - _LISTED
    shown = ", ".join(visible(name, _SHOWN) for name in names[:_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def _agrees(index: Path, mapped: dict[str, str], by_file: dict[str, tuple[Tensor, ...]]) -> None:
    found = {tensor.name: file for file, tensors in by_file.items() for tensor in tensors}
    for name, file in mapped.items():
        if found.get(name) != file:
            what = f"{_quoted(name)} is not in {visible(file, _SHOWN)}"
            raise InputError(what, where=place(index))


def _span(name: str, info: object, path: Path) -> tuple[int, int, str, tuple[int, ...]]:
    """Begin and end of a tensor's data, its dtype and shape."""
    if not isinstance(info, dict):
        raise _bad(path, f"{_quoted(name)} is no description of a tensor")
    dtype, shape, offsets = (info.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        known = ", ".join(sorted(BITS))
        raise _bad(path, f"{_quoted(name)} has dtype {_quoted(str(dtype))}", f"one of {known}")
    if not _whole(shape) or len(shape) > MAX_RANK:
        raise _bad(path, f"{_quoted(name)} has no valid shape")
    if not _whole(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _bad(path, f"{_quoted(name)} has no valid data_offsets")
    bits = math.prod(shape) * BITS[dtype]
    size = offsets[1] - offsets[0]
    if bits != size * 8:
        needed = f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"
        raise _bad(path, f"{_quoted(name)} needs {needed} and has {size} bytes")
    return offsets[0], offsets[1], dtype, tuple(shape)


def _is_metadata(info: object, path: Path) -> bool:
    if info is None:
        return True
    if isinstance(info, dict) and all(isinstance(text, str) for text in info.values()):
        return True
    raise _bad(path, "__metadata__ is no map of texts")


def _whole(value: object) -> TypeGuard[list[int]]:
    """Whether it is a list of sizes: whole numbers that a 64-bit reader could hold."""
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _quoted(text: str) -> str:
    return f"'{visible(text, _SHOWN)}'"


def _bad(path: Path, what: str, expected: str = "") -> InputError:
    return InputError(what, where=place(path), expected=expected)
