"""emit on the command line: the text alone, its forms and files, and what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typed import ROOT, answered, one_line

PLAN = """\
schema: plan/1
target: llama-3.1-8b
draft: eagle3
hardware: h100-sxm
engine: vllm@0.33
k: gate
workload: {batch: [1, 64], context: 2k, acceptance: 0.7}
"""
WHERE = ("-t", "llama-3.1-8b", "-g", "h100-sxm")
FLAGS = (*WHERE, "-d", "eagle3")


def as_engines_read(text: str) -> Any:
    return yaml.safe_load(text)  # noqa: TID251 - engines read YAML 1.1


@pytest.fixture
def plan() -> str:
    Path("plan.yaml").write_text(PLAN, encoding="utf-8")
    return "plan.yaml"


def emitted(capsys, *words: str, code: int = 0) -> str:
    said = answered(capsys, ["emit", *words])
    assert said.code == code, said.err
    return said.out


def test_the_text_stands_alone_and_notes_on_stderr(capsys, plan):
    said = answered(capsys, ["emit", plan])
    assert said.out.startswith("vllm serve meta-llama/Llama-3.1-8B-Instruct \\\n")
    assert "specplan: " not in said.out
    assert all(line.startswith("specplan: ") for line in said.err.splitlines())
    assert answered(capsys, ["emit", plan, "-q"]).err == ""


def test_flags_override_the_plan(capsys, plan):
    config = json.loads(emitted(capsys, plan, "-k", "2", "--as", "json"))
    assert config["num_speculative_tokens"] == 2
    sglang = emitted(capsys, plan, "-e", "sglang@0.5.9", "-k", "2", "--as", "flags")
    assert sglang == (
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path "
        "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B --speculative-num-steps 2 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 3 --max-running-requests 64\n"
    )


def test_a_fixed_k_needs_no_acceptance(capsys):
    emitted(capsys, *FLAGS, "-k", "3", "-e", "vllm@0.33")
    for more in ([], ["-k", "gate"], ["-k", "3", "--synthetic"]):
        said = answered(capsys, ["emit", *FLAGS, "-e", "vllm@0.33", *more])
        assert said.code == 2
        assert one_line(said).startswith("--acceptance: how likely is a draft token accepted?")


def test_yaml_of_an_engine_that_reads_yaml(capsys, plan):
    read = as_engines_read(emitted(capsys, plan, "-e", "trtllm@v1.3.0rc24"))
    assert read["speculative_config"]["decoding_type"] == "Eagle3"


def test_builds_and_tags_are_versions(capsys):
    said = emitted(
        capsys, *WHERE, "-d", "ngram", "-k", "3", "-e", "llamacpp@b11434", "--target-path", "t.gguf"
    )
    assert said.splitlines()[0] == "llama-server -m t.gguf \\"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.json", '{"method"'),
        ("x.yaml", "model: meta"),
        ("x.sh", "vllm serve"),
        ("x", "vllm serve"),
    ],
)
def test_a_file_gets_the_form_that_its_name_says(capsys, name, begins):
    said = answered(capsys, ["emit", *FLAGS, "-k", "3", "-e", "vllm@0.33", "-o", name])
    assert (said.code, said.out) == (0, "")
    assert said.err.splitlines()[-1] == f"specplan: wrote {name}"
    assert Path(name).read_text(encoding="utf-8").startswith(begins)
    assert answered(capsys, ["emit", *FLAGS, "-k", "2", "-e", "vllm@0.33", "-o", name]).code == 0


NAMES = (
    "it's",
    "a\nb \n",
    "a b",
    "$(touch it)`id`",
    'say "q"',
    "a: b # c",
    "\U0001f600 \u00e9",
    "yes",
)


@pytest.mark.parametrize("engine", ["vllm@0.33", "sglang@0.5.23", "trtllm@1.4"])
@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_read_back_as_it_was_typed(capsys, engine, name):
    """By a shell's rules, by JSON and by YAML."""
    words = (*FLAGS, "-k", "3", "-e", engine, "--target-path", name, "--draft-path", name)
    texts = json.loads(emitted(capsys, *words, "-f", "json"))["answer"]["texts"]
    assert emitted(capsys, *words, "--as", "shell") == texts["shell"]
    command = texts["shell"].rpartition("\nEND\n")[2]
    assert name in shlex.split(command.replace(" \\\n", " "))
    read = as_engines_read(texts["yaml"])
    if engine.startswith("vllm"):
        assert read["model"] == name
        assert json.loads(texts["json"])["model"] == name
        assert json.loads(read["speculative-config"])["model"] == name
    elif engine.startswith("sglang"):
        assert read["model-path"] == read["speculative-draft-model-path"] == name
    else:
        assert read["speculative_config"]["speculative_model"] == name
        assert json.loads(texts["json"]) == read


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--target-path", ""],
            "--target-path: '' is no path; expected a folder, file or ORG/NAME",
        ),
        (
            ["--draft-path", " "],
            "--draft-path: ' ' is no path; expected a folder, file or ORG/NAME",
        ),
        (["--target-path=-rf"], "--target-path: '-rf' would be read as a flag; ./-rf"),
        (
            ["--draft-path", "a\x1b[31m"],
            "--draft-path: 'a\\x1b[31m' has characters that nobody sees",
        ),
        (["-d", "ngram", "--draft-path", "x"], "--draft-path: -d ngram loads nothing"),
    ],
)
def test_paths_that_no_engine_could_load(capsys, words, message):
    drafter = () if "-d" in words else ("-d", "eagle3")
    said = answered(capsys, ["emit", *WHERE, *drafter, "-k", "3", "-e", "vllm@0.33", *words])
    assert (said.code, one_line(said)) == (2, message)


