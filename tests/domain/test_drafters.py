"""What each way to draft runs, carries and owns, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worlds import SOURCES

from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.drafter import Does, Drafter, Draws, Run
from specplan.domain.drafters import DRAFTERS, drafter_of, plugged_drafter, typed_drafter
from specplan.domain.heads import Drafts, MedusaHeads, MlpSpeculator
from specplan.domain.layers import Block, Mlp
from specplan.domain.mixers import Attention
from specplan.domain.model import Model
from specplan.errors import Refused, UsageError

LAYER = Block(repeat=1, attention=Attention(heads=2, kv_heads=1, head_dim=4), mlp=Mlp(width=16))


def card(**more: object) -> Model:
    shape = {"architecture": architecture()} if not {"medusa", "speculator"} & set(more) else {}
    fields = {"name": "card", "title": "Card", "family": "cards", "sources": SOURCES, **shape}
    return Model(schema="model/1", **(fields | more))


def architecture(**more: object) -> Architecture:
    fields = {"hidden": 8, "vocab": 100, "tied_embeddings": True, "blocks": (LAYER,)}
    return Architecture(**(fields | more))


def head(kind: str, **more: object) -> Drafter:
    """A head of one layer that fuses three states where a round begins."""
    drafts = Drafts(kind=kind, **{k: more.pop(k) for k in ("proposes", "modules") if k in more})
    return drafter_of(card(architecture=architecture(**({"fuse": 3} | more)), drafts=drafts))


def counted(drafter: Drafter, k: int) -> list[tuple[int, int, int]]:
    return [(run.count, run.tokens, run.outputs) for run in drafter.runs(k)]


def test_a_model_catches_up_on_one_token():
    drafter = drafter_of(card())
    assert [counted(drafter, k) for k in (0, 1, 4)] == [[], [(1, 2, 1)], [(1, 2, 1), (3, 1, 1)]]
    assert (drafter.kind, drafter.draws, drafter.caches) == ("model", Draws.MODEL, 1)
    assert (drafter.passes(4), drafter.verified(4), drafter.slots(4)) == (4, 4, 5)
    assert drafter.prefills


@pytest.mark.parametrize("kind", ["eagle", "eagle3", "mtp"])
def test_a_head_begins_with_the_tokens_of_the_last_round(kind):
    drafter = head(kind)
    assert [counted(drafter, k) for k in (0, 1, 4)] == [[], [(1, 2, 1)], [(1, 5, 1), (3, 1, 1)]]
    assert (drafter.draws, drafter.caches, drafter.max_k) == (Draws.HEAD, 1, None)


def test_states_fused_once_a_round_are_no_weights_of_later_passes():
    first, later = head("eagle3").runs(3)
    assert first.model.active_params - later.model.active_params == 3 * 8 * 8
    each = head("eagle", fuse=2, fuse_each=True).runs(3)
    assert each[0].model == each[1].model


def test_a_stated_figure_loses_the_fusion_too():
    stated = replace(card(architecture=architecture(fuse=3)), matmul_params=1e6)
    first, later = drafter_of(replace(stated, drafts=Drafts(kind="eagle3"))).runs(2)
    assert (first.model.active_params, later.model.active_params) == (1e6, 1e6 - 192)


def test_modules_each_read_all_tokens_and_keep_a_cache_of_their_own():
    drafter = head("mtp", fuse=2, fuse_each=True, modules=3)
    assert counted(drafter, 2) == [(2, 3, 1)]
    assert counted(drafter, 5) == [(3, 6, 1), (2, 1, 1)]
    one = head("mtp", fuse=2, fuse_each=True)
    assert drafter.caches == 3
    assert drafter.weights_bytes(Dtype.BF16) == 3 * one.weights_bytes(Dtype.BF16)


def test_medusa_heads_run_side_by_side():
    shape = MedusaHeads(hidden=8, vocab=100, heads=4)
    drafter = drafter_of(card(medusa=shape, drafts=Drafts(kind="medusa")))
    assert [counted(drafter, k) for k in (0, 1, 4)] == [[], [(1, 1, 1)], [(1, 1, 1)]]
    assert (drafter.max_k, drafter.caches, drafter.prefills) == (4, 0, False)
    assert drafter.draws is Draws.HEAD


def test_a_pass_of_a_speculator_reads_one_stage():
    shape = MlpSpeculator(hidden=8, inner=4, vocab=10, stages=3)
    drafter = drafter_of(card(speculator=shape, drafts=Drafts(kind="mlp-speculator")))
    first, later = drafter.runs(3)
    assert (first.count, later.count, drafter.max_k) == (1, 2, 3)
    assert first.model.active_params == 4 * (8 + 10)
    assert later.model.active_params == 4 * (4 + 10)
    total = first.model.active_params + 2 * later.model.active_params
    assert total == shape.matmul_params
    assert drafter.weights_bytes(Dtype.BF16) == 2 * shape.stored_params


def test_a_block_is_one_pass():
    drafter = head("block", proposes=7)
    assert [counted(drafter, k) for k in (0, 1, 4)] == [[], [(1, 2, 1)], [(1, 8, 4)]]
    assert drafter.max_k == 7
    alone = head("block", fuse=0)  # PARD: a model with masks
    assert counted(alone, 4) == [(1, 8, 4)]
    assert alone.draws is Draws.MODEL


def test_a_block_beside_the_targets_states_makes_keys_of_them_alone():
    """DFlash: k + 1 states through fusion and keys, k + 1 places through the layers."""
    made = card(architecture=architecture(fuse=3), family="dflash", drafts=Drafts(kind="block"))
    drafter = drafter_of(made)
    keys, block = drafter.runs(4)
    assert (keys.does, keys.tokens, keys.outputs) == (Does.KEYS, 5, 0)
    assert (block.does, block.tokens, block.outputs) == (Does.WHOLE, 5, 4)
    assert (drafter.passes(4), drafter.runs(0)) == (1, ())
    assert keys.model.architecture is not None
    assert keys.model.architecture.key_params == 3 * 8 * 8 + 8 * 2 * 4
    assert keys.model.active_params - block.model.active_params == 3 * 8 * 8


def test_coupled_tokens_are_drawn_one_after_the_other():
    """DSpark: a low-rank head for each token, within the pass."""
    shape = architecture(fuse=3, markov=2)
    drafter = drafter_of(card(architecture=shape, family="dspark", drafts=Drafts(kind="block")))
    _, block, coupling = drafter.runs(4)
    assert (coupling.does, coupling.count, coupling.tokens) == (Does.MORE, 4, 1)
    assert coupling.model.active_params == 2 * 100
    assert block.model.architecture is not None
    assert block.model.architecture.markov is None
    assert drafter.passes(4) == 1


def test_lookups_carry_what_they_find():
    ngram = typed_drafter("ngram")
    assert ngram is not None
    assert (ngram.passes(4), ngram.verified(4), ngram.caches, ngram.adapts) == (0, 4, 0, True)
    assert ngram.proposes(4, 0.25, (0.2, 0.1, 0.05, 0.01)) == 1.0
    assert ngram.seeing((0.0, 0.25, 0.5)).verified(2) == 0.5
    suffix = typed_drafter("suffix")
    assert suffix is not None
    assert suffix.verified(3) == 3
    assert suffix.proposes(3, 0.5, (0.4, 0.3, 0.2)) == pytest.approx(0.5 + 0.4 + 0.3)
    assert suffix.proposes(0, 0.5, ()) == 0


def test_lookahead_carries_both_branches():
    usual, wide = typed_drafter("lookahead"), typed_drafter("lookahead:15x10")
    assert usual is not None
    assert wide is not None
    assert (usual.verified(4), usual.verified(0), usual.passes(4)) == (55, 0, 0)
    assert (wide.verified(4), wide.slots(4)) == (99, 100)
    assert (usual.label, wide.label) == ("lookahead", "lookahead:15x10")


def test_skipped_layers_are_no_weights_of_its_own():
    target = card(architecture=architecture(blocks=(replace(LAYER, repeat=10),)))
    skip = typed_drafter("skip:0.4")
    assert skip is not None
    drafter = skip.joined(target)
    (run,) = drafter.runs(3)
    assert (run.count, run.tokens) == (3, 1)
    assert run.model.architecture is not None
    assert run.model.architecture.layers == 6
    assert target.active_params - run.model.active_params == 4 * (3 * 8 * 16 + 8 * 4 * 6)
    assert (drafter.weights_bytes(Dtype.BF16), drafter.caches, drafter.prefills) == (0, 0, False)
    assert skip.label == "skip:0.4"


@pytest.mark.parametrize(
    ("repeats", "share", "left"),
    [((10,), 0.4, [6]), ((3, 3), 0.5, [2, 1]), ((1, 9), 0.9, [1]), ((2,), 0.99, [1])],
)
def test_layers_are_skipped_evenly(repeats, share, left):
    blocks = tuple(replace(LAYER, repeat=n, norms=i) for i, n in enumerate(repeats))
    skip = typed_drafter(f"skip:{share}")
    assert skip is not None
    model = skip.joined(card(architecture=architecture(blocks=blocks))).model
    assert model is not None
    assert model.architecture is not None
    assert sum(block.repeat for block in model.architecture.blocks) == sum(left)


def test_a_card_of_two_figures_has_no_layers_to_skip():
    bare = card(architecture=None, matmul_params=1e9, kv_bytes_per_token=1e5)
    skip = typed_drafter("skip:0.4")
    assert skip is not None
    with pytest.raises(Refused, match="no architecture: what a share of its layers costs"):
        skip.joined(bare)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("skip:1", "skip:1 is no share of the layers"),
        ("skip:", "skip: is no share of the layers"),
        ("lookahead:0x3", "lookahead:0x3 is no window and number of guesses"),
        ("lookahead:7", "lookahead:7 is no window"),
        ("lookahead:1.5x2", "lookahead:1.5x2 is no window"),
        ("ngram:3", "draft 'ngram' takes no argument, not ':3'"),
        ("ratio:x", "ratio:x is no cost ratio"),
    ],
)
def test_arguments_that_are_none(text, said):
    with pytest.raises(UsageError, match=said):
        typed_drafter(text)


def test_what_is_no_kind_may_be_a_card():
    assert typed_drafter("llama-3.2-1b") is None
    assert plugged_drafter("llama-3.2-1b") is None
    assert set(DRAFTERS) == {"ratio", "free", "none", "ngram", "suffix", "lookahead", "skip"}


def test_a_run_is_one_token_in_and_one_out():
    assert Run(card(), 1).tokens == Run(card(), 1).outputs == 1
