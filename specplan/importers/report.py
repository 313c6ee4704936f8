"""A folder of configs, each imported and held against the count that was published for it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from specplan.domain.imported import Checked, Imported
from specplan.domain.model import Model, token_bytes
from specplan.errors import InputError, SpecplanError, Where
from specplan.importers.card import Wish, imported
from specplan.importers.explain import verdict_on
from specplan.importers.source import Foreign, is_sidecar, open_source
from specplan.opening import exists, place
from specplan.visible import visible

INDEX = "index.csv"
COLUMNS = ("file", "published_total_params")
BASES = ("base_model_name_or_path", "_name_or_path")

_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")

Find = Callable[[str], Model | None]


@dataclass(frozen=True, slots=True)
class Published:
    """What an index says of a file: its published count, and whether it is of an EAGLE head."""

    params: int | None
    head: bool


def reports(folder: Path, find: Find) -> Iterator[Checked]:
    """Each `.json` of the folder in turn, by name. `find` gives the card of a target by name."""
    index = published(folder / INDEX)
    there = {path.name for path in folder.glob("*.json")}
    for name in sorted(there | index.keys()):
        known = index.get(name, Published(None, head=False))
        yield (
            _checked(folder / name, known, find) if name in there else _absent(folder, name, known)
        )


def published(path: Path) -> Mapping[str, Published]:
    """The counts of an `index.csv` with columns file, published_total_params and, where heads
    cannot be told from models, role; empty where there is no such file.
    """
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                what = f"no column {missing[0]}"
                raise InputError(what, where=place(path), expected=", ".join(COLUMNS))
            return {
                row["file"]: _row(row, path, number)
                for number, row in enumerate(rows, 2)
                if row["file"]
            }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read: {error}", where=place(path)) from error


def _row(row: Mapping[str, str], path: Path, line: int) -> Published:
    text = (row["published_total_params"] or "").strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    head = (row.get("role") or "") in {"eagle", "eagle1"}
    if text in {"", "missing"}:
        return Published(None, head)
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**15:
        where = Where(str(place(path)), line, 1)
        raise InputError(f"'{text[:40]}' is no count", where=where, expected="a whole number")
    return Published(int(text), head)


def _checked(path: Path, known: Published, find: Find) -> Checked:
    if is_sidecar(path):
        return _beside(path)
    try:
        foreign = open_source(str(path))
        made = imported(foreign, Wish(target=_target(foreign, find), head=known.head))
    except SpecplanError as error:
        says, params = error.said, known.params
        return Checked(file=path.name, verdict="refused", says=says, published_params=params)
    return _held(path, made, known)


def _absent(folder: Path, name: str, known: Published) -> Checked:
    """A file that the index names and that is not among the configs of the folder."""
    says = "not a .json file of the folder" if exists(folder / name) else "no such file"
    shown = visible(name, 200)
    return Checked(file=shown, verdict="refused", says=says, published_params=known.params)


def _beside(path: Path) -> Checked:
    """A sidecar, which is read with the config of its name."""
    config = path.with_name(path.name.replace("_hf_quant_config", ""))
    if config.exists():
        return Checked(file=path.name, verdict="beside", says=f"read with {config.name}")
    says = "a hf_quant_config.json says how weights are stored and nothing of their shapes"
    return Checked(file=path.name, verdict="refused", says=f"{says}; no {config.name} beside it")


def _target(foreign: Foreign, find: Find) -> Model | None:
    """The card of the model that a head without shapes names as its base."""
    if "medusa_num_heads" not in foreign.config:
        return None
    for key in BASES:
        name = foreign.config.get(key)
        if isinstance(name, str) and name:
            return find(name)
    return None


def _held(path: Path, made: Imported, known: Published) -> Checked:
    card, shape = made.card, made.card.shape
    cache = token_bytes(card.kv_groups)
    row = Checked(
        file=path.name,
        verdict="unknown",
        says="no published count to hold it against",
        kind=card.drafts.kind if card.drafts else "model",
        stored_params=shape.stored_params if shape else None,
        published_params=known.params,
        matmul_params=shape.matmul_params if shape else None,
        kv_bytes_per_token=cache,
    )
    if known.params is None:
        return row
    verdict, says = verdict_on(made, known.params)
    return replace(row, verdict=verdict, says=says)