def test_a_card_of_several_checkpoints_says_which_is_loaded(capsys):
    words = ("-t", "deepseek-v3", "-d", "mtp", "-g", "h200-sxm", "--tp", "8", "-k", "1")
    said = answered(capsys, ["emit", *words, "-e", "vllm@0.33"])
    assert "vllm serve deepseek-ai/DeepSeek-R1" in said.out
    assert "for deepseek-v3 or deepseek-v3-0324 or deepseek-v3.1 say --target-path" in said.err
    named = answered(capsys, ["emit", *words, "-e", "vllm@0.33", "--target-path", "x/DeepSeek-V3"])
    assert "say --target-path" not in named.err


def test_a_plan_is_not_written_over(capsys, plan):
    said = answered(capsys, ["emit", plan, "-o", plan])
    assert one_line(said) == "--output: plan.yaml is an input of this answer"
    Path("card.yaml").write_text("# mine\nschema: model/1\n", encoding="utf-8")
    said = answered(capsys, ["emit", plan, "-o", "card.yaml"])
    assert one_line(said) == "--output: card.yaml is a plan or a card"
    assert Path(plan).read_text(encoding="utf-8") == PLAN


def test_json_of_the_answer_holds_the_text(capsys, plan):
    envelope = json.loads(emitted(capsys, plan, "-f", "json"))
    answer = envelope["answer"]
    assert envelope["schema"] == "specplan.emit/1"
    assert answer["text"] == answer["texts"][answer["form"]]
    assert answer["engine"] == "vllm@0.33"
    first = answer["schedule"][0]
    assert (first["first_batch"], first["k"]) == (1, 5)
    Path("x.json").write_text("", encoding="utf-8")
    assert answered(capsys, ["emit", plan, "-f", "json", "-o", "x.json"]).code == 0
    assert json.loads(Path("x.json").read_text(encoding="utf-8"))["answer"] == answer


def test_for_people(capsys, plan):
    lines = emitted(capsys, plan, "-f", "plain").splitlines()
    assert lines[0].startswith("vllm@0.33: k by batch")
    assert any(line.split()[:2] == ["batch", "1-21"] for line in lines)


def test_an_answer_of_no_is_exit_1(capsys):
    text = emitted(capsys, *WHERE, "-d", "llama-3.2-1b", "-a", "0.01", "-e", "vllm@0.33", code=1)
    assert text == "vllm serve meta-llama/Llama-3.1-8B-Instruct\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "3"], "--engine: roofline reads no flags: it is a bound; expected one of "
         "vllm@0.33, sglang@0.5.23, trtllm@1.3.0rc24, llamacpp@b11434"),
        (["-k", "3", "-e", "trtllm"], "--engine: which flags trtllm takes, and what they mean, "
         "depends on its version; expected a version such as trtllm@1.3.0rc24"),
        (["-k", "3", "-e", "sglang@0.5.9", "--as", "json"],
         "--as: unknown form for sglang 'json'; expected one of flags, shell, yaml"),
        (["-k", "3", "-e", "sglang@0.5.9", "--shape", "eagle:5,4,8"],
         "--shape and -k are two ways to say one thing; give one of them"),
        (["-e", "sglang@0.5.9", "--shape", "chain:4"],
         "--shape: 'chain:4' is no tree that an engine takes; expected eagle:STEPS,TOPK,TOTAL such "
         "as eagle:5,4,8"),
        (["-k", "3", "-e", "vllm@0.33", "--hysteresis", "0.02"],
         "--hysteresis: k changes with the batch under -k gate alone"),
        (["-a", "0.7", "-e", "sglang@0.5.23", "--shape", "eagle:5,4,8", "--synthetic"],
         "--synthetic: what a chain keeps is not what a tree keeps; leave out --shape"),
        (["-k", "3", "-e", "vllm@0.33", "-o", ""], "--output: '' is no file; - is standard output"),
    ],
)  # fmt: skip
def test_what_is_refused(capsys, words, message):
    said = answered(capsys, ["emit", *FLAGS, *words])
    assert (said.code, one_line(said)) == (2, message)


