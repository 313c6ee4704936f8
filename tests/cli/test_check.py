"""check as typed: exit codes, what is found where, formats, mistakes in their places, the lock."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typed import ROOT, answered, environment

from specplan.catalogue.read import read_file

COUNTERS = Path(__file__).parents[1] / "counters" / "fixtures"
PLAN = """\
schema: plan/1
target: llama-3-8b
draft: llama-3.2-1b
hardware: h100
k: 4
workload: {batch: [1, 16], context: 2k, alpha: 0.8}
expect: {min_speedup: 1.9, fits: true, min_sequences: 174}
"""
UNSURE = "plan.yaml:7:23: unsure, held only as a bound: min_speedup\n"
STRICTLY = (
    "plan.yaml:7:23: SP001 min_speedup 1.9: 1.94x at batch 16, context 2048, "
    "holds only as a bound: unsure\n"
)


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """In an empty folder, without variables and cards of one's own."""
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "SPECPLAN_CATALOGUE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def put(name: str, text: str = PLAN, /, **changed: str) -> Path:
    """A plan with some of its lines replaced, by their keys."""
    lines = [
        f"{key}: {changed.pop(key)}" if (key := line.partition(":")[0]) in changed else line
        for line in text.splitlines()
    ]
    lines += [f"{key}: {value}" for key, value in changed.items()]
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def said(capsys, *words: str):
    return answered(capsys, ["check", *words])


def only_line(capsys, *words: str) -> str:
    """The only finding of a check that could not read a plan."""
    answer = said(capsys, *words)
    assert answer.code == 2
    first, summary = answer.out.splitlines()
    refused = " SP107 " in first  # read well, and priced nowhere
    assert summary.endswith("1 plan refused" if refused else "1 file unreadable")
    return first


# Exit codes and what is found


def test_what_holds_as_a_bound_is_a_warning_and_fails_when_strict(capsys):
    put("plan.yaml")
    loose, strict = said(capsys), said(capsys, "--strict")
    assert (loose.code, loose.err) == (0, "")
    assert loose.out == UNSURE + "1 plan, 3 expectations: 2 hold, 1 unsure\n"
    assert (strict.code, strict.out) == (1, STRICTLY + "1 plan, 3 expectations: 2 hold, 1 unsure\n")
    put("plan.yaml", expect="{fits: true}")
    assert said(capsys, "--strict") == (0, "1 plan, 1 expectation: 1 holds\n", "")


def test_what_holds_as_a_bound_takes_one_line_a_plan(capsys):
    put("a.yaml", expect="{min_speedup: 1.9, max_tpot: 1 s, fits: true, min_alpha_margin: 0.1}")
    put("b.yaml")
    assert said(capsys).out == (
        "a.yaml:7:23: unsure, held only as a bound: min_speedup, max_tpot, min_alpha_margin\n"
        "b.yaml:7:23: unsure, held only as a bound: min_speedup\n"
        "2 plans, 7 expectations: 3 hold, 4 unsure\n"
    )


def test_a_failure_names_the_worst_point_at_the_place_of_the_value(capsys):
    put(
        "plans/chat.yaml",
        hardware="[h100, l40s]",
        workload="{batch: [1, 64], context: [2k, 8k], alpha: [0.6, 0.8]}",
        k="6",
        expect="\n  - {at: {batch: 64, hardware: h100}, min_speedup: 1.2, max_tpot: 3 ms}\n"
        "  - fits: true\n"
        "    max_k_regret: 0.03",
    )
    answer = said(capsys, "plans")
    assert answer.code == 1
    at = "h100-sxm, batch 64, context 8192"
    assert answer.out.splitlines() == [
        f"plans/chat.yaml:8:52: SP001 min_speedup 1.2: 1.01x at {at}, alpha 0.6; "
        "best k there is 2 (1.33x)",
        f"plans/chat.yaml:8:67: SP002 max_tpot 3 ms: 24.8 ms at {at}, alpha 0.6; "
        "best k there is 2 (18.7 ms)",
        "plans/chat.yaml:9:11: SP004 fits true: does not fit, 56.8 GiB a GPU missing, "
        "at l40s, batch 64, context 8192",
        f"plans/chat.yaml:10:19: SP007 max_k_regret 0.03: 0.244 at {at}, alpha 0.6; "
        "best k there is 2 (1.33x)",
        "1 plan, 4 expectations: 0 hold, 4 fail",
    ]


def test_a_file_that_cannot_be_read_stops_no_other(capsys):
    put("plans/a.yaml", expect="{min_speedup: 3}")
    put("plans/b.yaml", hardwear="h100")
    put("plans/c.yaml")
    answer = said(capsys, "plans")
    assert answer.code == 2
    lines = answer.out.splitlines()
    assert lines[0].startswith("plans/a.yaml:7:23: SP001 min_speedup 3: 1.94x")
    assert lines[1] == ("plans/b.yaml:8:1: SP101 unknown key 'hardwear'; did you mean 'hardware'?")
    assert lines[2] == f"plans/{UNSURE.rstrip()}".replace("plan.yaml", "c.yaml")
    assert lines[3] == "3 plans, 4 expectations: 2 hold, 1 fails, 1 unsure, 1 file unreadable"


