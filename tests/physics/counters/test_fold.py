"""Streams of spans folded into captures, and how often the intervals hold the truth."""

from __future__ import annotations

import importlib.util
import math
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import specplan
from specplan.domain.capture import Noted, Origin, Span, Told
from specplan.physics.counters.fold import Fold

ORIGIN = Origin(format="f", engine="vllm")


def folded(*found, k=None):
    fold = Fold(k)
    fold.take_all(found)
    return fold.capture("s", ORIGIN)


def span(kept=(70, 48, 32), drafts=100, **more):
    k = len(kept)
    counts = {"drafts": drafts, "drafted": drafts * k, "accepted": sum(kept)}
    return Span(**counts, at_position=tuple(map(float, kept)), **more)


def test_sums_and_their_figures():
    found = folded(span(), span((60, 40, 30)), span((80, 50, 20)))
    assert (found.spans, found.drafts, found.drafted_tokens) == (3, 300, 900)
    assert found.accepted_tokens == 430
    assert found.tokens_per_round == pytest.approx(1 + 430 / 300)
    assert found.acceptance_rate == pytest.approx(430 / 900)
    assert found.alpha == pytest.approx(430 / (430 + 300 - 82))
    assert found.per_position == pytest.approx((0.7, 0.46, 82 / 300))
    assert sum(found.per_position) == pytest.approx(found.tokens_per_round - 1)
    assert (found.k, found.mean_draft, found.alpha_basis) == (3, 3, "rejections counted")
    assert found.traps == found.warnings[:0] == found.contradictions == ()


def test_one_span_has_the_interval_of_drafts_alike():
    found = folded(span((700, 480, 320), 1000))
    tried = 1500 + 680
    z2 = 1.959964**2
    middle = (found.alpha + z2 / tried / 2) / (1 + z2 / tried)
    assert (found.alpha_low + found.alpha_high) / 2 == pytest.approx(middle, rel=1e-6)
    assert found.effective_rounds == 1000
    assert "one figure for all" in found.warnings[0]


def test_spans_that_differ_are_worth_fewer_rounds():
    rng = np.random.default_rng(0)
    alike, differing = [], []
    for _ in range(40):
        for into, alpha in ((alike, 0.7), (differing, rng.beta(7, 3))):
            kept = np.minimum(rng.geometric(1 - alpha, 100) - 1, 3)
            into.append(span([(kept >= i).sum() for i in (1, 2, 3)]))
    near, far = folded(*alike), folded(*differing)
    assert near.effective_rounds > 1000  # of 4,000, as few degrees of freedom tell them
    assert far.effective_rounds < 350
    assert far.alpha_high - far.alpha_low > 2 * (near.alpha_high - near.alpha_low)


def test_all_kept_and_nothing_kept_leave_room():
    every = folded(*[span((50, 50), 50)] * 4)
    assert (every.alpha, every.alpha_high) == (1, 1)
    assert 0.9 < every.alpha_low < 1
    assert (every.tokens_per_round_high, every.per_position_high) == (3, (1, 1))
    none = folded(*[span((0, 0), 50)] * 4)
    assert (none.alpha, none.alpha_low, none.tokens_per_round_low) == (0, 0, 1)
    assert 0 < none.alpha_high < 0.1


def test_means_without_counts_are_solved_at_k():
    found = folded(*(Span(tau=t, weight=40, k=3) for t in (2.1, 2.2, 1.9, 2.4)))
    assert found.drafts is found.accepted_tokens is None
    assert found.tokens_per_round == pytest.approx(2.15)
    assert sum(found.alpha**i for i in range(4)) == pytest.approx(2.15)
    assert found.alpha_basis.startswith("solved from tokens per round at k = 3")
    assert found.alpha_low < found.alpha < found.alpha_high


def test_one_mean_of_nobody_knows_how_many_rounds_has_no_interval():
    found = folded(Span(tau=2.15, k=3))
    assert found.alpha is not None
    assert found.alpha_low is found.tokens_per_round_high is found.effective_rounds is None
    assert "no interval" in found.warnings[0]


def test_short_drafts_are_between_bounds():
    found = folded(
        *[Span(drafts=50, drafted=150, accepted=80, at_position=(40, 25, 10, 5), k=4)] * 8
    )
    assert "short-drafts" in found.traps
    assert "whatever the lengths were" in found.alpha_basis
    # Of 50 rounds 10 keep nothing, 15 one draft, ...; 70 drafts are not kept: 4 in each of the 10
    # and 3 in each of 10 of the 15, or one in each of the 45 that do not keep four.
    most, least = 80 / (80 + 20), 80 / (80 + 45)
    assert found.alpha_low <= least + 1e-9
    assert found.alpha_high >= most - 1e-9