CARD = """\
schema: engine/1
name: mine
title: Mine
kind: calibrated
says: "mine: calibrated"
follows: vllm
sources: {of: [follows], kind: derived, cite: as vLLM}
"""


def test_a_card_that_was_fitted_speaks_as_the_engine_that_it_follows(capsys):
    Path("mine.yaml").write_text(CARD, encoding="utf-8")
    plain = emitted(capsys, *FLAGS, "-a", "0.7", "-k", "gate", "-e", "vllm@0.33")
    assert emitted(capsys, *FLAGS, "-a", "0.7", "-k", "gate", "-e", "./mine.yaml@0.33") == plain
    said = answered(capsys, ["emit", *FLAGS, "-k", "3", "-e", "./mine.yaml"])
    assert one_line(said) == (
        "--engine: which flags vllm takes, and what they mean, depends on its version; expected a "
        "version such as ./mine.yaml@0.33"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (*FLAGS, "-e", "sglang@0.4"),
            "sglang@0.4 has no drafters of kind eagle3; expected sglang 0.4.10 and later",
        ),
        (
            (*FLAGS, "-e", "llamacpp@b11434"),
            "the cards of llama-3.1-8b and eagle3-llama-3.1-8b name no .gguf file that llamacpp "
            "could load; expected --target-path TARGET.gguf and --draft-path DRAFT.gguf; a .gguf "
            "file, or ORG/NAME-GGUF",
        ),
        (
            (*FLAGS, "-e", "llamacpp@b11434", "--draft-path", "d.gguf"),
            "the card of llama-3.1-8b names no .gguf file that llamacpp could load; expected "
            "--target-path TARGET.gguf; a .gguf file, or ORG/NAME-GGUF",
        ),
        (
            (*WHERE, "-d", "ngram", "-e", "llamacpp@b11434"),
            "the card of llama-3.1-8b names no .gguf file that llamacpp could load; expected "
            "--target-path TARGET.gguf; a .gguf file, or ORG/NAME-GGUF",
        ),
    ],
)
def test_all_that_is_missing_is_asked_for_at_once(capsys, words, message):
    assert one_line(answered(capsys, ["emit", *words, "-k", "3"])) == message


def test_help_names_the_gate(capsys):
    assert "emit also: gate" in " ".join(answered(capsys, ["emit", "--help"]).out.split())


def test_a_card_that_follows_no_engine_says_how_one_comes_to(capsys):
    Path("mine.yaml").write_text(CARD.replace("follows: vllm\n", ""), encoding="utf-8")
    said = answered(capsys, ["emit", *FLAGS, "-k", "3", "-e", "./mine.yaml"])
    assert one_line(said) == (
        "--engine: mine follows no engine, and reads no flags of its own; calibrate again with "
        "-e vllm@0.33, so that the card follows an engine"
    )


def test_an_engines_own_counters_are_an_acceptance(capsys):
    """What they do not reach is said."""
    log = str(ROOT / "tests" / "counters" / "fixtures" / "vllm-0.33.log")
    words = ("emit", *FLAGS, "-a", log, "-k", "3", "-e", "vllm@0.33", "--synthetic", "--as", "json")
    said = answered(capsys, words)
    assert said.code == 0, said.err
    rates = json.loads(said.out)["synthetic_acceptance_rates"]
    assert len(rates) == 3
    assert rates == sorted(rates, reverse=True)
    more = answered(capsys, ["emit", *FLAGS, "-a", log, "-k", "gate", "-e", "vllm@0.33"])
    assert "was measured up to k = 3: beyond it" in more.err


def test_a_mix_is_not_written(capsys):
    mixed = PLAN.replace(
        "{batch: [1, 64], context: 2k, acceptance: 0.7}",
        "{batch: 8, context: 2k, mix: [{weight: 1, alpha: 0.8}, {weight: 1, alpha: 0.5}]}",
    )
    Path("mix.yaml").write_text(mixed.replace("k: gate", "k: best"), encoding="utf-8")
    said = answered(capsys, ["emit", "mix.yaml"])
    assert said.code == 2
    assert "emit takes no mix" in one_line(said)
