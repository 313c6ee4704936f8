"""What `models import SOURCE` names: a config, a checkpoint folder, a GGUF file or a hub id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from specplan.errors import InputError, UsageError
from specplan.importers.gguf import MAGIC, read_gguf
from specplan.importers.gguf_config import as_config, remarks
from specplan.importers.hub import CONFIG, NO_WEIGHTS, PREFIX, SIDECAR, fetch, parts
from specplan.importers.json_ import read_json
from specplan.importers.safetensors import read_folder
from specplan.importers.tensor import Tensor
from specplan.opening import exists, is_folder, opened, place

Kind: TypeAlias = Literal["config", "folder", "gguf", "hub"]

_WANTED: Final = "a config.json, a checkpoint folder, a .gguf file or hub:ORG/NAME"
_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_CACHED: Final = re.compile(r"models--(?:.+--)?(.+)")


@dataclass(frozen=True, slots=True)
class Foreign:
    """A model as others describe it, nothing derived yet.

    `config` is a config.json or a GGUF header in its words; a value that is no number (`Bare`) is
    left in it. `quant` is the hf_quant_config.json beside it; `tensors` are those of its weights,
    as stored, if they were there to be looked at. `origin` says in words where it is from, `name`
    what to call it, `sha256` is of the config's bytes (of a GGUF file, of its header), and
    `quant_sha256` of the sidecar's.
    """

    kind: Kind
    name: str
    config: Mapping[str, object]
    origin: str
    sha256: str
    quant: Mapping[str, object] | None = None
    tensors: tuple[Tensor, ...] = ()
    notes: tuple[str, ...] = ()
    quant_sha256: str = ""


def open_source(source: str) -> Foreign:
    """The model that a SOURCE names; nothing is fetched unless it starts with `hub:`."""
    if not source.strip():
        raise UsageError("an empty SOURCE", expected=_WANTED)
    if source.startswith(PREFIX):
        return _from_hub(source)
    path = Path(source)
    if is_folder(path):
        return _from_folder(path)
    if _ID.fullmatch(source) and not exists(path) and path.suffix not in {".json", ".gguf"}:
        hint = f"for a model of the hub: {PREFIX}{source}"
        raise InputError("no such file", where=place(path), hint=hint)
    with opened(path, _WANTED) as (file, _):
        start = file.read(len(MAGIC))
    if start == MAGIC:
        return _from_gguf(path)
    if path.suffix == ".safetensors":
        hint = f"import its folder: {place(path.parent)}"
        raise InputError("weights without their config.json", where=place(path), hint=hint)
    return _from_config(path)


def is_sidecar(path: Path) -> bool:
    """Whether a file is a quantisation sidecar by its name, and no config of its own."""
    return path.name.endswith(SIDECAR)


def _from_config(path: Path) -> Foreign:
    if path.name == CONFIG:
        name, sidecar = _folder_name(path.parent), SIDECAR
    else:
        name, sidecar = path.stem, f"{path.stem}_{SIDECAR}"
    return _described(path, path.with_name(sidecar), "config", name, f"config {path.name}")


def _from_folder(folder: Path) -> Foreign:
    config = folder / CONFIG
    if not exists(config):
        raise InputError(f"no {CONFIG}", where=place(folder), hint=_instead(folder))
    name = _folder_name(folder)
    checkpoint = read_folder(folder)
    described = _described(config, folder / SIDECAR, "folder", name, f"checkpoint folder {name}")
    if checkpoint.files and not checkpoint.tensors:
        what = "its safetensors files hold no tensors"
        raise InputError(what, where=place(folder), hint="import its config.json alone")
    notes = described.notes + (checkpoint.notes if checkpoint.files else (NO_WEIGHTS,))
    return replace(described, tensors=checkpoint.tensors, notes=notes)


def _from_gguf(path: Path) -> Foreign:
    header = read_gguf(path)
    notes = remarks(header)
    if len(header.files) > 1:
        notes += (f"read from all its {len(header.files)} files",)
    return Foreign(
        kind="gguf",
        name=re.sub(r"-\d{5}-of-\d{5}$", "", path.stem),
        config=as_config(header, path),
        origin=f"GGUF header of {path.name}",
        sha256=header.sha256,
        tensors=header.tensors,
        notes=notes,
    )


def _from_hub(source: str) -> Foreign:
    repo, revision = parts(source)
    got = fetch(repo, revision)
    name = repo.rpartition("/")[2]
    origin = f"{PREFIX}{repo}@{got.commit}"
    described = _described(got.folder / CONFIG, got.folder / SIDECAR, "hub", name, origin)
    return replace(described, tensors=got.tensors, notes=described.notes + got.notes)


def _described(config: Path, sidecar: Path, kind: Kind, name: str, origin: str) -> Foreign:
    read = read_json(config, "a config.json")
    beside = read_json(sidecar, "a quantisation sidecar") if exists(sidecar) else None
    notes = tuple(f"{where}, which is no JSON; it is not used" for where in read.bare)
    if "auto_map" in read.data:
        notes += ("auto_map names code of the repository; it is not run",)
    return Foreign(
        kind,
        name,
        read.data,
        origin,
        read.sha256,
        quant=beside.data if beside else None,
        notes=notes,
        quant_sha256=beside.sha256 if beside else "",
    )


def _folder_name(folder: Path) -> str:
    """A folder's name; of a snapshot in the hub's cache, its repository's."""
    folder = folder.resolve()
    cached = _CACHED.fullmatch(folder.parent.parent.name)
    return cached[1] if cached and folder.parent.name == "snapshots" else folder.name


def _instead(folder: Path) -> str:
    """What else a folder without a config.json holds that could be meant."""
    gguf = sorted(path.name for path in folder.glob("*.gguf"))
    if gguf:
        return f"import the file itself: {place(folder / gguf[0])}"
    if exists(folder / "adapter_config.json"):
        return "it holds an adapter (LoRA), not a model"
    return ""