def test_nothing_to_check_is_bad_input(capsys):
    put("notes.yaml", "title: not ours\nschema: plan/1\n")
    answer = said(capsys)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "specplan: no plan in .; expected YAML that begins with schema: plan/1; "
        "specplan init writes one\n"
    )


def test_cards_alone_are_checked(capsys):
    shutil.copytree(ROOT / "hardware", "cards")
    files = sorted(map(str, Path("cards").glob("*.yaml")))
    answer = said(capsys, *files)
    assert answer.code == 0
    count = re.fullmatch(
        rf"{len(files)} cards: nothing found; (\d+) notes, -f json shows them\n", answer.out
    )
    rows = json.loads(said(capsys, *files, "-f", "json").out)["rows"]
    assert [row["level"] for row in rows] == ["note"] * int(count[1])
    folder = said(capsys, "cards")
    assert (folder.code, folder.out, folder.err) == (0, answer.out, "")


def test_a_card_that_is_in_no_catalogue(capsys):
    text = (ROOT / "hardware" / "b200-sxm.yaml").read_text("utf-8")
    text = re.sub("^aliases:.*", "aliases: [mine]", text, flags=re.MULTILINE)
    put("cards/new-one.yaml", "")
    Path("cards/new-one.yaml").write_text(text.replace("name: b200-sxm", "name: new-one"), "utf-8")
    answer = said(capsys, "cards/new-one.yaml")
    assert answer.code == 0
    assert answer.out == "1 card: nothing found; 1 note, -f json shows it\n"  # as b200-sxm


def test_a_file_named_must_be_ours(capsys):
    put("other.yaml", "openapi: 3.1\n")
    put("later.yaml", "schema: plan/2\n")
    put("odd.yaml", "schema: enigne/1\n")
    headers = "plan/1, hardware/1, model/1, engine/1, curve/1"
    assert only_line(capsys, "other.yaml") == (
        f"other.yaml:1:1: SP101 schema is missing; expected one of {headers}"
    )
    assert only_line(capsys, "later.yaml") == (
        "later.yaml:1:9: SP101 unknown schema 'plan/2'; did you mean 'plan/1'?"
    )
    assert only_line(capsys, "gone.yaml") == "gone.yaml: SP101 no such file"


def test_a_header_of_ours_in_a_folder_is_never_passed_over(capsys):
    put("a.yaml")
    put("b.yaml", "# one\n---\nschema: plans/1\n")
    answer = said(capsys)
    assert answer.code == 2
    assert answer.out.splitlines()[0] == (
        "b.yaml:3:9: SP101 unknown schema 'plans/1'; did you mean 'plan/1'?"
    )


def test_folders_are_searched_but_for_those_that_are_not_ours(capsys):
    put("deep/er/plan.yml")
    put("b/plan.yaml")
    for folder in (".hidden", "node_modules/x", "b/.git", "__pycache__"):
        put(f"{folder}/plan.yaml", hardwear="never read")
    put("env/lib/plan.yaml", hardwear="never read")
    Path("env/pyvenv.cfg").touch()
    put("b/_template.yaml", hardwear="never read")
    put("b/plan.txt", hardwear="never read")
    Path("b/loop").symlink_to(Path.cwd(), target_is_directory=True)
    Path("b/dangling.yaml").symlink_to("nowhere.yaml")
    os.mkfifo("b/pipe.yaml")
    answer = said(capsys, ".", "b", "b/plan.yaml", str(Path.cwd() / "b"))
    assert answer.code == 0
    assert [line.partition(":")[0] for line in answer.out.splitlines()[:-1]] == [
        "b/plan.yaml",
        "deep/er/plan.yml",
    ]
    assert answer.out.splitlines()[-1].startswith("2 plans, 6 expectations")


def test_two_hundred_plans(capsys):
    for number in range(200):
        put(f"plans/p{number:03}.yaml", expect="{fits: true, min_sequences: 64}")
    put("plans/p117.yaml", expect="{fits: true, min_sequences: 175}")
    answer = said(capsys, "plans")
    assert answer.code == 1
    assert answer.out == (
        "plans/p117.yaml:7:37: SP005 min_sequences 175: 174 fit at context 2048\n"
        "200 plans, 400 expectations: 399 hold, 1 fails\n"
    )


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"k": "best"}, "2 hold, 1 unsure"),
        ({"k": "gate", "draft": "none", "expect": "{min_speedup: 1}"}, "0 hold, 1 unsure"),
        ({"k": "[2, 4]", "draft": "free", "expect": "{max_draft_memory: 0}"}, "1 holds"),
        (
            {"workload": "{mix: [{weight: 3, batch: 16, context: 2k, alpha: 0.8}]}"},
            "2 hold, 1 unsure",
        ),
    ],
)
def test_kinds_of_plans(capsys, changed, found):
    put("plan.yaml", **changed)
    answer = said(capsys)
    assert answer.code == 0
    assert answer.out.splitlines()[-1].endswith(found)