def test_counts_alone_wait_for_the_length_in_use():
    bare = Span(accepted=172, drafted=296)
    found = folded(bare)
    assert found.alpha is found.tokens_per_round is found.drafts is None
    assert found.acceptance_rate == pytest.approx(172 / 296)
    assert "-k" in found.warnings[0]
    told = folded(bare, k=4)
    assert (told.drafts, told.traps) == (74, ("no-drafts-count",))


def test_k_changes_between_spans():
    found = folded(span((30, 20, 10), 50), span((40,), 50), span((30, 20, 10), 50))
    assert found.alpha_basis == "rejections counted"
    assert found.alpha == pytest.approx(160 / (160 + 40 + 10 + 40))
    assert found.per_position == pytest.approx((100 / 150, 40 / 150, 20 / 150))


def test_idle_spans_change_nothing():
    idle = Span(drafts=0, drafted=0, accepted=0, rate=math.nan, running=0, at_position=(0, 0, 0))
    assert folded(span(), idle, span()).alpha == folded(span(), span()).alpha
    empty = folded(idle)
    assert (empty.drafts, empty.alpha, empty.tokens_per_round) == (0, None, None)


def test_what_cannot_be_is_left_out_and_told():
    found = folded(span(line=1), Span(drafts=9, drafted=27, accepted=30, line=7), span(line=9))
    assert found.drafts == 200
    assert found.contradictions == ("line 7: 30 accepted of 27 drafted: left out",)
    assert "1 span cannot be as stated and was left out" in found.warnings


def test_many_contradictions_are_counted():
    wrong = [span(stated=(("tau", 3.5, 0.005),), line=i) for i in range(1, 9)]
    found = folded(*wrong)
    assert len(found.contradictions) == 6
    assert found.contradictions[-1] == "and 3 more"


def test_loads_and_what_was_seen():
    found = folded(
        span(running=1, tokens_per_s=100),
        span((50, 30, 20), running=6, tokens_per_s=300),
        span(running=5, tokens_per_s=200, drafts=200, kept=(140, 96, 64)),
    )
    assert found.batch.mean == pytest.approx((1 + 6 + 10) / 4)
    assert (found.batch.low, found.batch.high, found.batch.last) == (1, 6, 5)
    assert [(one.batch_low, one.batch_high) for one in found.loads] == [(1, 1), (4, 7)]
    assert found.loads[1].rounds == 300
    assert found.loads[1].tokens_per_s == pytest.approx((300 + 400) / 3)


def test_what_is_told_and_noted():
    found = folded(
        Told(facts={"k": 3, "target": "m"}),
        Noted(trap="lifetime"),
        Noted(warning="odd", line=4),
        Told(facts={"target": "n"}, line=9),
        Span(tau=2.0, weight=5),
        Span(tau=2.2, weight=5),
    )
    assert found.told == {"k": 3, "target": "n"}
    assert found.traps == ("lifetime",)
    assert found.warnings[:2] == ("line 4: odd", "target was m and is n from line 9 on")
    assert found.alpha_basis.startswith("solved from tokens per round at k = 3")


def test_memory_does_not_grow():
    fold = Fold()
    tracemalloc.start()
    for number in range(1_000):
        fold.take(span(running=number % 9 + 1, line=number))
    before = tracemalloc.get_traced_memory()[0]
    for number in range(3_000):
        fold.take(span(running=number % 9 + 1, line=number))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000  # 3,000 spans kept would be ten times that
    assert fold.capture("s", ORIGIN).drafts == 400_000


