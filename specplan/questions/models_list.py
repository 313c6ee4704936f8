"""Models and drafters in a table: which of them, in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from specplan.domain.answer import Answer, Column, Lines, Rows, Section
from specplan.domain.model import Model, token_bytes
from specplan.questions.cards import (
    ORIGIN_COLUMNS,
    Listed,
    Order,
    Row,
    counted,
    known,
    listing,
    ordered,
    rows_of,
)
from specplan.questions.kinds import is_head, kinds_of
from specplan.questions.models_asked import COULD, ModelsAsked, families_left, kept, nearest_first

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
    Column("vocab", "", "vocabulary", "count", "tokens of the head"),
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
COULD_DRAFT = Column(COULD, "", "could", "flag", "not trained for the target, and fit for it")
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
SORTED_BY = {
    "name": "name",
    "family": "family",
    "params": "stored_params_b",
    "active": "matmul_params_b",
    "kv": "kv_bytes_per_token",
    "context": "trained_context",
    "layers": "layers",
}
"""The column for people of each."""


def list_models(listed: Sequence[Listed], asked: ModelsAsked | None = None) -> Answer:
    """A row for each model that was asked for."""
    asked = asked or ModelsAsked()
    found = ordered(kept(listed, asked), SORTS[asked.sort], reverse=asked.reverse)
    found = nearest_first(found, asked)
    sections = tuple(_sections(found, asked.sort))
    shown = {name for part in sections if isinstance(part, Rows) for name in part.columns}
    return listing(
        "models-list",
        found,
        of=len(listed),
        columns=COLUMNS,
        aside=(*ASIDE, COULD_DRAFT),
        sections=sections if found else tuple(_instead(listed, asked)),
        title=counted(len(found), len(listed), "models"),
        caption=tuple(_legend(shown)),
    )


def _sections(found: Sequence[Listed], sort: str) -> Iterator[Section]:
    """Language models, then heads that only draft, then what could draft for the target."""
    whole, heads, could = (any(one.row[flag] for one in found) for flag in ("whole", "head", COULD))
    if whole:
        yield rows_of(found, _with(MODELS_SHOWN, sort), where="whole")
    if heads:
        if whole:
            yield Lines(("Heads that draft on a target's hidden states:",))
        shown = _with(HEADS_SHOWN, sort)
        yield rows_of(found, shown, where="head")
    if could:
        yield Lines(("Not trained for it, but of its vocabulary and small enough to draft:",))
        yield rows_of(found, _with(MODELS_SHOWN, sort), where=COULD)


def _with(shown: tuple[str, ...], sort: str) -> tuple[str, ...]:
    """The columns for people, and what they are sorted by behind the kind."""
    by = SORTED_BY[sort]
    return shown if by in shown else (*shown[:2], by, *shown[2:])


def _legend(shown: Collection[str]) -> Iterator[str]:
    """What the columns that are shown mean."""
    active = "; active are those that one token multiplies" if "matmul_params_b" in shown else ""
    yield f"Parameters in 1e9{active}."
    if "kv_bytes_per_token" in shown:
        yield "KV per token at 16 bits, as long as every layer sees every token."


def _instead(listed: Sequence[Listed], asked: ModelsAsked) -> Iterator[Section]:
    """Where families were asked for in vain, those that there are."""
    left = families_left(listed, asked) if asked.families else ()
    if left:
        yield Lines((f"Families of what matches otherwise: {', '.join(left)}.",), wrap=True)


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
        "vocab": card.shape.vocab if card.shape else None,
        "kind": " ".join(k for k in kinds_of(card) if "draft" not in k) or None,
        "paired": f"{targets[0]} +{len(targets) - 1}".removesuffix(" +0") if targets else None,
        "whole": not is_head(card),
        "head": is_head(card),
    }


def _kv_per_token(card: Model) -> float:
    """Bytes that a token leaves in cache at 16 bits: the card's figure, else derived."""
    if card.kv_bytes_per_token is not None:
        return card.kv_bytes_per_token
    return token_bytes(card.kv_groups)
