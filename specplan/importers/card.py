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
from specplan.importers.checkpoint import agrees
from specplan.importers.context import Longest, longest
from specplan.importers.figures import copies, extras, figures, read_from
from specplan.importers.ggml_storage import gguf_storage
from specplan.importers.headers import CLOSE, held_to
from specplan.importers.heads import head_kind, head_of
from specplan.importers.hf import Config, described, drafting_layer, plain_name, shape_of
from specplan.importers.keys import Keys
from specplan.importers.layered import inner_of
from specplan.importers.quantised import SIDECAR, Storage, storage
from specplan.importers.scales import integer_scales, scale_params, with_scales
from specplan.importers.shape import Shape
from specplan.importers.source import Foreign
from specplan.importers.tensor import stored
from specplan.importers.towers import tower_params
from specplan.visible import visible

NO_TARGET = "no target is named: --for TARGET names it"


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
    if foreign.kind != "gguf":  # whose reader holds its header to its tensors
        agrees(shape, foreign.tensors)
    kept = _storage(foreign, shape)
    whole = replace(shape, layers=_stored_layers(shape.layers, kept))
    seen = _context(foreign, config)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or foreign.name),
        title=_title(foreign),
        family=plain_name(config.kind.removesuffix("_text").replace("_", "-")),
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=seen.tokens,
        architecture=whole.architecture(),
        sources=_sources(foreign, seen, "architecture"),
        notes=(*config.keys.notes, *_said(shape, config), *seen.notes, *_stored(kept)),
    )
    scales = scale_params(card, foreign.config)
    if kept.groups:
        scales = integer_scales(card, kept.groups) or 0
    beyond = tuple(extras(shape, scales))
    if not foreign.tensors:
        card = with_scales(card, kept.groups)
    return _finished(foreign, card, config, kept, beyond, towered=shape.tower)


def _module(foreign: Foreign, wish: Wish, config: Config, shape: Shape) -> Imported:
    """The card of the module for multi-token prediction that comes with a model."""
    count = shape.drafting or shape.unmentioned
    kept = _storage(foreign, replace(shape, layers=shape.mtp), after=len(shape.layers))
    arch = drafting_layer(replace(shape, mtp=_stored_layers(shape.mtp, kept)))
    if arch is None or not count:
        hint = "no num_nextn_predict_layers, mtp_num_hidden_layers or num_mtp_modules"
        raise InputError("the config announces no layers that draft (MTP)", hint=hint)
    which = "The module" if count == 1 else f"One of the {count} modules, one for each position,"
    said = "the config announces" if shape.drafting else "checkpoints hold and no config mentions"
    target = plain_name(wish.target.name if wish.target else foreign.name)
    seen = _context(foreign, config)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or f"mtp-{target}"),
        title=f"MTP module of {_title(foreign)}",
        family="mtp",
        dtype=kept.dtype,
        parts=kept.parts,
        trained_context=seen.tokens,
        architecture=arch,
        drafts=Drafts(kind="mtp", targets=(target,), modules=count),
        sources=_sources(foreign, seen, "architecture", "drafts"),
        notes=(
            f"{which} that {said}, a layer like the model's own after the join of "
            "a state and an embedding; embedding and head are the model's.",
            *seen.notes,
            *_stored(kept),
        ),
    )
    return _finished(foreign, card, config, kept, ())


