"""Predictions of measured rows against plain computations, and the folds that they respect."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import engine_oracle as oracle
import pytest

from specplan.catalogue.ledger import packaged_rows
from specplan.catalogue.store import Catalogue
from specplan.cli.bench import Workbench
from specplan.domain.card import Dtype
from specplan.domain.measurement import Measurement
from specplan.questions.predict import known_of, measured, predict, predict_all, unseen_by
from specplan.questions.timed import fires, round_of, verified

BENCH = Workbench(Catalogue(()))
KERNELS = {"gemm": "gemm", "attention": "attention", "experts": "experts"}


@cache
def shipped() -> tuple[Measurement, ...]:
    return tuple(packaged_rows())


def first(kind: str, **wanted: object) -> Measurement:
    return next(
        row
        for row in shipped()
        if row.kind == kind and all(getattr(row, name) == value for name, value in wanted.items())
    )


def made(kind: str, **columns: object) -> Measurement:
    usual = {"source": "mine", "engine": "vllm", "gpu": "h100-sxm", "value": 1.0}
    unit = "1" if kind == "round" else "s"
    return Measurement(kind=kind, unit=unit, **{**usual, **columns})


def chip(row: Measurement, *, held_out: bool) -> oracle.Chip:
    """The accelerator under the constants of the card, or those that left the row's fold out."""
    engine = BENCH.engine(row.engine)
    kernels = engine.on(row.gpu)
    if held_out:
        (fit,) = (
            fit
            for fit in BENCH.held.fits
            if (fit.engine, fit.gpu, fit.what, fit.fold)
            == (row.engine, row.gpu, row.kind, row.fold)
            and fit.dtype == (row.kv_dtype if row.kind == "attention" else row.dtype)
        )
        constants = {**getattr(kernels, row.kind), fit.dtype: getattr(fit, row.kind)}
        kernels = replace(kernels, **{row.kind: constants})
    return oracle.Chip(BENCH.hardware(row.gpu), kernels, engine.small)


def check(row: Measurement, expected) -> None:
    found = predict(row, BENCH)
    assert found.fitted == pytest.approx(expected(held_out=False), rel=1e-9)
    assert found.held_out == pytest.approx(expected(held_out=True), rel=1e-9)
    assert found.held_out != found.fitted


# One row of each kind, one number at a time


def test_a_product():
    row = first("gemm", engine="vllm", gpu="h100-sxm", rows=16)

    def expected(*, held_out: bool) -> float:
        place = chip(row, held_out=held_out)
        return oracle.gemm_s(row.n, row.inner, row.rows, str(row.dtype), place)

    check(row, expected)


def test_a_product_of_one_row_on_a_slow_path():
    row = first("gemm", engine="vllm", gpu="b200-sxm", dtype="fp8", rows=1)

    def expected(*, held_out: bool) -> float:
        place = chip(row, held_out=held_out)
        product_s = oracle.gemm_s(row.n, row.inner, 1, "fp8", place)
        return product_s + place.kernels.gemm[row.dtype].single

    assert chip(row, held_out=True).kernels.gemm[row.dtype].single > 0
    check(row, expected)


def test_attention():
    row = first("attention", engine="sglang", gpu="h100-sxm", kv_dtype="fp8")
    asked = oracle.Asked(row.batch, 1, row.context, "bf16", "fp8")

    def expected(*, held_out: bool) -> float:
        shape = (row.heads, row.kv_heads, row.head_dim)
        return oracle.attention_s(shape, None, asked, chip(row, held_out=held_out))

    check(row, expected)


def test_experts_that_are_known_to_be_reached():
    row = first("experts", engine="vllm", gpu="h100-sxm", dtype="bf16", rows=4)

    def expected(*, held_out: bool) -> float:
        place = chip(row, held_out=held_out)
        kernel, width = place.kernels.experts[row.dtype], row.width / row.gpus
        weights = 3 * row.hidden * width
        routed = row.rows * row.active
        moved = 2 * row.touched * weights + 2 * routed * (2 * row.hidden + 3 * width)
        padded = max(row.touched * kernel.rows, routed + row.touched * kernel.rows / 2)
        memory_s = moved / (kernel.memory * place.bandwidth)
        compute_s = 2 * weights * padded / (kernel.compute * place.peak("bf16"))
        both_s = (memory_s**3 + compute_s**3) ** (1 / 3)
        return kernel.launch + kernel.expert * row.touched + both_s

    check(row, expected)


def test_experts_of_which_nothing_is_known():
    row = replace(first("experts", engine="vllm", gpu="h100-sxm", dtype="bf16"), touched=None)
    share = row.active / row.experts
    reached = row.experts * (1 - (1 - share) ** row.rows)
    same = predict(replace(row, touched=reached), BENCH)
    assert predict(row, BENCH).fitted == pytest.approx(same.fitted, rel=1e-9)


