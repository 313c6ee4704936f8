"""Terms of a forward pass: summed, they are the card's parameters, its cache and its state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from specplan.catalogue.store import Catalogue
from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.engine import Small
from specplan.domain.mixers import Attention
from specplan.domain.model import Model
from specplan.errors import Refused
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.mixed import ATTENTION
from specplan.physics.moving import State
from specplan.physics.roofline import kv_read_bytes
from specplan.physics.work import Matmul, Term, load

SMALL = Small(launches=3, launch=3e-6, memory=0.8, state=15e-6, sampler=40e-6, draft_sampler=20e-6)
BF16 = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
MODELS = [loaded.card for loaded in Catalogue().every(Model) if loaded.card.architecture]
CONTEXTS = np.array([1.0, 100.0, 4096.0, 100_000.0])  # below and beyond every window
CARDS = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


def terms(model: Model, layout: Layout = BF16) -> tuple[Term, ...]:
    """The terms of one pass."""
    return forward_terms(model, layout, SMALL)


def architecture(model: Model) -> Architecture:
    """That of a card that has one."""
    assert model.architecture is not None
    return model.architecture


def named(model: Model, name: str) -> list[Term]:
    """The terms of that name."""
    return [term for term in terms(model) if term.name == name]


@CARDS
def test_terms_hold_every_weight_once(model):
    """What one token multiplies, and the experts that it leaves idle."""
    arch = architecture(model)
    idle = sum(g.layers * (g.experts - g.active) * g.expert_params for g in arch.expert_groups)
    assert sum(term.params for term in terms(model)) == arch.matmul_params + idle


@CARDS
def test_the_checkpoint_holds_what_is_multiplied_and_more(model):
    """Stored are the terms' weights but a borrowed head; and norms, biases, an embedding, the way
    into a Markov head with its confidence.
    """
    arch = architecture(model)
    layers = sum(block.repeat * block.vector_params(arch.hidden) for block in arch.blocks)
    vectors = layers + (arch.norms + arch.fuse_bias + (arch.positions or 0)) * arch.hidden
    vectors += arch.vocab if arch.head_bias else 0
    wide, rank = arch.vocab * arch.hidden, arch.markov or 0
    beside = vectors + (0 if arch.tied_embeddings else wide)
    beside += arch.vocab * rank + (arch.hidden + rank + 1 if rank else 0)
    borrowed = wide if arch.borrowed_head else 0
    multiplied = sum(term.params for term in terms(model))
    assert arch.stored_params == multiplied - borrowed + beside


@CARDS
def test_one_tokens_arithmetic_is_that_of_the_active_weights(model):
    """2 FLOP per weight that one token multiplies; latent up-projections are absorbed unchanged."""
    attention = [term for term in terms(model) if isinstance(term, ATTENTION)]
    one = load(1, 1, 1)
    flops = sum(t.flops(one) for t in terms(model)) - sum(t.flops(one) for t in attention)
    assert flops == pytest.approx(2 * architecture(model).matmul_params, rel=1e-12)


@CARDS
@pytest.mark.parametrize("kv_dtype", [Dtype.BF16, Dtype.FP8])
def test_attention_reads_the_cache_of_one_sequence(model, kv_dtype):
    asked = load(1, 1, CONTEXTS)
    layout = Layout(dtype=Dtype.BF16, kv_dtype=kv_dtype)
    attention = [term for term in terms(model, layout) if isinstance(term, ATTENTION)]
    read = sum(term.traffic_bytes(asked) for term in attention)
    kept = kv_read_bytes(model, CONTEXTS, kv_dtype) - model.state_bytes
    np.testing.assert_allclose(read, kept, rtol=1e-12)


@CARDS
def test_state_is_read_and_written(model):
    states = [term for term in terms(model) if isinstance(term, State)]
    assert sum(t.traffic_bytes(load(1, 1, 1)) for t in states) == 2 * model.state_bytes


def test_cards_cover_the_kinds_of_layers():
    """The checks above would be hollow for a kind of layer that no card has."""
    blocks = [block for model in MODELS for block in architecture(model).blocks]
    kinds = ("attention", "latent", "delta", "mamba", "mlp", "experts")
    assert [kind for kind in kinds if not any(getattr(b, kind) for b in blocks)] == []
    assert any(b.attention and b.attention.window for b in blocks)
    assert any(b.attention and b.attention.gated for b in blocks)
    assert any(b.attention and b.attention.value_dim for b in blocks)
    assert any(b.attention and b.attention.keys_are_values for b in blocks)
    assert any(b.latent and b.latent.indexer for b in blocks)
    assert any(b.experts and b.experts.latent for b in blocks)
    assert any(b.experts and b.experts.shared_gate for b in blocks)
    assert any(architecture(model).markov for model in MODELS)
    assert any(architecture(model).fuse_each for model in MODELS)
    assert any(b.experts and b.experts.shared_width for b in blocks)


HEAD = next(model for model in MODELS if model.name == "eagle3-llama-3.1-8b")


def test_an_eagle3_head_reads_two_vectors_and_fuses_three():
    """Hidden 4,096; 32 query and 8 KV heads of 128: 6,144 columns of 8,192, 4,096 of 12,288."""
    (qkv,), (fuse,), (head,) = (named(HEAD, name) for name in ("qkv", "fuse", "head"))
    assert (qkv.params, fuse.params, head.params) == (6144 * 8192, 4096 * 12288, 32000 * 4096)
    assert isinstance(fuse, Matmul)
    assert fuse.launches == 1


def test_a_model_does_not_fuse():
    once = {"eagle3", "dflash", "dspark"}
    assert [m.name for m in MODELS if named(m, "fuse") and m.family not in once] == []
    assert [m.name for m in MODELS if not named(m, "fuse") and m.family in once] == []
    each = {"eagle", "mtp"}
    assert [m.name for m in MODELS if named(m, "join") and m.family not in each] == []
    assert [m.name for m in MODELS if not named(m, "join") and m.family in each] == []


@pytest.mark.parametrize(("inputs", "gated"), [(1, False), (2, False), (1, True), (3, True)])
def test_inputs_widen_q_k_and_v_alone(inputs, gated):
    """4 heads of 8 over 2 KV heads, hidden 10: 8 x 8 = 64 columns read, 32 more where gated."""
    attention = Attention(heads=4, kv_heads=2, head_dim=8, inputs=inputs, gated=gated)
    read = 64 + 32 * gated
    assert attention.matmul_params(10) == 10 * inputs * read + 32 * 10


# --- how a model lies on its GPUs -------------------------------------------------------------

LLAMA = next(model for model in MODELS if model.name == "llama-3.1-8b")
MOE = next(model for model in MODELS if model.name == "qwen3-30b-a3b")
LATENT = next(model for model in MODELS if model.name == "deepseek-r1")


def laid(model: Model, name: str, **layout: object) -> list[Term]:
    """The terms of that name under a bf16 layout."""
    asked = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16, **layout)  # type: ignore[arg-type]
    return [term for term in terms(model, asked) if term.name == name]


def weights(model: Model, name: str, **layout: object) -> float:
    return sum(term.params for term in laid(model, name, **layout))


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_matrices_divide_over_the_gpus(tp):
    for name in ("qkv", "output", "mlp", "head"):
        assert weights(LLAMA, name, gpus=tp) * tp == weights(LLAMA, name)


def test_kv_heads_replicate_beyond_one_each():
    """8 KV heads on 16 GPUs: 2 query heads and a whole KV head each."""
    (qkv,), (attend,) = laid(LLAMA, "qkv", gpus=16), laid(LLAMA, "attention", gpus=16)
    assert qkv.params == 32 * (2 + 2 * 1) * 128 * 4096
    assert attend.traffic_bytes(load(1, 1, 1)) == 32 * 2 * 1 * 128 * 2


def test_every_gpu_keeps_the_whole_latent():
    at = load(3, 1, 1000)
    alone = sum(t.traffic_bytes(at) for t in laid(LATENT, "attention"))
    assert sum(t.traffic_bytes(at) for t in laid(LATENT, "attention", gpus=8)) == alone
    flops = sum(t.flops(at) for t in laid(LATENT, "attention"))
    assert sum(t.flops(at) for t in laid(LATENT, "attention", gpus=8)) == flops / 8


@pytest.mark.parametrize("ep", [1, 2, 8])
def test_experts_divide_by_number_or_by_width_alike_in_all(ep):
    (route,) = laid(MOE, "experts", gpus=8, ep=ep)
    assert route.params * 8 == weights(MOE, "experts")
    assert route.flops(load(5, 3, 1)) * 8 == pytest.approx(
        sum(t.flops(load(5, 3, 1)) for t in laid(MOE, "experts"))
    )


def test_groups_exchange_tokens_with_the_experts_both_ways():
    """One group of 8: attention and experts, one all-reduce a layer each. Eight groups of one GPU:
    attention needs none, experts two, over the tokens of all groups.
    """
    one = laid(MOE, "allreduce", gpus=8)
    eight = laid(MOE, "allreduce", gpus=8, groups=8)
    assert [term.launches for term in one] == [48, 48]
    assert [term.launches for term in eight] == [48, 48]
    assert eight[0].traffic_bytes(load(1, 1, 1)) == 8 * one[0].traffic_bytes(load(1, 1, 1))


def test_router_and_head_stay_wide_where_a_model_is_quantised():
    by_name = {t.name: t for t in terms(MOE, Layout(dtype=Dtype.FP8, kv_dtype=Dtype.BF16))}
    kinds = {name: getattr(by_name[name], "dtype", None) for name in ("qkv", "experts", "head")}
    assert kinds == {"qkv": Dtype.FP8, "experts": Dtype.FP8, "head": Dtype.BF16}


def test_a_checkpoint_of_several_types_keeps_them():
    oss = next(model for model in MODELS if model.name == "gpt-oss-120b")
    own = {t.name: t for t in terms(oss, Layout(dtype=oss.dtype, kv_dtype=Dtype.BF16))}
    assert oss.parts
    for part, name in (("attention", "qkv"), ("experts", "experts"), ("head", "head")):
        stored = {str(key): value for key, value in oss.parts.items()}
        if part in stored:
            assert getattr(own[name], "dtype", None) is stored[part]


def test_a_draft_pass_sweeps_its_logits_once():
    (target,), (draft,) = laid(LLAMA, "sampler"), laid(LLAMA, "sampler", draft=True)
    at = load(1, 1, 1)
    assert target.traffic_bytes(at) == 3 * draft.traffic_bytes(at) == 3 * 4 * 128_256


def test_a_card_of_two_figures_has_no_terms():
    bare = replace(LLAMA, architecture=None, matmul_params=7.5e9, kv_bytes_per_token=131072.0)
    with pytest.raises(Refused, match=r"^llama-3\.1-8b has no architecture: an engine's time"):
        terms(bare)
