"""What is written for each engine, by version and drafter."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
import yaml

from specplan.dialects.spans import Span, age
from specplan.dialects.text import flags_text, shell_text, yaml_text
from specplan.dialects.writers import WRITERS, example, writer
from specplan.domain.card import Dtype
from specplan.domain.deployment import File, TreeShape
from specplan.errors import Refused

CUTOFF = [(1, 16, 3), (17, 64, 0)]
FALLING = [(1, 16, 3), (17, 64, 1), (65, 90, 0)]
RATES = (0.8, 0.5, 0.25)


def as_engines_read(text: str) -> Any:
    return yaml.safe_load(text)  # noqa: TID251 - engines read YAML 1.1


def flags_of(written) -> dict[str, str | None]:
    return dict(written.flags)


# Versions


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.9", "0.24"), ("1.3.0rc8", "1.3.0rc10"), ("1.3.0rc8", "1.3"), ("1.2.1", "1.3.0rc0")],
)
def test_versions_are_in_order(before, after):
    assert age(before) < age(after)


def test_a_span_holds_its_ends():
    span = Span("", "0.8.5", "0.26")
    held = [v for v in ("0.8.4", "0.8.5", "0.26", "0.26.3", "0.27", "1.0") if span.holds(v)]
    assert held == ["0.8.5", "0.26", "0.26.3"]


@pytest.mark.parametrize("engine", WRITERS)
def test_the_example_of_each_engine_can_be_written(make, engine):
    names = {"target": "t.gguf", "draft": "d.gguf"} if engine == "llamacpp" else {}
    written = writer(engine)(make(engine, example(engine).removeprefix("b"), **names))
    assert written.texts
    assert not written.lost


# vLLM


@pytest.mark.parametrize(
    ("way", "version", "config"),
    [
        ("eagle3", "0.33", {"method": "eagle3", "model": "org/head"}),
        ("eagle", "0.8.5", {"method": "eagle", "model": "org/head"}),
        ("model", "0.33", {"method": "draft_model", "model": "org/head"}),
        ("model", "0.9.2", {"method": "draft_model", "model": "org/head"}),
        ("mtp", "0.11.2", {"method": "mtp", "model": "org/head"}),
        ("ngram", "0.33", {"method": "ngram"}),
        ("suffix", "0.11.2", {"method": "suffix"}),
        ("medusa", "0.26", {"method": "medusa", "model": "org/head"}),
        ("mlp-speculator", "0.24", {"method": "mlp_speculator", "model": "org/head"}),
        ("dflash", "0.20.2", {"method": "dflash", "model": "org/head"}),
        ("dspark", "0.26", {"method": "dspark", "model": "org/head"}),
    ],
)
def test_vllm_calls_each_drafter_by_its_method(make, way, version, config):
    written = writer("vllm")(make("vllm", version, way=way))
    assert written.config == {**config, "num_speculative_tokens": 3}
    assert json.loads(written.texts["json"]) == written.config
    assert flags_of(written)["--speculative-config"] == written.texts["json"].strip()


@pytest.mark.parametrize(("draws", "method"), [("head", "eagle3"), ("model", "draft_model")])
def test_vllm_drafts_in_parallel_by_what_is_drawn_on(make, draws, method):
    config = writer("vllm")(make("vllm", "0.33", way="block", draws=draws)).config
    assert (config["method"], config["parallel_drafting"]) == (method, True)


@pytest.mark.parametrize(
    ("way", "version", "said"),
    [
        ("suffix", "0.10.2", "suffix is in 0.11.2 and later"),
        ("model", "0.11.2", "0.8.5 to 0.9.2 and 0.15.1 and later"),
        ("medusa", "0.33", "gone by 0.33"),
        ("mtp", "0.10.2", "mtp is in 0.11.2"),
        ("dspark", "0.24", "dspark is in 0.26"),
        ("lookahead", "0.33", "vllm has no drafters of kind lookahead"),
        ("skip", "0.33", "no drafters of kind skip"),
        ("ratio", "0.33", "is a cost, not a drafter"),
        ("free", "0.33", "is a bound, not a drafter"),
        ("tarot", "0.33", "no drafters of kind tarot; expected one of those it has: ngram"),
    ],
)
def test_vllm_refuses_drafters_it_has_no_method_for(make, way, version, said):
    with pytest.raises(Refused) as caught:
        writer("vllm")(make("vllm", version, way=way))
    assert said in str(caught.value)


def test_vllm_writes_a_schedule_and_what_it_costs(gated):
    written = writer("vllm")(gated("vllm", "0.33", CUTOFF))
    assert written.config["num_speculative_tokens_per_batch_size"] == [[1, 16, 3], [17, 64, 0]]
    assert "k = 0 is not free" in " ".join(written.notes)
    without = " ".join(writer("vllm")(gated("vllm", "0.33", [(1, 9, 3), (10, 20, 1)])).notes)
    assert "k = 0" not in without
    assert "k is looked up by the requests scheduled in a step" in without


@pytest.mark.parametrize(
    ("version", "way", "draws", "runner"),
    [
        # 0.24.0: _get_v2_model_runner_unsupported_features has "dynamic speculative decoding"
        ("0.24.1", "eagle3", "head", "v1"),
        # 0.26.0 and 0.28.0: heads alone on V2, which few targets take by themselves
        ("0.26", "eagle3", "head", "asked"),
        ("0.28.1", "mtp", "head", "asked"),
        ("0.26", "ngram", "lookup", "v1"),
        ("0.26", "dspark", "head", "v2"),
        # 0.30.0: V2 by default, without these
        ("0.30", "eagle3", "head", "v2"),
        ("0.30", "ngram", "lookup", "v1"),
        ("0.30", "model", "model", "v1"),
        # 0.33.0: all but suffix and parallel drafting
        ("0.33", "ngram", "lookup", "v2"),
        ("0.33", "model", "model", "v2"),
        ("0.33", "block", "head", "v1"),
    ],
)
def test_vllm_runs_a_schedule_by_version_and_drafter(gated, version, way, draws, runner):
    """Whole CUDA graphs on Model Runner V2, pieces on V1: config/vllm.py of the releases named."""
    notes = " ".join(writer("vllm")(gated("vllm", version, CUTOFF, way=way, draws=draws)).notes)
    assert ("PIECEWISE" in notes) == (runner != "v2")
    assert ("VLLM_USE_V2_MODEL_RUNNER=1" in notes) == (runner == "asked")
    assert ("8 requests fell from 232 to 24-157" in notes) == (runner != "v2")
    assert ("V2, taken unless it is turned off" in notes) == (runner == "v2")


def test_vllm_drops_a_schedule_that_its_runner_does_not_read(gated):
    """0.33 falls back to num_speculative_tokens with suffix on Model Runner V1, with a warning."""
    written = writer("vllm")(gated("vllm", "0.33", CUTOFF, way="suffix", draws="lookup"))
    assert "num_speculative_tokens_per_batch_size" not in written.config
    assert written.lost == ("k by batch: it is dropped with suffix, which runs on Model Runner V1",)
    for version, way in (("0.30", "suffix"), ("0.24", "suffix"), ("0.26", "medusa")):
        older = writer("vllm")(gated("vllm", version, CUTOFF, way=way))
        assert "num_speculative_tokens_per_batch_size" not in older.config
        assert f"with {way} the engine ends at the first k that is not" in older.lost[0]


def test_vllm_has_no_schedule_among_data_parallel_groups(gated):
    written = writer("vllm")(gated("vllm", "0.33", CUTOFF, tp=8, attention_dp=4))
    assert "num_speculative_tokens_per_batch_size" not in written.config
    flags = flags_of(written)
    assert (flags["--tensor-parallel-size"], flags["--data-parallel-size"]) == ("2", "4")
    assert "switched off where data-parallel groups are more than one" in written.lost[0]
    older = writer("vllm")(gated("vllm", "0.24", CUTOFF, tp=8, attention_dp=4))
    assert "groups would choose different k and wait for each other" in older.lost[0]


def test_vllm_cuts_off_by_batch_where_its_first_engine_ran_the_drafter(gated):
    written = writer("vllm")(gated("vllm", "0.9.2", CUTOFF, way="model"))
    assert written.config["disable_by_batch_size"] == 17  # stops at that many and more
    assert not written.lost
    v1 = writer("vllm")(gated("vllm", "0.9.2", CUTOFF))
    assert "disable_by_batch_size" not in v1.config
    assert "by the first engine (V0) alone" in v1.lost[0]
    more = writer("vllm")(gated("vllm", "0.9.2", FALLING, way="model"))
    assert more.config["num_speculative_tokens"] == 3
    assert "stops drafting above a batch" in more.lost[0]


def test_vllm_first_engine_has_flags(gated, make):
    written = writer("vllm")(gated("vllm", "0.6.6", CUTOFF, way="model", tp=4, draft_tp=1))
    assert flags_of(written) == {
        "--tensor-parallel-size": "4",
        "--speculative-model": "org/head",
        "--num-speculative-tokens": "3",
        "--speculative-draft-tensor-parallel-size": "1",
        "--speculative-disable-by-batch-size": "17",
    }
    assert "json" not in written.texts
    looked = writer("vllm")(make("vllm", "0.7.3", way="ngram", draws="lookup"))
    assert flags_of(looked)["--speculative-model"] == "[ngram]"
    assert flags_of(looked)["--ngram-prompt-lookup-max"] == "5"
    with pytest.raises(Refused, match="1 or the target's 4"):
        writer("vllm")(make("vllm", "0.6.6", way="model", tp=4, draft_tp=2))
    with pytest.raises(Refused, match=r"eagle3 is in 0\.9\.2 and later"):
        writer("vllm")(make("vllm", "0.6.6"))


@pytest.mark.parametrize(
    ("version", "way", "family", "said"),
    [
        ("0.9.2", "eagle3", "qwen3", "model_type llama alone"),
        ("0.10.2", "eagle3", "gpt-oss", "model_type llama, qwen alone"),
        ("0.15.1", "eagle3", "gpt-oss", ""),
        ("0.15.1", "eagle3", "deepseek-v3", "minicpm, gpt_oss alone"),
        ("0.15.1", "eagle3", "", ""),
        ("0.20.2", "dflash", "gemma-3", "gemma4 alone"),
        ("0.20.2", "eagle3", "deepseek-v3", ""),
        ("0.22.1", "eagle3", "gemma-3", ""),
        ("0.15.1", "eagle", "gemma-3", ""),
    ],
)
def test_vllm_names_the_targets_that_eagle3_was_for(make, version, way, family, said):
    """eagle3_target_supported, later aux_hidden_states_supported, of config/speculative.py."""
    notes = " ".join(writer("vllm")(make("vllm", version, way=way, target_family=family)).notes)
    assert (said in notes) if said else ("model_type" not in notes)


def test_vllm_says_what_mtp_was_trained_for(make):
    beyond = writer("vllm")(make("vllm", "0.33", way="mtp", k=4, modules=1, draft=None))
    assert "beyond the 1 that the checkpoint's MTP was trained for" in " ".join(beyond.notes)
    assert "model" not in beyond.config
    other = writer("vllm")(make("vllm", "0.33", way="mtp", k=1, modules=1, draft="org/mtp"))
    assert other.config["model"] == "org/mtp"
    assert not other.notes


def test_vllm_between_flags_and_config_was_not_read(make):
    with pytest.raises(Refused, match="was not read"):
        writer("vllm")(make("vllm", "0.8.3"))


def test_vllm_pretends_an_acceptance(make):
    config = writer("vllm")(make("vllm", "0.33", acceptance=RATES)).config
    assert config["rejection_sample_method"] == "synthetic"
    assert config["synthetic_acceptance_rates"] == [0.8, 0.5, 0.25]
    for version in ("0.17.1", "0.6.6"):
        way = "eagle3" if version == "0.17.1" else "model"
        with pytest.raises(Refused, match=r"cannot pretend.*version 0\.20\.2 or later"):
            writer("vllm")(make("vllm", version, acceptance=RATES, way=way))


def test_vllm_draft_tp_is_one_or_the_targets(make):
    config = writer("vllm")(make("vllm", "0.33", tp=4, draft_tp=1)).config
    assert config["draft_tensor_parallel_size"] == 1
    with pytest.raises(Refused, match="draft_tensor_parallel_size 2; expected 1 or the target's 4"):
        writer("vllm")(make("vllm", "0.33", tp=4, draft_tp=2))


def test_vllm_says_the_cache_and_experts(make):
    written = writer("vllm")(make("vllm", "0.33", kv_dtype=Dtype.FP8, tp=8, ep=8, draft_tp=8))
    flags = flags_of(written)
    assert flags["--kv-cache-dtype"] == "fp8"
    assert "--enable-expert-parallel" in flags
    lost = writer("vllm")(make("vllm", "0.33", kv_dtype=Dtype.INT8)).lost
    assert lost == ("kv-dtype int8: it is not one that is written for vllm",)


def test_vllm_yaml_is_its_config_file(make):
    read = as_engines_read(writer("vllm")(make("vllm", "0.33", tp=2, draft_tp=2)).texts["yaml"])
    assert read["model"] == "org/target"
    assert read["tensor-parallel-size"] == "2"
    assert json.loads(read["speculative-config"])["method"] == "eagle3"


# SGLang


def numbers(flags: dict[str, str | None]) -> tuple[str | None, ...]:
    names = ("num-steps", "eagle-topk", "num-draft-tokens")
    return tuple(flags.get(f"--speculative-{name}") for name in names)


@pytest.mark.parametrize(
    ("way", "version", "algorithm", "three"),
    [
        ("eagle", "0.4.10", "EAGLE", ("3", "1", "4")),
        ("eagle3", "0.5.23", "EAGLE3", ("3", "1", "4")),
        ("mtp", "0.5.9", "NEXTN", ("3", "1", "4")),
        ("model", "0.5.2", "STANDALONE", ("3", "1", "4")),
        ("ngram", "0.5.6.post2", "NGRAM", (None, None, "4")),
        ("dflash", "0.5.13", "DFLASH", (None, None, "4")),
        ("dspark", "0.5.23", "DSPARK", (None, None, None)),
    ],
)
def test_sglang_counts_the_root(make, way, version, algorithm, three):
    flags = flags_of(writer("sglang")(make("sglang", version, way=way)))
    assert flags["--speculative-algorithm"] == algorithm
    assert numbers(flags) == three
    named = "--speculative-draft-model-path" in flags
    assert named == (way != "ngram")
    assert (flags.get("--speculative-dspark-block-size") == "3") == (way == "dspark")


@pytest.mark.parametrize(
    ("way", "version", "said"),
    [
        ("model", "0.4.10", "model is in 0.5.2"),
        ("ngram", "0.5.2", "ngram is in 0.5.6"),
        ("dflash", "0.5.10.post1", "dflash is in 0.5.13"),
        ("suffix", "0.5.23", "sglang has no drafters of kind suffix"),
        ("medusa", "0.5.23", "sglang has no drafters of kind medusa"),
    ],
)
def test_sglang_refuses_drafters_it_has_no_algorithm_for(make, way, version, said):
    with pytest.raises(Refused) as caught:
        writer("sglang")(make("sglang", version, way=way))
    assert said in str(caught.value)


def test_sglang_writes_a_tree(make):
    written = writer("sglang")(make("sglang", "0.5.9", tree=TreeShape(5, 4, 8), k=5))
    assert numbers(flags_of(written)) == ("5", "4", "8")
    with pytest.raises(Refused, match="NGRAM drafts no tree"):
        writer("sglang")(make("sglang", "0.5.9", way="ngram", tree=TreeShape(5, 4, 8)))


def test_sglang_adapts_by_a_file(gated):
    written = writer("sglang")(gated("sglang", "0.5.23", FALLING))
    read = json.loads(written.texts["json"])
    assert read == {
        "1": {"candidate_steps": [3]},
        "17": {"candidate_steps": [1]},
        "65": {"candidate_steps": [0]},
    }
    assert flags_of(written)["--speculative-adaptive-config"] == written.file.name
    assert flags_of(written)["--speculative-num-steps"] == "3"
    assert written.file.text in written.texts["shell"]


@pytest.mark.parametrize(
    ("version", "more", "said"),
    [
        ("0.5.10", {}, "has no k by batch"),
        ("0.5.13", {}, "cannot stop drafting at a batch"),
        ("0.5.23", {"way": "model"}, "not for STANDALONE"),
        ("0.5.23", {"tp": 8, "attention_dp": 8, "draft_tp": 8}, "--enable-dp-attention"),
    ],
)
def test_sglang_writes_one_k_where_it_cannot_adapt(gated, version, more, said):
    written = writer("sglang")(gated("sglang", version, FALLING, **more))
    assert said in written.lost[0]
    assert "json" not in written.texts
    assert written.done.k == 3


@pytest.mark.parametrize(("version", "flag"), [("0.5.13", "bs"), ("0.5.23", "bs-decode")])
def test_sglang_names_the_graphs_that_keep_batches_apart(gated, version, flag):
    notes = writer("sglang")(gated("sglang", version, [(1, 16, 3), (17, 64, 1)])).notes
    assert any(f"with 16 64 among --cuda-graph-{flag} each" in note for note in notes)


def test_sglang_loads_mtp_from_the_target_unless_another_is_named(make):
    """tp_worker.py takes the path as it is; the server fills it in for some architectures alone."""
    own = flags_of(writer("sglang")(make("sglang", "0.5.23", way="mtp", draft=None)))
    assert own["--speculative-draft-model-path"] == "org/target"
    other = flags_of(writer("sglang")(make("sglang", "0.5.23", way="mtp", draft="org/mtp")))
    assert other["--speculative-draft-model-path"] == "org/mtp"


@pytest.mark.parametrize(
    ("way", "version", "said"),
    [
        ("model", "0.5.23", "STANDALONE beside --enable-dp-attention"),
        ("ngram", "0.5.23", "NGRAM beside --enable-dp-attention"),
        ("dflash", "0.5.13", "expected no data-parallel attention, or 0.5.23 and later"),
    ],
)
def test_sglang_refuses_drafters_beside_data_parallel_attention(make, way, version, said):
    with pytest.raises(Refused) as caught:
        writer("sglang")(make("sglang", version, way=way, tp=8, draft_tp=8, attention_dp=8))
    assert said in str(caught.value)


@pytest.mark.parametrize("way", ["dflash", "dspark", "eagle3"])
def test_sglang_shares_the_head_among_groups_for_block_drafters(make, way):
    more = {"way": way, "tp": 8, "draft_tp": 8, "attention_dp": 8}
    flags = flags_of(writer("sglang")(make("sglang", "0.5.23", **more)))
    assert ("--enable-dp-lm-head" in flags) == (way != "eagle3")


def test_sglang_adapts_in_0_5_13_where_it_never_stops(gated):
    written = writer("sglang")(gated("sglang", "0.5.13", [(1, 8, 3), (9, 40, 1)]))
    assert written.file is not None


def test_sglang_says_the_cap_of_requests(make, gated):
    few = writer("sglang")(make("sglang", "0.5.23", batch=48))
    assert "--max-running-requests" not in flags_of(few)
    assert any("at most 48 requests" in note for note in few.notes)
    many = writer("sglang")(make("sglang", "0.5.23", batch=49))
    assert flags_of(many)["--max-running-requests"] == "49"
    by_batch = writer("sglang")(gated("sglang", "0.5.23", FALLING))
    assert flags_of(by_batch)["--max-running-requests"] == "90"


@pytest.mark.parametrize(
    ("version", "variables"),
    [
        ("0.5.2", {"SIMULATE_ACC_LEN": "2.55", "SIMULATE_ACC_METHOD": "match-expected"}),
        (
            "0.5.9",
            {"SGLANG_SIMULATE_ACC_LEN": "2.55", "SGLANG_SIMULATE_ACC_METHOD": "match-expected"},
        ),
        (
            "0.5.23",
            {
                "SGLANG_SIMULATE_ACC_LEN": "2.55",
                "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
                "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
            },
        ),
    ],
)
def test_sglang_pretends_by_variables(make, version, variables):
    written = writer("sglang")(make("sglang", version, acceptance=RATES))
    assert dict(written.environment) == variables
    assert "acceptance by position" in written.lost[0]
    assert written.texts["flags"].startswith(next(iter(variables)))
    with pytest.raises(Refused, match="cannot pretend an acceptance with NGRAM"):
        writer("sglang")(make("sglang", "0.5.23", acceptance=RATES, way="ngram"))
    loads = "--speculative-draft-load-format dummy" in " ".join(written.notes)
    assert loads == (version != "0.5.2")


def test_sglang_pretends_with_block_drafters_in_0_5_23(make):
    for way in ("dflash", "dspark"):
        assert writer("sglang")(make("sglang", "0.5.23", acceptance=RATES, way=way)).environment
    with pytest.raises(Refused, match=r"with DFLASH; expected 0\.5\.23 and later"):
        writer("sglang")(make("sglang", "0.5.13", acceptance=RATES, way="dflash"))


def test_sglang_divides_the_drafter_as_the_target(make):
    written = writer("sglang")(make("sglang", "0.5.23", tp=4, draft_tp=1))
    assert written.lost == ("draft-tp 1: the drafter is divided as the target is",)


# TensorRT-LLM


def speculative(written) -> dict[str, object]:
    found: dict[str, object] = as_engines_read(written.texts["yaml"])["speculative_config"]
    return found


@pytest.mark.parametrize(
    ("way", "version", "config"),
    [
        ("eagle3", "1.2.1", {"decoding_type": "Eagle", "max_draft_len": 3}),
        ("eagle3", "1.3.0rc8", {"decoding_type": "Eagle3", "max_draft_len": 3}),
        ("model", "1.2", {"decoding_type": "DraftTarget", "max_draft_len": 3}),
        ("model", "1.3.0rc20", {"decoding_type": "Draft_Target", "max_draft_len": 3}),
        ("block", "1.3.0rc7", {"decoding_type": "PARD", "max_draft_len": 3}),
        ("dflash", "1.4.0rc4", {"decoding_type": "DFlash", "max_draft_len": 3}),
        ("mtp", "1.2", {"decoding_type": "MTP", "num_nextn_predict_layers": 3}),
        ("mtp", "1.3.0rc24", {"decoding_type": "MTP", "max_draft_len": 3}),
        ("ngram", "1.0", {"decoding_type": "NGram", "max_draft_len": 3}),
        ("suffix", "1.3.0rc24", {"decoding_type": "SA", "max_draft_len": 3}),
    ],
)
def test_trtllm_calls_each_drafter_by_its_type(make, way, version, config):
    named = {} if way in {"mtp", "ngram", "suffix"} else {"speculative_model": "org/head"}
    assert speculative(writer("trtllm")(make("trtllm", version, way=way))) == {**config, **named}


@pytest.mark.parametrize("engine", ["trtllm", "llamacpp"])
def test_a_path_for_what_lies_in_the_target_is_not_dropped_in_silence(make, engine):
    more = {"way": "mtp", "target": "t.gguf"}
    version = example(engine).removeprefix("b")
    written = writer(engine)(make(engine, version, draft="d.gguf", **more))
    assert "the drafter's path" in written.lost[0]
    assert not writer(engine)(make(engine, version, draft=None, **more)).lost


@pytest.mark.parametrize("way", ["medusa", "eagle", "lookahead"])
def test_trtllm_refuses_what_its_pytorch_backend_has_not(make, way):
    with pytest.raises(Refused, match=f"trtllm has no drafters of kind {way}"):
        writer("trtllm")(make("trtllm", "1.3.0rc24", way=way))


def test_trtllm_turned_its_schedule_round_in_1_3_0rc8(gated):
    """NVIDIA/TensorRT-LLM#10860: the same gate, first batches before and last batches since."""
    before = writer("trtllm")(gated("trtllm", "1.3.0rc7", FALLING, way="ngram"))
    assert speculative(before)["draft_len_schedule"] == {1: 3, 17: 1, 65: 0}
    after = writer("trtllm")(gated("trtllm", "1.3.0rc8", FALLING))
    assert speculative(after)["draft_len_schedule"] == {16: 3, 64: 1}
    assert "json" in after.texts


