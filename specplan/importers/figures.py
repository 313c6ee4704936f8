"""What an import says of its figures: each with its basis, and what counts may hold beyond them."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.imported import Derived, Extra
from specplan.domain.layers import Part
from specplan.domain.model import Model, token_bytes
from specplan.importers.hf import drafting_layer
from specplan.importers.keys import Keys
from specplan.importers.layered import Head, inner_of
from specplan.importers.quantised import Storage
from specplan.importers.shape import Shape

UNSTATED_GROUPS = (32, 16)  # of INT4 and NVFP4: trimmed copies of configs lack how they are stored


def figures(card: Model, kept: Storage) -> Iterator[Derived]:
    """What follows from the architecture, each with what it is a sum of."""
    shape = card.shape
    if shape is None:  # pragma: no cover - every import sets one
        return
    basis = kept.basis.removeprefix(f"{card.dtype}: ")
    for home in ("quantization_config.", "quantization."):
        basis = basis.replace(home, "")
    yield Derived("dtype", str(card.dtype), basis)
    for part, dtype in card.parts.items():
        yield Derived(f"parts.{part}", str(dtype), "stored otherwise than the rest")
    multiplied = "weights that one token multiplies, head too"
    yield Derived("matmul_params", f"{shape.matmul_params:,}", multiplied)
    everything = "everything stored; tied weights once"
    yield Derived("stored_params", f"{shape.stored_params:,}", everything)
    cache = token_bytes(card.kv_groups)
    yield Derived("kv_bytes_per_token", f"{cache:,.0f}", "all layers at 16 bits, windows ignored")
    index = sum(g.index_bytes for g in card.kv_groups)
    if index:
        yield Derived("index_bytes_per_token", f"{index:,.0f}", "keys of the indexers, FP8")
    if card.state_bytes:
        yield Derived("state_bytes", f"{card.state_bytes:,.0f}", "recurrent state of a sequence")
    if kept.kv_dtype is not None:
        yield Derived("kv_dtype", str(kept.kv_dtype), "what the checkpoint asks for its cache")


def read_from(keys: Keys) -> Iterator[Derived]:
    """What was read, and from which key or default."""
    for figure, said in keys.basis.items():
        value, _, basis = said.partition(": ")
        yield Derived(figure, value, basis)


def extras(shape: Shape, scales: int) -> Iterator[Extra]:
    """What published counts hold beyond the model, most usual first."""
    wide = shape.vocab * shape.hidden
    if shape.tied:
        yield Extra("the tied head stored a second time", wide)
    module = drafting_layer(shape)
    if module is not None:
        count, told = shape.drafting or shape.unmentioned or 1, shape.drafting > 0
        says = "" if told else ", which the config does not mention"
        params = count * module.stored_params
        yield Extra(f"the layers that draft (MTP{says})", params, announced=told)
        yield Extra("copies of embedding and head beside them", 2 * wide)
    if scales:
        yield Extra("scales of the quantised blocks", scales, announced=True)
        return
    routed = sum(w.params for w in shape.architecture().weights() if w.part is Part.EXPERTS)
    for group in UNSTATED_GROUPS if routed else ():
        what = f"scales of experts in groups of {group}, a quantisation that the config leaves out"
        yield Extra(what, routed // group)


def copies(keys: Keys, head: Head) -> Iterator[Extra]:
    """What a head's checkpoint may hold that is its target's, and tables of tokens."""
    arch = head.architecture
    vocab = inner_of(keys).maybe("vocab_size")
    if arch is not None and vocab is not None:
        yield Extra("a copy of the target's embedding", vocab * arch.hidden)
        if arch.borrowed_head:
            yield Extra("a copy of the target's head", vocab * arch.hidden)
        if vocab != arch.vocab:
            yield Extra("tables between the vocabularies", vocab + arch.vocab)
