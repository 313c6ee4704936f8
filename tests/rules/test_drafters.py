"""Drafters beside targets they fit, and those whose targets are others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.domain.architecture import Architecture
from specplan.domain.card import Source
from specplan.domain.heads import Drafts, MlpSpeculator
from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import Model
from specplan.rules.drafters import made_for_others, shapeless, shorter, unfit

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


def head(kind: str, **shape: object) -> Model:
    return replace(
        LM,
        name="head",
        family="heads",
        drafts=Drafts(kind=kind, targets=("lm",)),
        architecture=replace(SHAPE, **shape),
    )


@pytest.mark.parametrize(
    "draft",
    [
        head("eagle3", fuse=3, vocab=320),
        head("eagle3", fuse=3, vocab=1000),
        head("eagle3", fuse=3, vocab=320, hidden=256, fuse_width=512, tied_embeddings=False),
        head("eagle", fuse=2, fuse_each=True, borrowed_head=True),
        head("mtp", fuse=2, fuse_each=True, borrowed_head=True),
        head("block", fuse=5, borrowed_head=True),
        head("model", hidden=128),
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
    assert [f.rule for f in unfit(head("eagle", fuse=2, borrowed_head=True, vocab=999), LM)] == [
        "SC035"
    ]


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