def test_trtllm_says_where_drafting_ends(gated):
    written = writer("trtllm")(gated("trtllm", "1.3.0rc8", [(1, 16, 3), (17, 64, 1)]))
    assert speculative(written)["draft_len_schedule"] == {16: 3, 64: 1}
    assert any("above batch 64" in note for note in written.notes)


def test_trtllm_limits_where_it_has_no_schedule(gated):
    written = writer("trtllm")(gated("trtllm", "1.3.0rc24", CUTOFF, way="ngram"))
    assert speculative(written)["max_concurrency"] == 16
    assert not written.lost
    more = writer("trtllm")(gated("trtllm", "1.3.0rc24", FALLING, way="ngram"))
    assert "max_concurrency" not in speculative(more)
    assert "no draft_len_schedule for NGram" in more.lost[0]
    head = writer("trtllm")(gated("trtllm", "1.3.0rc8", CUTOFF, way="mtp"))
    assert "no draft_len_schedule for MTP" in head.lost[0]


@pytest.mark.parametrize(
    ("version", "value"), [("1.3.0rc24", "1.55"), ("1.3.0rc8", "2"), ("1.2", "2")]
)
def test_trtllm_forces_accepted_draft_tokens_the_bonus_left_out(make, version, value):
    written = writer("trtllm")(make("trtllm", version, acceptance=RATES))
    assert dict(written.environment) == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": value}
    assert any("whole numbers" in sentence for sentence in written.lost) == (value == "2")


