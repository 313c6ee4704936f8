"""Models and drafters in a table: which of them, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.answer import Answer, Column, Lines, Section
from specplan.domain.model import KV_DTYPE, Model
from specplan.questions.cards import (
    ORIGIN_COLUMNS,
    Listed,
    Order,
    Row,
    among,
    at_least,
    counted,
    known,
    listing,
    one_of_each,
    ordered,
    rows_of,
)
from specplan.questions.kinds import KINDS, is_head, kinds_of

COLUMNS = (
    Column("name", "", "name", "text", "what to write after --target or --draft"),
    Column("title", "", "model", "text", "its full name"),
    Column("family", "", "family", "text", "the generation it belongs to"),
    Column("kinds", "", "kind", "text", "what its layers are, or how it drafts"),
    Column("targets", "", "drafts for", "text", "models that it was trained to draft for"),
    Column("dtype", "", "dtype", "text", "storage type of the checkpoint"),
    Column("layers", "", "layers", "count", "number of layers"),
    Column("matmul_params", "", "matmul params", "count", "parameters one token multiplies"),
    Column("stored_params", "", "stored params", "count", "parameters that occupy memory"),
    Column("kv_bytes_per_token", "B", "KV/token", "bytes", "at 16 bits, windows ignored"),
    Column("state_bytes", "B", "state", "bytes", "recurrent state of a sequence"),
    Column("trained_context", "tokens", "context", "count", "tokens it was trained for"),
    Column("window", "tokens", "window", "count", "how far its nearest-sighted layers look back"),
    Column("window_layers", "", "layers", "count", "layers with a window"),
    *ORIGIN_COLUMNS,
    Column("matmul_params_b", "1e9", "active", "number", "matmul params, for reading"),
    Column("stored_params_b", "1e9", "stored", "number", "stored params, for reading"),
)
ASIDE = (
    Column("kind", "", "kind", "text", "the same without what the section says"),
    Column("paired", "", "drafts for", "text", "the first of its targets, and how many more"),
    Column("whole", "", "whole", "flag", "a language model"),
    Column("head", "", "head", "flag", "a head that only drafts"),
)
MODELS_SHOWN = (
    *("name", "kind", "matmul_params_b", "stored_params_b"),
    *("kv_bytes_per_token", "trained_context", "window"),
)
HEADS_SHOWN = ("name", "kind", "paired", "stored_params_b", "trained_context")
SORTS = {
    "name": Order(("name",)),
    "family": Order(("family", "stored_params")),
    "params": Order(("stored_params",), falling=True),
    "active": Order(("matmul_params",), falling=True),
    "kv": Order(("kv_bytes_per_token",), falling=True),
    "context": Order(("trained_context",), falling=True),
    "layers": Order(("layers",), falling=True),
}
"""Words after --sort; the largest figure first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsAsked:
    """Which models: of one of these kinds and families, and so on. `target` and its other names
    ask for what drafts for it; empty or None asks for nothing.
    """

    kinds: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    least_params: float | None = None
    most_params: float | None = None
    context: float | None = None
    target: tuple[str, ...] = ()
    sort: str = "name"
    reverse: bool = False


def list_models(listed: Sequence[Listed], asked: ModelsAsked | None = None) -> Answer:
    """A row for each model that was asked for."""
    asked = asked or ModelsAsked()
    found = ordered(_kept(listed, asked), SORTS[asked.sort], reverse=asked.reverse)
    return listing(
        "models-list",
        found,
        of=len(listed),
        columns=COLUMNS,
        aside=ASIDE,
        sections=tuple(_sections(found)),
        title=counted(len(found), len(listed), "models"),
        caption=(
            "Parameters in 1e9; active are those that one token multiplies.",
            "KV per token at 16 bits, as long as every layer sees every token.",
        ),
    )


def _kept(listed: Sequence[Listed], asked: ModelsAsked) -> Iterator[Listed]:
    kinds = among("--kind", "kind", asked.kinds, KINDS)
    families = one_of_each("--family", "family", asked.families, listed, "family")
    for one in listed:
        row = one.row
        targets = str(row["targets"] or "").split()
        if (
            (not kinds or kinds.intersection(str(row["kinds"]).split()))
            and (not families or row["family"] in families)
            and at_least(row, "stored_params", asked.least_params, asked.most_params)
            and at_least(row, "trained_context", asked.context)
            and (not asked.target or not set(asked.target).isdisjoint(targets))
        ):
            yield one


def _sections(found: Sequence[Listed]) -> Iterator[Section]:
    """Language models, then heads that only draft."""
    whole = [one for one in found if one.row["whole"]]
    yield rows_of(found, MODELS_SHOWN, where="whole")
    if len(whole) < len(found):
        if whole:
            yield Lines(("Heads that draft on a target's hidden states:",))
        yield rows_of(found, HEADS_SHOWN, where="head")


def model_row(card: Model) -> Row:
    """The figures of one model."""
    arch = card.architecture
    windows = [
        (block.attention.window, block.repeat)
        for block in (arch.blocks if arch else ())
        if block.attention and block.attention.window
    ]
    targets = card.drafts.targets if card.drafts else ()
    matmul, stored = known(lambda: card.active_params), known(lambda: card.checkpoint_params)
    return {
        "name": card.name,
        "title": card.title,
        "family": card.family,
        "kinds": " ".join(kinds_of(card)),
        "targets": " ".join(targets) or None,
        "dtype": str(card.dtype),
        "layers": arch.layers if arch else None,
        "matmul_params": matmul,
        "matmul_params_b": None if matmul is None else matmul / 1e9,
        "stored_params": stored,
        "stored_params_b": None if stored is None else stored / 1e9,
        "kv_bytes_per_token": known(lambda: _kv_per_token(card)),
        "state_bytes": card.state_bytes or None,
        "trained_context": card.trained_context,
        "window": min(windows)[0] if windows else None,
        "window_layers": sum(repeat for _, repeat in windows) if windows else None,
        "kind": " ".join(k for k in kinds_of(card) if "draft" not in k) or None,
        "paired": f"{targets[0]} +{len(targets) - 1}".removesuffix(" +0") if targets else None,
        "whole": not is_head(card),
        "head": is_head(card),
    }


def _kv_per_token(card: Model) -> float:
    """Bytes that a token leaves in cache at 16 bits: the card's figure, else derived."""
    if card.kv_bytes_per_token is not None:
        return card.kv_bytes_per_token
    return sum(g.elements_per_token for g in card.kv_groups) * KV_DTYPE.bytes_per_element