def test_a_step_of_kernels_alone_has_no_sampler():
    row = first("step", gpu="h100-sxm", batch=16, context=2048, note="gpu")
    terms = forward(row).terms()
    expected = sum(time_s for name, time_s, _ in terms if name != "sampler")
    found = predict(row, BENCH)
    assert found.fitted == pytest.approx(expected, rel=1e-9)


def test_a_whole_step_has_its_host():
    row = first("step", gpu="h100-sxm", batch=16, context=2048, version="0.10.1")
    gpu_s = sum(time_s for _, time_s, _ in forward(row).terms())
    # 1.207 ms a step; the time of each request is a server's, and this is none.
    assert predict(row, BENCH).fitted == pytest.approx(gpu_s + 1.207e-3, rel=1e-9)


def test_a_server():
    lengths = {"isl": 200, "osl": 100, "batch": 5}
    row = made("tpot", target="llama-3.1-8b", dtype=Dtype.BF16, gpus=1, version="0.12", **lengths)
    context = 250
    decode_s = sum(time_s for _, time_s, _ in forward(row, context=context).terms())
    # Four prompts of 200 tokens in 100 steps: 8 tokens a step, in chunks of 200.
    mixed = oracle.named(forward(row, context=context, tokens=41).terms())
    alone = oracle.named(forward(row, context=context).terms())
    more = oracle.named(forward(row, context=context, batch=6).terms())
    wide_s = sum(s for name, s in mixed.items() if name not in {"attention", "head", "sampler"})
    peak = BENCH.hardware("h100-sxm").rates["bf16"]
    prefill_s = 32 * 4 * 32 * 128 * 200 * 100 / (0.5 * peak)
    mixed_s = wide_s + alone["attention"] + more["head"] + more["sampler"] + prefill_s
    gpu_s = decode_s + 8 / 200 * (mixed_s - decode_s)
    expected = gpu_s + 1.207e-3 + 5 * 51.5e-6  # vLLM's host up to 0.13
    assert predict(row, BENCH).fitted == pytest.approx(expected, rel=1e-9)


def test_a_server_whose_host_is_hidden():
    lengths = {"isl": 200, "osl": 100, "batch": 1}
    row = made("tpot", target="llama-3.1-8b", dtype=Dtype.BF16, gpus=1, version="0.15", **lengths)
    gpu_s = sum(time_s for _, time_s, _ in forward(row, context=250).terms())
    assert gpu_s > 1.207e-3
    assert predict(row, BENCH).fitted == pytest.approx(gpu_s, rel=1e-9)


def forward(row: Measurement, **asked: float) -> oracle.Forward:
    usual = {"batch": row.batch, "tokens": 1, "context": row.context}
    place = chip(row, held_out=False)
    kinds = {"dtype": "bf16", "kv_dtype": "bf16", "gpus": row.gpus or 1}
    return oracle.Forward(
        BENCH.model(row.target), oracle.Asked(**{**usual, **kinds, **asked}), place
    )


def test_a_round_by_the_host_times_of_the_card_and_by_those_that_left_it_out():
    row = first("round", engine="sglang", target="llama-3.1-8b", k=3, batch=1, tokens=4)
    known, found = known_of((row,), BENCH), predict(row, BENCH)
    (unseen,) = unseen_by(known, BENCH.held)
    for release, cost in (
        (known.release, found.fitted),
        (unseen.release, found.held_out),
    ):
        setup = replace(known.setup, release=release)
        times = oracle.round_times(setup, row.batch, row.context, row.k)
        assert cost == pytest.approx(times.round_s / times.plain_s, rel=1e-9)
    assert found.fitted != found.held_out


def test_a_round_of_an_ngram_drafts_for_nothing():
    row = made(
        "round",
        target="llama-3.1-8b",
        draft="ngram",
        dtype=Dtype.BF16,
        gpus=1,
        batch=2,
        context=1000,
        k=3,
        tokens=4,
        tau=3.0,
        version="0.10",
    )
    # Two tokens more than one, a quarter of three accepted a time: an n-gram every round.
    setup = known_of((row,), BENCH).setup
    times = oracle.round_times(setup, 2, 1000, 3)
    assert predict(row, BENCH).fitted == pytest.approx(times.round_s / times.plain_s, rel=1e-9)


def test_how_often_an_ngram_was_found():
    found = [fires(tau, 3) for tau in (1.0, 1.375, 1.75, 2.5)]
    assert found == pytest.approx([0.0, 0.5, 1.0, 1.0])


LOOKUP = {
    "target": "llama-3.1-8b",
    "gpus": 1,
    "batch": 64,
    "context": 1000,
    "k": 3,
    "tokens": 4,
    "tau": 1.375,
}


