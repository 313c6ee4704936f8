"""init as typed: plans that say what the flags said, hold, and are never written over others."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

import pytest
import yaml
from typed import ROOT, answered

from specplan.catalogue.read import read_yaml
from specplan.catalogue.write import Entry, commented_yaml, scalar
from specplan.cli.plans import read_plan
from specplan.cli.scenario import build, load
from specplan.questions.facts import facts_of
from specplan.questions.init import _at_most, common_k, expectations
from specplan.units import parse_quantity

PAIR = "-t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8"


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """In an empty folder, without variables and cards of one's own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def init(capsys, flags: str):
    return answered(capsys, ["init", *shlex.split(flags)])


def mini(folder: str) -> str:
    """A small drafter's card of one's own."""
    text = (ROOT / "models" / "llama-3.2-1b.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("name:", "aliases:"))]
    path = Path(folder, "mini.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([lines[0], lines[1], "name: mini", *lines[2:]]) + "\n", "utf-8")
    return str(path)


def test_the_plan_in_full(capsys):
    answer = init(capsys, f"plan.yaml {PAIR} -b 1,16")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "specplan: by default: tp 1, context 2048\nspecplan: wrote plan.yaml\n"
    assert (
        Path("plan.yaml").read_text()
        == """\
# What is expected here must hold at every point of the workload: specplan check
# Editors take the schema of this file from: specplan schema plan
schema: plan/1
about: llama-3-8b + llama-3.2-1b on h100-sxm
target: llama-3-8b
draft: llama-3.2-1b
hardware: h100-sxm
k: 4                              # the best at every point
workload:
  batch: [1, 16]
  context: 2048
  acceptance: 0.8
# What holds today, rounded to the safe side. This may be a list, each with its own
# at: {batch: 1}. All that can be expected: specplan check --rules
expect:
  min_speedup: 1.93               # over plain decoding, at this k
  max_tpot: 2.98 ms               # per output token of one sequence
  fits: true                      # weights and KV cache, drafter included
  min_sequences: 174              # of this context, beside the drafter
  max_draft_memory: 3.31 GiB      # weights and KV, per GPU
  max_k_regret: 0.01              # share of speedup lost against the best k
  min_alpha_margin: 0.36          # acceptance may fall so far before it loses
"""
    )
    checked = answered(capsys, ["check"])
    assert checked.code == 0
    assert checked.out.splitlines()[-1] == "1 plan, 7 expectations: 3 hold, 4 unsure"


def test_without_a_file_the_plan_is_all_there_is_on_standard_output(capsys):
    written = init(capsys, f"plan.yaml {PAIR} -q")
    assert (written.out, written.err) == ("", "")
    printed = init(capsys, PAIR)
    assert printed.out == Path("plan.yaml").read_text()


FLAGS = [
    "--dtype fp8 --kv-dtype fp8 --draft-dtype bf16 --tp 2 --draft-tp 1",
    "-b 1,16 -b 32 -c 2k,4k",
    "-b 1:64:x2 -c 1000.5",
    "-d ratio:0.05 -k best",
    "-d free -k gate -a 0.5:0.9:0.1",
    "-d none",
    "-k 2,4 -e roofline",
    "-k 0",
    "-a 0.7+-0.05 --tp 1,2 -g h200 -b 64",
    "-a 0.6 -a 0.8",
    "-a 1e-1 -b 128",
    "-a 1 -k 16",
    "-a 0",
    "-t qwen3-8b -d qwen3-0.6b,qwen2.5-0.5b -g H100,L40S",
]


@pytest.mark.parametrize("flags", FLAGS)
def test_the_plan_passes_and_says_what_the_flags_said(capsys, flags):
    words = shlex.split(flags)
    for option, value in (
        ("-t", "llama-3-8b"),
        ("-d", "llama-3.2-1b"),
        ("-g", "h100"),
        ("-a", "0.8"),
    ):
        if option not in words:
            words += [option, value]
    answer = answered(capsys, ["init", "plan.yaml", *words])
    assert answer.code == 0, answer.err
    checked = answered(capsys, ["check", "plan.yaml"])
    assert checked.code == 0, checked.out
    assert " fail" not in checked.out

    meant = build(_typed(words), catalogue=load())
    told = build({}, catalogue=load(), plan=read_plan(Path("plan.yaml")))
    for axis in ("setups", "batch", "context", "acceptance", *(["k"] if "-k" in words else [])):
        assert getattr(told, axis) == getattr(meant, axis)


def _typed(words: list[str]) -> dict[str, tuple[str, ...]]:
    """The options by the names that they have in a scenario."""
    short = {"-t": "target", "-d": "draft", "-g": "hardware", "-a": "acceptance", "-b": "batch"}
    short |= {"-c": "context", "-k": "k", "-e": "engine"}
    found: dict[str, tuple[str, ...]] = {}
    for option, value in zip(words[::2], words[1::2], strict=True):
        name = short.get(option, option.removeprefix("--").replace("-", "_"))
        found[name] = (*found.get(name, ()), value)
    return found


def test_it_is_tight(capsys):
    init(capsys, f"plan.yaml {PAIR} -b 1,16 -c 2k,8k -k 6")
    read = read_plan(Path("plan.yaml"))
    scenario = build({}, catalogue=load(), plan=read)
    points = facts_of(scenario)
    (expect,) = read.plan.expect
    assert 0 <= min(f.speedup for f in points) - expect.min_speedup < 0.01
    assert 1 <= expect.max_tpot / max(f.tpot_s for f in points) < 1.01
    assert 1 <= expect.max_draft_memory / max(f.draft_bytes for f in points) < 1.01
    assert expect.min_sequences == min(f.largest_batch for f in points)
    assert 0 <= expect.max_k_regret - max(f.k_regret for f in points) < 0.01
    assert 0 <= min(f.alpha - f.break_even_alpha for f in points) - expect.min_alpha_margin < 0.01


def test_one_k_for_all_loses_least_where_it_loses_most():
    scene = {"target": ("llama-3-8b",), "draft": ("llama-3.2-1b",), "hardware": ("h100",)}
    scenario = build(scene | {"acceptance": ("0.5,0.9",)}, catalogue=load())
    k = common_k(scenario)
    worst = {}
    for n in range(17):
        fixed = build(scene | {"acceptance": ("0.5,0.9",), "k": (str(n),)}, catalogue=load())
        worst[n] = max(facts.k_regret for facts in facts_of(fixed))
    assert k == min(worst, key=worst.__getitem__)
    assert worst[k] > 0


def test_no_expectation_that_says_nothing(capsys):
    keys = {line.key for line in expectations(_points("free", "best"), chosen=True)}
    assert not {"max_draft_memory", "max_k_regret"} & keys
    init(capsys, f"plan.yaml {PAIR} -k 0")
    assert "min_alpha_margin" not in Path("plan.yaml").read_text()


def _points(draft: str, k: str):
    scene = {"target": ("llama-3-8b",), "draft": (draft,), "hardware": ("h100",)}
    return facts_of(build(scene | {"acceptance": ("0.8",), "k": (k,)}, catalogue=load()))


def test_a_workload_that_does_not_fit_gets_no_plan(capsys):
    answer = init(capsys, "plan.yaml -t llama-3-70b -d llama-3.2-1b -g h100 -a 0.8 -q")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "specplan: no plan was written: the workload does not fit, 62.7 GiB a GPU missing "
        "at batch 1, context 2048\n"
    )
    assert not Path("plan.yaml").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (f"plan {PAIR}", "'plan' is no name of a plan; expected one that ends in .yaml"),
        (
            "plan.yaml -t llama-3-8b -d free -g h100",
            "--acceptance: how likely is a draft token accepted?; expected alpha such as 0.7; "
            "write -a 0.7 or a range",
        ),
        (
            f"plan.yaml {PAIR} -g h10O",
            "--hardware: unknown hardware 'h10O'; did you mean 'h100'?",
        ),
        (f"gone/plan.yaml {PAIR} -q", "cannot write gone/plan.yaml: No such file or directory"),
    ],
)
def test_mistakes(capsys, flags, said):
    answer = init(capsys, flags)
    assert (answer.code, answer.out) == (3 if "cannot write" in said else 2, "")
    assert answer.err == f"specplan: {said}\n"
    assert list(Path.cwd().rglob("*plan*")) == []


