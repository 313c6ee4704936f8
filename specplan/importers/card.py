"""A foreign description becomes a card, with the basis of every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specplan.domain.card import Source
from specplan.domain.heads import Drafts
from specplan.domain.imported import Derived, Extra, Imported
from specplan.domain.layers import Block, Part
from specplan.domain.model import KV_DTYPE, Model
from specplan.errors import InputError, Where
from specplan.importers.ggml_storage import gguf_storage
from specplan.importers.heads import Head, head_kind, head_of
from specplan.importers.hf import Config, described, drafting_layer, plain_name, shape_of
from specplan.importers.keys import Keys
from specplan.importers.quantised import Storage, storage
from specplan.importers.scales import scale_params
from specplan.importers.shape import Shape
from specplan.importers.source import Foreign
from specplan.importers.tensor import stored
from specplan.importers.towers import tower_params

LONGEST = (
    "max_position_embeddings",
    "seq_length",
    "max_sequence_length",
    "n_positions",
)
UNSTATED_GROUPS = (32, 16)  # of INT4 and NVFP4: trimmed copies of configs lack how they are stored
CLOSE = 0.005  # of a count: what a checkpoint may differ by and still be the same model


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to make of a source: a name, the target of a head, or the module that drafts (MTP)."""

    name: str = ""
    target: Model | None = None
    mtp: bool = False
    head: bool = False  # an EAGLE head even where its config reads as a model's


def imported(foreign: Foreign, wish: Wish) -> Imported:
    """The card of a source. Refused with its reason where a part of it is not modelled."""
    try:
        kind = head_kind(foreign.config)
        if not kind and _one_layer(foreign.config):
            if wish.target is None and not wish.head:
                raise InputError(
                    "one layer: a model of one layer or an EAGLE head, which its config cannot say",
                    hint="write --for TARGET if it drafts",
                )
            kind = "eagle"
        if kind:
            return _head(foreign, wish, kind)
        if wish.target is not None and not wish.mtp:
            return _drafting_model(foreign, wish)
        return _model(foreign, wish)
    except InputError as error:
        error.where = error.where or Where(foreign.origin)
        raise


def _one_layer(config: Mapping[str, object]) -> bool:
    inner = config.get("model")
    layers = config.get("num_hidden_layers")
    return layers == 1 or (config.get("model_type") == "eagle" and isinstance(inner, Mapping))


def _drafting_model(foreign: Foreign, wish: Wish) -> Imported:
    """A small model that drafts for a target: the same card, with its target named."""
    made = _model(foreign, wish)
    assert wish.target is not None  # noqa: S101 - its only caller asked
    drafts = Drafts(kind="model", targets=(wish.target.name,))
    first, *others = made.card.sources
    covering = replace(first, of=(*first.of, "drafts"))
    return replace(made, card=replace(made.card, drafts=drafts, sources=(covering, *others)))


def _model(foreign: Foreign, wish: Wish) -> Imported:
    config = described(foreign.config)
    shape = shape_of(config)
    if wish.mtp:
        return _module(foreign, wish, config, shape)
    kept = _storage(foreign, shape.layers)
    whole = replace(shape, layers=_stored_layers(shape.layers, kept))
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or foreign.name),
        title=foreign.name,
        family=plain_name(config.kind.removesuffix("_text").replace("_", "-")),
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=_context(config.keys),
        architecture=whole.architecture(),
        sources=_sources(foreign, "architecture", *_dated(config.keys)),
        notes=(*config.keys.notes, *_said(shape), *kept.notes),
    )
    extras = tuple(_extras(shape, scale_params(card, foreign.config)))
    return _finished(foreign, card, config, kept, extras, towered=shape.tower)


