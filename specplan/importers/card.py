"""A foreign description becomes a card, with the basis of every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specplan.domain.card import Source
from specplan.domain.heads import Drafts
from specplan.domain.imported import Derived, Extra, Imported
from specplan.domain.layers import Block
from specplan.domain.model import Model
from specplan.errors import InputError, Where
from specplan.importers.bounds import fits
from specplan.importers.figures import copies, extras, figures, read_from
from specplan.importers.ggml_storage import gguf_storage
from specplan.importers.heads import head_kind, head_of
from specplan.importers.hf import Config, described, drafting_layer, plain_name, shape_of
from specplan.importers.keys import Keys
from specplan.importers.layered import inner_of
from specplan.importers.quantised import Storage, storage
from specplan.importers.scales import scale_params
from specplan.importers.shape import Shape
from specplan.importers.source import Foreign
from specplan.importers.tensor import stored
from specplan.importers.towers import tower_params
from specplan.visible import visible

LONGEST = (
    "max_position_embeddings",
    "seq_length",
    "max_sequence_length",
    "n_positions",
)
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
        made = _made(foreign, wish)
        fits(made.card)
    except InputError as error:
        error.where = error.where or Where(visible(foreign.origin, 300))
        raise
    return made


def _made(foreign: Foreign, wish: Wish) -> Imported:
    kind = head_kind(foreign.config)
    if not kind and _one_layer(foreign.config):
        if wish.target is None and not wish.head:
            raise InputError(
                "one layer: a model of one layer or an EAGLE head, which its config cannot say",
                hint="write --for TARGET if it drafts",
            )
        kind = "eagle"
    if kind and wish.mtp:
        raise InputError(f"--mtp beside a drafter ({kind})", hint="leave --mtp away")
    if kind:
        return _head(foreign, wish, kind)
    if wish.target is not None and not wish.mtp:
        return _drafting_model(foreign, wish)
    return _model(foreign, wish)


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
    kept = _storage(foreign, shape)
    whole = replace(shape, layers=_stored_layers(shape.layers, kept))
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or foreign.name),
        title=_title(foreign),
        family=plain_name(config.kind.removesuffix("_text").replace("_", "-")),
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=_context(config.keys),
        architecture=whole.architecture(),
        sources=_sources(foreign, "architecture", *_dated(config.keys)),
        notes=(*config.keys.notes, *_said(shape), *kept.notes),
    )
    beyond = tuple(extras(shape, scale_params(card, foreign.config)))
    return _finished(foreign, card, config, kept, beyond, towered=shape.tower)


def _module(foreign: Foreign, wish: Wish, config: Config, shape: Shape) -> Imported:
    """The card of the module for multi-token prediction that comes with a model."""
    arch = drafting_layer(shape)
    count = shape.drafting or shape.unmentioned
    if arch is None or not count:
        hint = "no num_nextn_predict_layers, mtp_num_hidden_layers or num_mtp_modules"
        raise InputError("the config announces no layers that draft (MTP)", hint=hint)
    which = "the module" if count == 1 else f"one of {count} modules"
    said = "the config announces" if shape.drafting else "checkpoints hold and no config mentions"
    target = plain_name(wish.target.name if wish.target else foreign.name)
    kept = _storage(foreign, shape)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or f"mtp-{target}"),
        title=f"MTP module of {_title(foreign)}",
        family="mtp",
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=_context(config.keys),
        architecture=arch,
        drafts=Drafts(kind="mtp", targets=(target,)),
        sources=_sources(foreign, "architecture", "drafts", *_dated(config.keys)),
        notes=(
            f"{which} that {said}, a layer like the model's own after the join of "
            "a state and an embedding; embedding and head are the model's",
        ),
    )
    return _finished(foreign, card, config, kept, ())


def _head(foreign: Foreign, wish: Wish, kind: str) -> Imported:
    keys = Keys(foreign.config)
    head = head_of(keys, kind, wish.target)
    kept = _storage(foreign, None)
    drafts = head.drafts
    inner = inner_of(keys)
    shapes = {"medusa": head.medusa, "speculator": head.speculator}
    shaped = next((name for name, shape in shapes.items() if shape), "architecture")
    name = f"{drafts.kind}-{wish.target.name}" if wish.target else plain_name(foreign.name)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or name),
        title=_title(foreign),
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
    beyond = tuple(copies(keys, head))
    return replace(_finished(foreign, card, config, kept, beyond), per_head=per_head)


def _finished(
    foreign: Foreign,
    card: Model,
    config: Config,
    kept: Storage,
    beyond: tuple[Extra, ...],
    *,
    towered: bool = False,
) -> Imported:
    card, measured = _weighed(card, foreign, beyond)
    return Imported(
        card=card,
        derived=(*figures(card, kept), *read_from(config.keys), *measured),
        notes=(*card.notes, *foreign.notes),
        extras=beyond,
        tower=tower_params(foreign.config),
        towered=towered,
    )


def _storage(foreign: Foreign, shape: Shape | None) -> Storage:
    if foreign.kind == "gguf":
        return gguf_storage(foreign.tensors)
    if shape is None:
        return storage(foreign.config, foreign.quant, ())
    return storage(
        foreign.config, foreign.quant, shape.layers, hidden=shape.hidden, tied=shape.tied
    )


def _title(foreign: Foreign) -> str:
    return visible(foreign.name, 200) or "model"


def _stored_layers(layers: Sequence[Block], kept: Storage) -> list[Block]:
    return [
        replace(layer, parts=parts) if parts else layer
        for layer, parts in zip(layers, kept.by_layer or [{}] * len(layers), strict=True)
    ]


def _weighed(card: Model, foreign: Foreign, beyond: Sequence[Extra]) -> tuple[Model, list[Derived]]:
    """The card with the exact bytes of its files, where their headers were there to be read."""
    if not foreign.tensors:
        return card, []
    whole = sum(tensor.bytes for tensor in foreign.tensors)
    elements = sum(tensor.elements for tensor in foreign.tensors)
    each = [
        Derived(f"stored as {s.dtype}", f"{s.bytes:,} B", _headers(s.tensors))
        for s in stored(foreign.tensors)
    ]
    shape = card.shape
    agrees = shape is not None and abs(elements / shape.stored_params - 1) <= CLOSE
    said = f"{elements:,} elements in {whole:,} bytes, by the headers of its files"
    if not agrees and not any(dtype.bytes_per_element < 2 for dtype in (card.dtype,)):
        more = ", ".join(extra.what for extra in beyond) or "parts that no key names"
        said += f"; beyond the card's count they may hold {more}"
    source = Source(of=("stored_bytes",), kind="measured", cite=said)
    sources = (*card.sources, source)
    return replace(card, stored_bytes=float(whole), sources=sources), each


def _headers(tensors: int) -> str:
    return "header of one tensor" if tensors == 1 else f"headers of {tensors:,} tensors"


def _context(keys: Keys) -> int | None:
    """The longest context that a config allows; `model_max_length` says more where it is there."""
    longest = keys.maybe("model_max_length")
    if longest is None or longest > 2**27:
        return keys.maybe(*LONGEST)
    return longest


def _sources(foreign: Foreign, *covered: str) -> tuple[Source, ...]:
    cite = f"{visible(foreign.origin, 300)}, sha256 {foreign.sha256[:12]}"
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
