"""What can be wrong with a model's card that reads well: shapes and counts that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from specplan.domain.card import Dtype
from specplan.domain.model import AGREEMENT, Model
from specplan.errors import Refused
from specplan.rules import Finding, KeyPath, Rule
from specplan.units import significant

FILES_BAND = 0.05  # of the files over the sum of the parts
SCALES = 1 / 8  # of four-bit weights: 16 bits for every 32 of them, which no `Dtype` counts
FEWEST = 512  # tokens of a context: BERT had as many
NAMED_BAND = 0.15  # Qwen2.5 7B has 7.6
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([mbt])(?![\w.])")
_SCALE = {"m": 1e6, "b": 1e9, "t": 1e12}
_FOUR_BITS = frozenset({Dtype.INT4, Dtype.FP4})

UNDIVIDED = Rule(
    id="SC026",
    level="warning",
    title="heads that do not divide",
    what="Heads are no multiple of those that share keys, values or state with them.",
    why="Each group of query heads reads one; a key of the config was mistaken for another.",
    remedy="Compare heads and kv_heads with the config: absent, kv_heads are usually the heads.",
)
OVERACTIVE = Rule(
    id="SC027",
    level="error",
    title="more experts active than there are",
    what="A layer routes a token to more experts than it has.",
    why="It would multiply weights that nobody stores, and every pass costs too much.",
    remedy="Write all experts as `experts`, and those that one token runs as `active`.",
)
OVERLOOKED = Rule(
    id="SC028",
    level="warning",
    title="window beyond the trained context",
    what="A layer looks back further than the model was trained to.",
    why="Its window never slides: it is full attention, or `trained_context` is that of a part.",
    remedy="Leave the window out where the config does not use it, or correct trained_context.",
)
UNSTORED = Rule(
    id="SC029",
    level="warning",
    title="multiplies what it does not store",
    what="A token multiplies more parameters than the checkpoint of a whole model holds.",
    why="Only a drafter borrows weights; one of the two counts is of something else.",
    remedy="Correct the count, or say under `drafts` what it drafts for.",
)
UNSUMMED = Rule(
    id="SC030",
    level="warning",
    title="files unlike their parts",
    what="`stored_bytes` lies more than 5 % from the sum of the parts in their types.",
    why="A part has another type than the card says, or the files hold what no pass reads.",
    remedy="Name the parts in other types; accept with a reason what else the files hold.",
)
MISSIZED = Rule(
    id="SC031",
    level="note",
    title="size unlike the name",
    what="The size in the name is more than 15 % from the count of parameters.",
    why="Whoever picks the model by its name expects other weights; the card may be of another.",
    remedy="Compare with the checkpoint; names may round, or leave out embeddings.",
)
SHORT = Rule(
    id="SC042",
    level="warning",
    title="implausible trained context",
    what="The trained context is below 512 tokens.",
    why="No language model and no drafter was trained on so few: thousands are usually meant.",
    remedy="Write tokens: 32768, not 32; or leave it out where nobody says it.",
)
MODEL_RULES = (UNDIVIDED, OVERACTIVE, OVERLOOKED, UNSTORED, UNSUMMED, MISSIZED, SHORT)


def model_findings(card: Model) -> Iterator[Finding]:
    """What shapes and counts of a model give away."""
    yield from undivided(card)
    yield from overactive(card)
    yield from overlooked(card)
    yield from unstored(card)
    yield from unsummed(card)
    yield from missized(card)
    yield from short(card)


def undivided(card: Model) -> Iterator[Finding]:
    """SC026: heads that their groups do not divide, in each mixer that has groups."""
    for number, block in enumerate(card.architecture.blocks if card.architecture else ()):
        attention, delta, mamba = block.attention, block.delta, block.mamba
        shares = (
            ("attention", "heads", attention and (attention.heads, "kv_heads", attention.kv_heads)),
            ("delta", "value_heads", delta and (delta.value_heads, "key_heads", delta.key_heads)),
            ("mamba", "heads", mamba and (mamba.heads, "groups", mamba.groups)),
        )
        for mixer, of, counts in shares:
            if counts and counts[0] % counts[2]:
                heads, key, groups = counts
                message = f"{heads:,} {of} are no multiple of {groups:,} {key}"
                path = ("architecture", "blocks", number, mixer, key)
                yield Finding(UNDIVIDED.id, UNDIVIDED.level, message, path)


def overactive(card: Model) -> Iterator[Finding]:
    """SC027: each block that routes a token to more experts than it has."""
    for number, block in enumerate(card.architecture.blocks if card.architecture else ()):
        experts = block.experts
        if experts and experts.active > experts.experts:
            message = f"{experts.active:,} of {experts.experts:,} experts are active"
            path = ("architecture", "blocks", number, "experts", "active")
            yield Finding(OVERACTIVE.id, OVERACTIVE.level, message, path)


def overlooked(card: Model) -> Iterator[Finding]:
    """SC028: each block whose window is wider than the trained context."""
    trained = card.trained_context
    for number, block in enumerate(card.architecture.blocks if card.architecture else ()):
        window = block.attention.window if block.attention else None
        if trained is not None and window is not None and window > trained:
            message = f"looks back {window:,} tokens, and was trained on {trained:,}"
            path = ("architecture", "blocks", number, "attention", "window")
            yield Finding(OVERLOOKED.id, OVERLOOKED.level, message, path)


def unstored(card: Model) -> Iterator[Finding]:
    """SC029: a whole model multiplies more than it stores; drafters may borrow head or stages."""
    shape = card.architecture
    borrows = card.drafts or card.speculator or (shape and shape.fuse)
    if borrows or any(overactive(card)):
        return
    with suppress(Refused):  # one of the two is not known
        multiplied, stored = card.active_params, card.checkpoint_params
        if multiplied > (1 + AGREEMENT) * stored:
            message = f"a token multiplies {multiplied:,.0f} parameters of {stored:,.0f} stored"
            head = ("architecture", "borrowed_head")
            path = head if shape and shape.borrowed_head else ("matmul_params",)
            yield Finding(UNSTORED.id, UNSTORED.level, message, path)


def unsummed(card: Model) -> Iterator[Finding]:
    """SC030: the files are larger or smaller than the parts; scales of four-bit weights are none
    of the parts and may explain an eighth of those.
    """
    if card.stored_bytes is None or (card.shape is None and card.stored_params is None):
        return
    parts = replace(card, stored_bytes=None).weights_bytes(card.dtype)
    most = parts + SCALES * _four_bit_bytes(card, parts)
    if (1 - FILES_BAND) * parts <= card.stored_bytes <= (1 + FILES_BAND) * most:
        return
    off = card.stored_bytes / parts - 1
    message = (
        f"the files hold {card.stored_bytes:,.0f} bytes, {significant(100 * abs(off), 2)} % "
        f"{'more' if off > 0 else 'less'} than the {parts:,.0f} of the parts"
    )
    yield Finding(UNSUMMED.id, UNSUMMED.level, message, ("stored_bytes",))


def missized(card: Model) -> Iterator[Finding]:
    """SC031: none of the sizes in the name is near all parameters, those without an embedding, or
    those of one token. A drafter's name says its target's size.
    """
    path, sizes = _named(card)
    head = card.drafts or (card.architecture and card.architecture.fuse)
    if not sizes or head or (card.shape is None and card.stored_params is None):
        return
    stored = card.checkpoint_params
    wide = card.architecture.vocab * card.architecture.hidden if card.architecture else 0
    counts = [stored, stored - wide]
    with suppress(Refused):
        counts.append(card.active_params)
    if not any(abs(count / size - 1) <= NAMED_BAND for size in sizes for count in counts):
        said = " and ".join(f"{size:,.0f}" for size in sizes)
        message = f"the name says {said} parameters and the card has {stored:,.0f}"
        yield Finding(MISSIZED.id, MISSIZED.level, message, path)


def short(card: Model) -> Iterator[Finding]:
    """SC042: of a model or a drafter."""
    trained = card.trained_context
    if trained is not None and trained < FEWEST:
        message = f"trained on {trained:,} tokens; expected {FEWEST:,} or more"
        yield Finding(SHORT.id, SHORT.level, message, ("trained_context",))


def _named(card: Model) -> tuple[KeyPath, list[float]]:
    """Sizes such as 70b in the name, or else in the title; the active ones of A3B are none."""
    for key in ("name", "title"):
        found = _SIZE.findall(str(getattr(card, key)).lower())
        if found:
            return (key,), [float(number) * _SCALE[unit] for number, unit in found]
    return ("name",), []


def _four_bit_bytes(card: Model, parts: float) -> float:
    """Bytes of what is stored in four bits and scales that are not counted."""
    if card.architecture is None:
        return parts if card.dtype in _FOUR_BITS else 0.0
    return sum(
        weights.params * dtype.bytes_per_element
        for weights, dtype in card.weights_as(card.dtype)
        if dtype in _FOUR_BITS
    )
