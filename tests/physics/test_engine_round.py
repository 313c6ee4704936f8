"""Plain steps and rounds: what the host adds, where it hides, and what drafting costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_worlds import CHIP, ENGINE, RELEASE

from specplan.catalogue.store import Catalogue
from specplan.domain.card import Dtype
from specplan.domain.drafter import Draws
from specplan.domain.drafters import ModelDrafter, drafter_of
from specplan.domain.scenario import Setup
from specplan.domain.weightless import NoDrafter, RatioDrafter
from specplan.errors import Refused
from specplan.physics.engine_round import draft_layout, target_layout
from specplan.physics.forward import forward_terms
from specplan.physics.round import Timing, cost_ratio, ideal_rounds, time_rounds
from specplan.physics.silicon import Silicon
from specplan.physics.steps import EAGER, HOST, Step, gpu_step
from specplan.physics.work import load

STORE = Catalogue()
TARGET, DRAFT = STORE.model("llama-3.1-8b").card, STORE.model("llama-3.2-1b").card
HEAD = STORE.model("eagle3-llama-3.1-8b").card
MOE = STORE.model("qwen3-30b-a3b").card
BARE = replace(RELEASE, host=0.0, round_host=0.0, draft_host=0.0, host_hidden=False)
SETUP = Setup(
    target=TARGET,
    draft=ModelDrafter(DRAFT),
    hardware=CHIP,
    tp=1,
    draft_tp=1,
    engine=ENGINE,
    dtype=Dtype.BF16,
    draft_dtype=Dtype.BF16,
    kv_dtype=Dtype.BF16,
    release=BARE,
)
FREE = replace(SETUP, draft=RatioDrafter(0.0))


def timed(setup: Setup, k: int = 4, batch: float = 1.0) -> Timing:
    return time_rounds(setup, (1000.0,), (batch,), (k,))


def under(setup: Setup, **habits: object) -> Setup:
    return replace(setup, release=replace(BARE, **habits))  # type: ignore[arg-type]


def gpu_s(setup: Setup, tokens: int, batch: int = 1) -> float:
    """The target's pass on the GPU."""
    on = Silicon(setup.hardware, setup.engine)
    terms = forward_terms(setup.target, target_layout(setup), on.small)
    return float(gpu_step(terms, load(batch, tokens, 1000), on).time_s.item())


def shares(step: object) -> dict[str, float]:
    assert isinstance(step, Step)
    return {share.name: float(np.asarray(share.time_s).item()) for share in step.shares}


PLAIN_S, VERIFY_S = gpu_s(SETUP, 1), gpu_s(SETUP, 5)


def test_without_host_a_round_is_its_passes():
    timing = timed(SETUP)
    assert float(timing.plain_s.item()) == pytest.approx(PLAIN_S, rel=1e-14)
    assert float(timing.verify_s.item()) == pytest.approx(VERIFY_S, rel=1e-14)
    assert timing.draft is not None
    first, later = timing.drafts
    assert timing.draft_s == pytest.approx(first.time_s + 3 * later.time_s, rel=1e-14)
    assert timing.round_s == pytest.approx(timing.draft_s + timing.verify_s)


def test_exposed_host_time_adds_to_a_step_and_to_a_round():
    timing = timed(under(FREE, host=1e-3, round_host=3e-3), batch=10.0)
    assert float(timing.plain_s.item()) - gpu_s(FREE, 1, 10) == pytest.approx(1e-3, rel=1e-9)
    assert float(timing.verify_s.item()) - gpu_s(FREE, 5, 10) == pytest.approx(3e-3, rel=1e-9)


def test_host_time_of_requests_is_a_servers_and_not_a_rounds():
    served, bare = (timed(under(FREE, host_per_sequence=each), batch=10.0) for each in (1e-3, 0.0))
    assert served.round_s == bare.round_s
    assert served.plain_s == bare.plain_s


