"""GGUF headers: metadata and tensor descriptions of versions 2 and 3, of either byte order.

Layout: docs/gguf.md of ggml-org/ggml (MIT). Tensor data is never read; the file's size is compared
with what the tensors need. A split model is read from all its files.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specplan.errors import InputError
from specplan.importers.ggml import KINDS, REFUSED, Kind
from specplan.importers.gguf_values import Cursor, Value
from specplan.importers.tensor import Tensor
from specplan.opening import exists, opened, place
from specplan.visible import visible

MAGIC: Final = b"GGUF"
_ALIGNMENT: Final = 32
_MAX_ALIGNMENT: Final = 2**20
_MAX_RANK: Final = 4
_MAX_TENSORS: Final = 1_000_000
_MAX_KEYS: Final = 100_000
_NAME_BYTES: Final = 1024
_KEY_BYTES: Final = 65_535
_SHOWN: Final = 80
_WANTED: Final = "a GGUF file"
_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file, or all files of a split one, say before the data.

    `sha256` is of the (first) file's header; shapes are outermost first, unlike in the file.
    """

    version: int
    big_endian: bool
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    files: tuple[str, ...]
    sha256: str


def read_gguf(path: Path) -> Header:
    """The header of a GGUF file; of a split model, any of its files stands for all of them."""
    header = _read_file(path)
    count = header.metadata.get("split.count", 0)
    if not isinstance(count, int):
        raise InputError("split.count is no number", where=place(path))
    return header if count < 2 else _joined(path, count)


def _joined(path: Path, count: int) -> Header:
    """The parts of a split model as one: metadata from the first, tensors from all."""
    named = _PART.fullmatch(path.name)
    if not named or int(named[3]) != count:
        what = f"is one of {count} files and its name does not say which"
        expected = f"a name like model-00001-of-{count:05}.gguf"
        raise InputError(what, where=place(path), expected=expected)
    paths = [path.with_name(f"{named[1]}-{n:05}-of-{count:05}.gguf") for n in range(1, count + 1)]
    missing = [part.name for part in paths if not exists(part)]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        listed = ", ".join(visible(name, _SHOWN) for name in missing[:3])
        what = f"{len(missing)} of its {count} files are missing beside it: {listed}{more}"
        raise InputError(what, where=place(path))
    parts = [_read_file(part) for part in paths]
    first = parts[0]
    for number, (part, file) in enumerate(zip(parts, paths, strict=True)):
        if (part.metadata.get("split.no"), part.metadata.get("split.count")) != (number, count):
            raise InputError(f"does not say it is part {number} of {count}", where=place(file))
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    _distinct([tensor.name for tensor in tensors], "tensor", path)
    total = first.metadata.get("split.tensors.count", len(tensors))
    if total != len(tensors):
        what = f"its files hold {len(tensors)} tensors and announce {total}"
        raise InputError(what, where=place(path))
    files = tuple(part.name for part in paths)
    return Header(first.version, first.big_endian, first.metadata, tensors, files, first.sha256)


def _read_file(path: Path) -> Header:
    with opened(path, _WANTED) as (file, size):
        if file.read(4) != MAGIC:
            raise InputError("does not start with GGUF", where=place(path), expected=_WANTED)
        cursor = Cursor(file, path, size)
        version = _version(cursor)
        tensor_count, key_count = cursor.number("Q"), cursor.number("Q")
        if tensor_count > _MAX_TENSORS or key_count > _MAX_KEYS:
            what = f"announces {tensor_count} tensors and {key_count} keys"
            raise InputError(what, where=place(path), expected="fewer")
        metadata = _metadata(cursor, key_count)
        described = [_description(cursor) for _ in range(tensor_count)]
        alignment = _alignment(metadata, path)
        header_bytes = cursor.position
        file.seek(0)
        digest = hashlib.sha256(file.read(header_bytes)).hexdigest()
    _distinct([name for name, *_ in described], "tensor", path)
    tensors, data_bytes = _placed(described, alignment, path)
    start = _aligned(header_bytes, alignment)
    if tensors and start + data_bytes > size:
        what = f"its tensors end at byte {start + data_bytes} and the file at {size}"
        raise InputError(what, where=place(path), hint="it may be cut off")
    big = cursor.order == ">"
    return Header(version, big, metadata, tensors, (path.name,), digest)


def _version(cursor: Cursor) -> int:
    """The format's version; also finds out the byte order, which nothing else tells."""
    version = cursor.number("I")
    if version and version & 0xFFFF == 0:
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in {2, 3}:
        hint = "convert it again with a newer llama.cpp" if version == 1 else ""
        what = f"GGUF version {version}"
        raise InputError(what, where=place(cursor.path), expected="version 2 or 3", hint=hint)
    return version


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        key = cursor.text(_KEY_BYTES)
        if key in metadata:
            raise InputError(f"duplicate key '{visible(key, _SHOWN)}'", where=place(cursor.path))
        metadata[key] = cursor.value(cursor.number("I"), key)
    return metadata


def _description(cursor: Cursor) -> tuple[str, tuple[int, ...], Kind, int]:
    """Name, shape (outermost first), type and offset of one tensor."""
    name = cursor.text(_NAME_BYTES)
    shown = f"'{visible(name, _SHOWN)}'"
    rank = cursor.number("I")
    if rank > _MAX_RANK:
        what = f"{shown} has {rank} dimensions"
        raise InputError(what, where=place(cursor.path), expected=f"at most {_MAX_RANK}")
    sizes = [cursor.number("Q") for _ in range(rank)]
    if any(size >= 2**63 for size in sizes):
        raise InputError(f"{shown} has no valid shape", where=place(cursor.path))
    number, offset = cursor.number("I"), cursor.number("Q")
    kind = KINDS.get(number)
    if kind is None:
        why = REFUSED.get(number, "none that ggml names")
        raise InputError(f"{shown} has ggml type {number}: {why}", where=place(cursor.path))
    if sizes and sizes[0] % kind.elements:
        what = f"{shown} has rows of {sizes[0]}, which {kind.name} cannot store"
        raise InputError(what, where=place(cursor.path), expected=f"a multiple of {kind.elements}")
    return name, tuple(reversed(sizes)), kind, offset


def _placed(
    described: Sequence[tuple[str, tuple[int, ...], Kind, int]], alignment: int, path: Path
) -> tuple[tuple[Tensor, ...], int]:
    """The tensors, and the bytes from the first to the end of the last. They follow each other."""
    tensors: list[Tensor] = []
    end = 0
    for name, shape, kind, offset in described:
        due = _aligned(end, alignment)
        if offset != due:
            what = f"'{visible(name, _SHOWN)}' begins at byte {offset}, where {due} is due"
            raise InputError(what, where=place(path), expected="data without gap or overlap")
        size = math.prod(shape) // kind.elements * kind.bytes
        tensors.append(Tensor(name, kind.name, shape, size))
        end = offset + size
    return tuple(tensors), end


def _alignment(metadata: Mapping[str, Value], path: Path) -> int:
    found = metadata.get("general.alignment", _ALIGNMENT)
    if isinstance(found, int) and 0 < found <= _MAX_ALIGNMENT and found & (found - 1) == 0:
        return found
    raise InputError("general.alignment is no power of two", where=place(path))


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _distinct(names: Sequence[str], kind: str, path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"duplicate {kind} '{visible(name, _SHOWN)}'", where=place(path))
        seen.add(name)