def carried(**columns: object) -> list[float]:
    """Draft tokens that verification carried for a sequence of each row."""
    return verified(known_of((made("round", **{**LOOKUP, **columns}),), BENCH)).tolist()


def test_verification_carries_what_a_lookup_found():
    # 0.375 tokens gained: 0.75 are kept of three that were found, so half of the rounds found any.
    assert carried(draft="ngram") == pytest.approx([1.5])
    assert carried(draft="ngram", tau=2.5) == pytest.approx([3.0])
    assert carried(draft="ngram", tau=1.0) == pytest.approx([0.0])
    assert carried(draft="oracle") == [3.0]


def test_rows_that_differ_in_what_was_found_differ_in_what_is_carried():
    rows = tuple(made("round", draft="ngram", **{**LOOKUP, "tau": tau}) for tau in (1.15, 1.3))
    assert verified(known_of(rows, BENCH)).tolist() == pytest.approx([0.6, 1.2])


@pytest.mark.parametrize("engine", ["sglang", "trtllm"])
def test_an_engine_that_pads_carries_every_draft(engine):
    assert carried(draft="ngram", engine=engine) == [3.0]


def test_a_suffix_tree_proposes_where_the_token_before_is_kept():
    # One of tau 1.75 at k = 3 keeps 0.5 + 0.25 + ...: S_1 and S_2 of a^1 + a^2 + a^3 = 0.75.
    (found,) = carried(draft="suffix", tau=1.75)
    alpha = next(
        a / 1e5 for a in range(100_000) if a / 1e5 + (a / 1e5) ** 2 + (a / 1e5) ** 3 >= 0.75
    )
    assert 1 + 0.75 - 0.75 < found < 3.0
    assert found == pytest.approx(1 + alpha + alpha**2, abs=0.3)


@pytest.mark.parametrize(
    ("target", "draft", "card", "kind"),
    [
        ("llama-3.1-8b", "eagle3", "eagle3-llama-3.1-8b", "eagle3"),
        ("deepseek-r1", "mtp", "mtp-deepseek-r1", "mtp"),
        ("qwen3-8b", "dflash", "dflash-qwen3-8b", "block"),
    ],
)
def test_a_kind_is_the_only_card_of_it_that_drafts_for_the_target(target, draft, card, kind):
    shape = {**ROUND, "target": target, "gpus": 8}
    meant, named = (predict(made("round", **{**shape, "draft": d}), BENCH) for d in (draft, card))
    assert (meant.missing, meant.fitted, meant.drafter) == ("", named.fitted, kind)


@pytest.mark.parametrize(
    ("draft", "kind"),
    [
        ("llama-3.2-1b", "model"),
        ("oracle", "free"),
        ("free", "free"),
        ("ratio:0.05", "ratio"),
        ("ngram", "ngram"),
        ("suffix", "suffix"),
        ("lookahead", "lookahead"),
        ("lookahead:3x2", "lookahead"),
        ("skip:0.4", "skip"),
    ],
)
def test_the_kind_of_drafter_that_a_row_is_counted_under(draft, kind):
    found = predict(made("round", **{**ROUND, "draft": draft, "tokens": 100}), BENCH)
    assert (found.missing, found.drafter) == ("", kind)


def test_layers_that_are_skipped_are_the_targets():
    row = made("round", **{**ROUND, "draft": "skip:0.5"})
    half = predict(row, BENCH).fitted
    whole = predict(replace(row, draft="oracle"), BENCH).fitted
    # Three passes of half the layers, and heads, around a verification that costs the same.
    assert whole + 3 * 0.4 < half < whole + 3 * 0.8


def test_a_draft_longer_than_the_drafter_goes():
    rows = [
        made("round", **{**ROUND, "target": "qwen3-8b", "draft": "dflash", "k": k, "tokens": k + 1})
        for k in (15, 16)
    ]
    fits, none = predict_all(rows, BENCH)
    assert (fits.missing, none.missing) == ("", "dflash-qwen3-8b drafts at most 15 tokens")
    assert fits.fitted is not None
    nothing = predict(made("round", **{**ROUND, "draft": "none"}), BENCH)
    assert nothing.missing == "none drafts at most 0 tokens"


def test_a_round_costs_tau_over_its_speedup():
    assert measured(made("round", **ROUND, value=1.5)) == pytest.approx(2.0)
    assert measured(made("gemm", dtype=Dtype.BF16, rows=1, n=64, inner=64, value=2e-5)) == 2e-5


ROUND = {
    "target": "llama-3.1-8b",
    "draft": "oracle",
    "gpus": 1,
    "batch": 2,
    "context": 1000,
    "k": 3,
    "tokens": 4,
    "tau": 3.0,
}


