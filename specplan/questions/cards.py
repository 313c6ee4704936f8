"""All cards of a kind in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from specplan.domain.answer import Answer, Basis, Column, Rows, Scalar, View, table_of
from specplan.domain.card import Dtype, Origin
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import KV_DTYPE, Model
from specplan.domain.scenario import Input
from specplan.questions.figures import known

Card = TypeVar("Card", bound=Hardware | Model | Engine)

PACKAGED = "packaged"
BASIS = Basis(kind="exact", says="", source="catalogue")

ORIGIN_COLUMNS = (
    Column("aliases", "", "aliases", "text", "other names, separated by spaces"),
    Column("layer", "", "from", "text", "the folder of cards it was found in"),
    Column("path", "", "file", "text", "the card's file"),
    Column("sha256", "", "sha256", "text", "hash of the file"),
    Column("hides", "", "hides", "text", "layer of the card of that name that this one hides"),
)
HARDWARE_COLUMNS = (
    Column("name", "", "name", "text", "what to write after --hardware"),
    Column("title", "", "accelerator", "text", "its full name"),
    Column("vendor", "", "vendor", "text", "who makes it"),
    Column("year", "", "year", "text", "year of launch"),
    Column("memory", "B", "memory", "bytes", "capacity of one device"),
    Column("memory_basis", "", "basis", "text", "whether the driver or the label says so"),
    Column("bandwidth", "B/s", "bandwidth", "number", "peak of the device memory"),
    Column("bf16_rate", "FLOP/s", "bf16 rate", "number", "dense peak"),
    Column("bf16_ridge", "FLOP/B", "ridge", "number", "bf16 rate over bandwidth"),
    *ORIGIN_COLUMNS,
    Column("bandwidth_tb_per_s", "TB/s", "TB/s", "number", "bandwidth, for reading"),
    Column("bf16_tflop_per_s", "TFLOP/s", "bf16 TFLOP/s", "number", "bf16 rate, for reading"),
)
HARDWARE_LISTED = (
    "name",
    "title",
    "year",
    "memory",
    "bandwidth_tb_per_s",
    "bf16_tflop_per_s",
    "bf16_ridge",
)
MODEL_COLUMNS = (
    Column("name", "", "name", "text", "what to write after --target or --draft"),
    Column("title", "", "model", "text", "its full name"),
    Column("family", "", "family", "text", "the generation it belongs to"),
    Column("dtype", "", "dtype", "text", "storage type of the checkpoint"),
    Column("layers", "", "layers", "count", "number of layers"),
    Column("matmul_params", "", "matmul params", "count", "parameters one token multiplies"),
    Column("stored_params", "", "stored params", "count", "parameters that occupy memory"),
    Column("kv_bytes_per_token", "B", "KV/token", "bytes", "at 16 bits, windows ignored"),
    Column("trained_context", "tokens", "context", "count", "tokens it was trained for"),
    Column("window", "tokens", "window", "count", "how far its nearest-sighted layers look back"),
    Column("window_layers", "", "layers", "count", "layers with a window"),
    *ORIGIN_COLUMNS,
    Column("matmul_params_b", "1e9", "matmul 1e9", "number", "matmul params, for reading"),
    Column("stored_params_b", "1e9", "stored 1e9", "number", "stored params, for reading"),
)
MODELS_LISTED = (
    "name",
    "family",
    "layers",
    "matmul_params_b",
    "stored_params_b",
    "kv_bytes_per_token",
    "trained_context",
    "window",
)


@dataclass(frozen=True, slots=True)
class Filed(Generic[Card]):
    """A card, where it was read from, and the layer of the card of its name that it hides."""

    card: Card
    origin: Origin
    hides: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The scalars of a listing: cards in all, and how many come from each folder."""

    cards: int
    layers: Mapping[str, int]


def list_hardware(filed: Sequence[Filed[Hardware]]) -> Answer:
    """A row for each accelerator."""
    return listing(
        "hardware-list",
        filed,
        [_hardware_row(f.card) for f in filed],
        columns=HARDWARE_COLUMNS,
        shown=HARDWARE_LISTED,
        title=f"{len(filed)} accelerators",
        caption="Dense rates; ridge: FLOP per byte from which bf16 is compute-bound.",
    )