def test_trtllm_cannot_force_less_than_one_token_in_whole_numbers(make):
    with pytest.raises(Refused, match=r"0\.35 accepted tokens are none"):
        writer("trtllm")(make("trtllm", "1.2", k=1, acceptance=(0.35,)))


def test_trtllm_yaml_says_the_whole_deployment(make):
    more = {"tp": 8, "draft_tp": 8, "attention_dp": 8, "ep": 8, "kv_dtype": Dtype.FP8}
    written = writer("trtllm")(make("trtllm", "1.2", **more))
    read = as_engines_read(written.texts["yaml"])
    del read["speculative_config"]
    assert read == {
        "tensor_parallel_size": 8,
        "enable_attention_dp": True,
        "moe_expert_parallel_size": 8,
        "kv_cache_config": {"dtype": "fp8"},
    }
    assert "--extra_llm_api_options trtllm.yaml" in written.texts["flags"]
    assert "--config trtllm.yaml" in writer("trtllm")(make("trtllm", "1.4")).texts["flags"]


def test_trtllm_before_its_pytorch_backend_and_trees_are_refused(make):
    with pytest.raises(Refused, match="older than its PyTorch backend"):
        writer("trtllm")(make("trtllm", "0.21"))
    with pytest.raises(Refused, match="trees are not written"):
        writer("trtllm")(make("trtllm", "1.4", tree=TreeShape(5, 4, 8)))