def test_hidden_host_time_shows_where_it_is_longer_than_the_gpus():
    short = timed(under(FREE, host=PLAIN_S / 2, host_hidden=True))
    long = timed(under(FREE, host=PLAIN_S * 2, host_hidden=True))
    assert float(short.plain_s.item()) == pytest.approx(PLAIN_S, rel=1e-14)
    assert float(long.plain_s.item()) == pytest.approx(2 * PLAIN_S, rel=1e-14)
    assert shares(short.plain)[HOST] == 0.0
    assert shares(long.plain)[HOST] == pytest.approx(PLAIN_S, rel=1e-9)


def test_a_hidden_round_hides_behind_drafting_too():
    drafting = float(timed(SETUP).draft_s.item())
    habits = {"round_host": VERIFY_S + drafting + 1e-3, "round_hidden": True}
    timing = timed(under(SETUP, **habits))
    assert float(timing.round_s.item()) == pytest.approx(habits["round_host"], rel=1e-12)
    enough = timed(under(SETUP, round_host=VERIFY_S + drafting / 2, round_hidden=True))
    assert float(enough.round_s.item()) == pytest.approx(VERIFY_S + drafting, rel=1e-12)


@pytest.mark.parametrize(
    ("draft", "draws"),
    [
        (SETUP.draft, Draws.MODEL),
        (ModelDrafter(HEAD), Draws.HEAD),
        (RatioDrafter(0.0), Draws.LOOKUP),
        (RatioDrafter(0.1), Draws.HEAD),
        (NoDrafter(), Draws.LOOKUP),
    ],
)
def test_where_drafts_come_from(draft, draws):
    assert draft.draws is draws


@pytest.mark.parametrize("draft", [SETUP.draft, ModelDrafter(HEAD), RatioDrafter(0.0)])
def test_hosts_do_not_overlap_with_every_drafter(draft):
    """Hidden around a plain step (1 ms), half hidden around a round, all of it shown where not."""
    habits = {"host": 1e-3, "host_hidden": True, "round_host": 5e-4, "round_hidden": False}
    setup = replace(SETUP, draft=draft)
    bare = timed(setup)
    overlapped = timed(under(setup, **habits))
    others = tuple(kind for kind in Draws if kind is not draft.draws)
    assert timed(under(setup, **habits, unhidden=others)).round_s == overlapped.round_s
    shown = timed(under(setup, **habits, unhidden=(draft.draws,)))
    assert (overlapped.round_s - bare.round_s).item() == pytest.approx(5e-4, rel=1e-9)
    assert (shown.round_s - bare.round_s).item() == pytest.approx(1e-3, rel=1e-9)
    assert shown.plain_s == overlapped.plain_s


def test_no_drafts_is_a_plain_step_whatever_a_round_costs():
    setup = under(SETUP, host=1e-3, host_hidden=True, round_host=5e-3)
    timing = time_rounds(setup, (10.0, 5000.0), (1.0, 7.0), (0, 3))
    np.testing.assert_array_equal(timing.verify_s[..., :1], timing.plain_s)
    np.testing.assert_array_equal(timing.gain[..., 0], 1.0)


def test_each_draft_pass_costs_its_host_time_and_takes_at_least_the_floor():
    first_s, pass_s = (float(step.time_s.item()) for step in timed(SETUP).drafts)
    hosted = timed(under(SETUP, draft_host=1e-4), k=3)
    assert float(hosted.draft_s.item()) == pytest.approx(first_s + 2 * pass_s + 3e-4, rel=1e-12)
    floored = timed(under(SETUP, draft_host=1e-4, draft_floor=2 * pass_s), k=3)
    assert float(floored.draft_s.item()) == pytest.approx(3 * (2 * pass_s + 1e-4), rel=1e-12)
    no_floor = timed(under(SETUP, draft_floor=pass_s / 2), k=3)
    assert float(no_floor.draft_s.item()) == pytest.approx(first_s + 2 * pass_s, rel=1e-12)


