"""`config_groups` of compressed-tensors and Model Optimizer: a type, and what it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specplan.domain.card import Dtype
from specplan.domain.layers import Part
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.quant_match import Names, names_in
from specplan.visible import visible

_SHOWN = 40

FORMATS: Final = {
    "": None,
    "mixed-precision": None,
    "dense": None,
    "naive-quantized": None,
    "float-quantized": None,
    "int-quantized": None,
    "pack-quantized": None,
    "nvfp4-pack-quantized": Dtype.NVFP4,
    "mxfp4-pack-quantized": Dtype.MXFP4,
}
"""Layouts of compressed-tensors, and the type that two of them fix."""

_BY_BITS: Final = {
    ("float", 8): Dtype.FP8,
    ("int", 8): Dtype.INT8,
    ("int", 4): Dtype.INT4,
}
_BY_SCALES: Final = {16: Dtype.NVFP4, 32: Dtype.MXFP4}  # weights that share a scale, of 4-bit float
_CACHES: Final = {
    "FP8": Dtype.FP8,
    "INT8": Dtype.INT8,
    "NVFP4": Dtype.NVFP4,
    "NONE": None,
    "AUTO": None,
    "": None,
}

_LINEAR: Final = (
    Part.ATTENTION,
    Part.RECURRENT,
    Part.MLP,
    Part.SHARED,
    Part.EXPERTS,
    Part.HEAD,
)
CLASSES: Final = {
    "Linear": _LINEAR,
    "LinearBase": _LINEAR,
    "FusedMoE": (Part.EXPERTS,),
    "RoutedExperts": (Part.EXPERTS,),
    "ParallelLMHead": (Part.HEAD,),
    "Embedding": (Part.EMBEDDING,),
}
"""Classes that a target may name, and the parts that consist of them. Routers are left out: most
are no linear layers, and lists leave out those that are.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """A type (None: only activations are quantised), the modules and the whole parts that have
    it, and how many weights share a scale, if a file says.
    """

    dtype: Dtype | None
    names: Names
    parts: tuple[Part, ...]
    size: int | None = None


def texts(entries: Sequence[object], name: str) -> list[str]:
    """The entries of a list of texts."""
    found = [entry for entry in entries if isinstance(entry, str)]
    if len(found) != len(entries):
        raise InputError(f"{name} holds something else than names", expected="a list of texts")
    return found


def inside(keys: Keys, name: str) -> Keys:
    """The mapping under a key that is the file's own word, safe to print."""
    shown, value = visible(name, _SHOWN), keys.data[name]
    if not isinstance(value, Mapping):
        raise InputError(f"{keys.prefix}{shown} is no mapping", expected="a mapping")
    return Keys(value, f"{keys.prefix}{shown}.")


def groups(quant: Keys, form: str) -> tuple[Group, ...]:
    """The groups of a config whose layout is `form` unless they say their own."""
    sparse = quant.data.get("sparsity_config")
    if isinstance(sparse, Mapping) and sparse.get("format") not in (None, "dense"):
        shown = visible(str(sparse["format"]), _SHOWN)
        raise InputError(f"{quant.prefix}sparsity_config: {shown} weights are not modelled")
    return tuple(_groups(quant.within("config_groups"), form))


def _groups(all_of: Keys, form: str) -> Iterator[Group]:
    for name in all_of.data:
        group = inside(all_of, name)
        dtype = size = None
        if group.has("weights"):
            weights = group.within("weights")
            dtype, size = _weights(weights, group.text("format", form)), group_size(weights)
        targets = group.items("targets")
        if targets is None:
            targets = ("Linear",)
        found = texts(targets, f"{group.prefix}targets")
        named = [text for text in found if not _is_class(text)]
        parts = [part for text in found if _is_class(text) for part in _class(text, group)]
        yield Group(dtype, names_in(named), tuple(dict.fromkeys(parts)), size)


def group_size(quant: Keys) -> int | None:
    """How many weights share a scale, where the file says; None where each row has one."""
    size = quant.data.get("group_size")
    return size if isinstance(size, int) and size > 1 else None


def _weights(weights: Keys, form: str) -> Dtype:
    if form not in FORMATS:
        what = f"format {visible(form, _SHOWN)} is not known"
        raise InputError(what, expected=", ".join(filter(None, FORMATS)))
    fixed = FORMATS[form]
    kind, bits = weights.text("type", "int"), weights.integer("num_bits")
    if fixed:
        return fixed
    dtype = _BY_BITS.get((kind, bits))
    if (kind, bits) == ("float", 4):
        dtype = _BY_SCALES.get(weights.maybe("group_size", least=-1) or 0)
    if dtype is None:
        what = f"{weights.prefix[:-1]}: {bits}-bit {visible(kind, _SHOWN)} weights are not modelled"
        raise InputError(what, expected="float or int of 8 bits, int of 4, nvfp4, mxfp4")
    return dtype


def _is_class(target: str) -> bool:
    return target[:1].isupper() and target.isidentifier()


def _class(target: str, group: Keys) -> tuple[Part, ...]:
    if target not in CLASSES:
        what = f"{group.prefix}targets names the class {visible(target, _SHOWN)}"
        raise InputError(what, expected=f"{', '.join(CLASSES)}, or names of modules")
    return CLASSES[target]


def cache_type(quant: Keys) -> Dtype | None:
    """The type that a checkpoint asks for its cache, under either of its keys, as a word or as
    bits; None if it asks for none.
    """
    for key in ("kv_cache_quant_algo", "kv_cache_scheme"):
        value = quant.data.get(key)
        if isinstance(value, Mapping):
            scheme = quant.within(key)
            kind, bits = scheme.text("type", "float"), scheme.integer("num_bits")
            found = Dtype.NVFP4 if (kind, bits) == ("float", 4) else _BY_BITS.get((kind, bits))
            if found is None or found is Dtype.INT4:
                what = f"{quant.prefix}{key}: a cache of {bits}-bit {visible(kind, _SHOWN)}"
                raise InputError(what, expected="8 bits, or 4 of float")
            return found
        if value is not None:
            word = quant.text(key).upper()
            if word not in _CACHES:
                what = f"{quant.prefix}{key} is {visible(word, _SHOWN)}"
                raise InputError(what, expected=", ".join(filter(None, _CACHES)))
            return _CACHES[word]
    return None