def _head(foreign: Foreign, wish: Wish, kind: str) -> Imported:
    keys = Keys(foreign.config)
    head = head_of(keys, kind, wish.target)
    kept = _storage(foreign, None)
    drafts = head.drafts
    seen = longest(inner_of(keys)) if head.architecture else Longest(None)
    shapes = {"medusa": head.medusa, "speculator": head.speculator}
    shaped = next((name for name, shape in shapes.items() if shape), "architecture")
    name = f"{drafts.kind}-{wish.target.name}" if wish.target else plain_name(foreign.name)
    card = Model(
        schema="model/1",
        name=plain_name(wish.name or name),
        title=_title(foreign),
        family=plain_name(drafts.kind),
        dtype=kept.dtype,
        trained_context=seen.tokens,
        architecture=head.architecture,
        medusa=head.medusa,
        speculator=head.speculator,
        drafts=drafts,
        sources=_sources(foreign, seen, shaped, "drafts"),
        notes=(*keys.notes, *seen.notes, *_stored(kept)),
    )
    config = Config(foreign.config, keys, kind)
    per_head = head.medusa.stored_params // head.medusa.heads if head.medusa else None
    beyond = tuple(copies(keys, head))
    made = _finished(foreign, card, config, kept, beyond)
    notes = made.notes if wish.target else (*made.notes, NO_TARGET)
    return replace(made, notes=notes, per_head=per_head)


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


def _storage(foreign: Foreign, shape: Shape | None, after: int | None = None) -> Storage:
    if foreign.kind == "gguf":
        return gguf_storage(foreign.tensors)
    if shape is None:
        return storage(foreign.config, foreign.quant, ())
    return storage(
        foreign.config,
        foreign.quant,
        shape.layers,
        hidden=shape.hidden,
        tied=shape.tied,
        after=after,
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
    sums = stored(foreign.tensors)
    if foreign.kind != "gguf":  # whose types are read from the tensors themselves
        card = held_to(card, sums)
    whole, elements = sum(s.bytes for s in sums), sum(s.elements for s in sums)
    each = [Derived(f"stored as {s.dtype}", f"{s.bytes:,} B", _headers(s.tensors)) for s in sums]
    shape = card.shape
    said = f"{elements:,} elements in {whole:,} bytes, by the headers of its files"
    if shape is not None and elements > (1 + CLOSE) * shape.stored_params and _wide(card):
        more = ", ".join(extra.what for extra in beyond) or "parts that no key names"
        said += f"; beyond the card's count they may hold {more}"
    source = Source(of=("stored_bytes",), kind="measured", cite=said)
    sources = (*card.sources, source)
    return replace(card, stored_bytes=float(whole), sources=sources), each


def _wide(card: Model) -> bool:
    """Whether weights are stored one by one, in 16 bits or more."""
    return card.dtype.bytes_per_element >= 2


def _headers(tensors: int) -> str:
    return "header of one tensor" if tensors == 1 else f"headers of {tensors:,} tensors"


def _context(foreign: Foreign, config: Config) -> Longest:
    """The context of a model; a GGUF header leaves nothing to a class."""
    return longest(config.keys, "" if foreign.kind == "gguf" else config.kind)


def _sources(foreign: Foreign, seen: Longest, *covered: str) -> tuple[Source, ...]:
    cite = f"{visible(foreign.origin, 300)}, sha256 {foreign.sha256[:12]}"
    if foreign.quant is not None:
        cite += f"; {SIDECAR} beside it, sha256 {foreign.quant_sha256[:12]}"
    first = Source(of=(*covered, *seen.covered), kind="config", cite=cite)
    return (first, *seen.sources)


def _said(shape: Shape, config: Config) -> Iterator[str]:
    if shape.tower:
        what = "images or sound" if config.hears else "images"
        yield f"The language model alone: encoders of {what} are not counted."
    if shape.drafting:
        modules = "module" if shape.drafting == 1 else f"{shape.drafting} modules"
        are = "is" if shape.drafting == 1 else "are"
        yield f"The {modules} for multi-token prediction (MTP) {are} not counted."


def _stored(kept: Storage) -> Iterator[str]:
    """What to say of types; a cache that the checkpoint asks for does not change the card's."""
    yield from kept.notes
    if kept.kv_dtype is not None:
        asked = str(kept.kv_dtype).upper()
        yield (
            f"The checkpoint asks for a cache in {asked}; the figure here is at 16 bits, as on "
            "every card."
        )