def test_a_pass_beyond_the_graphs_waits_for_its_launches():
    """Up to 4 rows are one graph; verification of 5 is launched one by one, 10 ms each."""
    timing = timed(under(FREE, graphs=4, eager=10e-3))
    on = Silicon(CHIP, ENGINE)
    launches = sum(t.launches for t in forward_terms(TARGET, target_layout(FREE), on.small))
    assert float(timing.plain_s.item()) == pytest.approx(PLAIN_S, rel=1e-14)
    assert float(timing.verify_s.item()) == pytest.approx(launches * 10e-3, rel=1e-12)
    assert EAGER in shares(timing.verify)
    assert EAGER not in shares(timing.plain)


def test_launches_that_keep_up_add_nothing():
    timing = timed(under(FREE, graphs=0, eager=1e-9))
    assert float(timing.verify_s.item()) == pytest.approx(VERIFY_S, rel=1e-14)


def test_a_ratio_is_of_a_plain_step_on_the_gpu():
    timing = timed(replace(SETUP, draft=RatioDrafter(0.25)), k=2)
    assert float(timing.draft_s.item()) == pytest.approx(2 * 0.25 * PLAIN_S, rel=1e-12)
    assert timing.draft is None
    assert cost_ratio(replace(SETUP, draft=RatioDrafter(0.25)), 1000.0) == pytest.approx(0.25)


def test_no_drafter_has_no_passes():
    timing = timed(replace(SETUP, draft=NoDrafter()), k=0)
    assert (float(timing.draft_s.item()), timing.draft) == (0.0, None)


def test_a_head_fuses_once_a_round():
    """A draft pass of EAGLE-3 but the first reads no hidden states of the target; the first reads
    those of all k + 1 tokens of the last round, and puts one token out.
    """
    setup = replace(SETUP, draft=drafter_of(HEAD))
    assert float(timed(setup, k=0).draft_s.item()) == 0.0
    on = Silicon(CHIP, ENGINE)
    terms = forward_terms(HEAD, draft_layout(setup), on.small)
    for k in (1, 2, 3):
        first, *later = timed(setup, k=k).drafts
        whole = gpu_step(terms, load(1, k + 1, 1000), on, load(1, 1, 1000))
        assert float(first.time_s.item()) == pytest.approx(float(whole.time_s.item()), rel=1e-12)
        assert "fuse" in shares(first)
        assert [step for step in later if "fuse" in shares(step)] == []


def test_groups_share_out_sequences_and_meet_in_the_experts():
    """17 sequences in 2 groups: the fuller holds 9, and the experts see all groups' tokens."""
    setup = replace(FREE, target=MOE, tp=2, attention_dp=2, ep=2)
    timing = timed(setup, k=1, batch=17.0)
    assert float(timing.plain_s.item()) == pytest.approx(gpu_s(setup, 1, 9), rel=1e-14)
    seen = timing.plain
    assert isinstance(seen, Step)
    (experts,) = (share for share in seen.shares if share.name == "experts")
    on = Silicon(CHIP, ENGINE)
    terms = forward_terms(MOE, target_layout(setup), on.small)
    (route,) = (term for term in terms if term.name == "experts")
    assert experts.flops == pytest.approx(route.flops(load(9, 1, 1)))
    assert route.flops(load(9, 1, 1)) == pytest.approx(
        forward_experts_flops(replace(setup, attention_dp=1, ep=1, tp=1)) * 18 / 2
    )


def forward_experts_flops(setup: Setup) -> float:
    """Arithmetic of the experts for one token on one GPU that holds all."""
    on = Silicon(CHIP, ENGINE)
    terms = forward_terms(setup.target, target_layout(setup), on.small)
    return sum(float(t.flops(load(1, 1, 1)).item()) for t in terms if t.name == "experts")


def test_an_engine_without_releases_is_refused():
    with pytest.raises(
        Refused, match=r"^made states no host times; expected releases in its card; follows: vllm"
    ):
        timed(replace(SETUP, release=None))


def test_the_ideal_roofline_does_not_ask_the_engine():
    assert np.array_equal(
        ideal_rounds(SETUP, (1000.0,), (1.0,), (4,)).round_s,
        ideal_rounds(replace(SETUP, release=None), (1000.0,), (1.0,), (4,)).round_s,
    )
