"""How a checkpoint is stored: by the type that its config names, or as its quantisation says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from specplan.domain.card import Dtype
from specplan.domain.layers import Block, Part
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.quant_modules import (
    OUTSIDE,
    Module,
    drafting_modules,
    layer_modules,
)
from specplan.importers.quant_parts import assigned, group_sizes
from specplan.importers.quant_scheme import Scheme, scheme_of
from specplan.visible import visible

_SHOWN = 40
SIDECAR: Final = "hf_quant_config.json"
NESTED: Final = (
    "text_config",
    "language_config",
    "llm_config",
    "transformer_layer_config",
    "model",
)
"""Where files keep the language model's part of a config."""
PLAIN: Final = {
    "float32": Dtype.FP32,
    "bfloat16": Dtype.BF16,
    "float16": Dtype.FP16,
    "half": Dtype.FP16,
    "float": Dtype.FP32,
}
FLAGS: Final = {"bf16": Dtype.BF16, "fp16": Dtype.FP16, "fp32": Dtype.FP32}
"""Keys of the first Qwen, one of them true."""
UNNAMED: Final = "The file names no dtype: weights that are not quantised are taken as bf16."


@dataclass(frozen=True, slots=True)
class Storage:
    """The types of a checkpoint: `dtype`, what `parts` store otherwise, and what each layer does
    otherwise than these; `kv_dtype` is what the file asks for its cache. `basis` says where the
    types are from. `groups` are the weights of 4-bit integers that share a scale, by part: None
    where each row has one, 0 where modules of a part differ in that or in their type.
    """

    dtype: Dtype
    basis: str
    parts: dict[Part, Dtype] = field(default_factory=dict)
    by_layer: tuple[dict[Part, Dtype], ...] = ()
    kv_dtype: Dtype | None = None
    notes: tuple[str, ...] = ()
    groups: dict[Part, int | None] = field(default_factory=dict)


def storage(
    config: Mapping[str, object],
    sidecar: Mapping[str, object] | None,
    layers: Sequence[Block],
    *,
    hidden: int | None = None,
    tied: bool | None = None,
    after: int | None = None,
) -> Storage:
    """How the layers of a config are stored, and what lies outside them. `sidecar` is the
    hf_quant_config.json beside it, which has the last word; `hidden` and `tied` (whether the head
    is the embedding) are read where they are not given. The layers are those of a module that
    drafts where they come `after` so many of the model's.
    """
    parts = tuple(_parts(config))
    base, basis, notes = _unquantised(parts)
    if tied is None:
        tied = any(part.data.get("tie_word_embeddings") is True for part in parts)
    schemes = [scheme_of(quant, tied=tied) for quant in _quantisations(parts, sidecar)]
    if not schemes:
        return Storage(base, basis, by_layer=tuple({} for _ in layers), notes=notes)
    width = hidden or (_hidden(parts) if layers else 1)
    modules = _modules(layers, width, after)
    types = [[_types(scheme, each, base) for each in (*modules, OUTSIDE)] for scheme in schemes]
    cache, more = _agreeing(schemes, types)
    notes += more
    if after is not None and all(dtype is base for of in types[0][:-1] for dtype in of):
        notes += (f"The quantisation leaves this module out: it is stored in {base}.",)
        return Storage(base, basis, {}, tuple({} for _ in layers), cache, notes)
    typed = [
        list(zip(each, of, strict=True))
        for each, of in zip((*modules, OUTSIDE), types[0], strict=True)
    ]
    found = assigned(typed[:-1], typed[-1], base)
    notes += schemes[0].notes + found.notes
    sizes = group_sizes(typed, schemes[0].size_of)
    basis = schemes[0].basis
    return Storage(found.dtype, basis, found.parts, found.by_layer, cache, notes, sizes)


def _agreeing(
    schemes: Sequence[Scheme], types: Sequence[object]
) -> tuple[Dtype | None, tuple[str, ...]]:
    """The type asked for the cache, and where sidecar and config disagree: the first counts."""
    notes: tuple[str, ...] = ()
    if any(other != types[0] for other in types[1:]):
        notes += (f"The types are those of {SIDECAR}: quantization_config names others.",)
    caches = dict.fromkeys(each.cache for each in schemes if each.cache)
    if len(caches) > 1:
        notes += (f"The cache is what {SIDECAR} asks for: quantization_config asks for another.",)
    return next(iter(caches), None), notes


def _modules(layers: Sequence[Block], hidden: int, after: int | None) -> list[tuple[Module, ...]]:
    """The matrices of each layer: of a model, or of a module that drafts `after` its layers."""
    if after is None:
        return [layer_modules(number, block, hidden) for number, block in enumerate(layers)]
    return [drafting_modules(after, place, block, hidden) for place, block in enumerate(layers)]


def _types(scheme: Scheme, modules: Sequence[Module], base: Dtype) -> list[Dtype]:
    return [scheme.type_of(module) or base for module in modules]


def _parts(config: Mapping[str, object]) -> Iterator[Keys]:
    """The config, and the language model within it."""
    keys = Keys(config)
    yield keys
    for name in NESTED:
        if isinstance(config.get(name), Mapping):
            yield keys.within(name)


def _quantisations(parts: Sequence[Keys], sidecar: Mapping[str, object] | None) -> Iterator[Keys]:
    """What says how a checkpoint is quantised: its sidecar first."""
    if sidecar is not None:
        beside = Keys(sidecar, f"{SIDECAR}: ")
        yield beside.within("quantization") if beside.has("quantization") else beside
    for keys in parts:
        for name in ("quantization_config", "compression_config"):
            if keys.has(name) and keys.data[name] != {}:
                yield keys.within(name)
                return


def _unquantised(parts: Sequence[Keys]) -> tuple[Dtype, str, tuple[str, ...]]:
    """The type of what is not quantised, where it is from, and a note if no file says."""
    for keys in parts:
        for name in ("dtype", "torch_dtype"):
            if not keys.has(name):
                continue
            word = keys.text(name)
            dtype = PLAIN.get(word.removeprefix("torch."))
            if dtype is None:
                what = f"{keys.prefix}{name} is {visible(word, _SHOWN)}"
                raise InputError(what, expected="float32, bfloat16 or float16")
            return dtype, f"{dtype}: {keys.prefix}{name}", ()
    for keys in parts:
        said = [name for name in FLAGS if keys.data.get(name) is True]
        if len(said) == 1:
            return FLAGS[said[0]], f"{FLAGS[said[0]]}: {keys.prefix}{said[0]}", ()
    return Dtype.BF16, "bf16: no type is named", (UNNAMED,)


def _hidden(parts: Sequence[Keys]) -> int:
    """The width of the language model, as far inside as it is stated."""
    inside = [keys for keys in parts if keys.has("hidden_size")]
    return inside[-1].integer("hidden_size") if inside else parts[0].integer("hidden_size")
