"""Every rule of every engine, broken once: an object that is right but for one thing is refused."""

from __future__ import annotations

import pytest

from specplan.dialects.llamacpp.rules import check as llamacpp
from specplan.dialects.sglang.rules import check as sglang
from specplan.dialects.trtllm.rules import check as trtllm
from specplan.dialects.vllm.rules import check as vllm
from specplan.errors import Refused

VLLM = {
    "method": "eagle3",
    "model": "o/n",
    "num_speculative_tokens": 3,
    "draft_tensor_parallel_size": 1,
    "num_speculative_tokens_per_batch_size": [[1, 16, 3], [17, 64, 0]],
    "rejection_sample_method": "synthetic",
    "synthetic_acceptance_rates": [0.8, 0.5, 0.5],
}
PER_BATCH = "num_speculative_tokens_per_batch_size"


def test_vllm_takes_what_is_right():
    vllm(VLLM, version="0.33", tp=4)
    vllm({"method": "mtp", "num_speculative_tokens": 4}, version="0.33", modules=2)
    vllm({"method": "ngram", "num_speculative_tokens": 9, "prompt_lookup_max": 4}, version="0.8.5")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tensor_parallel_size": 2}, "draft_tensor_parallel_size"),
        ({"speculative_token_tree": "[]"}, "no key of version"),
        ({"method": "eagle4"}, "method 'eagle4'"),
        ({"method": "medusa"}, "method 'medusa' is none of version 0.33"),
        ({"model": None}, "without model"),
        ({"method": "draft_model", "model": "o/My-Eagle3"}, "which it takes for eagle3"),
        ({"method": "draft_model", "model": "o/EAGLE-x"}, "which it takes for eagle by its name"),
        ({"num_speculative_tokens": 0}, "above 0"),
        ({"num_speculative_tokens": True}, "above 0"),
        ({"num_speculative_tokens": None}, "num_speculative_tokens is None"),
        ({"draft_tensor_parallel_size": 2}, "1 or the target's 4"),
        ({PER_BATCH: []}, "is empty"),
        ({PER_BATCH: "1-16"}, "is empty"),
        ({PER_BATCH: [[1, 16]]}, "[first, last, k]"),
        ({PER_BATCH: [[2, 16, 3]]}, "begins at batch 2"),
        ({PER_BATCH: [[0, 16, 3]]}, "from 1 on"),
        ({PER_BATCH: [[1, 16, 3], [20, 18, 1]]}, "first <= last"),
        ({PER_BATCH: [[1, 16, 3], [16, 18, 1]]}, "batch 16 after 16"),
        ({PER_BATCH: [[1, 16, 4]]}, "0 to num_speculative_tokens, 3"),
        ({PER_BATCH: [[1, 16, -1]]}, "0 to num_speculative_tokens, 3"),
        ({"rejection_sample_method": "standard"}, "'synthetic' beside it"),
        ({"synthetic_acceptance_rates": None}, "one of synthetic_acceptance_rates"),
        ({"synthetic_acceptance_length": 2.5}, "one of synthetic_acceptance_rates"),
        ({"synthetic_acceptance_rates": [0.8, 0.5]}, "3, one for each position"),
        ({"synthetic_acceptance_rates": [0.8, 0.5, 1.5]}, "shares from 0 to 1"),
        ({"synthetic_acceptance_rates": [0.8, 0.5, 0.6]}, "rise"),
        ({"synthetic_acceptance_rates": None, "synthetic_acceptance_length": 4.5}, "1 to 4"),
        ({"prompt_lookup_min": 5, "prompt_lookup_max": 2}, "at most prompt_lookup_max 2"),
        ({"prompt_lookup_max": 0}, "above 0"),
        ({"disable_by_batch_size": 4}, "disable_by_batch_size is no key of version 0.33"),
    ],
)
def test_vllm_refuses(change, said):
    config = {key: value for key, value in (VLLM | change).items() if value is not None}
    with pytest.raises(Refused, match=r"^--speculative-config: ") as caught:
        vllm(config, version="0.33", tp=4)
    assert said in str(caught.value)


def test_vllm_refuses_what_depends_on_the_drafter():
    with pytest.raises(Refused, match="a multiple of the 2"):
        vllm({"method": "mtp", "num_speculative_tokens": 3}, version="0.33", modules=2)
    model = {"method": "draft_model", "model": "o/n", "num_speculative_tokens": 3}
    vllm(model, version="0.33", vocabs=(9, 9))
    with pytest.raises(Refused, match="vocabulary of 8; expected the target's 9"):
        vllm(model, version="0.33", vocabs=(9, 8))