def test_a_mix_has_one_k_and_each_part_is_a_point(capsys):
    put(
        "plan.yaml",
        k="best",
        workload="\n  context: 2k\n  mix:\n    - {weight: 3, alpha: 0.8, batch: 16}\n"
        "    - {weight: 1, alpha: 0.5, batch: 64, context: 8k}",
        expect="\n- {max_k_regret: 0.01}\n- {at: {alpha: 0.5}, fits: true}",
    )
    answer = said(capsys)
    assert answer.code == 1
    assert answer.out.splitlines()[:2] == [
        "plan.yaml:12:18: SP007 max_k_regret 0.01: 0.079 at batch 16, context 2048, alpha 0.8; "
        "best k there is 4 (1.94x)",
        "plan.yaml:13:28: SP004 fits true: does not fit, 25.6 GiB a GPU missing, "
        "at batch 64, context 8192",
    ]


# Mistakes, each at its place


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (
            {"expect": "\n  - {at: {batch: 1}, max_tpto: 30 ms}"},
            "8:22: SP101 unknown key 'max_tpto' in expect; did you mean 'max_tpot'?",
        ),
        (
            {"expect": "{max_tpot: 30}"},
            "7:20: SP101 max_tpot is 30 without a unit; expected a quantity such as 30 ms",
        ),
        (
            {"workload": "{acceptance: [0.9, 0.6]}"},
            "6:24: SP101 acceptance is a bare list; expected one acceptance; per position given "
            "all before it: {conditional: [...]}; share of rounds that reach it: "
            "{unconditional: [...]}; for several alphas use alpha: [...]",
        ),
        (
            {"workload": "{alpha: 72}"},
            "6:19: SP101 alpha 72 is no probability; expected 0..1; 72 % is 0.72",
        ),
        (
            {"workload": "{alpha: 0.7, acceptance: 0.7}"},
            "6:24: SP101 alpha and acceptance say the same twice; keep one",
        ),
        (
            {"k": "gated"},
            "5:4: SP101 k 'gated' is no number or range; expected 4, 1,16, 1:8 or 1:256:x2, "
            "or best, gate",
        ),
        (
            {"k": "17", "draft": "none"},
            "5:4: SP101 draft none cannot propose k = 17; at most 0",
        ),
        (
            {"target": "llama-3-8b\ntarget: llama-2-7b"},
            "3:1: SP101 duplicate key 'target'; first set on line 2; keep one",
        ),
        ({"hardware": "h10O"}, "4:11: SP101 unknown hardware 'h10O'; did you mean 'h100'?"),
        (
            {"expect": "{at: {batch: many}, fits: true}"},
            "7:22: SP101 'many' is not a number; expected a number, a list 1,16, or a range 1:8, "
            "0.5:0.95:0.05, 1:256:x2",
        ),
        (
            {"expect": "{at: {batch: 4}, fits: true}"},
            "7:22: SP102 fits at batch 4: no such point; the plan has 1, 16",
        ),
        (
            {"hardware": "h800", "dtype": "fp32"},
            "8:8: SP107 h800-sxm has no rate for fp32 weights; its card has rates for bf16, fp16, "
            "fp8, int8; choose another dtype",
        ),
        ({"expect": ""}, "1:1: SP104 the plan expects nothing"),
    ],
)
def test_a_mistake_in_a_plan(capsys, changed, line):
    put("plans/chat.yaml", **changed)
    answer = said(capsys, "plans")
    rule = line.split()[1]
    assert answer.code == {"SP101": 2, "SP107": 2, "SP102": 1, "SP104": 0}[rule]
    assert answer.out.splitlines()[0] == f"plans/chat.yaml:{line}"


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("target", "1:1: SP101 missing key 'target'; expected a model such as llama-3-8b"),
        ("hardware", "1:1: SP101 missing key 'hardware'; expected an accelerator such as h100-sxm"),
        ("workload", "1:1: SP101 missing key 'alpha' in workload; expected an acceptance such as"),
    ],
)
def test_what_nobody_can_guess_must_be_said(capsys, key, line):
    text = "".join(row for row in PLAN.splitlines(keepends=True) if not row.startswith(key))
    put("plan.yaml", text)
    assert only_line(capsys).startswith(f"plan.yaml:{line}")


def test_what_a_stranger_writes_reaches_the_terminal_visible(capsys):
    put("plan.yaml", about='"\\x1b[31mred"')
    answer = said(capsys)
    assert answer.code == 2
    assert "\x1b" not in answer.out
    assert "invisible character \\x1b" in answer.out