# llama.cpp

GGUF = {"target": "t.gguf", "draft": "d.gguf"}


@pytest.mark.parametrize(
    ("way", "build", "flags"),
    [
        (
            "model",
            "5000",
            {"-md": "d.gguf", "--draft-max": "3", "--draft-p-min": "0"},
        ),
        (
            "model",
            "9113",
            {"--spec-type": "draft", "--spec-draft-model": "d.gguf", "--spec-draft-n-max": "3"},
        ),
        (
            "model",
            "11434",
            {
                "--spec-type": "draft-simple",
                "--spec-draft-model": "d.gguf",
                "--spec-draft-n-max": "3",
            },
        ),
        ("mtp", "9246", {"--spec-type": "draft-mtp", "--spec-draft-n-max": "3"}),
        ("ngram", "9093", {"--spec-type": "ngram_simple", "--spec-ngram-simple-size-m": "3"}),
        ("ngram", "11434", {"--spec-type": "ngram-simple", "--spec-ngram-simple-size-m": "3"}),
    ],
)
def test_llamacpp_flags_by_build(make, way, build, flags):
    written = writer("llamacpp")(make("llamacpp", build, way=way, **GGUF))
    assert flags_of(written) == flags
    assert written.program == ("llama-server", "-m", "t.gguf")