def _module(foreign: Foreign, wish: Wish, config: Config, shape: Shape) -> Imported:
    """The card of the module for multi-token prediction that comes with a model."""
    arch = drafting_layer(shape)
    if arch is None or not shape.drafting:
        hint = "no num_nextn_predict_layers, mtp_num_hidden_layers or num_mtp_modules"
        raise InputError("the config announces no layers that draft (MTP)", hint=hint)
    target = plain_name(wish.target.name if wish.target else foreign.name)
    kept = _storage(foreign, shape.layers)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or f"mtp-{target}"),
        title=f"MTP module of {foreign.name}",
        family="mtp",
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=_context(config.keys),
        architecture=arch,
        drafts=Drafts(kind="mtp", targets=(target,)),
        sources=_sources(foreign, "architecture", "drafts", *_dated(config.keys)),
        notes=(
            f"one of {shape.drafting} modules that the config announces, a layer like the model's "
            "own after the join of a state and an embedding; embedding and head are the model's",
        ),
    )
    return _finished(foreign, card, config, kept, ())


def _head(foreign: Foreign, wish: Wish, kind: str) -> Imported:
    keys = Keys(foreign.config)
    head = head_of(keys, kind, wish.target)
    kept = _storage(foreign, ())
    drafts = head.drafts
    inner = _inner(keys)
    shapes = {"medusa": head.medusa, "speculator": head.speculator}
    shaped = next((name for name, shape in shapes.items() if shape), "architecture")
    name = f"{drafts.kind}-{wish.target.name}" if wish.target else plain_name(foreign.name)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or name),
        title=foreign.name,
        family=plain_name(drafts.kind),
        dtype=kept.dtype,
        trained_context=_context(inner),
        architecture=head.architecture,
        medusa=head.medusa,
        speculator=head.speculator,
        drafts=drafts,
        sources=_sources(foreign, shaped, "drafts", *_dated(inner)),
        notes=(*keys.notes, *kept.notes),
    )
    config = Config(foreign.config, keys, kind)
    per_head = head.medusa.stored_params // head.medusa.heads if head.medusa else None
    extras = tuple(_copies(keys, head))
    return replace(_finished(foreign, card, config, kept, extras), per_head=per_head)


def _inner(keys: Keys) -> Keys:
    for name in ("transformer_layer_config", "model", "text_config"):
        if isinstance(keys.data.get(name), Mapping):
            return keys.within(name)
    return keys


def _finished(
    foreign: Foreign,
    card: Model,
    config: Config,
    kept: Storage,
    extras: tuple[Extra, ...],
    *,
    towered: bool = False,
) -> Imported:
    card, measured = _weighed(card, foreign, extras)
    return Imported(
        card=card,
        derived=(*_figures(card, kept), *_read(config.keys), *measured),
        notes=(*card.notes, *foreign.notes),
        extras=extras,
        tower=tower_params(foreign.config),
        towered=towered,
    )


def _figures(card: Model, kept: Storage) -> Iterator[Derived]:
    """What follows from the architecture, each with what it is a sum of."""
    shape = card.shape
    if shape is None:  # pragma: no cover - every import sets one
        return
    yield Derived("dtype", str(card.dtype), kept.basis)
    for part, dtype in card.parts.items():
        yield Derived(f"parts.{part}", str(dtype), "stored otherwise than the rest")
    multiplied = "projections, feed-forward or active experts, fusion and head, each once"
    yield Derived("matmul_params", f"{shape.matmul_params:,}", multiplied)
    everything = "everything stored: all experts, norms, biases, embedding; tied weights once"
    yield Derived("stored_params", f"{shape.stored_params:,}", everything)
    cache = sum(g.elements_per_token for g in card.kv_groups) * KV_DTYPE.bytes_per_element
    yield Derived("kv_bytes_per_token", f"{cache:,.0f}", "all layers at 16 bits, windows ignored")
    index = sum(g.index_bytes for g in card.kv_groups)
    if index:
        yield Derived("index_bytes_per_token", f"{index:,.0f}", "keys of the indexers, FP8")
    if card.state_bytes:
        yield Derived("state_bytes", f"{card.state_bytes:,.0f}", "recurrent state of a sequence")
    if kept.kv_dtype is not None:
        yield Derived("kv_dtype", str(kept.kv_dtype), "what the checkpoint asks for its cache")


def _read(keys: Keys) -> Iterator[Derived]:
    """What was read, and from which key or default."""
    for figure, said in keys.basis.items():
        value, _, basis = said.partition(": ")
        yield Derived(figure, value, basis)