OUT_OF_RATIO = "expected a draft step's share of a plain target step, 0..10, such as ratio:0.05"
NUMBERS = "expected a number, a list 1,16, or a range 1:8, 0.5:0.95:0.05, 1:256:x2"
DTYPES = "expected one of bf16, fp16, fp32, fp4, fp8, int4, int8"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"target": "lama-3-8b"}, "2:9: unknown model 'lama-3-8b'; did you mean 'llama-3-8b'?"),
        ({"target": "./gone.yaml"}, "2:9: gone.yaml: no such file"),
        ({"draft": "lama-3.2-1b"}, "3:8: unknown model 'lama-3.2-1b'; did you mean"),
        ({"draft": "[free, lama-3.2-1b]"}, "3:15: unknown model 'lama-3.2-1b'; did you mean"),
        ({"draft": "ratio:11"}, f"3:8: ratio:11 is no cost ratio; {OUT_OF_RATIO}"),
        ({"draft": "[free, ratio:x]"}, f"3:15: ratio:x is no cost ratio; {OUT_OF_RATIO}"),
        ({"draft": "free:1"}, "3:8: draft 'free' takes no argument, not ':1'"),
        ({"hardware": "[h100, ./gone.yaml]"}, "4:18: gone.yaml: no such file"),
        ({"hardware": "2xh100"}, "4:11: '2xh100' counts GPUs; expected a name; tp counts"),
        ({"tp": "0"}, "8:5: 0 is out of range; expected 1 to 1,024"),
        ({"tp": "[1, x]"}, f"8:9: 'x' is not a number; {NUMBERS}"),
        ({"draft_tp": "0"}, "8:11: 0 is out of range; expected 1 to 1,024"),
        ({"engine": "warp"}, "8:9: unknown engine 'warp'; expected one of llamacpp"),
        ({"dtype": "[bf16, x9]"}, f"8:15: unknown dtype 'x9'; {DTYPES}"),
        (
            {"hardware": "h800", "draft_dtype": "fp32"},
            "8:14: h800-sxm has no rate for fp32 weights; its card has",
        ),
        ({"kv_dtype": "x9"}, f"8:11: unknown dtype 'x9'; {DTYPES}"),
        ({"workload": "{batch: 0, alpha: 0.7}"}, "6:19: batch 0 is out of range; expected 1 to"),
        ({"workload": "{context: 0, alpha: 0.7}"}, "6:21: context 0 is out of range; expected"),
        ({"workload": "{alpha: [0.6, 7]}"}, "6:25: alpha 7 is no probability; expected 0..1"),
        (
            {"workload": "{mix: [{weight: 1, alpha: 0.5}, {weight: 1, alpha: 7}]}"},
            "6:62: alpha 7 is no probability; expected 0..1",
        ),
        ({"workload": "3"}, "6:11: workload is no mapping; expected keys such as batch"),
    ],
)
def test_a_bad_value_is_told_at_its_place_by_every_command(capsys, changed, line):
    put("plan.yaml", **changed)
    place, _, what = line.partition(": ")
    rule = "SP107" if "has no rate" in what else "SP101"
    assert only_line(capsys, "plan.yaml").startswith(f"plan.yaml:{place}: {rule} {what}")
    answer = answered(capsys, ["best-k", "plan.yaml"])
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"specplan: plan.yaml:{line}")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"draft": "none"}, "5:4: SP101 draft none cannot propose k = 4; at most 0"),
        ({"draft": "none", "k": "[0, 3]"}, "5:8: SP101 draft none cannot propose k = 3; at most 0"),
        ({"k": "65"}, "5:4: SP101 k 65 is out of range; expected 0 to 64"),
        ({"k": "[1, x]"}, "5:8: SP101 k 'x' is no number or range"),
        ({"target": ""}, "2:1: SP101 missing key 'target'; expected a model such as"),
        (
            {"workload": "{isl: 100, alpha: 0.7}"},
            "6:12: SP101 isl without osl; expected both, or context",
        ),
        (
            {"workload": "{mix: [{weight: 1, alpha: 0.5}, {weight: 1, batch: 4}]}"},
            "6:43: SP101 missing key 'alpha' in mix; expected an acceptance such as 0.7",
        ),
    ],
)
def test_a_bad_value_that_only_check_looks_at(capsys, changed, line):
    put("plan.yaml", **changed)
    assert only_line(capsys, "plan.yaml").startswith(f"plan.yaml:{line}")


def test_heads_that_do_not_divide_are_warned_of_at_tp(capsys):
    put("plan.yaml", tp="[1, 3]", expect="{fits: true}")
    answer = said(capsys)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "plan.yaml:8:5: SP106 tp 3 does not divide the 32 heads of llama-3-8b: engines refuse",
        "plan.yaml:8:5: SP106 tp 3 does not divide the 32 heads of llama-3.2-1b: engines refuse",
        "1 plan, 1 expectation: 1 holds, 2 warnings besides",
    ]


# A workload that does not fit


# 2 B x (8.03e9 + 1.236e9) + 256 x 2048 x (131072 + 32768) B - 0.9 x 81559 MiB = 25.6 GiB
MISFIT = (
    "plan.yaml:6:19: SP105 does not fit, 25.6 GiB a GPU missing, at batch 256, context 2048; "
    "`fits: false` says that it is known"
)


@pytest.mark.parametrize(
    ("expect", "found"),
    [
        ("{min_speedup: 1}", True),
        ("", True),
        ("[{at: {batch: 1}, fits: true}]", True),
        ("[{at: {batch: 256}, fits: false}]", False),
    ],
)
def test_what_does_not_fit_is_an_error_unless_the_plan_speaks_of_it(capsys, expect, found):
    put("plan.yaml", workload="{batch: [1, 256], context: 2k, alpha: 0.8}", expect=expect)
    answer = said(capsys)
    assert answer.code == found
    lines = [line for line in answer.out.splitlines() if " SP105 " in line]
    assert lines == [MISFIT] * found


def test_a_plan_that_expects_it_to_fit_is_told_once(capsys):
    put("plan.yaml", workload="{batch: 256, context: 2k, alpha: 0.8}", expect="{fits: true}")
    answer = said(capsys)
    assert answer.code == 1
    assert [line.split()[1] for line in answer.out.splitlines()[:-1]] == ["SP004"]