def test_llamacpp_loads_files_of_its_own(make):
    with pytest.raises(Refused, match=r"the card of t names no .gguf file.*--target-path"):
        writer("llamacpp")(make("llamacpp", "11434", way="mtp"))
    with pytest.raises(Refused, match=r"the card of d names no .gguf file.*--draft-path"):
        writer("llamacpp")(make("llamacpp", "11434", target="t.gguf"))
    hub = make("llamacpp", "11434", target="org/T-GGUF", draft="org/D-GGUF")
    written = writer("llamacpp")(hub)
    assert written.program == ("llama-server", "-hf", "org/T-GGUF")
    assert flags_of(written)["--spec-draft-hf"] == "org/D-GGUF"


@pytest.mark.parametrize(
    ("build", "way", "said"),
    [
        ("9000", "model", "which flags b9000 takes was not read"),
        ("9200", "model", "model is in 1 to 8000 and 9093 to 9113 and 9246 and later"),
        ("10000", "dflash", "dflash is in 10603"),
        ("11434", "suffix", "llamacpp has no drafters of kind suffix"),
    ],
)
def test_llamacpp_refuses_what_was_not_read(make, build, way, said):
    with pytest.raises(Refused) as caught:
        writer("llamacpp")(make("llamacpp", build, way=way, **GGUF))
    assert said in str(caught.value)


