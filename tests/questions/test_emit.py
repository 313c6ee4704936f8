"""What is emitted: which k at which load, and what an engine without words for it gets."""

from __future__ import annotations

import json

import pytest

import specplan
from specplan.domain.deployment import TreeShape
from specplan.errors import Refused, SpecplanError, UsageError
from specplan.physics.choose import scan_batches
from specplan.physics.round import seen_by
from specplan.physics.survival import survival, tokens_of
from specplan.questions.bills import bill_of

HEAD = {"target": "llama-3.1-8b", "draft": "eagle3", "hardware": "h100-sxm", "acceptance": 0.7}
MODEL = {**HEAD, "target": "llama-3-8b", "draft": "llama-3.2-1b", "acceptance": 0.4}


def emitted(engine: str, *, loads=(None, None), form=None, synthetic=False, shape=None, **axes):
    scene = specplan.scenario(**{**HEAD, "engine": engine, **axes})
    target, draft = loads
    return specplan.emit(
        scene, form=form, synthetic=synthetic, shape=shape, target=target, draft=draft
    )


def test_a_k_of_the_plan_is_written_as_it_is():
    answer = emitted("vllm@0.33", k=3)
    assert answer.value.k == 3
    assert answer.value.text == answer.value.texts["shell"]
    assert json.loads(answer.value.texts["json"]) == {
        "method": "eagle3",
        "model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
        "num_speculative_tokens": 3,
    }
    assert answer.basis.kind == "exact"
    assert answer.ok


def test_the_best_k_is_that_of_best_k():
    axes = {**HEAD, "engine": "vllm@0.33", "batch": 16}
    best = specplan.best_k(specplan.scenario(**axes)).value.choice
    answer = specplan.emit(specplan.scenario(**axes))
    assert answer.value.k == best.k
    assert f"k = {best.k} is the best: {best.speedup:.2f}x at batch 16" in answer.notes
    assert answer.basis.kind == "estimate"


def test_one_k_for_several_workloads_says_what_it_loses():
    answer = emitted("vllm@0.33", batch=[1, 200])
    assert any("one for all 2 workloads" in note for note in answer.notes)


def gains(axes) -> tuple[tuple[int, ...], list[list[float]]]:
    """Speedups over every batch that fits, as the gate scans them."""
    scene = specplan.scenario(**axes)
    setup = seen_by(scene.setups[0], scene.acceptance[0], scene.context[0])
    largest = bill_of(setup, scene.context[0]).largest_batch
    k = tuple(range(17))
    tokens = tokens_of(scene.acceptance[0], k, scene.context[0])
    rows: list[list[float]] = []
    for _, gain in scan_batches(setup, scene.context[0], k, largest):
        rows += (tokens * gain).tolist()
    return k, rows


def test_the_gate_says_what_it_loses_and_what_one_k_would():
    axes = {**HEAD, "engine": "vllm@0.33", "k": "gate"}
    answer = specplan.emit(specplan.scenario(**axes))
    schedule = answer.value.schedule
    _, rows = gains(axes)
    assert schedule[-1].last_batch == len(rows)
    lost = [
        1 - rows[batch - 1][step.k] / max(rows[batch - 1])
        for step in schedule
        for batch in range(step.first_batch, step.last_batch + 1)
    ]
    assert max(lost) <= 0.05 + 1e-8
    worst = [max(1 - row[k] / max(row) for row in rows) for k in range(17)]
    said = next(note for note in answer.notes if note.startswith("k by batch loses up to"))
    assert f"loses up to {100 * max(lost):.1f} % against" in said
    assert f"at batch {lost.index(max(lost)) + 1:,};" in said
    assert f"for all up to {100 * min(worst):.1f} %" in said
    (one,) = [k for k in range(17) if f"; k = {k} for all" in said]
    better = [(1 - loss) / (row[one] / max(row)) - 1 for loss, row in zip(lost, rows, strict=True)]
    most = max(better)
    assert said.endswith(
        f": by batch is up to {100 * most:.1f} % faster, at {better.index(most) + 1:,}"
    )
    assert len(schedule) < len(specplan.gate(specplan.scenario(**axes)).value.ranges) / 2