# Cards named by path


def card(folder: str, name: str = "mine", **figures: str) -> Path:
    text = (ROOT / "hardware" / "h100-sxm.yaml").read_text("utf-8")
    return put(f"{folder}/{name}.yaml", text, **{"name": name, "aliases": "[]", **figures})


def test_a_path_leads_from_the_plan_and_stays_in_its_repository(capsys):
    card("cards")
    plan = put("plans/a/plan.yaml", hardware="../../cards/mine.yaml")
    refusal = (
        "plans/a/plan.yaml:4:11: SP101 '../../cards/mine.yaml' is outside the plan's folder and "
        "repository; expected a card below one of them"
    )
    assert only_line(capsys, str(plan)) == refusal
    Path(".git").mkdir()
    assert said(capsys, str(plan)).code == 0
    os.chdir("plans")
    assert said(capsys, "a/plan.yaml").code == 0
    os.chdir("..")
    Path("plans/.git").mkdir()
    assert only_line(capsys, str(plan)) == refusal
    assert answered(capsys, ["best-k", str(plan)]).err.startswith(
        "specplan: plans/a/plan.yaml:4:11: '../../cards/mine.yaml' is outside"
    )


@pytest.mark.parametrize("text", ["/etc/passwd", "../secret.yaml", "link.yaml", "a/../../s.yaml"])
def test_no_path_leaves_the_repository(capsys, text):
    secret = card(".", "secret")
    Path("repository/.git").mkdir(parents=True)
    Path("repository/link.yaml").symlink_to(secret.resolve())
    put("repository/plan.yaml", hardware=text)
    line = only_line(capsys, "repository/plan.yaml")
    assert line.startswith(
        f"repository/plan.yaml:4:11: SP101 '{text}' is outside the plan's folder"
    )


def test_a_broken_card_is_reported_where_it_is_broken(capsys):
    card("specplan.d", "mine", bandwidth="3.35")
    put("plan.yaml", hardware="mine")
    line = only_line(capsys, "plan.yaml")
    assert line.startswith("specplan.d/mine.yaml:")
    assert "looks like TB/s" in line
    assert line.endswith("(for plan.yaml)")


def test_a_card_that_hides_a_packaged_one_is_a_finding(capsys):
    card("specplan.d", "h100-sxm")
    put("plan.yaml", expect="{fits: true}", hardware="h100-sxm")
    answer = said(capsys, "plan.yaml")
    assert answer.code == 0
    assert answer.out == (
        "plan.yaml:4:11: SC005 specplan.d/h100-sxm.yaml: h100-sxm hides the packaged card of that "
        "name\n1 plan, 1 expectation: 1 holds, 1 warning besides\n"
    )
    assert said(capsys, "plan.yaml", "--strict").code == 1
    everything = said(capsys)
    assert everything.code == 0
    assert "specplan.d/h100-sxm.yaml:3:7: SC005 h100-sxm hides" in everything.out
    card("specplan.d", "h100-sxm", accept="{SC005: ours is the true one}")
    assert said(capsys, "--strict").code == 0


def test_cards_found_are_checked_as_cards(capsys):
    put("plan.yaml", expect="{fits: true}", hardware="h100-sxm")
    card("specplan.d", "mine", aliases="[h100]", bandwidth="3.35 GB/s")
    answer = said(capsys)
    assert answer.code == 1
    found = [line.split()[1] for line in answer.out.splitlines()[:-1]]
    assert found == ["SC004", "SC002", "SC002", "SC037", "SC040"]
    assert answer.out.splitlines()[-1] == (
        "1 plan, 1 card, 1 expectation: 1 holds, 1 error besides, 4 warnings besides"
    )


def model(folder: str, name: str, text: str) -> Path:
    return put(
        f"{folder}/{name}.yaml",
        f"schema: model/1\nname: {name}\ntitle: A model\nfamily: acme\ndtype: bf16\n"
        f"{text}sources: [{{of: [dtype], kind: published, cite: a paper}}]\n",
    )


def test_a_broken_card_is_counted_as_a_card(capsys):
    card("cards", "broken", bandwidth="3.35")
    put("cards/torn.yaml", "schema: model/1\nname: [\n")
    put("cards/plan.yaml", "schema: plan/1\ntarget: [\n")
    answer = said(capsys, "cards")
    assert answer.code == 2
    assert answer.out.splitlines()[-1] == (
        "1 plan, 2 cards, 0 expectations: 0 hold, 3 files unreadable"
    )
    Path("cards/plan.yaml").unlink()
    assert said(capsys, "cards").out.splitlines()[-1] == "2 cards: 2 files unreadable"


def test_a_card_that_no_plan_can_use_does_not_pass(capsys):
    model("cards", "empty", "")
    answer = said(capsys, "cards")
    assert answer.code == 1
    assert "cards/empty.yaml:2:7: SC009 " in answer.out
    put("plan.yaml", target="cards/empty.yaml")
    assert only_line(capsys, "plan.yaml").startswith("plan.yaml:2:9: SP107 ")
    refusal = answered(capsys, ["best-k", "plan.yaml"])
    assert (refusal.code, refusal.out) == (2, "")
    assert refusal.err.startswith("specplan: plan.yaml:2:9: ")