def test_llamacpp_has_one_k_for_every_load(gated):
    written = writer("llamacpp")(gated("llamacpp", "11434", CUTOFF, batch=8, tp=2, **GGUF))
    assert flags_of(written)["--spec-draft-n-max"] == "3"
    assert flags_of(written)["--parallel"] == "8"
    assert "-c" not in flags_of(written)
    assert "each of the 8 slots gets 1/8 of the context that -c says" in written.notes
    assert [sentence.split(":")[0] for sentence in written.lost] == ["k by batch", "tp 2"]


def test_llamacpp_divides_its_context_among_slots(make):
    """llama-context.cpp: n_ctx_seq = n_ctx / n_seq_max, of which there are at most 256."""
    more = {"context": 4096, **GGUF}
    flags = flags_of(writer("llamacpp")(make("llamacpp", "11434", batch=8, **more)))
    assert (flags["--parallel"], flags["-c"]) == ("8", "32768")
    most = writer("llamacpp")(make("llamacpp", "11434", batch=300, **more))
    assert (flags_of(most)["--parallel"], flags_of(most)["-c"]) == ("256", str(256 * 4096))
    assert most.lost == ("batch 300: b11434 serves at most 256 requests at once",)
    old = writer("llamacpp")(make("llamacpp", "5000", way="model", batch=300, **more))
    assert flags_of(old)["--parallel"] == "64"
    one = flags_of(writer("llamacpp")(make("llamacpp", "11434", batch=1, **more)))
    assert not {"--parallel", "-c"} & set(one)