def test_a_file_is_replaced_only_by_force(capsys):
    Path("plan.yaml").write_text("mine\n")
    answer = init(capsys, f"plan.yaml {PAIR}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "specplan: plan.yaml exists; --force replaces it\n"
    assert Path("plan.yaml").read_text() == "mine\n"
    assert init(capsys, f"plan.yaml {PAIR} --force").code == 0
    assert answered(capsys, ["check"]).code == 0
    assert list(Path.cwd().iterdir()) == [Path.cwd() / "plan.yaml"]


def test_paths_lead_from_the_plan(capsys):
    Path(".git").mkdir()
    Path("plans").mkdir()
    flags = f"-t llama-3-8b -d {mini('cards')} -g h100 -a 0.8"
    assert init(capsys, f"plans/plan.yaml {flags}").code == 0
    text = Path("plans/plan.yaml").read_text()
    assert 'draft: "../cards/mini.yaml"\n' in text
    assert "about: llama-3-8b + mini on h100-sxm\n" in text
    assert answered(capsys, ["check", "plans"]).code == 0
    assert "draft: cards/mini.yaml\n" in init(capsys, flags).out


def test_a_path_that_check_would_refuse_is_refused(capsys):
    Path("plans").mkdir()
    answer = init(capsys, f"plans/plan.yaml -t llama-3-8b -d {mini('cards')} -g h100 -a 0.8")
    assert answer.code == 2
    assert answer.err == (
        "specplan: plans/plan.yaml:6:8: '../cards/mini.yaml' is outside the plan's folder and "
        "repository; expected a card below one of them\n"
    )
    assert list(Path("plans").iterdir()) == []


def test_folders_of_cards_are_told(capsys):
    mini("ours/models")
    answer = init(capsys, "plan.yaml --catalogue ours -t llama-3-8b -d mini -g h100 -a 0.8")
    assert answer.code == 0
    assert "# Its cards need: specplan check --catalogue ours\n" in Path("plan.yaml").read_text()
    assert answered(capsys, ["check"]).code == 2
    assert answered(capsys, ["check", "--catalogue", "ours"]).code == 0


# The writer


@pytest.mark.parametrize(
    "text",
    [
        "llama-3-8b",
        "8k",
        "1:256:x2",
        "ratio:0.05",
        "1:30",
        "1e3",
        "010",
        "1_000",
        "0x10",
        "12:30:45",
        "2024-01-01",
        "no",
        "Off",
        "null",
        "~",
        "",
        "- a",
        "# a",
        "a: b",
        "a #b",
        "a, b]",
        "{a",
        "&a",
        "*a",
        "!a",
        "'a",
        '"a\\',
        "../x y.yaml",
        "0.7+-0.05",
        " a ",
        "<<",
        "=",
        ".inf",
        "+1",
        "-.5",
        "naïve/ü.yaml",
    ],
)
def test_text_reads_back_as_itself_in_both_versions_of_yaml(text):
    entries = [Entry("block", text, "a comment"), Entry("flow", [text, "x"]), Entry("end", "1")]
    written = commented_yaml(["head"], entries)
    expected = {"block": text, "flow": [text, "x"], "end": 1}
    assert read_yaml(written.encode(), "t").data == expected
    assert yaml.load(written, Loader=yaml.SafeLoader) == expected  # noqa: TID251 - as YAML 1.1


@pytest.mark.parametrize("text", ["0", "4", "-1", "0.8", "1.93", "2.98 ms", "3.31 GiB"])
def test_numbers_and_quantities_stay_plain(text):
    assert scalar(text) == text


@pytest.mark.parametrize("unit", ["s", "B"])
def test_an_upper_limit_is_of_three_digits_and_never_too_low(unit):
    for exponent in range(-5, 3) if unit == "s" else range(13):
        for mantissa in (1.0, 1.0004, 1.005, 2.345, 9.994, 9.996, 9.9999):
            value = mantissa * 10.0**exponent
            limit = parse_quantity(_at_most(value, unit), unit)
            assert value <= limit < value * 1.011
            assert math.isfinite(limit)
