"""Whether a drafter has what its kind consists of: its layers, heads or stages, and their number.

Kinds differ in what they join and how often: a card under the name of another is priced as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specplan.domain.architecture import Architecture
from specplan.domain.heads import Kind
from specplan.domain.model import Model
from specplan.rules import Finding, Rule

_EMBEDDED = 2  # an embedding and a state, joined for each token
_MOST_LAYERS = 8  # EAGLE-3 has one, MTP up to three
_MOST_STATES = 8  # EAGLE-3 joins three
_STATES = 2  # of the target, that an EAGLE-3 head joins at least
_HASS = 2  # norms of an EAGLE head that keeps all of its own; modules for MTP have three

SHAPELESS = Rule(
    id="SC033",
    level="warning",
    title="kind of drafter without its shape",
    what="`drafts.kind` is of other layers: their number, `fuse`, `fuse_each`, `inputs`, "
    "`borrowed_head`, `norms`, `medusa` or `speculator` are not as that kind has them; or "
    "`drafts.proposes` is not what it can be.",
    why="Its rounds would be priced as those of another kind of drafter.",
    remedy="Add what the kind consists of, or correct the kind.",
)

_KEYS: dict[Kind, str] = {"medusa": "medusa", "mlp-speculator": "speculator"}
_WITHOUT: dict[Kind, str] = {
    "medusa": "has heads side by side; `medusa` says their shape",
    "mlp-speculator": "has stages; `speculator` says their shape",
}
_UNFUSED = "joins hidden states of its target; `fuse` says how many"


def shapeless(card: Model) -> Iterator[Finding]:
    """SC033: the card lacks what its kind of drafter consists of, or proposes otherwise."""
    if card.drafts is None:
        return
    kind, path = card.drafts.kind, ("drafts", "kind")
    lacks = _of_heads(card, kind) if kind in _KEYS else _of_layers(card, kind)
    if not lacks:
        lacks, path = _of_length(card, card.drafts.proposes), ("drafts", "proposes")
    if lacks:
        message = f"a drafter of kind {kind} {lacks}"
        yield Finding(SHAPELESS.id, SHAPELESS.level, message, path)


def _of_heads(card: Model, kind: Kind) -> str:
    """What heads without layers lack, or have beside themselves."""
    if getattr(card, _KEYS[kind]) is None:
        return _WITHOUT[kind]
    return "" if card.architecture is None else "has no `architecture`, and this one has"


def _of_layers(card: Model, kind: Kind) -> str:
    """What layers are not as that kind has them; figures alone say nothing."""
    for other, key in _KEYS.items():
        if getattr(card, key) is not None:
            return f"has no `{key}`, and this one has, as kind {other}"
    return _LAYERS[kind](card.architecture) if card.architecture else ""


def _of_length(card: Model, proposes: int | None) -> str:
    """What is wrong with the longest draft, where the kind fixes it."""
    if card.drafts is not None and card.drafts.kind == "block" and proposes is None:
        return "proposes a fixed number of tokens; `proposes` says how many"
    count = (
        card.medusa.heads if card.medusa else card.speculator.stages if card.speculator else None
    )
    if count is None or proposes in {None, count}:
        return ""
    parts = "heads" if card.medusa else "stages"
    return f"proposes a token for each of its {count} {parts}, not {proposes}"


def _eagle(arch: Architecture) -> str:
    if lacks := _embedded(arch):
        return lacks
    if not arch.borrowed_head:
        return "borrows the head of its target: `borrowed_head`"
    if arch.layers != 1:
        return f"has one layer, and this one has {arch.layers}"
    plain = "has a layer of `norms: 1` and none outside; this one has more, as MTP"
    return "" if _bare(arch) or arch.norms == _HASS else plain


def _eagle3(arch: Architecture) -> str:
    if lacks := _joined(arch, _STATES):
        return lacks
    if arch.fuse > _MOST_STATES:
        return f"joins three states or a few more, and this one {arch.fuse} (`fuse`)"
    narrow = "reads embedding and state in its attention: `inputs: 2`"
    return _deep(arch) or ("" if _wide(arch) else narrow)


def _mtp(arch: Architecture) -> str:
    bare = "norms what it joins; this one has a layer of `norms: 1` and none outside, as EAGLE"
    return _embedded(arch) or (bare if _bare(arch) else "") or _deep(arch)


def _block(arch: Architecture) -> str:
    wide = "reads states alone in its attention, and this one has `inputs: 2`, as EAGLE-3"
    return _joined(arch, 1) or (wide if _wide(arch) else "")


def _model(arch: Architecture) -> str:
    whole = "is a model of its own, and this one joins hidden states of its target"
    return whole if arch.fuse else ""


def _embedded(arch: Architecture) -> str:
    """What of joining embedding and state for each token is not so."""
    if not arch.fuse:
        return _UNFUSED
    if arch.fuse == _EMBEDDED and arch.fuse_each:
        return ""
    return "joins an embedding and a state for each token: `fuse: 2` and `fuse_each: true`"


def _joined(arch: Architecture, least: int) -> str:
    """What of joining states where a round begins is not so."""
    if not arch.fuse:
        return _UNFUSED
    if arch.fuse_each:
        return "joins states where a round begins, and this one for each token (`fuse_each`)"
    few = f"joins {least} states or more, and this one {arch.fuse} (`fuse`)"
    return few if arch.fuse < least else ""


def _deep(arch: Architecture) -> str:
    """What of the number of layers is no head's."""
    few = f"has one layer or a few, and this one has {arch.layers} (`repeat`)"
    return few if arch.layers > _MOST_LAYERS else ""


def _bare(arch: Architecture) -> bool:
    """Whether it has no more norms than EAGLE: one in its layer, before the feed-forward."""
    return arch.norms < _HASS and all(block.norms <= 1 for block in arch.blocks)


def _wide(arch: Architecture) -> bool:
    """Whether queries, keys and values of some layer read two vectors."""
    mixers = (block.attention or block.latent for block in arch.blocks)
    return any(mixer is not None and mixer.inputs > 1 for mixer in mixers)


_LAYERS: dict[Kind, Callable[[Architecture], str]] = {
    "model": _model,
    "eagle": _eagle,
    "eagle3": _eagle3,
    "mtp": _mtp,
    "block": _block,
}