def test_an_alias_clash_of_two_cards_is_said_once(capsys):
    card("cards", "one", aliases="[both]")
    card("cards", "two", aliases="[both]")
    for words in (["cards"], ["cards", "--catalogue", "cards"]):
        found = [line for line in said(capsys, *words).out.splitlines() if " SC004 " in line]
        assert len(found) == 1, found
        assert "'both' is a name of" in found[0]


def test_a_broken_card_of_the_same_name_elsewhere_stops_no_check(capsys):
    card("specplan.d", "mine", bandwidth="3.35")
    card("cards", "mine", aliases="[ours]")
    out = "1 card: nothing found; 1 note, -f json shows it\n"
    assert said(capsys, "cards") == (0, out, "")


def test_a_clash_of_many_cards_is_one_finding(capsys):
    for number in range(40):
        card("cards", f"c{number}", aliases="[both]")
    found = [line for line in said(capsys, "cards").out.splitlines() if " SC004 " in line]
    line = "cards/c0.yaml:8:11: SC004 'both' is a name of c1, c10, c11 and 36 more too: rename one"
    assert [text.partition(";")[0] for text in found] == [line]


def test_an_unknown_rule_is_cut_and_guessed(capsys):
    answer = said(capsys, "--rule", "x" * 5000)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"specplan: unknown rule '{'x' * 60}'; expected one of SC001")
    assert len(answer.err) < 400


# Formats


@pytest.fixture
def mixed() -> None:
    """A plan that fails, one that is unsure, one that cannot be read."""
    put("plans/a.yaml", expect="{min_speedup: 3, fits: true}")
    put("plans/b, c.yaml", expect="{min_speedup: 1}")
    put("plans/d.yaml", k="gated")


@pytest.mark.usefixtures("mixed")
def test_json_has_a_row_for_every_outcome(capsys):
    answer = said(capsys, "plans", "-f", "json")
    assert answer.code == 2
    envelope = json.loads(answer.out)
    assert envelope["schema"] == "specplan.check/1"
    assert envelope["answer"] == {
        "plans": 3,
        "cards": 0,
        "measurements": 0,
        "expectations": 3,
        "hold": 1,
        "fail": 1,
        "unsure": 1,
        "unreadable": 1,
        "refused": 0,
        "other_errors": 0,
        "other_warnings": 0,
        "other_notes": 0,
    }
    assert [(row["rule"], row["level"]) for row in envelope["rows"]] == [
        ("SP001", "error"),
        ("SP004", "pass"),
        ("SP001", "warning"),
        ("SP101", "error"),
    ]
    first = envelope["rows"][0]
    assert (first["file"], first["line"], first["column"]) == ("plans/a.yaml", 7, 23)
    assert (first["expected"], first["batch"], first["best_k"]) == (3, 16, 4)
    assert first["found"] == pytest.approx(1.9356, abs=1e-4)
    assert envelope["inputs"]["hardware h100-sxm"]["sha256"]
    assert set(envelope["inputs"]) >= {"plans/a.yaml", "model llama-3-8b"}


@pytest.mark.usefixtures("mixed")
def test_github_annotates_by_itself_in_its_actions(capsys, monkeypatch):
    explicit = said(capsys, "plans", "-f", "github")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert said(capsys, "plans") == explicit
    assert explicit.out.splitlines() == [
        "::error file=plans/a.yaml,line=7,col=23,title=SP001::min_speedup 3: 1.94x at batch 16, "
        "context 2048; best k there is 4 (1.94x)",
        "::warning file=plans/b%2C c.yaml,line=7,col=23,title=SP001::min_speedup 1: 1.94x at "
        "batch 16, context 2048, holds only as a bound: unsure",
        "::error file=plans/d.yaml,line=5,col=4,title=SP101::k 'gated' is no number or range; "
        "expected 4, 1,16, 1:8 or 1:256:x2, or best, gate",
    ]
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert said(capsys, "plans") == said(capsys, "plans", "-f", "text")
    assert said(capsys, "plans") == said(capsys, "plans", "-f", "plain")


@pytest.mark.usefixtures("mixed")
def test_junit_has_a_case_for_every_outcome(capsys):
    suites = ET.fromstring(said(capsys, "plans", "-f", "junit").out)  # noqa: S314 - our own
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    names = [case.get("name") for case in suite]
    assert names[0] == "SP001 min_speedup (plans/a.yaml:7:23)"
    assert len(set(names)) == 4


@pytest.mark.usefixtures("mixed")
def test_sarif_has_results_and_their_rules(capsys):
    said(capsys, "plans", "-o", "report.sarif")
    (run,) = json.loads(Path("report.sarif").read_text())["runs"]
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("SP001", "error"),
        ("SP001", "warning"),
        ("SP101", "error"),
    ]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "plans/a.yaml"
    assert place["region"] == {"startLine": 7, "startColumn": 23}
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert set(rules) == {"SP001", "SP004", "SP101"}
    assert rules["SP001"]["shortDescription"]["text"] == "min_speedup"