def _storage(foreign: Foreign, layers: Sequence[Block]) -> Storage:
    if foreign.kind == "gguf":
        return gguf_storage(foreign.tensors)
    return storage(foreign.config, foreign.quant, layers)


def _stored_layers(layers: Sequence[Block], kept: Storage) -> list[Block]:
    return [
        replace(layer, parts=parts) if parts else layer
        for layer, parts in zip(layers, kept.by_layer or [{}] * len(layers), strict=True)
    ]


def _weighed(card: Model, foreign: Foreign, extras: Sequence[Extra]) -> tuple[Model, list[Derived]]:
    """The card with the exact bytes of its files, where their headers were there to be read."""
    if not foreign.tensors:
        return card, []
    whole = sum(tensor.bytes for tensor in foreign.tensors)
    elements = sum(tensor.elements for tensor in foreign.tensors)
    each = [
        Derived(f"stored as {s.dtype}", f"{s.bytes:,} B", f"{s.tensors:,} tensors' headers")
        for s in stored(foreign.tensors)
    ]
    shape = card.shape
    agrees = shape is not None and abs(elements / shape.stored_params - 1) <= CLOSE
    said = f"{elements:,} elements in {whole:,} bytes, by the headers of its files"
    if not agrees and not any(dtype.bytes_per_element < 2 for dtype in (card.dtype,)):
        more = ", ".join(extra.what for extra in extras) or "parts that no key names"
        said += f"; beyond the card's count they may hold {more}"
    source = Source(of=("stored_bytes",), kind="measured", cite=said)
    sources = (*card.sources, source)
    return replace(card, stored_bytes=float(whole), sources=sources), each


def _context(keys: Keys) -> int | None:
    """The longest context that a config allows; `model_max_length` says more where it is there."""
    longest = keys.maybe("model_max_length")
    if longest is None or longest > 2**27:
        return keys.maybe(*LONGEST)
    return longest


def _sources(foreign: Foreign, *covered: str) -> tuple[Source, ...]:
    cite = f"{foreign.origin}, sha256 {foreign.sha256[:12]}"
    return (Source(of=covered, kind="config", cite=cite),)


def _dated(keys: Keys) -> tuple[str, ...]:
    """The key of the trained context, where the config states one."""
    return ("trained_context",) if _context(keys) is not None else ()


def _said(shape: Shape) -> Iterator[str]:
    if shape.tower:
        yield "the language model alone: encoders of images or sound are not counted"
    if shape.drafting:
        modules = "module" if shape.drafting == 1 else "modules"
        yield f"{shape.drafting} {modules} for multi-token prediction (MTP) not counted"


def _extras(shape: Shape, scales: int) -> Iterator[Extra]:
    """What published counts hold beyond the model, most usual first."""
    wide = shape.vocab * shape.hidden
    if shape.tied:
        yield Extra("the tied head stored a second time", wide)
    module = drafting_layer(shape)
    if module is not None:
        count, told = max(shape.drafting, 1), shape.drafting > 0
        says = "" if told else ", which the config does not mention"
        params = count * module.stored_params
        yield Extra(f"the layers that draft (MTP{says})", params, announced=told)
        if not shape.drafting:  # MiMo-V2-Flash ships three and says none
            yield Extra("three layers that draft (MTP, unmentioned)", 3 * module.stored_params)
        yield Extra("copies of embedding and head beside them", 2 * wide)
    if scales:
        yield Extra("scales of the quantised blocks", scales, announced=True)
        return
    routed = sum(w.params for w in shape.architecture().weights() if w.part is Part.EXPERTS)
    for group in UNSTATED_GROUPS if routed else ():
        what = f"scales of experts in groups of {group}, a quantisation that the config leaves out"
        yield Extra(what, routed // group)


def _copies(keys: Keys, head: Head) -> Iterator[Extra]:
    arch = head.architecture
    vocab = _inner(keys).maybe("vocab_size")
    if arch is not None and vocab is not None:
        yield Extra("a copy of the target's embedding", vocab * arch.hidden)
        if vocab != arch.vocab:
            yield Extra("tables between the vocabularies", vocab + arch.vocab)
