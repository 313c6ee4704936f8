"""What a `quantization_config` says: which modules are stored in which type.

Names of methods and keys are those of transformers, compressed-tensors and NVIDIA's Model
Optimizer. A method whose files do not say the type of each weight is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from specplan.domain.card import Dtype
from specplan.domain.layers import Part
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.quant_groups import (
    Group,
    cache_type,
    group_size,
    groups,
    inside,
    texts,
)
from specplan.importers.quant_match import Names, names_in
from specplan.importers.quant_modules import Module
from specplan.visible import visible

_SHOWN = 40
_LAYERS: Final = (Part.ATTENTION, Part.RECURRENT, Part.MLP, Part.SHARED, Part.EXPERTS)
_BY_HAND = "import the unquantised model, and write dtype and parts into its card"

REFUSED: Final = {
    "aqlm": "its weights are indices into codebooks",
    "bitsandbytes": "its block formats (nf4, int8 with outliers) are not modelled",
    "eetq": "it quantises while loading",
    "exl2": "its bits differ from row to row",
    "exl3": "its bits differ from row to row",
    "fbgemm_fp8": "which layers it converts is fixed in its loader, not in the file",
    "higgs": "its weights are indices into codebooks",
    "hqq": "its bits differ by layer in a way of its own",
    "quark": "its own description of layers is not read",
    "quip": "its weights are indices into codebooks",
    "quip_sharp": "its weights are indices into codebooks",
    "spqr": "its outliers are stored apart",
    "torchao": "its types are code, not words",
    "vptq": "its weights are indices into codebooks",
}

ALGORITHMS: Final = {
    "FP8": Dtype.FP8,
    "FP8_PB_WO": Dtype.FP8,
    "FP8_PER_CHANNEL_PER_TOKEN": Dtype.FP8,
    "MXFP8": Dtype.FP8,
    "MXFP4": Dtype.MXFP4,
    "W4A8_MXFP4_FP8": Dtype.MXFP4,
    "NVFP4": Dtype.NVFP4,
    "NVFP4_AWQ": Dtype.NVFP4,
    "W4A16_NVFP4": Dtype.NVFP4,
    "W4A8_NVFP4_FP8": Dtype.NVFP4,
    "W4A16_AWQ": Dtype.INT4,
    "W4A8_AWQ": Dtype.INT4,
}
"""Storage types of Model Optimizer's algorithms, whose names give weights before activations."""
MIXED: Final = "MIXED_PRECISION"
_INTEGERS = {4: Dtype.INT4, 8: Dtype.INT8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """Types by module: none where `ignore` names it, else that of the first list that does, else
    that of its part if it is linear. `sizes` and `named_sizes` say how many weights
    share a scale, for the same. `cache` is the type asked for the cache, `basis` the words
    and key that all this is from.
    """

    basis: str
    broad: Mapping[Part, Dtype] = field(default_factory=dict)
    named: tuple[tuple[Names, Dtype | None], ...] = ()
    sizes: Mapping[Part, int | None] = field(default_factory=dict)
    named_sizes: tuple[int | None, ...] = ()
    ignore: Names = field(default_factory=Names)
    cache: Dtype | None = None
    notes: tuple[str, ...] = ()

    def type_of(self, module: Module) -> Dtype | None:
        """How it is quantised, or None."""
        if self.ignore.hits(module):
            return None
        for names, dtype in self.named:
            if names.hits(module):
                return dtype
        return self.broad.get(module.part) if module.linear else None

    def size_of(self, module: Module) -> int | None:
        """How many of its weights share a scale, where the file says."""
        for (names, _), size in zip(self.named, self.named_sizes, strict=False):
            if names.hits(module):
                return size
        return self.sizes.get(module.part)


def scheme_of(quant: Keys, *, tied: bool) -> Scheme:
    """What a quantisation config, or the inside of its sidecar, says. A tied head is stored as the
    embedding, which no class of modules includes.
    """
    method = quant.text("quant_method").lower()
    if not method and (quant.has("quant_algo") or quant.has("kv_cache_quant_algo")):
        method = "modelopt"
    if method in REFUSED:
        raise InputError(f"quant_method {method}: {REFUSED[method]}", hint=_BY_HAND)
    if not method:
        raise InputError(f"{_named(quant)} names no quant_method", hint=_BY_HAND)
    read = _METHODS.get(method)
    if read is None:
        shown = visible(method, _SHOWN)
        raise InputError(
            f"quant_method '{shown}' is not known", expected=", ".join(_METHODS), hint=_BY_HAND
        )
    scheme = read(quant)
    if tied:
        kept = dict(scheme.broad)
        kept.pop(Part.HEAD, None)
        scheme = replace(scheme, broad=kept)
    return scheme


def listed(quant: Keys, *keys: str) -> Names:
    """The names under the first of the keys that is there."""
    for key in keys:
        entries = quant.items(key)
        if entries is not None:
            return names_in(texts(entries, f"{quant.prefix}{key}"))
    return Names()


def _named(quant: Keys) -> str:
    """What a reader of a mapping is in."""
    return quant.prefix.rstrip(".: ")


def _fp8(quant: Keys) -> Scheme:
    if quant.has("quant_algo"):
        what = "quant_method is fp8 and quant_algo is there too"
        raise InputError(f"{what}: which of them stored a module is not said", hint=_BY_HAND)
    blocks = quant.items("weight_block_size")
    size = visible(" x ".join(map(str, blocks or ())), _SHOWN)
    sized = f", blocks of {size}" if size else ""
    return Scheme(
        basis=f"fp8{sized}: {quant.prefix}quant_method",
        broad=dict.fromkeys(_LAYERS, Dtype.FP8),
        ignore=listed(quant, "modules_to_not_convert", "ignored_layers"),
    )


def _mxfp4(quant: Keys) -> Scheme:
    """Experts alone, as loaders have no such format for other layers."""
    return Scheme(
        basis=f"mxfp4: {quant.prefix}quant_method",
        broad={Part.EXPERTS: Dtype.MXFP4},
        ignore=listed(quant, "modules_to_not_convert"),
    )


def _integer(quant: Keys) -> Scheme:
    """AWQ and GPTQ: every linear layer, the head only where `lm_head` says so; GPTQModel's
    `dynamic` leaves out (`-:`) or changes (`+:`) what a regular expression matches.
    """
    dtype = _bits(quant, "bits", "w_bit")
    head = {Part.HEAD: dtype} if quant.flag("lm_head", default=False) else {}
    dynamic = quant.within("dynamic") if quant.has("dynamic") else Keys({})
    left = [f"re:{key[2:]}" for key in dynamic.data if key.startswith("-:")]
    changed: list[tuple[Names, Dtype | None]] = []
    changed_sizes: list[int | None] = []
    size = group_size(quant)
    for key in dynamic.data:
        changes = None if key.startswith("-:") else inside(dynamic, key)
        if changes and (changes.has("bits") or changes.has("group_size")):
            names = names_in([f"re:{key.removeprefix('+:')}"])
            changed.append((names, _bits(changes, "bits") if changes.has("bits") else dtype))
            changed_sizes.append(group_size(changes) if changes.has("group_size") else size)
    kept = listed(quant, "modules_to_not_convert")
    return Scheme(
        basis=f"{dtype}: {quant.prefix}bits ({quant.text('quant_method').lower()})",
        broad={**dict.fromkeys(_LAYERS, dtype), **head},
        named=((names_in(left), None), *changed),
        sizes=dict.fromkeys((*_LAYERS, Part.HEAD), size),
        named_sizes=(None, *changed_sizes),
        ignore=kept,
    )


def _bits(quant: Keys, *keys: str) -> Dtype:
    bits = quant.integer(*keys)
    if bits not in _INTEGERS:
        raise InputError(f"{quant.prefix}{keys[0]} is {bits}", expected="4 or 8", hint=_BY_HAND)
    return _INTEGERS[bits]


def _compressed(quant: Keys) -> Scheme:
    found = groups(quant, quant.text("format"))
    return _grouped(quant, found, listed(quant, "ignore"), "compressed-tensors")


def _grouped(quant: Keys, found: tuple[Group, ...], ignore: Names, tool: str) -> Scheme:
    """A group's own names come before the classes of any."""
    broad: dict[Part, Dtype] = {}
    sizes: dict[Part, int | None] = {}
    for group in found:
        if group.dtype:
            broad = {**dict.fromkeys(group.parts, group.dtype), **broad}
            sizes = {**dict.fromkeys(group.parts, group.size), **sizes}
    types = dict.fromkeys(str(group.dtype) for group in found if group.dtype)
    return Scheme(
        basis=f"{', '.join(types) or 'nothing'}: {quant.prefix}config_groups ({tool})",
        broad=broad,
        named=tuple((group.names, group.dtype) for group in found if group.names),
        sizes=sizes,
        named_sizes=tuple(group.size for group in found if group.names),
        ignore=ignore,
        cache=cache_type(quant),
    )


def _modelopt(quant: Keys) -> Scheme:
    """One algorithm for all that no list leaves out, or each module's own."""
    algo = quant.text("quant_algo").upper()
    keys = ("exclude_modules", "ignore", "modules_to_not_convert")
    ignore = listed(quant, *keys)
    if algo == MIXED and quant.has("quantized_layers"):
        return replace(_each(quant), ignore=ignore)
    if algo == MIXED or (not algo and quant.has("config_groups")):
        return _grouped(quant, groups(quant, ""), ignore, "Model Optimizer")
    basis = f"{algo or 'only the cache'}: {quant.prefix}quant_algo"
    if not algo:
        return Scheme(basis=basis, cache=cache_type(quant))
    dtype = _algorithm(algo)
    note = (
        f"The quantisation lists no modules that stay in 16 bits ({_named(quant)}): all layers are "
        f"taken as {dtype}. Real checkpoints keep attention and often other parts wider, so the "
        "size is a lower bound."
    )
    return Scheme(
        basis=basis,
        # Without a list the tool's own defaults hold, which leave the head out.
        broad=dict.fromkeys((*_LAYERS, Part.HEAD) if ignore else _LAYERS, dtype),
        sizes=dict.fromkeys((*_LAYERS, Part.HEAD), group_size(quant)),
        ignore=ignore,
        cache=cache_type(quant),
        notes=() if ignore else (note,),
    )


def _each(quant: Keys) -> Scheme:
    """Modules listed one by one, each with its algorithm; the rest is not quantised."""
    layers = quant.within("quantized_layers")
    by_type: dict[Dtype, list[str]] = {}
    for name, how in layers.data.items():
        algo = how.get("quant_algo") if isinstance(how, Mapping) else how
        by_type.setdefault(_algorithm(str(algo).upper()), []).append(name)
    return Scheme(
        basis=f"{', '.join(by_type) or 'nothing'}: {quant.prefix}quantized_layers",
        named=tuple((names_in(names), dtype) for dtype, names in by_type.items()),
        cache=cache_type(quant),
    )


def _algorithm(name: str) -> Dtype:
    dtype = ALGORITHMS.get(name)
    if dtype is None:
        known = ", ".join((*ALGORITHMS, MIXED))
        what = f"quant_algo {visible(name, _SHOWN)} is not known"
        raise InputError(what, expected=known, hint=_BY_HAND)
    return dtype


_METHODS: Final[dict[str, Callable[[Keys], Scheme]]] = {
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "compressed-tensors": _compressed,
    "modelopt": _modelopt,
    "awq": _integer,
    "gptq": _integer,
}