def test_a_schedule_says_that_the_batch_asked_for_does_not_limit_it():
    said = "does not limit it"
    short = emitted("vllm@0.33", k="gate", batch="1:16")
    last = short.value.schedule[-1].last_batch
    assert last > 16
    assert (
        f"k by batch goes to {last}, the largest batch that fits: batch 1:16 does not limit it"
        in short.notes
    )
    assert not any(said in note for note in emitted("vllm@0.33", k="gate").notes)
    assert not any(said in note for note in emitted("vllm@0.33", k="gate", batch=last).notes)


def test_more_hysteresis_is_fewer_ranges():
    scene = specplan.scenario(**{**HEAD, "engine": "vllm@0.33", "k": "gate"})
    counts = [len(specplan.emit(scene, hysteresis=h).value.schedule) for h in (0.0, 0.01, 0.03)]
    assert counts[0] > counts[1] > counts[2]
    with pytest.raises(UsageError, match="--hysteresis: 1 is out of range"):
        specplan.emit(scene, hysteresis=1.0)


def test_a_gate_of_one_range_is_one_k():
    answer = emitted("vllm@0.33", k="gate", batch=[1], hardware="h200-sxm", context=100_000)
    assert (answer.value.schedule == ()) == ("per_batch_size" not in answer.value.text)
    assert any("for every batch: it loses at most" in note for note in answer.notes) == (
        answer.value.schedule == ()
    )


def test_an_engine_without_a_schedule_gets_one_k_and_what_it_loses():
    answer = emitted("sglang@0.5.2", k="gate")
    _, rows = gains({**HEAD, "engine": "sglang@0.5.2"})
    worst = [max(1 - row[k] / max(row) for row in rows) for k in range(17)]
    assert answer.value.schedule == ()
    assert worst[answer.value.k] == pytest.approx(min(worst), abs=1e-9)
    said = f"k = {answer.value.k}, which loses up to {100 * min(worst):.1f} %"
    assert any(said in note for note in answer.notes)
    assert answer.value.lost[0].startswith("k by batch")


SGLANG_YAML = ("sglang@0.5.23", "yaml")  # which has both, variables and a file
RISING = {
    "target": "deepseek-r1",
    "draft": "mtp",
    "hardware": "h200-sxm",
    "tp": 8,
    "engine": "trtllm@1.3.0rc24",
    "acceptance": 0.7,
    "k": "gate",
}


def test_a_schedule_that_is_cut_to_one_k_says_what_that_loses():
    """TensorRT-LLM's begins with the longest k; experts make this gate's come later."""
    found = specplan.emit(specplan.scenario(**RISING))
    assert any("begins with the longest" in sentence for sentence in found.value.lost)
    assert found.value.schedule == ()
    _, rows = gains(RISING)
    worst = max(1 - row[found.value.k] / max(row) for row in rows)
    said = f"one k for all: k = {found.value.k}, which loses up to {100 * worst:.1f} %"
    assert any(said in note for note in found.notes)


def test_a_tail_of_no_drafts_is_priced():
    axes = {**MODEL, "k": "gate", "context": 512}
    answer = emitted("vllm@0.26", **axes)
    assert [step.k for step in answer.value.schedule] == [1, 0]
    notes = " ".join(answer.notes)
    _, rows = gains({**axes, "engine": "vllm@0.26"})
    worst = max(1 - row[1] / max(row) for row in rows)
    last = len(rows)
    assert f"k = 1 in place of 0 (1-{last:,}: 1) loses up to {100 * worst:.1f} %" in notes
    scene = specplan.scenario(**{**axes, "engine": "vllm@0.26"})
    plain = bill_of(scene.setups[0], 512).largest_batch_plain
    assert f"{last:,} sequences fit, {plain:,} without it" in notes
    assert "k = 0 is not free" in notes
    assert "8 requests fell from 232 to 24-157 tok/s" in notes


