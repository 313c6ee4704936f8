"""The figures of a card, stated and derived, in one order for every card of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specplan.domain.answer import Scalar
from specplan.domain.card import Dtype
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Attention, Block, Experts, Mlp
from specplan.domain.model import KV_DTYPE, Model
from specplan.errors import Refused
from specplan.physics.roofline import kv_bytes
from specplan.rules.cards import covering
from specplan.units import people, significant

CONTEXTS = (2048, 8192, 32768, 131072)
DERIVED = "derived"
MISSING = "-"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its key in the card (or `derived.` and a name), SI value, and how people read it.

    `sources` holds the numbers of the card's sources that cover it, or the word "derived".
    """

    key: str
    label: str
    unit: str
    value: Scalar
    text: str
    sources: str


def hardware_figures(card: Hardware) -> list[Figure]:
    """Every figure that any accelerator may have; the value is None where this one has none."""

    def stated(key: str, label: str, unit: str, value: float | None, more: str = "") -> Figure:
        return _stated(card, key, label, unit, value, more)

    basis = f" ({card.memory_basis})"
    return [
        stated("year", "year", "", card.year),
        *(stated(f"rates.{d}", f"{d} rate", "FLOP/s", card.rates.get(d)) for d in Dtype),
        stated("bandwidth", "bandwidth", "B/s", card.bandwidth),
        stated("memory", "memory", "B", card.memory, basis),
        stated("l2", "L2 cache", "B", card.l2),
        stated("link", "link, per direction", "B/s", card.link),
        stated("tdp", "power limit", "W", card.tdp),
        *(_derived(f"ridge.{d}", f"{d} ridge point", "FLOP/B", _ridge(card, d)) for d in Dtype),
    ]


def model_figures(card: Model) -> list[Figure]:
    """Every figure that any model may have; the value is None where this one has none."""
    arch = card.architecture
    kv_per_token = (
        sum(g.elements_per_token for g in arch.kv_groups) * KV_DTYPE.bytes_per_element
        if arch
        else None
    )
    return [
        _stated(card, "trained_context", "trained context", "tokens", card.trained_context),
        *_agreeing(
            card, "matmul_params", "matmul params", card.matmul_params, arch and arch.matmul_params
        ),
        *_agreeing(
            card, "stored_params", "stored params", card.stored_params, arch and arch.stored_params
        ),
        *_agreeing(
            card, "kv_bytes_per_token", "KV per token", card.kv_bytes_per_token, kv_per_token
        ),
        *_shape(card),
        *(_cache(card, context) for context in CONTEXTS),
        *(_weights(card, dtype) for dtype in Dtype),
    ]


def block_words(block: Block) -> str:
    """Equal layers in one line: "13 layers: 8 heads, 4 KV heads of 256, last 4,096 tokens; ..."."""
    parts = [
        _attention_words(block.attention) if block.attention else "",
        f"recurrent state of {people(block.recurrent.state_bytes, 'B')}" if block.recurrent else "",
        _mlp_words(block.mlp) if block.mlp else "",
        _experts_words(block.experts) if block.experts else "",
        f"{block.norms} norms",
    ]
    return f"{block.repeat} layers: {'; '.join(part for part in parts if part)}"


def known(figure: Callable[[], float]) -> float | None:
    """The figure, or None for a card that neither states nor derives it."""
    try:
        return figure()
    except Refused:
        return None


def _stated(
    card: Hardware | Model, key: str, label: str, unit: str, value: float | None, more: str = ""
) -> Figure:
    numbers = covering(tuple(key.split(".")), card.sources)
    text = MISSING if value is None else _text(value, unit) + more
    return Figure(key, label, unit, value, text, " ".join(map(str, numbers)))


def _derived(key: str, label: str, unit: str, value: Scalar, more: str = "") -> Figure:
    text = MISSING if value is None else _text(value, unit) + more
    return Figure(f"derived.{key}", label, unit, value, text, DERIVED)


def _agreeing(
    card: Model, key: str, label: str, stated: float | None, derived: float | None
) -> Iterator[Figure]:
    """The stated figure and the derived one, which says how far the stated one lies from it."""
    unit = "B" if key.startswith("kv") else ""
    yield _stated(card, key, label, unit, stated)
    more = ""
    if stated is not None and derived:
        off = stated / derived - 1
        more = " (stated exactly)" if off == 0 else f" (stated {100 * off:+.2f} %)"
    yield _derived(key, f"{label}, derived", unit, derived, more)


def _shape(card: Model) -> Iterator[Figure]:
    arch = card.architecture
    shape: tuple[tuple[str, str, Scalar], ...] = (
        ("hidden", "hidden width", arch and arch.hidden),
        ("vocab", "vocabulary", arch and arch.vocab),
        ("tied_embeddings", "tied head", arch and arch.tied_embeddings),
    )
    for key, label, value in shape:
        numbers = covering(("architecture", key), card.sources)
        text = MISSING if value is None else _text(value, "")
        sources = " ".join(map(str, numbers))
        yield Figure(f"architecture.{key}", label, "", value, text, sources)
    yield _derived("layers", "layers", "", arch and arch.layers)


def _cache(card: Model, context: int) -> Figure:
    value = known(lambda: float(kv_bytes(card, context, KV_DTYPE)))
    beyond = card.trained_context is not None and context > card.trained_context
    more = " (beyond its context)" if beyond else ""
    label = f"KV at {context // 1024}k tokens"
    return _derived(f"kv_bytes.{context}", label, "B", value, more)


def _weights(card: Model, dtype: Dtype) -> Figure:
    value = known(lambda: card.checkpoint_params * dtype.bytes_per_element)
    return _derived(f"weights_bytes.{dtype}", f"weights as {dtype}", "B", value)


def _ridge(card: Hardware, dtype: Dtype) -> float | None:
    return card.ridge(dtype) if dtype in card.rates else None


def _text(value: Scalar, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if unit == "FLOP/B":
        return f"{significant(value)} FLOP/B"
    if unit:
        return people(value, unit)
    return f"{value:,.0f}" if value > 9999 else f"{value:.0f}"


def _attention_words(attention: Attention) -> str:
    seen = "all tokens" if attention.window is None else f"last {attention.window:,} tokens"
    extras = [
        name
        for name, present in (
            ("q, k, v bias", attention.qkv_bias),
            ("output bias", attention.out_bias),
            ("q, k norm", attention.qk_norm),
        )
        if present
    ]
    heads = f"{attention.heads} heads, {attention.kv_heads} KV heads of {attention.head_dim}"
    return ", ".join((heads, seen, *extras))


def _mlp_words(mlp: Mlp) -> str:
    return f"{'gated ' if mlp.gated else ''}MLP of {mlp.width:,}{', bias' if mlp.bias else ''}"


def _experts_words(experts: Experts) -> str:
    shared = f", shared of {experts.shared_width:,}" if experts.shared_width else ""
    return f"{experts.active} of {experts.experts} experts of {experts.width:,}{shared}"