@pytest.fixture(scope="module")
def simulated():
    """The benchmark's simulator of captures; its table has more cases and captures."""
    path = Path(specplan.__file__).parents[1] / "benchmarks" / "acceptance_coverage.py"
    spec = importlib.util.spec_from_file_location("acceptance_coverage", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look there for annotations
    spec.loader.exec_module(module)
    yield module
    monkeypatch.undo()


def test_intervals_of_drafts_alike_cover_what_they_say(simulated):
    """500 captures of 30 spans: 95 % within two standard errors (1.9 %)."""
    rng = np.random.default_rng(7)
    at = tuple(0.7**i for i in (1, 2, 3))
    truth = simulated.Truth(0.7, 1 + sum(at), at)
    got = simulated.coverage(simulated.alike(rng, 0.7, 3, 100, 30, 500), truth)
    for figure in ("alpha", "tau", "first", "last"):
        assert 0.93 <= got[figure] <= 0.97


def test_intervals_of_what_is_rarely_kept_cover_it(simulated):
    """The third draft is kept once in 8,000 rounds, and a capture has 1,200."""
    rng = np.random.default_rng(9)
    at = tuple(0.05**i for i in (1, 2, 3))
    truth = simulated.Truth(0.05, 1 + sum(at), at)
    got = simulated.coverage(simulated.alike(rng, 0.05, 3, 40, 30, 300), truth)
    assert got["last"] >= 0.95  # Wilson's alone: 85 %


# alpha, tau and positions of `truth_of(differing(default_rng(5), 64, 500, 5000, 1))`.
LONG_RUN = (0.6937, 2.7046, (0.6635, 0.4611, 0.3326, 0.2474))


@pytest.mark.parametrize(("batch", "spans"), [(1, 60), (6, 15)])
def test_intervals_cover_requests_that_differ(simulated, batch, spans):
    """Requests of some spans each: the naive interval of alpha covers a quarter of the captures."""
    counts = simulated.differing(np.random.default_rng(8), batch, 500, spans, 200)
    got = simulated.coverage(counts, simulated.Truth(*LONG_RUN))
    for figure in ("alpha", "tau", "first", "last"):
        assert got[figure] >= 0.88  # 90 % less one standard error of 200 captures
    assert got["effective"] < 0.05 * got["rounds"]
    alphas = [simulated.folded(one).alpha for one in counts]
    naive = 1.96 * np.sqrt(0.7 * 0.3 / (2.5 * got["rounds"]))
    assert np.mean(np.abs(np.array(alphas) - LONG_RUN[0]) <= naive) < 0.5


def test_what_cannot_be_is_in_no_mean():
    found = folded(Span(tau=2.4, weight=100, k=3), Span(tau=5.5, weight=100, k=3, line=2))
    assert found.tokens_per_round == pytest.approx(2.4)
    assert found.contradictions == (
        "line 2: 5.5 tokens a round at k = 3: at most 4 can be: left out",
    )


def test_an_efficiency_is_tokens_a_round_where_the_user_gives_k():
    fold = Fold(k=4)
    fold.take(Span(efficiency=0.65))
    found = fold.capture("s", ORIGIN)
    assert (found.tokens_per_round, found.k) == (pytest.approx(3.25), 4)
    assert folded(Span(efficiency=0.65)).tokens_per_round is None


def test_a_k_of_the_user_s_below_what_was_drafted_is_named_once():
    fold = Fold(k=2)
    fold.take_all([span(line=4), span(line=5)])
    found = fold.capture("s", ORIGIN)
    assert found.contradictions == ("line 4: drafts of 3, and -k says 2",)
    assert found.k == 3


def test_a_run_without_drafts_is_weighted_by_its_plain_steps():
    flows = {8: 1000.0, 4: 540.0, 5: 600.0}
    plain = (Span(running=b, tokens_per_s=flow) for b, flow in flows.items())
    found = folded(*plain)
    assert found.tokens_per_s.mean == pytest.approx((1000**2 + 540**2 + 600**2) / 2140)
    assert found.batch.mean == pytest.approx((8 * 1000 + 4 * 540 + 5 * 600) / 2140)
    four, eight = found.loads
    assert (eight.batch, eight.tokens_per_s, eight.tokens_per_round) == (8, 1000, 1)
    assert four.tokens_per_s == pytest.approx((540**2 + 600**2) / 1140)  # 4 to 7
    drafted = folded(span(running=2, tokens_per_s=300.0), Span(running=8, tokens_per_s=1000.0))
    assert [load.batch for load in drafted.loads] == [2]


def test_a_mean_of_rounds_of_unknown_length_lies_inside_its_interval():
    """It was taken for the largest there is: 2.56 (1.00 to 2.56)."""
    spans = [Span(tau=tau, weight=600.0) for tau in (2.61, 2.55, 2.58, 2.50)]
    blind, told = folded(*spans), folded(*spans, k=3)
    for found in (blind, told):
        assert found.tokens_per_round == pytest.approx(2.56)
        below, above = (
            found.tokens_per_round - found.tokens_per_round_low,
            found.tokens_per_round_high - found.tokens_per_round,
        )
        assert 0.03 < below < 0.2
        assert below == pytest.approx(above, rel=0.2)
    assert blind.tokens_per_round_high == pytest.approx(told.tokens_per_round_high, abs=0.02)