@pytest.mark.usefixtures("mixed")
def test_markdown_says_the_same_as_text(capsys):
    answer = said(capsys, "plans", "-f", "markdown")
    assert answer.code == 2
    assert "plans/a.yaml:7:23: SP001 min\\_speedup 3: 1.94x at batch 16" in answer.out
    assert answer.out.rstrip().endswith(
        "3 plans, 3 expectations: 1 holds, 1 fails, 1 unsure, 1 file unreadable"
    )


def test_an_output_that_is_a_plan_is_refused(capsys):
    plan = put("plan.yaml")
    answer = said(capsys, "-f", "text", "-o", "plan.yaml")
    assert (answer.code, answer.out) == (2, "")
    assert plan.read_text() == PLAN


# Rules


def test_rules_are_listed_and_explained(capsys):
    listed = said(capsys, "--rules")
    assert listed.code == 0
    ids = [line.split()[0] for line in listed.out.splitlines()[3:]]
    assert ids[:3] == ["SP001", "SP002", "SP003"]
    assert {"SP104", "SC001"} < set(ids)
    rows = json.loads(said(capsys, "--rules", "-f", "json").out)["rows"]
    assert [row["id"] for row in rows] == ids
    assert rows[0]["expectation"] == "min_speedup"
    by_id = said(capsys, "--rule", "SP004")
    assert by_id.code == 0
    assert by_id.out.splitlines()[0] == "SP004 fits"
    assert said(capsys, "--rule", "fits") == said(capsys, "--rule", "sp004") == by_id
    wrong = said(capsys, "--rule", "min_speedups")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "specplan: unknown rule 'min_speedups'; did you mean 'min_speedup'?\n"


# The lock


def test_the_life_of_a_lock(capsys):
    put("plan.yaml", expect="{max_tpot: 3 ms, fits: true}")
    first = said(capsys, "--lock")
    assert (first.code, first.err) == (0, "specplan: wrote specplan.lock\n")
    written = Path("specplan.lock").read_bytes()
    assert said(capsys, "--lock").code == 0
    assert Path("specplan.lock").read_bytes() == written
    locked = json.loads(written)["plans"]["plan.yaml"]
    assert set(locked["cards"]) == {
        "engine roofline",
        "hardware h100-sxm",
        "model llama-3-8b",
        "model llama-3.2-1b",
    }
    assert locked["cards"]["hardware h100-sxm"]["figures"]["bandwidth"] == 3.35e12
    assert locked["found"]["max_tpot"] == pytest.approx(2.9757e-3, abs=1e-7)
    assert said(capsys).out == first.out

    card("specplan.d", "h100-sxm", aliases="[h100]", bandwidth="3.00 TB/s")
    moved = said(capsys, "plan.yaml")
    assert moved.code == 1
    assert moved.out.splitlines()[0] == (
        "plan.yaml:4:11: SP103 h100-sxm changed since the lock (bandwidth 3.35e12 -> 3e12): "
        "max_tpot 2.98 ms -> 3.32 ms"
    )
    refused = said(capsys, "plan.yaml", "--lock")
    assert refused.code == 1
    assert refused.err == "specplan: nothing was locked, because not all holds\n"
    assert Path("specplan.lock").read_bytes() == written

    put("plan.yaml", expect="{max_tpot: 4 ms, fits: true}")
    harmless = said(capsys, "plan.yaml")
    assert harmless.code == 0
    assert "SP103" not in harmless.out
    assert harmless.err == (
        "specplan: plan.yaml:4:11: h100-sxm changed since the lock (bandwidth 3.35e12 -> 3e12): "
        "max_tpot 2.98 ms -> 3.32 ms; the plan changed too\n"
    )
    assert said(capsys, "plan.yaml", "--lock").code == 0
    assert said(capsys, "plan.yaml").err == ""


GUARD = {"k": "3", "expect": "{min_speedup: 1.6}"}


def test_a_lock_holds_the_logs_of_a_plan(capsys):
    log = Path("captures/server.log")
    log.parent.mkdir()
    lines = (COUNTERS / "vllm-0.33.log").read_bytes()
    log.write_bytes(lines)
    put("plan.yaml", workload='{batch: 4, context: 2k, acceptance: "captures/server.log"}', **GUARD)
    assert said(capsys, "--lock").code == 0
    locked = json.loads(Path("specplan.lock").read_text())["plans"]["plan.yaml"]
    assert locked["files"] == {"captures/server.log": sha256(lines).hexdigest()}
    assert "SP103" not in said(capsys).out

    log.write_bytes((COUNTERS / "sglang-0.5.23.log").read_bytes())
    answer = said(capsys)
    assert answer.err.startswith(
        "specplan: plan.yaml:6:47: captures/server.log changed since the lock: min_speedup 1.6"
    )

    del locked["files"]  # as locks were before
    Path("specplan.lock").write_text(
        json.dumps({"schema": "lock/1", "plans": {"plan.yaml": locked}})
    )
    assert "changed since" not in (old := said(capsys)).out + old.err


def test_a_lock_holds_the_logs_of_a_mix(capsys):
    """Each workload has its own acceptance, and the plan none."""
    Path("a.log").write_bytes((COUNTERS / "vllm-0.33.log").read_bytes())
    Path("b.log").write_bytes((COUNTERS / "sglang-0.5.23.log").read_bytes())
    parts = ", ".join(f"{{weight: 1, acceptance: {name}.log}}" for name in "ab")
    put("plan.yaml", workload=f"{{batch: 4, context: 2k, mix: [{parts}]}}", **GUARD)
    assert said(capsys, "--lock").code == 0
    locked = json.loads(Path("specplan.lock").read_text())["plans"]["plan.yaml"]
    assert set(locked["files"]) == {"a.log", "b.log"}


