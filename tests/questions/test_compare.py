"""Comparisons by hand and against the oracle: each candidate at its own best k."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
import worlds

from specplan import best_k, compare, scenario
from specplan.domain.acceptance import Alpha, Burst
from specplan.domain.acceptance_parts import ByContext
from specplan.domain.answer import Answer, Lines, Rows
from specplan.domain.card import Dtype
from specplan.domain.contest import Candidate, Contest, candidate_of, undrafted
from specplan.domain.drafters import ModelDrafter
from specplan.domain.scenario import Scenario, Setup
from specplan.domain.weightless import RatioDrafter, SkipDrafter, ngram
from specplan.errors import Refused, SpecplanError, UsageError
from specplan.questions.compare import compare as question
from specplan.questions.compare_entry import COLUMNS, SORTS, Entry

K = range(17)
HALF = replace(
    worlds.PAIR, draft=oracle.Model(planned_params=5e8, planned_stored=5e8, planned_kv_bytes=5e4)
)
SLOW = replace(worlds.FREE, ratio=1.5)


def rows(answer: Answer) -> dict[str, dict]:
    """Rows by what drafts."""
    return {str(row["draft"]): row for row in answer.table.records()}


def contest(*candidates: Candidate, **axes: object) -> Contest:
    """A contest of candidates at one plain workload."""
    setups = tuple(c.setup for c in candidates if c.setup)
    asked = {"batch": (1.0,), "context": (1000.0,), "acceptance": (Alpha(0.8),), **axes}
    return Contest(scenario=Scenario(setups=setups, **asked), candidates=candidates)


ALPHA = Alpha(0.8)


def drafted(draft, acceptance=ALPHA, *, own=False, **changes) -> Candidate:
    """A candidate on the chip, for the target of round numbers."""
    base = worlds.setup(worlds.PAIR)
    return candidate_of(replace(base, draft=draft, **changes), acceptance, own=own)


def plain(**changes) -> Candidate:
    """Plain decoding there."""
    return candidate_of(undrafted(replace(worlds.setup(worlds.PAIR), **changes)), None)


def beside(*candidates: Candidate, **axes: object) -> dict[str, dict]:
    """Rows of candidates beside plain decoding."""
    return rows(question(contest(plain(), *candidates, **axes)))


# By hand: the drafter costs a tenth of a plain step of 2.1 ms; see test_best_k.


def test_a_row_by_hand():
    row = rows(question(worlds.scenario(worlds.PAIR)))["drafter"]
    expected = {
        "k": 6,
        "speedup": 3.951424 / 1.6,
        "tokens_per_round": 3.951424,
        "tpot_s": 3.36e-3 / 3.951424,
        "plain_tpot_s": 2.1e-3,
        "tokens_per_s": 3.951424 / 3.36e-3,
        "draft_weights_bytes": 2e8,
        "draft_kv_bytes_per_sequence": 1000 * 1e4,
        "draft_bytes": 2e8 + 1000 * 1e4,
        "largest_batch_plain": 70,
        "largest_batch": 61,  # 6.8e9 / (1000 x 1.1e5) = 61.8
        "sequences_lost": 9,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert (row["fits"], row["shortfall_bytes"], row["reason"]) == (True, 0, None)
    assert (row["basis"], row["band"], row["best"], row["kind"]) == ("bound", None, True, "model")


def test_the_tokens_ahead_are_told_and_cost_no_sequences():
    # 6.8e9 bytes left hold 61.8 sequences of 1,000 tokens, as best-k and memory say.
    row = rows(question(worlds.scenario(worlds.PAIR, k=(16,), acceptance=(Alpha(1.0),))))["drafter"]
    assert (row["k"], row["largest_batch"], row["sequences_lost"]) == (16, 61, 9)
    assert row["slots_ahead"] == 17


@pytest.mark.parametrize("case", [worlds.PAIR, worlds.FREE, HALF, SLOW], ids=str)
@pytest.mark.parametrize("batch", [1, 8, 30])
@pytest.mark.parametrize("alpha", [0.4, 0.8])
def test_figures_are_the_oracles(case, batch, alpha):
    asked = worlds.scenario(case, batch=(float(batch),), acceptance=(Alpha(alpha),))
    (_, row) = sorted(question(asked).table.records(), key=lambda row: row["kind"] != "none")
    k = oracle.best_k(case, alpha, batch, K, 1000)
    tokens = oracle.expected_tokens(alpha, k)
    full = oracle.largest_batch(case, 1000, drafted=True)
    none = oracle.largest_batch(case, 1000, drafted=False)
    plain_rate = none / oracle.target_step(case, none, 1, 1000).seconds
    rate = full * tokens / oracle.round_s(case, full, k, 1000) if k else plain_rate
    expected = {
        "k": k,
        "speedup": oracle.speedup(case, alpha, batch, k, 1000),
        "tokens_per_round": tokens,
        "tpot_s": oracle.round_s(case, batch, k, 1000) / tokens,
        "plain_tpot_s": oracle.target_step(case, batch, 1, 1000).seconds,
        "tokens_per_s_per_gpu": batch * tokens / oracle.round_s(case, batch, k, 1000),
        "largest_batch_plain": none,
        "largest_batch": full,
        "sequences_lost": none - full,
        "largest_tokens_per_s": rate,
        "largest_tokens_per_s_per_gpu": rate,
        "throughput": rate / plain_rate,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-11)


def test_plain_decoding_is_always_a_row_and_once_a_place():
    twice = worlds.scenario(worlds.PAIR, HALF, replace(worlds.PAIR, tp=2, draft_tp=2))
    asked = replace(
        twice, setups=tuple(replace(s, target=twice.setups[0].target) for s in twice.setups)
    )
    chip = twice.setups[0].hardware
    asked = replace(asked, setups=tuple(replace(s, hardware=chip) for s in asked.setups))
    engine = replace(asked, setups=tuple(replace(s, engine=worlds.ROOFLINE) for s in asked.setups))
    found = [row for row in question(engine).table.records() if row["kind"] == "none"]
    assert sorted(row["tp"] for row in found) == [1, 2]
    for row in found:
        assert (row["k"], row["speedup"], row["throughput"], row["sequences_lost"]) == (0, 1, 1, 0)
        assert (row["draft"], row["alpha"], row["acceptance"]) == ("none", None, None)


def test_a_drafter_that_never_pays_is_plain_decoding():
    found = beside(drafted(RatioDrafter(1.5)))
    row, none = found["ratio:1.5"], found["none"]
    assert (row["k"], row["speedup"], row["tpot_s"]) == (0, 1, none["tpot_s"])
    assert none["best"]  # as fast, and needs no drafter
    assert question(contest(plain(), drafted(RatioDrafter(1.5)))).view.title == (
        "Plain decoding is best"
    )


def test_without_a_drafter_nothing_is_compared_with():
    assert question(contest(plain())).view.title == "No drafter is compared"


# The same figures as best-k, for the same flags


@pytest.mark.parametrize(
    "flags",
    [
        {"target": "llama-3-8b", "draft": "llama-3.2-1b", "batch": 16},
        {"target": "llama-3.3-70b", "draft": "eagle3", "tp": 4, "engine": "vllm", "batch": 32},
        {"target": "qwen3-8b", "draft": "dflash", "engine": "sglang", "batch": 8, "k": (2, 4, 9)},
        {"target": "llama-3-8b", "draft": "mlp-speculator", "engine": "vllm"},
        {"target": "vicuna-7b-v1.3", "draft": "medusa", "engine": "vllm@0.10"},
        {"target": "llama-3-8b", "draft": "suffix", "acceptance": "burst:.4@3", "engine": "vllm"},
        {"target": "qwen3-30b-a3b", "draft": "ratio:0.05", "tp": 4, "ep": 4, "attention_dp": 2},
        {"target": "llama-3-8b", "draft": "skip:0.4", "acceptance": "decay:.9,.97"},
        {"target": "llama-3-8b", "draft": "none", "acceptance": 0.5},
        {
            "target": "llama-3-8b",
            "draft": "llama-3.2-1b",
            "isl": 3000,
            "osl": 1000,
            "tp": 2,
            "draft_tp": 1,
        },
    ],
    ids=lambda flags: f"{flags['draft']} {flags.get('engine', '')}",
)
def test_every_figure_of_best_k(flags):
    asked = {"hardware": "h100-sxm", "acceptance": 0.7, **flags}
    row = rows(compare(**asked))
    (row,) = [r for r in row.values() if r["kind"] != "none" or flags["draft"] == "none"]
    value = best_k(scenario(**asked)).value
    choice = value.choice
    for name in (
        "k",
        "speedup",
        "tokens_per_round",
        "tpot_s",
        "plain_tpot_s",
        "tokens_per_s",
        "tokens_per_s_per_gpu",
        "fits",
        "batch",
        "context",
        "alpha",
        "acceptance",
    ):
        found, expected = row[name], getattr(choice, name)
        if flags["draft"] == "none" and name in {"alpha", "acceptance"}:
            expected = None  # it proposes nothing
        if isinstance(expected, float):
            expected = pytest.approx(expected, rel=1e-12)
        assert found == expected, name
    assert row["usd_per_million_tokens"] == pytest.approx(
        value.cost.usd_per_million_tokens, rel=1e-12
    )
    assert (row["usd_per_gpu_hour"], row["price"]) == (
        value.cost.usd_per_gpu_hour,
        value.cost.price,
    )
    assert row["draft_weights_bytes"] == value.memory.draft_weights_bytes
    assert row["largest_batch_plain"] == value.memory.largest_batch_plain
    assert row["largest_batch"] == value.memory.largest_batch


# Why not


def reason(candidate: Candidate, **axes: object) -> str:
    """Why a candidate is not compared, which has no figures."""
    row = beside(candidate, **axes)[candidate.label]
    assert row["k"] is row["speedup"] is row["tpot_s"] is row["throughput"] is None
    assert not row["best"]
    return row["reason"]


def test_an_acceptance_that_nobody_gave():
    unknown, free = drafted(RatioDrafter(0.1), None), drafted(RatioDrafter(0.0))
    both = rows(question(contest(plain(), unknown, free)))
    assert both["ratio:0.1"]["reason"] == "needs an acceptance: -a ratio:0.1=0.7"
    with pytest.raises(UsageError, match="how likely is a draft token accepted"):
        question(contest(plain(), drafted(RatioDrafter(0.1), None)))
    assert reason(drafted(ngram(), None)) == (
        "needs how often it finds drafts and what is kept: -a ngram=burst:.2@3.1"
    )


def trained(context: int | None) -> ModelDrafter:
    draft = worlds.setup(worlds.PAIR).draft.model
    return ModelDrafter(replace(draft, trained_context=context))


def test_trained_on_less_than_is_asked_for():
    assert reason(drafted(trained(999))) == (
        "trained on 999 tokens, and sequences reach 1,000: acceptance falls beyond; with its own "
        "it is compared: -a drafter=0.5"
    )
    assert "reach 1,200" in reason(drafted(trained(1100)), growth=200.0)
    assert beside(drafted(trained(1000)))["drafter"]["k"] == 6
    assert beside(drafted(trained(999), own=True))["drafter"]["k"] == 6
    by_context = ByContext(((500.0, Alpha(0.9)), (1000.0, Alpha(0.8))))
    assert beside(drafted(trained(999), by_context))["drafter"]["k"] == 6


def test_what_is_made_of_the_target_is_as_good_as_it():
    target = replace(
        scenario(target="llama-3-8b", draft="skip:0.4", hardware="h100", acceptance=1)
        .setups[0]
        .target,
        trained_context=100,
    )
    draft = SkipDrafter(0.4).joined(target)
    base = replace(worlds.setup(worlds.PAIR), target=target)
    base = replace(base, hardware=replace(base.hardware, memory=1e11))
    found = rows(question(contest(candidate_of(replace(base, draft=draft), Alpha(0.9)))))
    assert found["skip:0.4"]["k"] > 0


def test_a_candidate_that_has_no_price_is_a_row():
    lacking = replace(worlds.setup(worlds.PAIR).draft.model, matmul_params=None)
    said = reason(drafted(ModelDrafter(lacking)))
    assert said == (
        "drafter states no matmul_params and no architecture to derive it from; "
        "add matmul_params or architecture to its card"
    )


def test_a_candidate_that_was_never_found_is_a_row():
    base = plain()
    found = Candidate(
        target=base.target,
        draft="mtp",
        hardware=base.hardware,
        tp=1,
        serving=base.serving,
        reason="no card",
    )
    assert reason(found) == "no card"


def test_no_rate_for_its_weights():
    assert reason(drafted(worlds.setup(worlds.PAIR).draft, draft_dtype=Dtype.FP32)) == (
        "chip has no rate for fp32 weights; its card has rates for bf16; choose another dtype"
    )


def test_nothing_that_can_be_priced_is_refused():
    lacking = replace(worlds.setup(worlds.PAIR).target, matmul_params=None)
    with pytest.raises(Refused, match="target states no matmul_params"):
        question(contest(plain(target=lacking)))


# Memory


def test_a_batch_that_is_too_large_keeps_its_memory():
    answer = question(worlds.scenario(worlds.PAIR, batch=(65.0,)))
    found = rows(answer)
    row = found["drafter"]
    short = 2.2e9 + 65 * 1000 * 1.1e5 - 9e9
    assert row["shortfall_bytes"] == pytest.approx(short, rel=1e-9)
    assert (row["fits"], row["k"], row["largest_batch"], row["sequences_lost"]) == (
        False,
        None,
        61,
        9,
    )
    assert row["reason"].startswith("batch 65 at 1,000 tokens needs ")
    assert row["reason"].endswith(" more than there is; 61 would fit")
    assert found["none"]["fits"]
    assert not answer.ok  # no drafter is compared, for want of memory


def test_nothing_fits():
    answer = question(worlds.scenario(worlds.PAIR, batch=(71.0,)))
    assert not answer.ok
    assert answer.value.best is None
    assert answer.view.title == "Nothing fits in memory"
    assert answer.notes == ("target would fit on chip with --tp 2",)
    assert {row["fits"] for row in answer.table.records()} == {False}


# Order


def order(sort: str, *, reverse: bool = False) -> list[str]:
    asked = contest(
        plain(),
        drafted(worlds.setup(worlds.PAIR).draft),
        drafted(RatioDrafter(0.3)),
        drafted(RatioDrafter(1.5)),
        batch=(2.0,),
    )
    answer = question(asked, sort=sort, reverse=reverse, usd_per_gpu_hour=3.6)
    found = list(answer.table.records())
    (name,) = SORTS[sort].columns
    figures = [row[name] for row in found]
    assert figures == sorted(figures, reverse=SORTS[sort].falling is not reverse)
    assert [row["draft"] for row in found if row["best"]] == [answer.value.best.draft]
    return [row["draft"] for row in found]


def test_orders():
    assert order("speedup") == ["drafter", "ratio:0.3", "none", "ratio:1.5"]
    assert order("speedup", reverse=True) == ["none", "ratio:1.5", "ratio:0.3", "drafter"]
    assert order("tpot") == order("speedup")
    assert order("cost") == order("speedup")
    assert order("tokens") == order("speedup")
    assert set(order("throughput")) == set(order("speedup"))
    assert order("memory") == ["none", "ratio:0.3", "ratio:1.5", "drafter"]
    with pytest.raises(SpecplanError, match="unknown order 'size'"):
        order("size")


def test_the_best_is_the_best_either_way_round():
    asked = contest(plain(), drafted(RatioDrafter(0.3)))
    for reverse in (False, True):
        assert question(asked, reverse=reverse).value.best.draft == "ratio:0.3"


def test_cost_needs_a_price():
    asked = contest(plain(), drafted(RatioDrafter(0.3)))
    with pytest.raises(UsageError, match="no candidate has a price"):
        question(asked, sort="cost")
    row = rows(question(asked, usd_per_gpu_hour=3.6))["none"]
    # 2.1 ms a token: 1e6 of them take 2,100 s of 3.6 USD an hour.
    assert row["usd_per_million_tokens"] == pytest.approx(2.1, rel=1e-12)
    with pytest.raises(UsageError, match="0 USD"):
        question(asked, usd_per_gpu_hour=0.0)


def test_every_order_is_a_column():
    names = {column.name for column in COLUMNS}
    assert {order.columns[0] for order in SORTS.values()} <= names
    assert names < set(Entry.__dataclass_fields__)


# What is asked


def test_one_workload():
    for axes in (
        {"batch": (1.0, 2.0)},
        {"context": (1.0, 2.0)},
        {"acceptance": (Alpha(0.5), Alpha(0.6))},
    ):
        with pytest.raises(UsageError, match="compare is about one workload, not 2"):
            question(worlds.scenario(worlds.PAIR, **axes))
    mixed = worlds.scenario(worlds.PAIR, parts=(worlds.part(1, 1, 1000, 0.8),))
    with pytest.raises(UsageError, match="compare takes no mix"):
        question(mixed)
    with pytest.raises(UsageError, match="0 rows"):
        question(worlds.scenario(worlds.PAIR), top=0)


def test_one_acceptance_for_several_drafters_is_said():
    shared = contest(plain(), drafted(RatioDrafter(0.1)), drafted(RatioDrafter(0.2)))
    (said,) = question(shared).notes
    assert said == (
        "one acceptance, 0.8, for all: drafters differ; give each its own: -a ratio:0.1=0.72"
    )
    own = contest(
        plain(), drafted(RatioDrafter(0.1)), drafted(RatioDrafter(0.2), Alpha(0.5), own=True)
    )
    assert question(own).notes == ()


def test_a_lookup_is_priced_as_its_acceptance_finds_it():
    found = beside(drafted(ngram(), Burst(0.25, 3.0), own=True))["ngram"]
    assert found["acceptance"] == "burst:0.25@3"
    assert found["alpha"] is None
    assert found["tokens_per_round"] == pytest.approx(
        1 + 0.25 * sum(0.75**i for i in range(1, found["k"] + 1)), rel=1e-12
    )


# Basis


def test_the_basis_is_that_of_the_drafters():
    flags = {"target": "llama-3.1-8b", "hardware": "h100-sxm", "engine": "vllm@0.10"}
    answer = compare(**flags, draft="eagle3", acceptance=0.7)
    row = rows(answer)["eagle3-llama-3.1-8b"]
    assert (row["basis"], rows(answer)["none"]["band"]) == ("estimate", None)
    assert answer.basis.kind == "estimate"
    assert answer.basis.bands == {"speedup": (-row["band"], row["band"])}
    both = compare(**{**flags, "engine": "vllm@0.10,roofline"}, draft="eagle3", acceptance=0.7)
    assert both.basis.kind == "estimate"
    assert {row["basis"] for row in both.table.records()} == {"estimate", "bound"}
    assert both.basis.bands == {}


def test_a_setup_may_be_asked_about_more_than_once():
    asked = worlds.scenario(worlds.PAIR)
    assert [row["draft"] for row in question(asked).table.records()] == ["drafter", "none"]
    again = replace(asked, setups=(*asked.setups, undrafted(asked.setups[0])))
    assert [row["draft"] for row in question(again).table.records()] == ["drafter", "none"]


# The page


def shown(answer: Answer) -> Rows:
    (section,) = [part for part in answer.view.sections if isinstance(part, Rows)]
    return section


def lines(answer: Answer) -> list[str]:
    return [line for s in answer.view.sections if isinstance(s, Lines) for line in s.lines]


def several(count: int) -> Contest:
    return contest(plain(), *(drafted(RatioDrafter(n / 1000)) for n in range(1, count + 1)))


def test_people_see_the_first_and_plain_decoding():
    answer = question(several(30))
    flags = [
        row
        for chunk in answer.table.chunks()
        for row in zip(chunk["draft"], chunk["shown"], strict=True)
    ]
    assert [name for name, seen in flags if seen] == [
        *(f"ratio:{n / 1000:g}" for n in range(1, 21)),
        "none",
    ]
    assert "21 of 31 candidates; --top 31 or -f json shows all" in lines(answer)
    few = question(several(30), top=2)
    seen = [s for chunk in few.table.chunks() for s in chunk["shown"]]
    assert sum(seen) == 2
    assert not any("--top" in line for line in lines(question(several(3))))


def test_columns_of_one_value_are_in_the_caption():
    answer = question(worlds.scenario(worlds.PAIR))
    assert shown(answer).columns[:3] == ("draft", "k", "speedup")
    assert answer.view.caption == ("target on chip, bf16", "batch 1, context 1,000, acceptance 0.8")
    two = question(worlds.scenario(worlds.PAIR, replace(worlds.PAIR, tp=2, draft_tp=2)))
    assert shown(two).columns[:3] == ("draft", "tp", "k")
    assert two.view.caption[0] == "target on chip, bf16"
    assert two.view.title == "drafter on chip: 2.47x at k = 6"  # equal ones by name, then tp
    first = question(
        worlds.scenario(worlds.PAIR, replace(worlds.PAIR, tp=2, draft_tp=2)), sort="tpot"
    )
    assert first.view.title == "drafter on 2x chip: 0.425 ms a token"
    uneven = question(worlds.scenario(*(replace(worlds.PAIR, tp=2, draft_tp=n) for n in (1, 2))))
    assert shown(uneven).columns[:3] == ("draft", "draft_tp", "k")


def test_acceptances_that_differ_are_a_column():
    asked = contest(plain(), drafted(RatioDrafter(0.1)), drafted(RatioDrafter(0.2), Alpha(0.5)))
    answer = question(asked)
    assert "acceptance" in shown(answer).columns
    assert answer.view.caption[1] == "batch 1, context 1,000"


def test_reasons_are_told_once_each():
    asked = contest(
        plain(),
        drafted(RatioDrafter(0.1), None),
        plain(tp=2),
        drafted(RatioDrafter(0.1), None, tp=2, draft_tp=2),
        drafted(RatioDrafter(0.0)),
    )
    said = lines(question(asked))
    assert said[-2:] == ["Not compared:", "ratio:0.1: needs an acceptance: -a ratio:0.1=0.7"]


def test_many_that_are_too_large_are_told_by_place():
    slow = [drafted(RatioDrafter(n / 10)) for n in range(1, 6)]
    said = lines(question(contest(plain(), *slow, batch=(71.0,))))
    assert said == [
        "Not compared:",
        "Too little memory for the target, with what a GPU lacks: chip 95.4 MiB (70 sequences fit)",
    ]
    heavy = worlds.setup(worlds.PAIR).draft
    some = [drafted(replace(heavy, model=replace(heavy.model, name=f"d{n}"))) for n in range(5)]
    said = lines(question(contest(plain(), *some, batch=(65.0,))))
    assert said[-1] == "Too little memory for some drafters: chip (d0, d1, d2, d3, d4)"


def test_losses_are_marked():
    answer = question(contest(plain(), drafted(RatioDrafter(1.5))))
    (chunk,) = answer.table.chunks()
    assert dict(zip(chunk["draft"], chunk["forgone"], strict=True)) == {
        "none": False,
        "ratio:1.5": True,
    }
    assert shown(answer).losing == (("speedup", "forgone"), ("throughput", "fewer"))
    assert any("! plain decoding is as good or better" in line for line in lines(answer))


def setups_of(*names: str) -> list[Setup]:
    return list(scenario(target="qwen3-8b", draft=names, hardware="h100", acceptance=1).setups)


def test_a_pair_that_does_not_fit_says_why():
    (setup,) = setups_of("llama-3.2-1b")
    asked = replace(worlds.scenario(worlds.PAIR), setups=(setup,))
    row = rows(question(asked))["llama-3.2-1b"]
    assert row["reason"] == (
        "llama-3.2-1b drafts from 128,256 tokens and qwen3-8b has 151,936: engines want one "
        "vocabulary"
    )
