"""The figures of a card, stated and derived, in one order for every card of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from specplan.domain.answer import Scalar
from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype, Source
from specplan.domain.hardware import Hardware
from specplan.domain.layers import Block, Experts, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import KV_DTYPE, Model
from specplan.physics.roofline import kv_bytes
from specplan.questions.cards import known
from specplan.rules.cards import covering
from specplan.units import people, significant

CONTEXTS = (2048, 8192, 32768, 131072)
DERIVED = "derived"
_SCALES = {
    "FLOP/s": ((1e12, "TFLOP/s"),),
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s")),
}
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


class _Fact(NamedTuple):
    """A figure before it is put in words; `more` follows its text."""

    key: str
    label: str
    unit: str
    value: Scalar
    more: str = ""


def hardware_figures(card: Hardware) -> list[Figure]:
    """Every figure that any accelerator may have; the value is None where this one has none."""
    facts = [
        _Fact("year", "year", "year", card.year),
        *(_Fact(f"rates.{d}", f"{d} rate", "FLOP/s", card.rates.get(d)) for d in Dtype),
        _Fact("bandwidth", "bandwidth", "B/s", card.bandwidth),
        _Fact("memory", "memory", "B", card.memory, _capacity(card)),
        _Fact("units", "multiprocessors", "", card.units),
        _Fact("l2", "L2 cache", "B", card.l2),
        _Fact("link", "link, per direction", "B/s", card.link),
        _Fact("tdp", "power limit", "W", card.tdp),
        *(
            _Fact(f"derived.ridge.{d}", f"{d} ridge point", "FLOP/B", _ridge(card, d))
            for d in Dtype
        ),
    ]
    return _figures(facts, card.sources)


def model_figures(card: Model) -> list[Figure]:
    """Every figure that any model may have; the value is None where this one has none."""
    arch = card.architecture
    matmul, stored = (arch.matmul_params, arch.stored_params) if arch else (None, None)
    facts = [
        _Fact("trained_context", "trained context", "tokens", card.trained_context),
        *_agreeing("matmul_params", "matmul params", "", card.matmul_params, matmul),
        *_agreeing("stored_params", "stored params", "", card.stored_params, stored),
        *_agreeing("kv_bytes_per_token", "KV per token", "B", card.kv_bytes_per_token, _kv(arch)),
        _Fact("architecture.hidden", "hidden width", "", arch.hidden if arch else None),
        _Fact("architecture.vocab", "vocabulary", "", arch.vocab if arch else None),
        _Fact(
            "architecture.tied_embeddings", "tied head", "", arch.tied_embeddings if arch else None
        ),
        _Fact("derived.layers", "layers", "", arch.layers if arch else None),
        *(_cache(card, context) for context in CONTEXTS),
        *(_weights(card, dtype) for dtype in Dtype),
    ]
    return _figures(facts, card.sources)


def block_words(block: Block) -> str:
    """Equal layers in one line: "13 layers: 8 heads, 4 KV heads of 256, last 4,096 tokens; ..."."""
    parts = [
        _attention_words(block.attention) if block.attention else "",
        f"state of {people(block.state_mixer.state_bytes, 'B')}" if block.state_mixer else "",
        _mlp_words(block.mlp) if block.mlp else "",
        _experts_words(block.experts) if block.experts else "",
        f"{block.norms} norms",
    ]
    return f"{block.repeat} layers: {'; '.join(part for part in parts if part)}"


def _figures(facts: Iterable[_Fact], sources: tuple[Source, ...]) -> list[Figure]:
    return [
        Figure(
            key=fact.key,
            label=fact.label,
            unit=fact.unit,
            value=fact.value,
            text=MISSING if fact.value is None else _text(fact.value, fact.unit) + fact.more,
            sources=_cites(fact.key, sources),
        )
        for fact in facts
    ]


def _cites(key: str, sources: tuple[Source, ...]) -> str:
    first, *rest = key.split(".")
    if first == DERIVED:
        return DERIVED
    return " ".join(map(str, covering((first, *rest), sources)))


def _agreeing(key: str, label: str, unit: str, *pair: float | None) -> Iterator[_Fact]:
    """The stated figure and the derived one, which says how far the stated one lies from it."""
    stated, derived = pair
    yield _Fact(key, label, unit, stated)
    more = ""
    if stated is not None and derived:
        off = stated / derived - 1
        more = f" (stated {100 * off:+.2g} %)" if off else " (as stated)"
    yield _Fact(f"derived.{key}", f"{label}, derived", unit, derived, more)


def _kv(arch: Architecture | None) -> float | None:
    """Bytes of one token at 16 bits over all layers, windows ignored."""
    if arch is None:
        return None
    return sum(g.elements_per_token for g in arch.kv_groups) * KV_DTYPE.bytes_per_element


def _cache(card: Model, context: int) -> _Fact:
    value = known(lambda: float(kv_bytes(card, context, KV_DTYPE)))
    beyond = card.trained_context is not None and context > card.trained_context
    more = " (beyond its context)" if beyond else ""
    label = f"KV at {context // 1024}k tokens"
    return _Fact(f"derived.kv_bytes.{context}", label, "B", value, more)


def _weights(card: Model, dtype: Dtype) -> _Fact:
    value = known(lambda: card.checkpoint_params * dtype.bytes_per_element)
    return _Fact(f"derived.weights_bytes.{dtype}", f"weights as {dtype}", "B", value)


def _capacity(card: Hardware) -> str:
    """The capacity as its basis counts it: whole MiB by the driver, decimal GB on the label."""
    mib = card.memory / 2**20
    exact = f"{mib:,.0f} MiB" if mib.is_integer() else f"{card.memory / 1e9:,.6g} GB"
    return f" ({exact}, {card.memory_basis})"


def _ridge(card: Hardware, dtype: Dtype) -> float | None:
    return card.ridge(dtype) if dtype in card.rates else None


def _text(value: Scalar, unit: str) -> str:
    """The figure with its unit; rates keep all the digits that cards state."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if unit in _SCALES:
        scale, spelling = next((s for s in _SCALES[unit] if value >= s[0]), _SCALES[unit][-1])
        return f"{value / scale:,.6g} {spelling}"
    if unit == "FLOP/B":
        return f"{significant(value)} FLOP/B"
    if unit == "year":
        return str(value)
    return people(value, unit) if unit else f"{value:,.0f}"


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