def test_each_folder_has_its_lock_and_plans_not_checked_keep_theirs(capsys):
    for name in ("a/one.yaml", "a/two.yaml", "b/three.yaml"):
        put(name, expect="{fits: true}")
    assert (
        said(capsys, "--lock").err
        == "specplan: wrote a/specplan.lock\nspecplan: wrote b/specplan.lock\n"
    )
    put("a/one.yaml", expect="{fits: true, min_sequences: 100}")
    Path("a/two.yaml").unlink()
    put("a/four.yaml", expect="{fits: true}")
    said(capsys, "a/four.yaml", "--lock")
    plans = json.loads(Path("a/specplan.lock").read_text())["plans"]
    assert set(plans) == {"four.yaml", "one.yaml"}
    assert set(plans["one.yaml"]["found"]) == {"fits"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not a lock: Invalid JSON: "),
        ('{"schema": "lock/2", "plans": {}}', "not a lock: schema: "),
        ('{"schema": "lock/1", "plans": {"a": 1}}', "not a lock: plans.a: "),
        ("[" * 100_000, "not a lock: Invalid JSON: "),
        ('{"schema": "lock/1", "plans": {}, "extra": 1}', "not a lock: extra: "),
        ("\xff", "not a lock: Invalid JSON: "),
    ],
)
def test_a_malformed_lock_is_one_line_and_the_plans_are_still_checked(capsys, text, what):
    put("plan.yaml")
    Path("specplan.lock").write_text(text, "latin-1")
    answer = said(capsys)
    assert answer.code == 2
    first, second, summary = answer.out.splitlines()
    assert first.startswith(f"specplan.lock: SP101 {what}")
    assert first.endswith("; delete it and write it anew with specplan check --lock")
    assert second + "\n" == UNSURE
    assert summary == "1 plan, 3 expectations: 2 hold, 1 unsure, 1 file unreadable"
    before = Path("specplan.lock").read_bytes()
    assert said(capsys, "--lock").code == 2
    assert Path("specplan.lock").read_bytes() == before


def test_a_lock_is_not_written_from_what_could_not_be_read(capsys):
    put("a.yaml", expect="{fits: true}")
    put("b.yaml", k="gated")
    assert said(capsys, "--lock").code == 2
    assert not Path("specplan.lock").exists()


# What repositories use


def test_the_action_checks_summarises_and_keeps_the_exit_code(tmp_path):
    action = read_file(ROOT / "action.yml").data
    assert set(action["inputs"]) == {"args", "report", "version", "python-version"}
    script = action["runs"]["steps"][-1]["run"]
    assert "${{" not in script  # inputs come by the environment, not as text of the script
    python = tmp_path / "specplan" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    put("plans/good.yaml")
    put("plans/bad.yaml", expect="{min_speedup: 3}")
    summary = tmp_path / "summary.md"
    own = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)}
    reports = "plans/good.yaml plans/bad.yaml nowhere.yaml"
    for args, code, report in (("plans/good.yaml", 0, ""), ("plans --strict", 1, reports)):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            env=environment(tmp_path, ARGS=args, REPORT=report, **own),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert "::error file=plans/bad.yaml,line=7,col=23,title=SP001::" in done.stdout
    text = summary.read_text()
    assert text.count("### specplan check") == 2
    assert "plans/bad.yaml:7:23: SP001 min\\_speedup 3" in text
    assert text.count("\n### It pays: ") == 2  # a plan may pay and not keep what it promised
    for plan in ("plans/bad.yaml", "nowhere.yaml"):
        assert f"::warning::the report of {plan} says no, or could not be made" in done.stdout
    assert done.stdout.count("::warning::") == 2


def test_the_action_leaves_out_a_report_that_a_summary_has_no_room_for(tmp_path):
    """GitHub shows nothing of a summary beyond 1 MiB."""
    script = read_file(ROOT / "action.yml").data["runs"]["steps"][-1]["run"]
    python = tmp_path / "specplan" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nhead -c 600000 /dev/zero | tr "\\\\0" x\n')
    python.chmod(0o755)
    summary = tmp_path / "summary.md"
    own = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env=environment(tmp_path, ARGS="a.yaml", REPORT="a.yaml", **own),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "::warning::the report of a.yaml is too long for a step summary" in done.stdout
    assert summary.stat().st_size < 2**20


def test_the_hook_checks_all_plans_whichever_file_changed():
    source = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8").splitlines()
    hook = dict(line[2:].split(": ", 1) for line in source if not line.lstrip().startswith("#"))
    wanted = {"id": "specplan-check", "entry": "specplan check", "pass_filenames": "false"}
    assert wanted.items() <= hook.items()


def test_annotations_leave_a_verdict_in_the_log(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    put("plan.yaml", expect="{fits: true}")
    assert said(capsys) == (0, "", "specplan: 1 plan, 1 expectation: 1 holds\n")