def test_llamacpp_pretends_rates_of_prefixes(make):
    written = writer("llamacpp")(make("llamacpp", "10760", acceptance=RATES, **GGUF))
    assert flags_of(written)["--spec-synth-rates"] == "0.8,0.5,0.25"
    for build, way in (("10630", "eagle3"), ("5000", "model")):
        with pytest.raises(Refused, match="cannot pretend an acceptance; expected b10760"):
            writer("llamacpp")(make("llamacpp", build, way=way, acceptance=RATES, **GGUF))


# All of them


@pytest.mark.parametrize(
    ("engine", "more", "said"),
    [
        ("vllm", {"ep": 2}, "ep 2: experts are divided among all 8 GPUs"),
        ("vllm", {"ep": 8}, ""),
        ("trtllm", {"attention_dp": 2}, "attention-dp 2: attention is data-parallel among all 8"),
        ("trtllm", {"attention_dp": 8}, ""),
        ("llamacpp", {"ep": 8}, "ep 8: it has no words for it"),
        ("llamacpp", {"attention_dp": 8}, "attention-dp 8: it has no words for it"),
    ],
)
def test_ways_to_split_that_an_engine_does_not_know_are_said(make, engine, more, said):
    names = {"target": "t.gguf", "draft": "d.gguf", "tp": 8, "draft_tp": 8}
    written = writer(engine)(make(engine, example(engine).removeprefix("b"), **names, **more))
    lost = [sentence for sentence in written.lost if not sentence.startswith("tp 8")]
    assert (said in " ".join(lost)) if said else not lost


