"""What every answer says of its assumptions: pairs that cannot run, contexts nobody trained on."""

from __future__ import annotations

from dataclasses import replace

import specplan
from specplan.domain.heads import Drafts


def basis(**axes):
    asked = {"target": "llama-3-8b", "draft": "llama-3.2-1b", "hardware": "h100-sxm"}
    scene = specplan.scenario(**{**asked, "acceptance": 0.8, **axes})
    return specplan.sweep(replace(scene, k=(4,))).basis


def test_the_golden_pair_assumes_nothing():
    assert (basis().assumed, basis().extrapolated) == ((), ())


def test_the_ideal_roofline_bounds_nothing_with_experts():
    said = basis(target="gpt-oss-20b", draft="free")
    assert (said.kind, said.says) == ("estimate", "ideal roofline: no bound with experts")
    both = basis(target="gpt-oss-20b,llama-3-8b", draft="free")
    assert (both.kind, both.says) == ("estimate", "ideal roofline: no bound with experts")
    dense = basis(draft="free")
    assert (dense.kind, dense.says) == ("bound", "ideal roofline: an upper bound")


def test_a_head_made_for_another_target():
    assert basis(target="llama-3.1-8b", draft="eagle3-llama-3.1-8b").assumed == ()
    (note,) = basis(target="llama-3-70b", draft="eagle3-llama-3.1-8b").assumed
    assert note == (
        "eagle3-llama-3.1-8b joins hidden states 4,096 wide and those of llama-3-70b are 8,192: "
        "it was made for another target"
    )


def test_a_head_that_would_run_and_learnt_from_another_target():
    asked = {"target": "llama-3-8b", "draft": "eagle3-llama-3.1-8b", "hardware": "h100-sxm"}
    scene = specplan.scenario(**asked, acceptance=0.8, k=(4,))
    (setup,) = scene.setups
    named = replace(setup.draft.model, drafts=Drafts(kind="eagle3", targets=("llama-3.1-8b",)))
    setups = (replace(setup, draft=replace(setup.draft, model=named)),)
    (note,) = specplan.sweep(replace(scene, setups=setups)).basis.assumed
    assert note == "eagle3-llama-3.1-8b was made for llama-3.1-8b, not for llama-3-8b"


def test_two_vocabularies():
    (note,) = basis(draft="qwen3-0.6b").assumed
    assert note == (
        "qwen3-0.6b drafts from 151,936 tokens and llama-3-8b has 128,256: "
        "engines want one vocabulary"
    )


def test_a_context_beyond_training():
    assert basis(context=8192).extrapolated == ()
    (note,) = basis(context="2k,8193").extrapolated
    assert note == "8,193 tokens are beyond the 8,192 that llama-3-8b is made for"


def test_a_sequence_that_grows_beyond_training():
    assert basis(isl="8000", osl="192").extrapolated == ()
    assert len(basis(isl="8000", osl="193").extrapolated) == 1


def test_a_slower_rate_and_a_label():
    notes = basis(hardware="mi300x", dtype="int4").assumed
    assert notes == (
        "a pass reads every weight of llama-3-8b as int4, the head included",
        "mi300x runs int4 weights of llama-3-8b at its bf16 rate",
        "mi300x: memory is its label; what the driver shows may differ",
    )


def test_an_uncertain_alpha():
    (note,) = basis(acceptance="0.7+-0.05").assumed
    assert note.startswith("alpha 0.7+-0.05 is taken at its mean")


def test_a_card_of_the_two_planning_figures(tmp_path):
    card = tmp_path / "two.yaml"
    card.write_text(
        "schema: model/1\nname: two\ntitle: Two\nfamily: two\n"
        "matmul_params: 7.50e9\nkv_bytes_per_token: 131072\n"
        "sources: [{of: [matmul_params, kv_bytes_per_token], kind: derived, cite: by hand}]\n",
        "utf-8",
    )
    two = basis(target=str(card)).assumed
    assert two == ("two is taken to store what it multiplies: its card says no more",)
    asked = {"draft": "llama-3.2-1b", "hardware": "h100-sxm", "acceptance": 0.8, "k": 4}
    rows = [
        next(iter(specplan.sweep(specplan.scenario(target=t, **asked)).table.records()))
        for t in (str(card), "llama-3-8b")
    ]
    assert rows[0]["speedup"] == rows[1]["speedup"]