def test_vllm_stops_drafting_at_two_requests_or_more():
    plain = {"method": "draft_model", "model": "o/n", "num_speculative_tokens": 3}
    vllm({**plain, "disable_by_batch_size": 2}, version="0.9.2")
    with pytest.raises(Refused, match="disable_by_batch_size 1; expected 2 or more"):
        vllm({**plain, "disable_by_batch_size": 1}, version="0.9.2")


@pytest.mark.parametrize("key", ["parallel_drafting", PER_BATCH, "rejection_sample_method"])
def test_vllm_refuses_keys_of_later_versions(key):
    with pytest.raises(Refused, match=f"{key} is no key of version 0.10"):
        vllm({"method": "ngram", "num_speculative_tokens": 3, key: True}, version="0.10")


SGLANG = {
    "--speculative-algorithm": "EAGLE3",
    "--speculative-draft-model-path": "o/n",
    "--speculative-num-steps": "3",
    "--speculative-eagle-topk": "1",
    "--speculative-num-draft-tokens": "4",
}
ADAPTIVE = {"1": {"candidate_steps": [3]}, "32": {"candidate_steps": [0]}}
STEPS, TOPK, NODES = list(SGLANG)[2:]


def test_sglang_takes_what_is_right():
    sglang(SGLANG, None, version="0.4.10")
    sglang(SGLANG, ADAPTIVE, version="0.5.23")
    sglang({**SGLANG, STEPS: "5", TOPK: "4", NODES: "8"}, None, version="0.5.9")
    block = {"--speculative-algorithm": "DSPARK", "--speculative-dspark-block-size": "7"}
    sglang({**block, NODES: "8"}, None, version="0.5.23")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--speculative-algorithm": "UNO"}, "UNO is none of version"),
        ({"--speculative-algorithm": None}, "is none of version"),
        ({"--speculative-draft-model-path": None}, "without --speculative-draft-model-path"),
        ({STEPS: "0"}, f"{STEPS} is 0"),
        ({TOPK: None}, f"{TOPK} is missing"),
        ({NODES: "3"}, "it is set to that"),
        ({TOPK: "2", NODES: "12"}, "2 to the 11 that 3 steps draft"),
        ({TOPK: "2", NODES: "1"}, "2 to the 11"),
        ({"--speculative-algorithm": "DFLASH"}, f"{STEPS} with DFLASH"),
        ({"--speculative-algorithm": "DFLASH", STEPS: None, NODES: "1"}, "a block of 2"),
        ({"--speculative-algorithm": "DSPARK", STEPS: None}, "block-size is missing"),
        (
            {
                "--speculative-algorithm": "DSPARK",
                STEPS: None,
                "--speculative-dspark-block-size": "4",
            },
            "the block + 1, 5",
        ),
    ],
)
def test_sglang_refuses(change, said):
    flags = {name: value for name, value in (SGLANG | change).items() if value is not None}
    with pytest.raises(Refused) as caught:
        sglang(flags, None, version="0.5.23")
    assert said in str(caught.value)


def test_sglang_beside_data_parallel_attention():
    groups = {"--enable-dp-attention": None}
    sglang({**SGLANG, **groups}, None, version="0.5.23")
    alone = {**SGLANG, **groups, "--speculative-algorithm": "STANDALONE"}
    with pytest.raises(Refused, match="STANDALONE beside --enable-dp-attention"):
        sglang(alone, None, version="0.5.23")
    block = {
        "--speculative-algorithm": "DFLASH",
        "--speculative-draft-model-path": "o/n",
        NODES: "8",
        **groups,
    }
    with pytest.raises(Refused, match="expected --enable-dp-lm-head too"):
        sglang(block, None, version="0.5.23")
    with pytest.raises(Refused, match=r"or 0\.5\.23 and later"):
        sglang({**block, "--enable-dp-lm-head": None}, None, version="0.5.13")


@pytest.mark.parametrize(
    ("flags", "adaptive", "version", "said"),
    [
        ({}, ADAPTIVE, "0.5.10", "is not in 0.5.10"),
        ({"--speculative-algorithm": "STANDALONE"}, ADAPTIVE, "0.5.23", "EAGLE or EAGLE3"),
        ({TOPK: "4"}, ADAPTIVE, "0.5.23", "EAGLE or EAGLE3"),
        ({"--enable-dp-attention": None}, ADAPTIVE, "0.5.23", "--enable-dp-attention"),
        ({}, ADAPTIVE, "0.5.13", "numbers from 1 on"),
        ({}, {"1": {"candidate_steps": []}}, "0.5.23", "numbers from 0 on"),
        ({}, {"1": {"candidate_steps": [3, -1]}}, "0.5.23", "numbers from 0 on"),
        ({}, {"1": {"candidate_steps": 3}}, "0.5.23", "numbers from 0 on"),
        ({}, {"1": 3}, "0.5.23", "candidate_steps None"),
        ({}, {"one": {"candidate_steps": [3]}}, "0.5.23", "'one' is no batch"),
        ({}, {"2": {"candidate_steps": [3]}}, "0.5.23", "lower bounds from 1 on"),
        (
            {},
            {"9": {"candidate_steps": [3]}, "1": {"candidate_steps": [3]}},
            "0.5.23",
            "in order",
        ),
        ({}, {}, "0.5.23", "lower bounds from 1 on"),
        ({}, {"1": {"candidate_steps": [2]}}, "0.5.23", "one of the candidate_steps"),
    ],
)
def test_sglang_refuses_adaptive_configs(flags, adaptive, version, said):
    with pytest.raises(Refused) as caught:
        sglang({**SGLANG, **flags}, adaptive, version=version)
    assert said in str(caught.value)


