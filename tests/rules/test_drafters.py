"""Drafters beside targets they fit, and those whose targets are others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.architecture import Architecture
from specplan.domain.card import Source
from specplan.domain.heads import Drafts, MedusaHeads, MlpSpeculator
from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import Model
from specplan.rules.drafters import longer, made_for_others, shorter, unfit
from specplan.rules.shapes import shapeless

SHAPE = Architecture(
    hidden=512,
    vocab=1000,
    tied_embeddings=True,
    blocks=(
        Block(repeat=2, attention=Attention(heads=8, kv_heads=2, head_dim=64), mlp=Mlp(width=1024)),
    ),
)
LM = Model(
    schema="model/1",
    name="lm",
    title="A model",
    family="acme",
    aliases=("lm-it",),
    trained_context=8192,
    architecture=SHAPE,
    sources=(Source(of=("architecture",), kind="config", cite="config.json"),),
)


WIDE = Block(
    repeat=1,
    attention=Attention(heads=8, kv_heads=2, head_dim=64, inputs=2),
    mlp=Mlp(width=1024),
    norms=3,
)
PLAIN = replace(SHAPE.blocks[0], repeat=1, norms=1)
LAYERS = {
    "eagle3": {"fuse": 3, "blocks": (WIDE,)},
    "eagle": {"fuse": 2, "fuse_each": True, "borrowed_head": True, "blocks": (PLAIN,), "norms": 0},
    "mtp": {"fuse": 2, "fuse_each": True, "borrowed_head": True, "norms": 3},
    "block": {"fuse": 5, "borrowed_head": True, "norms": 2},
}
"""What each kind of layers is made of."""


def head(kind: str, **shape: object) -> Model:
    """A drafter of that kind, as such drafters are but for `shape`."""
    return replace(
        LM,
        name="head",
        family="heads",
        drafts=Drafts(kind=kind, targets=("lm",), proposes=15 if kind == "block" else None),
        architecture=replace(SHAPE, **{**LAYERS.get(kind, {}), **shape}),
    )


def called(kind: str, draft: Model) -> Model:
    """The same drafter under the name of another kind."""
    return replace(draft, drafts=replace(draft.drafts, kind=kind))


def beside(kind: str, **heads: object) -> Model:
    """A drafter of heads without layers."""
    return replace(head(kind), architecture=None, **heads)


@pytest.mark.parametrize(
    "draft",
    [
        head("eagle3", fuse=3, vocab=320),
        head("eagle3", fuse=3, vocab=1000),
        head("eagle3", fuse=3, vocab=320, hidden=256, fuse_width=512, tied_embeddings=False),
        head("eagle"),
        head("eagle", norms=2, blocks=(replace(PLAIN, norms=2),)),  # HASS
        head("mtp"),
        head("mtp", norms=1),
        head("mtp", blocks=(PLAIN, PLAIN)),  # a mixer and a feed-forward, a norm for each
        head("eagle3", fuse=8, blocks=(replace(WIDE, repeat=8),)),
        head("mtp", blocks=(replace(SHAPE.blocks[0], repeat=8),)),
        head("block"),
        head("model", hidden=128),
        beside("medusa", medusa=MedusaHeads(hidden=512, vocab=1000, heads=5)),
    ],
)
def test_pairs_that_fit(draft):
    assert [*unfit(draft, LM), *shorter(draft, LM), *shapeless(draft)] == []


def test_stages_of_a_speculator():
    stages = MlpSpeculator(hidden=256, inner=128, vocab=999, stages=3)
    draft = replace(head("mlp-speculator"), architecture=None, speculator=stages)
    assert [(f.rule, f.path) for f in unfit(draft, LM)] == [
        ("SC034", ("speculator", "hidden")),
        ("SC035", ("speculator", "vocab")),
    ]
    assert [*shapeless(draft)] == []


def test_a_draft_model_of_fewer_tokens_does_not_fit():
    assert [f.rule for f in unfit(head("model", vocab=999), LM)] == ["SC035"]
    assert [f.rule for f in unfit(head("eagle", vocab=999), LM)] == ["SC035"]


def test_nothing_is_said_of_what_is_not_known():
    figures = replace(LM, architecture=None, trained_context=None)
    draft = head("eagle3", fuse=3)
    assert [*unfit(draft, figures), *shorter(draft, figures)] == []
    assert [*unfit(figures, LM)] == []
    assert [*shapeless(replace(draft, architecture=None))] == []


@pytest.mark.parametrize(
    ("kind", "said"), [("medusa", "has heads side by side"), ("mlp-speculator", "has stages")]
)
def test_kinds_without_their_shape(kind, said):
    (found,) = shapeless(replace(head(kind), architecture=None))
    assert (found.rule, found.path) == ("SC033", ("drafts", "kind"))
    assert said in found.message


MEDUSA = beside("medusa", medusa=MedusaHeads(hidden=512, vocab=1000, heads=5))
STAGES = beside("mlp-speculator", speculator=MlpSpeculator(hidden=512, inner=9, vocab=9, stages=3))


@pytest.mark.parametrize(
    "draft",
    [
        *(called(kind, head("eagle3")) for kind in ("mtp", "eagle", "block", "model")),
        *(called(kind, head("eagle3")) for kind in ("mlp-speculator", "medusa")),
        *(called(kind, head("mtp")) for kind in ("eagle", "eagle3", "block", "model", "medusa")),
        *(called(kind, head("eagle")) for kind in ("mtp", "eagle3", "block", "model")),
        *(called(kind, head("block")) for kind in ("mtp", "eagle", "eagle3", "model", "medusa")),
        *(called(kind, MEDUSA) for kind in ("eagle", "eagle3", "mtp", "model", "mlp-speculator")),
        *(called(kind, STAGES) for kind in ("eagle", "eagle3", "mtp", "model", "medusa")),
        replace(MEDUSA, architecture=SHAPE),
        head("eagle", borrowed_head=False),
        head("eagle", blocks=(replace(PLAIN, repeat=2),)),
        head("eagle3", fuse=1),
        head("eagle3", blocks=SHAPE.blocks),
        head("mtp", fuse=3),
        head("eagle3", blocks=(replace(WIDE, repeat=10),)),
        head("eagle3", fuse=9),
        head("eagle", blocks=(replace(PLAIN, repeat=10),)),
        head("eagle", fuse=9),
        head("mtp", blocks=(replace(SHAPE.blocks[0], repeat=9),)),
    ],
)
def test_another_kind_than_the_shape(draft):
    (found,) = shapeless(draft)
    assert (found.rule, found.level, found.path) == ("SC033", "warning", ("drafts", "kind"))


@pytest.mark.parametrize(
    ("draft", "proposes", "said"),
    [
        (head("block"), None, "a fixed number of tokens"),
        (replace(head("block"), architecture=None), None, "a fixed number of tokens"),
        (MEDUSA, 50, "a token for each of its 5 heads, not 50"),
        (STAGES, 2, "a token for each of its 3 stages, not 2"),
    ],
)
def test_a_longest_draft_that_is_not_the_kinds(draft, proposes, said):
    (found,) = shapeless(replace(draft, drafts=replace(draft.drafts, proposes=proposes)))
    assert (found.rule, found.path) == ("SC033", ("drafts", "proposes"))
    assert f"proposes {said}" in found.message


def test_heads_may_leave_open_what_their_number_says():
    assert [*shapeless(MEDUSA), *shapeless(STAGES)] == []


def test_made_for_others():
    draft = head("eagle3", fuse=3)
    other = replace(LM, name="other", aliases=())
    assert made_for_others(draft, LM) == ""
    assert made_for_others(draft, replace(other, aliases=("lm",))) == ""
    assert made_for_others(draft, other) == "head was made for lm, not for other"
    many = replace(draft, drafts=Drafts(kind="eagle3", targets=("a", "b", "c", "d", "e")))
    assert (
        made_for_others(many, other) == "head was made for a and b and c and 2 more, not for other"
    )
    assert made_for_others(replace(draft, drafts=None), other) == ""
    assert made_for_others(replace(draft, drafts=Drafts(kind="eagle3")), other) == ""


def test_a_draft_model_serves_its_whole_family():
    draft, other = replace(head("model"), family="acme"), replace(LM, name="other")
    assert made_for_others(draft, replace(other, aliases=())) == ""
    foreign = replace(other, aliases=(), family="others")
    assert made_for_others(draft, foreign) == "head was made for lm, not for other"


@pytest.mark.parametrize(
    ("kind", "trained", "rules"),
    [
        ("eagle3", 16385, ["SC043"]),
        ("mtp", 131072, ["SC043"]),
        ("eagle3", 16384, []),  # twice, as scaled positions allow
        ("eagle3", None, []),
        ("model", 131072, []),
    ],
)
def test_heads_trained_on_longer_contexts_than_their_target_knows(kind, trained, rules):
    draft = replace(head(kind), trained_context=trained)
    assert [f.rule for f in longer(draft, LM)] == rules
    assert [*longer(draft, replace(LM, trained_context=None))] == []