def list_models(filed: Sequence[Filed[Model]]) -> Answer:
    """A row for each model."""
    return listing(
        "models-list",
        filed,
        [_model_row(f.card) for f in filed],
        columns=MODEL_COLUMNS,
        shown=MODELS_LISTED,
        title=f"{len(filed)} models",
        caption="KV per token at 16 bits, as long as every layer sees every token.",
    )


def listing(
    command: str,
    filed: Sequence[Filed[Card]],
    rows: Iterable[Mapping[str, Scalar]],
    *,
    columns: tuple[Column, ...],
    shown: tuple[str, ...],
    title: str,
    caption: str,
) -> Answer:
    """Cards of one kind, a row for each, with where each comes from."""
    return Answer(
        command=command,
        value=counted(filed),
        table=table_of(
            columns, [{**row, **origin_row(f)} for row, f in zip(rows, filed, strict=True)]
        ),
        view=View(title=title, caption=(caption,), sections=(_listed(shown, filed),)),
        basis=BASIS,
        inputs=inputs_of(filed),
        notes=hiding_notes(filed),
    )


def inputs_of(filed: Sequence[Filed[Card]]) -> dict[str, Input]:
    """The cards that an answer rests on, by name."""
    return {
        f.card.name: Input(value=f.card.name, origin=f.origin.path, sha256=f.origin.sha256)
        for f in filed
    }


def hiding_notes(filed: Sequence[Filed[Card]]) -> tuple[str, ...]:
    """A sentence for each card that stands in another's place."""
    return tuple(
        f"{f.card.name} is read from {f.origin.path}, which hides the {f.hides} card of that name"
        for f in filed
        if f.hides
    )


def counted(filed: Sequence[Filed[Card]]) -> Listing:
    """How many cards come from each folder."""
    layers = Counter(f.origin.layer for f in filed)
    return Listing(len(filed), dict(sorted(layers.items())))


def _listed(columns: tuple[str, ...], filed: Sequence[Filed[Card]]) -> Rows:
    """The columns for people; where cards come from as soon as some are the user's."""
    own = any(f.origin.layer != PACKAGED for f in filed)
    return Rows(columns=(*columns, "layer") if own else columns)


def origin_row(filed: Filed[Card]) -> dict[str, Scalar]:
    """Where a card lies, as columns."""
    return {
        "aliases": " ".join(filed.card.aliases),
        "layer": filed.origin.layer,
        "path": filed.origin.path,
        "sha256": filed.origin.sha256,
        "hides": filed.hides or None,
    }


def _hardware_row(card: Hardware) -> dict[str, Scalar]:
    rate = card.rates.get(Dtype.BF16)
    return {
        "name": card.name,
        "title": card.title,
        "vendor": card.vendor,
        "year": card.year,
        "memory": card.memory,
        "memory_basis": card.memory_basis,
        "bandwidth": card.bandwidth,
        "bandwidth_tb_per_s": card.bandwidth / 1e12,
        "bf16_rate": rate,
        "bf16_tflop_per_s": None if rate is None else rate / 1e12,
        "bf16_ridge": None if rate is None else card.ridge(Dtype.BF16),
    }


def _model_row(card: Model) -> dict[str, Scalar]:
    arch = card.architecture
    windows = [
        (block.attention.window, block.repeat)
        for block in (arch.blocks if arch else ())
        if block.attention and block.attention.window
    ]
    matmul, stored = known(lambda: card.active_params), known(lambda: card.checkpoint_params)
    return {
        "name": card.name,
        "title": card.title,
        "family": card.family,
        "dtype": str(card.dtype),
        "layers": arch.layers if arch else None,
        "matmul_params": matmul,
        "matmul_params_b": None if matmul is None else matmul / 1e9,
        "stored_params": stored,
        "stored_params_b": None if stored is None else stored / 1e9,
        "kv_bytes_per_token": known(lambda: _kv_per_token(card)),
        "trained_context": card.trained_context,
        "window": min(windows)[0] if windows else None,
        "window_layers": sum(repeat for _, repeat in windows) if windows else None,
    }


def _kv_per_token(card: Model) -> float:
    """Bytes that a token leaves in cache at 16 bits: the card's figure, else derived."""
    if card.kv_bytes_per_token is not None:
        return card.kv_bytes_per_token
    return sum(g.elements_per_token for g in card.kv_groups) * KV_DTYPE.bytes_per_element