TRTLLM = {
    "decoding_type": "Eagle3",
    "max_draft_len": 4,
    "speculative_model": "o/n",
    "draft_len_schedule": {"4": 4, "8": 2, "32": 1},
}


def test_trtllm_takes_what_is_right():
    trtllm(TRTLLM, version="1.3.0rc8")
    trtllm({**TRTLLM, "draft_len_schedule": {"1": 4, "4": 2, "8": 0}}, version="1.2.1")
    trtllm({"decoding_type": "MTP", "num_nextn_predict_layers": 1}, version="1.0")


@pytest.mark.parametrize(
    ("change", "version", "said"),
    [
        ({"max_draft_len": 0}, "1.4", "above 0"),
        ({"max_draft_len": None}, "1.4", "max_draft_len is None"),
        ({"speculative_model": None}, "1.4", "without speculative_model"),
        ({"max_concurrency": 0, "draft_len_schedule": None}, "1.4", "above 0"),
        ({"max_concurrency": 9}, "1.4", "max_concurrency beside draft_len_schedule"),
        ({"draft_len_schedule": {}}, "1.4", "is empty"),
        ({"draft_len_schedule": {"0": 4}}, "1.4", "1 or more"),
        ({"draft_len_schedule": {"4": 4, "8": 5}}, "1.4", "0 to 4"),
        ({"draft_len_schedule": {"4": 4, "8": -1}}, "1.4", "0 to 4"),
        ({"draft_len_schedule": {"4": 3}}, "1.4", "the longest, 4, in the first range"),
        ({}, "1.3.0rc7", "without batch 1"),
        ({}, "1.1", "draft_len_schedule is not in 1.1"),
    ],
)
def test_trtllm_refuses(change, version, said):
    config = {key: value for key, value in (TRTLLM | change).items() if value is not None}
    with pytest.raises(Refused) as caught:
        trtllm(config, version=version)
    assert said in str(caught.value)


LLAMACPP = {
    "--spec-type": "draft-simple",
    "--spec-draft-model": "d.gguf",
    "--spec-draft-n-max": "2",
    "--spec-synth-rates": "0.8,0.5",
}


def test_llamacpp_takes_what_is_right():
    llamacpp(LLAMACPP, build=11434)
    llamacpp({"-md": "d.gguf", "--draft-max": "4"}, build=5000)
    llamacpp({"--spec-type": "draft-mtp", "--spec-draft-n-max": "2"}, build=9246)
    llamacpp({"--spec-type": "ngram-simple", "--spec-ngram-simple-size-m": "9"}, build=9246)


@pytest.mark.parametrize(
    ("change", "build", "said"),
    [
        ({"--draft-max": "4"}, 11434, "--draft-max was removed"),
        ({"--spec-type": None}, 11434, "without --spec-type"),
        ({"--spec-draft-model": None}, 11434, "without a drafter"),
        ({"--spec-draft-n-max": "0"}, 11434, "is 0"),
        ({"--spec-draft-n-max": None}, 11434, "is missing"),
        (
            {"--spec-type": "ngram-simple", "--spec-ngram-simple-size-m": "2000"},
            11434,
            "1 to 1024",
        ),
        ({}, 10630, "is not in b10630"),
        ({"--spec-synth-len": "2"}, 11434, "one of them"),
        ({"--spec-synth-rates": "0.8"}, 11434, "2, one for each position"),
        ({"--spec-synth-rates": "0.8,1.8"}, 11434, "shares from 0 to 1"),
        ({"--spec-synth-rates": "0.5,0.8"}, 11434, "rise"),
        ({}, 5000, "-md and --draft-max alone"),
    ],
)
def test_llamacpp_refuses(change, build, said):
    flags = {name: value for name, value in (LLAMACPP | change).items() if value is not None}
    with pytest.raises(Refused) as caught:
        llamacpp(flags, build=build)
    assert said in str(caught.value)