def test_a_tail_that_saves_less_than_it_was_seen_to_cost_is_told():
    """The gate's own saving is held against the step that k = 0 adds (vllm#49548)."""
    rare = {"k": "gate", "acceptance": "burst:.2@3.1"}
    told = "less than the 6.6 % and more that k = 0 was seen to cost"
    for engine, says in (("vllm@0.33", True), ("sglang@0.5.23", False)):
        answer = emitted(engine, **rare)
        assert any(not step.k for step in answer.value.schedule)
        assert any(told in note for note in answer.notes) == says


def test_nothing_that_pays_is_an_answer_of_no():
    answer = emitted("vllm@0.33", **{**MODEL, "acceptance": 0.01})
    assert not answer.ok
    assert answer.value.text == "vllm serve meta-llama/Meta-Llama-3-8B-Instruct\n"
    assert any("does not pay" in note for note in answer.notes)
    asked = emitted("vllm@0.33", draft="none", k=0)
    assert asked.ok


def test_what_does_not_fit_is_an_answer_of_no():
    answer = emitted("vllm@0.33", batch=5000, k=3)
    assert not answer.ok
    assert any("does not fit" in note for note in answer.notes)
    big = {"target": "llama-3.3-70b", "draft": "eagle3", "k": "gate"}
    none = emitted("vllm@0.33", **big)
    assert not none.ok
    assert none.value.k == 0


def test_acceptance_is_pretended_as_it_was_given():
    rates = "unconditional:.8,.6,.5"
    answer = emitted("vllm@0.33", acceptance=rates, k=3, synthetic=True)
    config = json.loads(answer.value.texts["json"])
    assert config["synthetic_acceptance_rates"] == [0.8, 0.6, 0.5]
    scene = specplan.scenario(**{**HEAD, "acceptance": rates, "engine": "vllm@0.33"})
    kept = survival(scene.acceptance[0], 3)
    assert config["synthetic_acceptance_rates"] == pytest.approx(kept.tolist())
    length = emitted("trtllm@1.3.0rc24", acceptance=rates, k=3, synthetic=True)
    assert "FORCE_NUM_ACCEPTED_TOKENS=1.9 " in length.value.texts["flags"]
    with pytest.raises(UsageError, match="--synthetic: one acceptance"):
        emitted("vllm@0.33", acceptance=[0.5, 0.6], k=3, synthetic=True)


@pytest.mark.parametrize(
    ("engine", "form", "said"),
    [
        ("trtllm@1.3.0rc24", "yaml", "start the server with TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED"),
        ("trtllm@1.3.0rc24", "flags", "the server reads trtllm.yaml beside it: --as yaml writes"),
        ("trtllm@1.3.0rc24", "shell", ""),
        ("sglang@0.5.23", "yaml", "start the server with SGLANG_SIMULATE_ACC_LEN=2.9"),
        ("sglang@0.5.23", "flags", "reads speculative-adaptive.json beside it: --as shell writes"),
        ("sglang@0.5.23", "shell", ""),
        ("vllm@0.33", "yaml", ""),
    ],
)
def test_what_a_form_has_no_place_for_is_said(engine, form, said):
    notes = " ".join(emitted(engine, k="gate", synthetic=True, form=form).notes)
    assert (said in notes) if said else ("start the server with" not in notes)
    assert ("beside it" in notes) == ("beside it" in said or (engine, form) == SGLANG_YAML)


@pytest.mark.parametrize(
    ("engine", "name"),
    [("trtllm@1.3.0rc24", "TLLM_SPEC_DECODE_FORCE"), ("sglang@0.5.23", "SGLANG_SIMULATE_ACC_LEN")],
)
def test_variables_go_with_the_text(engine, name):
    """Whoever keeps the text and reads no note starts the server with them all the same."""
    assert name not in emitted(engine, k="gate", form="yaml").value.text
    for form in ("shell", "flags", "yaml"):
        text = emitted(engine, k="gate", synthetic=True, form=form).value.text
        assert f"{name}" in text
    first, *rest = text.splitlines()
    assert first.startswith(f"# start the server with {name}")
    assert rest == emitted(engine, k="gate", form="yaml").value.text.splitlines()
    with pytest.raises(UsageError, match=f"--synthetic: JSON has no place for {name}.*as shell"):
        emitted(engine, k="gate", synthetic=True, form="json")


