"""What rounds that draft trees cost: the chain is one of them, and every token has its price."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import worlds
from engine_worlds import CHIP, ENGINE, RELEASE

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.drafter import Drafter, Run
from specplan.domain.drafters import ModelDrafter, drafter_of, typed_drafter
from specplan.domain.scenario import Setup
from specplan.domain.tree import Tree, by_rank
from specplan.physics.engine_round import draft_layout
from specplan.physics.forward import forward_terms
from specplan.physics.round import time_rounds
from specplan.physics.silicon import Silicon
from specplan.physics.steps import gpu_step
from specplan.physics.tree_round import TreeDrafts, TreeTiming, time_trees
from specplan.physics.tree_shapes import Shape, chain, eagle
from specplan.physics.work import load

STORE = Catalogue()
RANKS = by_rank(".6,.2,.1")
NOTHING = Shape.of(Tree.chain(0))
ENGINED = Setup(
    target=STORE.model("llama-3.1-8b").card,
    draft=drafter_of(STORE.model("eagle3-llama-3.1-8b").card),
    hardware=CHIP,
    tp=1,
    draft_tp=1,
    engine=ENGINE,
    dtype=Dtype.BF16,
    draft_dtype=Dtype.BF16,
    kv_dtype=Dtype.BF16,
    release=RELEASE,
)
MODEL = STORE.model("llama-3.2-1b").card
MTP = STORE.model("mtp-deepseek-r1").card
assert MTP.drafts


def drafting(text: str) -> Setup:
    """The engine with a drafter as typed."""
    drafter = typed_drafter(text)
    assert drafter is not None
    return replace(ENGINED, draft=drafter.joined(ENGINED.target))


SETUPS = {
    "ideal": worlds.setup(worlds.PAIR),
    "ideal ratio": worlds.setup(replace(worlds.FREE, ratio=0.1)),
    "free": worlds.setup(worlds.FREE),
    "engine": ENGINED,
    "engine model": replace(ENGINED, draft=ModelDrafter(MODEL)),
    "engine ratio": drafting("ratio:0.1"),
    "engine skip": drafting("skip:0.4"),
    "engine mtp": replace(ENGINED, draft=drafter_of(MTP)),
    "engine modules": replace(
        ENGINED, draft=drafter_of(replace(MTP, drafts=replace(MTP.drafts, modules=2)))
    ),
    "engine medusa": replace(ENGINED, draft=drafter_of(STORE.model("medusa-vicuna-7b-v1.3").card)),
    "engine block": replace(ENGINED, draft=drafter_of(STORE.model("dflash-qwen3-8b").card)),
}


def timed(setup: Setup, *shapes: Shape, batch: float = 1.0) -> TreeTiming:
    """The shapes at one point, behind the one that drafts nothing."""
    (timing,) = time_trees(
        setup, (1000.0,), (batch,), TreeDrafts.of(setup.draft, (NOTHING, *shapes))
    )
    return timing


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
@pytest.mark.parametrize("batch", [1.0, 48.0])
def test_a_chain_costs_what_a_round_costs(setup, batch):
    lengths = (0, 1, 2, 3, 5)
    timing = time_rounds(setup, (1000.0,), (batch,), lengths)
    costs = timed(setup, *map(chain, (1, 2, 3, 5)), batch=batch)
    assert costs.draft_s == pytest.approx(timing.draft_s[0, 0], rel=1e-12)
    assert costs.verify_s.tolist() == timing.verify_s[0, 0].tolist()
    assert costs.plain_s == timing.plain_s[0, 0, 0]
    assert costs.speedup(np.ones(5)) == pytest.approx(timing.gain[0, 0], rel=1e-12)
    assert costs.speedup(np.ones(5))[0] == 1
    assert list(costs.passes) == [setup.draft.passes(k) for k in lengths]


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
def test_other_shapes_beside_it_change_nothing(setup):
    shapes = [chain(3), eagle(3, 4, 12, RANKS), eagle(5, 2, 9, RANKS), eagle(2, 8, 30, RANKS)]
    together = timed(setup, *shapes, batch=48)
    for number, shape in enumerate(shapes, 1):
        alone = timed(setup, shape, batch=48)
        assert together.round_s[number] == pytest.approx(alone.round_s[1], rel=1e-12)


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
def test_wider_passes_take_no_less(setup):
    shapes = [Shape("", Tree.chain(3), (1, width, width)) for width in (1, 2, 8, 64)]
    draft_s = timed(setup, *shapes, batch=64).draft_s[1:]
    assert (np.diff(draft_s) >= -1e-15).all()
    widened = setup.draft.passes(3) == 3 and not setup.draft.ratio
    assert (draft_s[-1] > draft_s[0] * (1 + 1e-9)) == (widened and setup is not SETUPS["free"])


def test_a_wide_pass_by_hand():
    """The drafter's 1e8 parameters, 2e8 bytes: at batch 64 and 1,000 tokens a pass moves 2e8 + 64e7
    bytes in 0.84 ms, and computes for 0.128 ms a token of every sequence: 0.896 ms with 7 of them.
    The first pass carries two tokens.
    """
    shapes = [Shape("", Tree.chain(3), (1, 6, width)) for width in (1, 6, 7, 14)]
    draft_s = timed(SETUPS["ideal"], *shapes, batch=64).draft_s[1:]
    assert draft_s == pytest.approx([2.52e-3, 2.52e-3, 2.576e-3, 3.472e-3])


def test_the_first_pass_is_a_chain_s():
    """At batch 64 two tokens of 7 more would compute for 1.152 ms; one level is one pass of two."""
    assert timed(SETUPS["ideal"], eagle(1, 7, 8, RANKS), batch=64).draft_s[1] == pytest.approx(
        0.84e-3
    )


def test_a_wide_pass_proposes_with_all_of_its_tokens():
    """As the engine's own forward pass over so many tokens of each sequence, its wait for the host
    included.
    """
    on = Silicon(CHIP, ENGINE)
    terms = forward_terms(MODEL, draft_layout(ENGINED), on.small)
    setup = SETUPS["engine model"]
    narrow, wide = (
        float(gpu_step(terms, load(32, tokens, 1000), on).time_s.item()) for tokens in (1, 16)
    )
    shapes = [Shape("", Tree.chain(2), (1, width)) for width in (1, 16)]
    draft_s = timed(setup, *shapes, batch=32).draft_s
    assert wide > narrow > RELEASE.draft_floor
    assert draft_s[2] - draft_s[1] == pytest.approx(wide - narrow, rel=1e-9)


def test_a_ratio_is_the_cost_of_a_pass():
    shape = eagle(3, 8, 12, RANKS)
    timing = timed(SETUPS["ideal ratio"], shape, batch=64)
    assert timing.draft_s[1] == pytest.approx(3 * 0.1 * timing.plain_s)


def test_verification_is_that_of_a_chain_of_as_many():
    shape = eagle(3, 8, 12, RANKS)
    for setup in SETUPS.values():
        timing = timed(setup, shape, chain(11), batch=64)
        assert timing.verify_s[1] == timing.verify_s[2]
        assert timing.bound_by[1] == timing.bound_by[2]


def test_heads_that_draft_at_once_have_no_level_to_widen():
    shape = eagle(3, 8, 12, RANKS)
    for name in ("engine medusa", "engine block"):
        timing = timed(SETUPS[name], shape, chain(3), batch=64)
        assert (timing.passes, timing.pass_s) == ((0, 1, 1), 0)
        assert timing.draft_s[1] == pytest.approx(timing.draft_s[2], rel=1e-12)


def test_the_root_may_be_charged_a_pass():
    timing = timed(SETUPS["ideal ratio"], chain(2), eagle(3, 4, 12, RANKS))
    assert timing.pass_s == pytest.approx(0.21e-3)
    charged = timing.speedup([1.0, 1.0, 1.0], root_drafts=True)
    round_s = [timing.plain_s, timing.round_s[1] + 0.21e-3, timing.round_s[2] + 0.21e-3]
    assert charged == pytest.approx([timing.plain_s / s for s in round_s])  # none without a draft


def test_every_batch_of_every_context():
    shapes = (NOTHING, chain(2), eagle(3, 4, 12, RANKS))
    for setup in (SETUPS["ideal"], ENGINED):
        drafts = TreeDrafts.of(setup.draft, shapes)
        grid = list(time_trees(setup, (10.0, 4000.0), (1.0, 30.0), drafts))
        points = [(10.0, 1.0), (10.0, 30.0), (4000.0, 1.0), (4000.0, 30.0)]
        for found, (context, batch) in zip(grid, points, strict=True):
            (alone,) = time_trees(setup, (context,), (batch,), drafts)
            assert found.round_s == pytest.approx(alone.round_s, rel=1e-12)
            assert found.plain_s == pytest.approx(alone.plain_s, rel=1e-12)
            assert found.pass_s == pytest.approx(alone.pass_s, rel=1e-9)
            assert found.bound_by == alone.bound_by


def test_the_fastest_is_the_first_of_those_alike():
    timing = timed(SETUPS["free"], chain(1), chain(2), chain(3))
    assert timing.fastest([1.0, 1.5, 2.0, 2.0]) == 2
    assert timing.fastest([1.0, 1.5, 2.0, 2.0], (3, 1)) == 3


def test_the_first_round_drafts_nothing():
    for shapes in ((), (chain(1),)):
        with pytest.raises(ValueError, match="the first shape drafts nothing"):
            TreeDrafts.of(ENGINED.draft, shapes)


def test_whatever_drafts_nothing_is_a_plain_step():
    timing = timed(ENGINED, Shape.of(Tree.chain(0), "another"), chain(1))
    assert timing.speedup([1.0, 1.0, 1.0])[:2].tolist() == [1, 1]
    assert timing.round_s[2] > timing.plain_s


@dataclass(frozen=True, slots=True)
class OneMore(Drafter):
    """A kind of somebody else's: a pass more than it drafts."""

    def runs(self, k: int) -> tuple[Run, ...]:
        return (Run(MODEL, k + 1),) if k else ()


def test_passes_beyond_the_levels_have_one_token():
    setup = replace(ENGINED, draft=OneMore())
    timing = timed(setup, Shape("", Tree.chain(2), (1, 16)), chain(2), batch=32)
    model = timed(
        SETUPS["engine model"], *(Shape("", Tree.chain(2), (1, w)) for w in (1, 16)), batch=32
    )
    wider_s = model.draft_s[2] - model.draft_s[1]
    assert timing.draft_s[1] - timing.draft_s[2] == pytest.approx(wider_s, rel=1e-9)
    plain = time_rounds(setup, (1000.0,), (32.0,), (2,))
    assert timing.draft_s[2] == pytest.approx(plain.draft_s[0, 0, 0], rel=1e-12)