def test_rows_predicted_together_are_predicted_as_alone():
    rows = shipped()[:: len(shipped()) // 40]
    assert predict_all(rows, BENCH) == tuple(predict(row, BENCH) for row in rows)


# Folds


def test_no_kernel_row_is_predicted_by_constants_that_met_its_fold():
    seen = 0
    for row in shipped():
        if row.kind not in KERNELS or row.fold is None:
            continue
        (unseen,) = unseen_by(known_of((row,), BENCH), BENCH.held)
        dtype = row.kv_dtype if row.kind == "attention" else row.dtype
        found = getattr(unseen.engine.on(row.gpu), row.kind)[dtype]
        fits = {
            fit.fold: getattr(fit, row.kind)
            for fit in BENCH.held.fits
            if (fit.engine, fit.gpu, fit.dtype, fit.what) == (row.engine, row.gpu, dtype, row.kind)
        }
        assert found is fits[row.fold]
        seen += 1
    assert seen > 1900


def test_a_sum_of_kernels_counts_by_the_fold_that_is_farthest():
    rows = [row for row in shipped() if row.kind == "step" and (row.note or "").startswith("gpu")]
    farther = 0
    for row in rows:
        known, found = known_of((row,), BENCH), predict(row, BENCH)
        each = [one.figures().item() for one in unseen_by(known, BENCH.held)]
        assert len(each) == (1 if row.gpu == "h200-sxm" else 5)  # no fit met H200's tables
        off = abs(found.held_out / row.value - 1)
        assert off == max(abs(one / row.value - 1) for one in each)
        farther += found.held_out != found.fitted
    assert farther > 30


def test_a_fold_that_no_fit_left_out_has_no_held_out_prediction():
    row = replace(first("gemm", engine="vllm", gpu="h100-sxm"), fold="99")
    assert predict(row, BENCH).held_out is None
    assert predict(row, BENCH).fitted is not None


def test_rows_of_ones_own_are_predicted_by_the_card():
    row = replace(first("gemm", engine="vllm", gpu="h100-sxm"), fold=None)
    found = predict(row, BENCH)
    assert found.held_out == found.fitted


def test_host_times_have_not_met_the_rounds_they_were_fitted_to():
    dense = ("llama-3.1-8b", "llama-3.3-70b", "qwen3-8b")
    rounds = [r for r in shipped() if (r.kind, r.engine) == ("round", "sglang")]
    fitted = {row.fold for row in rounds if row.target in dense}
    assert len(fitted) == 3
    for row in rounds:
        assert (BENCH.held.host("sglang", str(row.fold)) is not None) == (row.fold in fitted)


def test_host_times_have_not_met_the_servers_they_were_fitted_to():
    served = [row for row in shipped() if row.kind == "tpot" and row.fold]
    assert len(served) == 54
    own = BENCH.engine("vllm").release("0.12").host_per_sequence
    for row in served:
        host = BENCH.held.host("vllm", str(row.fold))
        assert math.isclose(host.host, 1.207e-3)
        assert 0 < host.host_per_sequence != own


# What is missing


@pytest.mark.parametrize(
    ("column", "name", "reason"),
    [
        ("gpu", "abacus", "unknown hardware 'abacus'"),
        ("engine", "mine", "unknown engine 'mine'"),
        ("target", "llama-9", "unknown model 'llama-9'"),
        ("draft", "llama-9", "unknown model 'llama-9'"),
        ("draft", "dflash", "no card of kind dflash drafts for llama-3.1-8b"),
        ("draft", "skip", "skip: is no share of the layers"),
        ("version", "0.1", "vllm 0.1 is older than its card goes"),
        ("attention_dp", 3, "1 GPUs do not divide into 3 groups and 1 ways"),
        ("ep", 3, "1 GPUs do not divide into 1 groups and 3 ways"),
    ],
)
def test_what_stands_in_the_way_of_a_prediction(column, name, reason):
    found = predict(made("round", **{**ROUND, column: name}), BENCH)
    assert (found.fitted, found.held_out) == (None, None)
    assert found.missing == reason


def test_a_drafter_of_a_known_cost_draws_its_share_of_a_step():
    shape = {"target": "llama-3.1-8b", "gpus": 1, "batch": 8, "tokens": 5, "context": 2048}
    row = made("round", draft="oracle", version="0.27", k=4, tau=2.9, **shape)
    free, dear = (predict(replace(row, draft=draft), BENCH) for draft in ("oracle", "ratio:0.05"))
    assert (free.missing, dear.missing) == ("", "")
    assert free.fitted is not None
    # 0.05 of the GPU's part of a plain step, which is all of it where the host is hidden; and
    # vLLM's host shows for 0.718 ms around what costs something, for 1.207 ms around a lookup.
    plain_s = round_of(known_of((row,), BENCH)).plain.time_s.item()
    waited = (0.718e-3 - 1.207e-3) / plain_s
    assert dear.fitted == pytest.approx(free.fitted + 4 * 0.05 + waited, rel=1e-9)