@pytest.mark.parametrize(
    ("engine", "newest"),
    [
        ("vllm@0.99", "0.33"),
        ("vllm@1.0", "0.33"),
        ("sglang@0.6", "0.5.23"),
        ("trtllm@1.4", "1.3.0rc27"),
        ("vllm@0.33.2", ""),
        ("trtllm@1.3.0rc24", ""),
        ("sglang@0.5.23.post1", ""),
    ],
)
def test_a_version_that_nobody_read_yet_is_said(engine, newest):
    notes = [note for note in emitted(engine, k=3).notes if "is read as" in note]
    said = f"{engine} is read as {newest}, the newest whose flags are known here"
    assert notes == ([said] if newest else [])


def test_a_tree_is_sglangs():
    answer = emitted("sglang@0.5.9", shape=TreeShape(5, 4, 8))
    assert "--speculative-num-draft-tokens 8" in answer.value.texts["flags"]
    with pytest.raises(Refused, match="vllm verifies chains"):
        emitted("vllm@0.33", shape=TreeShape(5, 4, 8))


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("roofline", "roofline reads no flags: it is a bound; expected one of vllm@0.33"),
        ("transformers", "transformers reads no flags; expected one of"),
        ("vllm", "depends on its version; expected a version such as vllm@0.33"),
        ("trtllm", "depends on its version; expected a version such as trtllm@1.3.0rc24"),
    ],
)
def test_a_real_engine_and_its_version_are_asked_for(engine, said):
    with pytest.raises(UsageError) as caught:
        emitted(engine, k=3)
    assert said in str(caught.value)


def test_what_no_card_names_is_asked_for():
    with pytest.raises(Refused, match=r"eagle3-llama-3.3-70b names no checkpoint.*--draft-path"):
        emitted("vllm@0.33", target="llama-3.3-70b", tp=4, k=3)
    named = emitted("vllm@0.33", loads=("./target", "./head"), target="llama-3.3-70b", tp=4, k=3)
    assert '"model": "./head"' in named.value.text
    assert "vllm serve ./target" in named.value.text


def test_vocabularies_of_a_drafting_model_are_one():
    with pytest.raises(Refused, match="vocabulary of 151,936; expected the target's 152,064"):
        emitted("vllm@0.33", target="qwen2.5-72b", draft="qwen2.5-0.5b", tp=4, k=3)


def test_a_form_that_the_engine_does_not_read():
    with pytest.raises(SpecplanError, match="unknown form for llamacpp 'yaml'"):
        emitted("llamacpp@11434", k=3, loads=("t.gguf", "d.gguf"), form="yaml")


def test_rows_hold_program_flags_and_config():
    rows = list(emitted("vllm@0.33", k=3).table.records())
    assert rows[0] == {
        "part": "program",
        "name": "vllm",
        "value": "serve meta-llama/Llama-3.1-8B-Instruct",
    }
    assert {row["part"] for row in rows} == {"program", "flag", "config"}
    assert [row["value"] for row in rows if row["name"] == "num_speculative_tokens"] == ["3"]


def test_other_weights_than_the_checkpoints_are_said():
    answer = emitted("vllm@0.33", k=3, dtype="fp8")
    assert any("weights are planned as fp8" in note for note in answer.notes)
    answer = emitted("vllm@0.33", k=3, draft_dtype="fp8")
    said = "the drafter's weights are planned as fp8, the drafter's checkpoint is bf16"
    assert any(note.startswith(said) for note in answer.notes)
    assert not any("are planned as" in note for note in emitted("vllm@0.33", k=3).notes)
