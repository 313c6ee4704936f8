"""The bill by hand: 9e9 usable bytes, weights of 2e9 and 2e8, 1e5 and 1e4 bytes a token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pytest
import worlds

from specplan.catalogue.store import Catalogue
from specplan.domain.architecture import Architecture
from specplan.domain.card import Dtype
from specplan.domain.engine import Small
from specplan.domain.layers import Part
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.physics.experts import Route
from specplan.physics.forward import Layout, forward_terms
from specplan.physics.memory import USABLE_FRACTION, memory_bill
from specplan.physics.mixed import ATTENTION
from specplan.physics.work import Term, load

SMALL = Small(launches=3, launch=3e-6, memory=0.8, state=15e-6, sampler=40e-6, draft_sampler=20e-6)
MODELS = [
    loaded.card
    for loaded in Catalogue().every(Model)
    if loaded.card.architecture and not loaded.card.architecture.borrowed_head
]
"""Cards with layers that own the head they multiply."""
CARDS = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
SPLITS = [(8, 1, 1), (8, 2, 1), (8, 2, 8), (8, 4, 2), (8, 8, 1), (8, 8, 8), (16, 8, 4), (4, 4, 1)]
"""GPUs, attention groups, ways that experts divide by number."""


def bill(case: oracle.Case = worlds.PAIR, context: object = 1000, **changes: object):
    return memory_bill(worlds.setup(replace(case, **changes)), context)


def test_the_bill():
    found = bill()
    assert USABLE_FRACTION == 0.9
    assert found.usable_bytes == 9e9
    assert found.target_bytes == 2e9
    assert found.draft_bytes == 2e8
    assert float(found.target_sequence_bytes) == 1e8
    assert float(found.draft_sequence_bytes) == 1e7


def test_sequences_without_and_with_the_drafter():
    found = bill()
    assert int(found.largest_plain) == 70  # 7e9 / 1e8
    assert int(found.largest) == 61  # 6.8e9 / 1.1e8 = 61.8


def test_needed_bytes():
    assert float(bill().needed_bytes(10, drafted=False)) == 3e9
    assert float(bill().needed_bytes(10, drafted=True)) == 3.3e9


@pytest.mark.parametrize("case", [worlds.FREE, replace(worlds.FREE, ratio=0.2), worlds.PLAIN])
def test_drafts_without_a_model_take_no_memory(case):
    found = bill(case)
    assert found.draft_bytes == 0
    assert float(found.draft_sequence_bytes) == 0
    assert int(found.largest) == int(found.largest_plain) == 70


def test_contexts():
    found = bill(context=[[1000, 2000], [100_000, 10]])
    assert found.largest_plain.tolist() == [[70, 35], [0, 7000]]
    assert found.largest.tolist() == [[61, 30], [0, 6181]]


def test_types():
    found = bill(dtype="int4", draft_dtype="fp8", kv_dtype="fp8")
    assert (found.target_bytes, found.draft_bytes) == (0.5e9, 1e8)
    assert float(found.target_sequence_bytes) == 0.5e8
    assert int(found.largest) == 152  # 8.4e9 / 5.5e7 = 152.7


def test_the_fullest_gpu():
    # A drafter on one of four GPUs: 0.5e9 + 2e8 of weights, 0.25e8 + 1e7 a sequence.
    found = bill(tp=4, draft_tp=1)
    assert (found.target_bytes, found.draft_bytes) == (0.5e9, 2e8)
    assert int(found.largest_plain) == 340
    assert int(found.largest) == 237  # 8.3e9 / 3.5e7 = 237.1


@pytest.mark.parametrize("memory", [1e9, 2.3e9])
def test_weights_that_do_not_fit_leave_no_sequence(memory):
    assert int(bill(memory=memory).largest_plain) == 0
    assert int(bill(memory=memory).largest) == 0


def test_a_drafter_may_be_what_does_not_fit():
    found = bill(memory=2.4e9)  # 2.16e9 usable: 0.16e9 left, less than the drafter's 0.2e9
    assert (int(found.largest_plain), int(found.largest)) == (1, 0)


def test_stored_parameters_count_not_multiplied_ones():
    tied = oracle.Model(
        hidden=64, vocab=1000, tied=True, layers=(oracle.Layer(norms=2, mlp_width=64),)
    )
    # MLP 3 x 64 x 64, two norms and the last one of 64, the embedding 1000 x 64 once or twice.
    once = 3 * 64 * 64 + 3 * 64 + 1000 * 64
    assert bill(target=tied).target_bytes == 2 * once
    assert bill(target=replace(tied, tied=False)).target_bytes == 2 * (once + 1000 * 64)


def test_a_model_without_cache_is_bounded_by_its_state():
    state = oracle.Layer(recurrent_params=1000, state_bytes=1e6, mlp_width=64)
    target = oracle.Model(hidden=64, vocab=1000, tied=True, layers=(state,))
    found = bill(worlds.FREE, target=target, context=[10, 1_000_000])
    weights = 2 * (1000 + 3 * 64 * 64 + 3 * 64 + 64_000)
    assert found.largest.tolist() == [(9e9 - weights) // 1e6] * 2


def laid(model: Model, gpus: int, groups: int, ep: int) -> Setup:
    """A catalogued model in 16 bits on GPUs in attention groups; nothing drafts."""
    base = replace(worlds.setup(worlds.PLAIN), dtype=Dtype.BF16, kv_dtype=Dtype.BF16)
    return replace(base, target=model, tp=gpus, draft_tp=gpus, attention_dp=groups, ep=ep)


def held(model: Model, gpus: int = 1, groups: int = 1, ep: int = 1) -> tuple[Term, ...]:
    """What one of the GPUs runs in a pass."""
    layout = Layout(dtype=Dtype.BF16, kv_dtype=Dtype.BF16, gpus=gpus, groups=groups, ep=ep)
    return forward_terms(model, layout, SMALL)


def unmultiplied(arch: Architecture) -> int:
    """Norms, biases and an untied embedding: stored, and in no term."""
    return sum(weights.params for weights in arch.weights() if weights.part is Part.EMBEDDING)


def shared_params(model: Model, gpus: int = 1) -> float:
    """Weights of a GPU of one group but for its experts."""
    return sum(term.params for term in held(model, gpus) if not isinstance(term, Route))


@CARDS
@pytest.mark.parametrize(("gpus", "groups", "ep"), SPLITS)
def test_weights_are_those_that_the_terms_of_one_gpu_hold(model, gpus, groups, ep):
    """Terms also say what a group keeps on each of its GPUs (router, compressed latent, KV heads
    and rows that do not divide), which the ideal form shares out: a group's excess is that of as
    many GPUs without groups, none where each GPU is a group of its own.
    """
    wide = gpus // groups
    excess = shared_params(model, wide) - shared_params(model) / wide
    assert excess == 0 if wide == 1 else excess >= 0
    in_terms = sum(term.params for term in held(model, gpus, groups, ep))
    expected = in_terms - excess + unmultiplied(model.architecture) / wide
    found = memory_bill(laid(model, gpus, groups, ep), 1000).target_bytes
    assert found == pytest.approx(2 * expected, rel=1e-12)


@CARDS
@pytest.mark.parametrize(("gpus", "groups", "ep"), SPLITS)
def test_the_cache_of_a_batch_is_what_the_terms_of_one_gpu_read(model, gpus, groups, ep):
    blocks = model.architecture.blocks
    picked = [b.latent.top for b in blocks if b.latent and b.latent.top]  # all is read up to here
    contexts = np.minimum([100.0, 4096.0, 100_000.0], min(picked, default=np.inf))
    setup = laid(model, gpus, groups, ep)
    found = memory_bill(setup, contexts)
    for batch in (1, 7, 8, 9, 100):
        asked = load(-(-batch // groups), 1, contexts)
        cached = (t for t in held(model, gpus, groups, ep) if isinstance(t, ATTENTION))
        read = sum(term.traffic_bytes(asked) for term in cached)
        state = -(-batch // groups) * model.state_bytes * groups / gpus
        kept = found.needed_bytes(batch, drafted=False) - found.target_bytes
        np.testing.assert_allclose(kept, read + state, rtol=1e-6)


@CARDS
def test_how_experts_divide_does_not_change_their_bytes(model):
    bills = [memory_bill(laid(model, 8, 4, ep), 1000) for ep in (1, 2, 8)]
    assert len({found.target_bytes for found in bills}) == 1
    assert len({int(found.largest_plain) for found in bills}) == 1


@CARDS
@pytest.mark.parametrize("tp", [1, 2, 8])
def test_one_group_is_tensor_parallel_alone(model, tp):
    found = memory_bill(laid(model, tp, 1, tp), 1000)
    assert found.target_bytes == model.weights_bytes(Dtype.BF16) / tp


@pytest.mark.parametrize(
    "case", [worlds.PAIR, worlds.FREE, worlds.PLAIN], ids=("pair", "free", "plain")
)
@pytest.mark.parametrize("slots", [1, 7, 1000])
def test_tokens_ahead_are_the_drafted_arms(case, slots):
    usual, ahead = bill(case), memory_bill(worlds.setup(case), 1000, slots)
    assert int(ahead.largest_plain) == int(usual.largest_plain)
    assert int(ahead.largest) == oracle.largest_batch(case, 1000 + slots, drafted=True)
    assert float(ahead.needed_bytes(5, drafted=False)) == float(
        usual.needed_bytes(5, drafted=False)
    )
    each = oracle.sequence_bytes(case, 1000 + slots, drafted=True)
    expected = oracle.weights_bytes(case, drafted=True) + 5 * each
    assert float(ahead.needed_bytes(5, drafted=True)) == pytest.approx(expected, rel=1e-14)


def test_windows_hold_no_more_than_they_see():
    layer = oracle.Layer(heads=8, kv_heads=8, head_dim=64, mlp_width=64, window=500)
    case = replace(worlds.FREE, target=oracle.Model(hidden=512, vocab=1000, layers=(layer,)))
    found = memory_bill(worlds.setup(case), 1000, 8)
    assert float(found.ahead_sequence_bytes) == 0


def test_attention_groups_hold_the_tokens_ahead_of_their_own():
    base = replace(worlds.setup(replace(worlds.PAIR, tp=4, draft_tp=1)), attention_dp=4)
    found = memory_bill(base, 1000, 10)
    # 9e9 less the target's weights, four times over 4 GPUs, and the drafter's: 6.8e9 bytes, in
    # which a group's sequence takes 1010 x 1e5 and the drafter's caches of four 4 x 1010 x 1e4.
    each = int(6.8e9 // (1010 * 1.4e5))
    assert each <= int(found.largest) / 4 < each + 1
    needed = float(found.needed_bytes(8, drafted=True))
    assert needed == pytest.approx(2.2e9 + 2 * 1010 * 1e5 + 8 * 1010 * 1e4, rel=1e-12)


def grouped(case: oracle.Case, groups: int, context: float = 1000):
    """The bill of a case whose GPUs attend in groups."""
    return memory_bill(replace(worlds.setup(case), attention_dp=groups), context)


def test_groups_by_hand():
    # 4 GPUs in 2 groups: 2e9 over 2 GPUs, 1e8 a sequence over 2, every second sequence.
    found = grouped(replace(worlds.PLAIN, tp=4), 2)
    assert (found.target_bytes, float(found.target_sequence_bytes)) == (1e9, 0.5e8)
    assert int(found.largest_plain) == 2 * 160  # 8e9 / 0.5e8
    needed = [float(found.needed_bytes(batch, drafted=False)) for batch in (0, 1, 2, 3)]
    assert needed == [1e9, 1.05e9, 1.05e9, 1.1e9]


def test_a_drafter_keeps_every_sequence():
    # 4 GPUs, each a group: 7e9 - 2e8 left; 1e8 for every fourth sequence, 1e7 for every one.
    found = grouped(replace(worlds.PAIR, tp=4, draft_tp=1), 4)
    assert int(found.largest_plain) == 4 * 70
    # 48 in each group take 48 x 1.4e8 = 6.72e9; 0.08e9 are left, not enough for one more.
    assert int(found.largest) == 4 * 48
    # With 0.12e9 left one group has room for another sequence, and the drafter for two more.
    more = grouped(
        replace(worlds.PAIR, tp=4, draft_tp=1, memory=(6.72e9 + 2.2e9 + 0.12e9) / 0.9), 4
    )
    assert int(more.largest) == 4 * 48 + 2


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("context", [17, 1000, 33_333])
@pytest.mark.parametrize("drafted", [False, True])
def test_the_largest_batch_of_groups_fits_and_the_next_does_not(groups, context, drafted):
    found = grouped(replace(worlds.PAIR, tp=8, draft_tp=8), groups, context)
    largest = float(found.largest if drafted else found.largest_plain)
    assert largest > 0
    assert float(found.needed_bytes(largest, drafted=drafted)) <= found.usable_bytes
    assert float(found.needed_bytes(largest + 1, drafted=drafted)) > found.usable_bytes
