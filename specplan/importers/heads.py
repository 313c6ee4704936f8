"""Configs of drafters: heads that look like small models, and heads that have no layers at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from specplan.domain.heads import Drafts, Kind, MedusaHeads, MlpSpeculator
from specplan.domain.model import Model
from specplan.errors import InputError
from specplan.importers.keys import Keys
from specplan.importers.layered import LAYERED, Head, inner_of, joined

# Class names say what a config's other keys leave open; the first that is found counts.
CLASSES: tuple[tuple[str, Kind | str], ...] = (
    ("peagle", "P-EAGLE"),
    ("eagle3", "eagle3"),
    ("dflare", "DFlare"),
    ("domino", "Domino"),
    ("edsd", "EDSD"),
    ("dspark", "block"),
    ("dflash", "block"),
    ("nextn", "mtp"),
    ("mtp", "mtp"),
    ("medusa", "medusa"),
    ("mlpspeculator", "mlp-speculator"),
    ("eagle", "eagle"),
)
UNMODELLED = {
    "P-EAGLE": "several layers and learned inputs for the positions ahead",
    "DFlare": "hidden states joined layer by layer",
    "Domino": "a recurrence over the tokens of a block",
    "EDSD": "nobody published what its fusion holds",
}


def head_kind(config: Mapping[str, object]) -> str:
    """What kind of drafter a config is of; empty for a model. An EAGLE head of the first kind
    cannot be told from a model of one layer: only `--for` can say which it is.
    """
    keys = Keys(config)
    stated = keys.text("speculators_model_type") or keys.text("model_type")
    named = " ".join(str(name) for name in keys.items("architectures") or ())
    for text in (stated, named):
        plain = text.lower().replace("_", "").replace("-", "")
        for word, kind in CLASSES:
            if word in plain:
                return kind
    if keys.has("medusa_num_heads"):
        return "medusa"
    telling = ("transformer_layer_config", "draft_vocab_size", "truncated_vocab_size")
    return "eagle3" if any(keys.has(name) for name in telling) else ""


def head_of(keys: Keys, kind: str, target: Model | None) -> Head:
    """The drafter of a config; `target` is the card that it drafts for, where that was said."""
    if kind in UNMODELLED:
        raise InputError(f"{kind} drafters are not modelled: {UNMODELLED[kind]}")
    if kind == "medusa":
        return _medusa(keys, target)
    if kind == "mlp-speculator":
        return _speculator(keys, target)
    made = LAYERED[kind](keys, inner_of(keys))
    if kind == "block" and target is not None:
        _reaches(keys, target)
    return replace(made, drafts=replace(made.drafts, targets=_names(target)))


def _reaches(keys: Keys, target: Model) -> None:
    """Refuses a block drafter that joins states of layers which its target does not have."""
    arch = target.architecture
    layers = sum(block.repeat for block in arch.blocks) if arch else None
    for number in joined(keys):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise keys.wrong("target_layer_ids", number, "numbers of layers")
        if layers is not None and number >= layers:
            what = f"target_layer_ids names layer {number:,}"
            expected = f"at most {layers - 1}, as {target.name} has {layers} layers"
            raise InputError(what, expected=expected, hint="name the target it was trained for")


def _medusa(keys: Keys, target: Model | None) -> Head:
    arch = target.architecture if target else None
    hidden, vocab = keys.maybe("hidden_size"), keys.maybe("vocab_size")
    if arch is not None and target is not None:
        if hidden is None:
            keys.say("hidden_size", f"{arch.hidden:,}: of {target.name}")
        hidden, vocab = hidden or arch.hidden, vocab or arch.vocab
    if hidden is None or vocab is None:
        hint = "write --for TARGET, a model with a card"
        raise InputError("a Medusa config states no shapes, its target does", hint=hint)
    count = keys.integer("medusa_num_heads")
    heads = MedusaHeads(
        hidden=hidden,
        vocab=vocab,
        heads=count,
        layers=keys.integer("medusa_num_layers", default=1, why="default of MedusaConfig"),
    )
    keys.note(
        f"The config says {count} heads; files of FasterDecoding hold 5 where theirs says 2: look "
        "at the weights."
    )
    if keys.has("num_hidden_layers"):
        keys.note("The config describes the model under the heads too: the card is of heads alone.")
    return Head(drafts=Drafts(kind="medusa", targets=_names(target), proposes=count), medusa=heads)


def _speculator(keys: Keys, target: Model | None) -> Head:
    stages = keys.integer("n_predict")
    heads = MlpSpeculator(
        hidden=keys.integer("emb_dim"),
        inner=keys.integer("inner_dim"),
        vocab=keys.integer("vocab_size"),
        stages=stages,
        tied=keys.flag("tie_weights", default=False, why="default of MLPSpeculatorConfig"),
    )
    drafts = Drafts(kind="mlp-speculator", targets=_names(target), proposes=stages)
    return Head(drafts=drafts, speculator=heads)


def _names(target: Model | None) -> tuple[str, ...]:
    return (target.name,) if target else ()