@pytest.mark.parametrize("engine", WRITERS)
def test_a_drafter_without_a_word_is_refused_even_where_it_never_drafts(make, engine):
    version = example(engine).removeprefix("b")
    with pytest.raises(Refused, match=f"{engine} has no drafters of kind skip"):
        writer(engine)(make(engine, version, way="skip", k=0))


@pytest.mark.parametrize("engine", WRITERS)
def test_without_speculation_only_the_server_is_left(make, engine):
    more = {"k": 0, "way": "none", "draft": None, "target": "t.gguf"}
    version = example(engine).removeprefix("b")
    written = writer(engine)(make(engine, version, **more))
    assert not written.config
    assert "spec" not in written.texts["shell"]


@pytest.mark.parametrize("engine", WRITERS)
def test_shell_lines_are_what_the_flags_say(make, engine):
    """Read back by a shell's own rules."""
    names = {"target": "/m o/t.gguf", "draft": "/m o/d.gguf"}
    written = writer(engine)(make(engine, example(engine).removeprefix("b"), **names))
    command = written.texts["shell"].rpartition("END\n")[2]
    words = [word for word in shlex.split(command) if word != "\n"]
    expected = [*written.program]
    for name, value in written.flags:
        expected += [name] if value is None else [name, value]
    assert words == expected


def test_yaml_reads_back_what_was_said():
    said = {
        "a": "yes",
        "b": "it's: {odd}",
        "c": {"d": {"1": 2, "3": 4}, "e": True},
        "f": "1.0",
        "g": None,
        "h": {},
        "i": "org/Name-1.5B",
        "j": "org/\U0001f600 \u00e9\n\t",  # JSON's pairs of escapes are no YAML
    }
    read = as_engines_read(yaml_text(said))
    assert read == {**said, "c": {"d": {1: 2, 3: 4}, "e": True}}


def test_text_of_flags():
    flags = [("--a", "x y"), ("--b", None)]
    assert flags_text(flags, [("V", "1 2")]) == "V='1 2' --a 'x y' --b\n"
    text = shell_text(("run", "it"), flags, [("V", "1")], File("f", "{}\n"))
    assert text == "cat > f <<'END'\n{}\nEND\nV=1 \\\nrun it \\\n  --a 'x y' \\\n  --b\n"
