"""`specplan report`: formats, files, plans, traffic and exit codes."""

from __future__ import annotations

import json
import re
import shlex
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typed import answered, one_line

from specplan.dialects.writers import example

PAIR = ("-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100")
FLAGS = ("report", *PAIR, "-a", "0.8")
PLAN = """\
schema: plan/1
about: "Chat <b>bold</b> | [x](javascript:1)"
target: llama-3-8b
draft: llama-3.2-1b
hardware: h100-sxm
k: 4
workload: {batch: [1, 16], context: 2k, alpha: 0.8}
expect: {min_speedup: %s}
"""
SERVED = (
    *("report", "-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm@0.33", "-a", "0.7"),
    *("-k", "3", "--rate", "5/s", "--isl", "1000", "--osl", "200"),
)


def test_json_holds_an_envelope_for_every_part(capsys):
    said = answered(capsys, [*FLAGS, "-f", "json"])
    assert said.code == 0
    envelope = json.loads(said.out)
    assert envelope["schema"] == "specplan.report/1"
    names = [part["part"]["name"] for part in envelope["parts"]]
    assert names[:2] == ["best-k", "batch-alpha"]
    for part in envelope["parts"]:
        assert part["is"]["schema"].startswith("specplan.")
        assert {"inputs", "basis", "answer", "rows"} <= part["is"].keys()
    there = {row["part"] for row in envelope["rows"] if row["left_out"] is None}
    assert there == set(names)


@pytest.mark.parametrize("name", ["plain", "json", "markdown", "html"])
def test_the_same_question_has_the_same_bytes(capsys, name):
    first, second = (answered(capsys, [*FLAGS, "-f", name]).out for _ in range(2))
    assert first == second


def test_markdown_begins_with_the_verdict_and_folds_its_parts(capsys):
    out = answered(capsys, [*FLAGS, "-f", "markdown"]).out
    assert out.startswith("### It pays: llama-3.2-1b for llama-3-8b on h100-sxm gains 2.02x")
    assert out.count("<details><summary>") == out.count("</details>") > 8
    opened = re.findall(r"(?<!\\)<(/?\w+)", re.sub(r"(?ms)^~~~$.*?^~~~$", "", out))
    assert opened == ["details", "summary", "/summary", "/details"] * out.count("</details>")
    assert out.index("breaks even") < out.index("<details>")
    assert len(out) < 200_000  # a step summary holds a mebibyte


def test_plain_text_has_every_part_under_its_heading(capsys):
    out = answered(capsys, [*FLAGS, "-f", "plain"]).out
    assert "\n== Best k and its margins\n\nk = 4: 2.02x " in out
    assert "\n== Memory\n\nMemory of the drafter " in out


def test_an_html_file_is_chosen_by_its_suffix(capsys):
    assert answered(capsys, [*FLAGS, "-o", "report.html"]) == (
        0,
        "",
        "specplan: by default: tp 1, batch 1, context 2048\n",
    )
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>\n")
    assert len(page.encode()) < 2_000_000


def test_a_plan_that_holds_and_one_that_does_not(capsys):
    for least, code, word in (("1.5", 0, "1 unsure"), ("3", 1, "1 fails")):
        Path("plan.yaml").write_text(PLAN % least, encoding="utf-8")
        said = answered(capsys, ["report", "plan.yaml", "-f", "plain"])
        assert said.code == code
        expectations = said.out.partition("== What the plan expects\n")[2].partition("\n==")[0]
        assert word in expectations
        assert "== Every point of the plan" in said.out


def test_a_plan_is_known_by_its_bytes(capsys):
    Path("plan.yaml").write_text(PLAN % "1.5", encoding="utf-8")
    digest = sha256(Path("plan.yaml").read_bytes()).hexdigest()
    said = json.loads(answered(capsys, ["report", "plan.yaml", "-f", "json"]).out)
    again = said["parts"][-1]["is"]
    assert again["inputs"]["plan"]["sha256"] == digest


def test_flags_over_a_plan_leave_its_expectations_out(capsys):
    """They were made for the plan as it is written."""
    Path("plan.yaml").write_text(PLAN % "3", encoding="utf-8")
    said = answered(capsys, ["report", "plan.yaml", "-b", "1", "-f", "plain"])
    assert said.code == 0
    assert "What the plan expects" not in said.out


def test_traffic_has_its_gpus(capsys):
    said = answered(capsys, [*SERVED, "-f", "json"])
    assert said.code == 0
    parts = {p["part"]["name"]: p["is"] for p in json.loads(said.out)["parts"]}
    assert parts["capacity"]["answer"]["cheapest"]["gpus"] >= 1
    assert {"flags", "gate-flags"} <= parts.keys()
    alone = ["capacity", *SERVED[1:], "-f", "json"]
    assert json.loads(answered(capsys, alone).out)["answer"] == parts["capacity"]["answer"]


def test_the_command_in_a_report_gives_that_report(capsys):
    said = answered(capsys, [*SERVED, "-f", "json"])
    again = json.loads(said.out)["parts"][-1]["is"]["answer"]["command"]
    assert again.startswith("specplan report ")
    words = shlex.split(again)[1:]
    assert words[-2:] == ["-f", "json"]
    assert words[words.index("--rate") + 1] == "5/s"
    assert answered(capsys, words).out == said.out


def test_the_command_ends_with_the_format_asked(capsys):
    for form, ending in (("markdown", "-f markdown"), ("html", "-o report.html")):
        out = answered(capsys, [*FLAGS, "-f", form]).out
        assert re.search(rf"specplan report --target .* {ending}[\n<]", out)


def test_a_promise_that_cannot_be_kept_is_the_verdict(capsys):
    said = answered(capsys, [*SERVED, "--slo", "tpot_p95=1ms", "-f", "plain", "-q"])
    assert said.code == 1
    text = " ".join(said.out.split())
    assert text.startswith(
        "The promise is not kept: no number of GPUs serves 5 requests/s of 1,000 + 200 tokens with "
        "tpot_p95 1 ms; eagle3-llama-3.1-8b for llama-3.1-8b on h100-sxm gains "
    )
    said = answered(capsys, [*SERVED, "--slo", "tpot_p95=1ms", "-f", "json", "-q"])
    assert json.loads(said.out)["answer"]["verdict"] == "not served"


def test_a_report_is_at_the_batch_that_its_servers_run(capsys):
    asked = [*SERVED, "--rate", "60/s", "--slo", "tpot_p95=20ms", "-q"]
    found = json.loads(answered(capsys, [*asked, "-f", "json"]).out)
    parts = {part["part"]["name"]: part["is"] for part in found["parts"]}
    rows = parts["capacity"]["rows"]
    (batch,) = [row["batch_mean"] for row in rows if row["cheapest"]]
    assert found["answer"]["batch"] == round(batch) > 1
    head = " ".join(answered(capsys, [*asked, "-f", "plain"]).out.partition("\n==")[0].split())
    assert f"batch {round(batch)} and context 1,100, those of the traffic" in head
    assert "traffic 60 requests/s of 1,000 + 200 tokens promises tpot_p95 20 ms" in head
    own = json.loads(answered(capsys, [*asked, "-b", "2", "-f", "json"]).out)
    assert own["answer"]["batch"] == 2


def test_a_batch_that_a_smaller_gpu_cannot_hold_is_not_asked_of_it(capsys):
    """Nobody asked for it, so nothing fails to fit."""
    asked = ["report", "-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100,l4", "-e", "vllm@0.33"]
    asked += ["-a", "0.7", "-k", "3", "--rate", "60/s", "--isl", "300", "--osl", "400", "-q"]
    said = answered(capsys, [*asked, "-f", "json"])
    assert said.code == 0
    found = json.loads(said.out)["answer"]
    assert (found["fits"], found["batch"]) == (True, 1)


@pytest.mark.parametrize("k", ["3", "5", "gate"])
def test_the_verdict_and_the_head_say_the_gpus_of_the_plans_own_k(capsys, k):
    asked = ["report", "-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm@0.33"]
    asked += ["-a", "0.3", "-k", k, "--rate", "300/s", "--isl", "300", "--osl", "200", "-q"]
    found = json.loads(answered(capsys, [*asked, "-f", "json"]).out)
    parts = {part["part"]["name"]: part["is"] for part in found["parts"]}
    policy = "gated" if k == "gate" else f"k={k}"
    gpus = {row["policy"]: row["gpus"] for row in reversed(parts["capacity"]["rows"])}
    drafted, alone = gpus[policy], gpus["none"]
    same = f"; {drafted} GPUs with it and without"
    told = same if drafted == alone else f"; {drafted} GPUs instead of {alone}"
    assert found["answer"]["sentence"].endswith(told)
    head = answered(capsys, [*asked, "-f", "plain"]).out.partition("\n==")[0]
    assert f"{alone} without speculation" in head
    assert f"{drafted} {'gated' if k == 'gate' else f'with k={k}'}" in head


def test_every_expectation_is_listed(capsys):
    Path("plan.yaml").write_text(PLAN % "3, fits: true", encoding="utf-8")
    out = answered(capsys, ["report", "plan.yaml", "-f", "markdown", "-q"]).out
    title = out.partition("\n")[0]
    assert title.endswith("; 1 of its 2 expectations fails")
    assert "| min\\_speedup 3 | fails | 1.94x at batch 16, " in out
    assert "| fits true | holds | fits with " in out


def test_a_plan_says_what_it_is_about(capsys):
    Path("plan.yaml").write_text(PLAN % "1.5", encoding="utf-8")
    marked = answered(capsys, ["report", "plan.yaml", "-f", "markdown", "-q"]).out
    assert "Chat \\<b\\>bold" in marked.partition("<details>")[0]
    page = answered(capsys, ["report", "plan.yaml", "-f", "html", "-q"]).out
    assert "Chat &lt;b&gt;bold&lt;/b&gt; | [x](javascript:1)</p>" in page


def test_a_plan_is_checked_whatever_its_file_is_called(capsys):
    name = "new\nline.yaml"
    Path(name).write_text(PLAN % "1.5", encoding="utf-8")
    said = answered(capsys, ["report", name, "-f", "plain", "-q"])
    assert said.code == 0
    assert "1 plan, 1 expectation: 0 hold, 1 unsure" in said.out


@pytest.mark.parametrize(
    ("engine", "stand_ins"),
    [
        ("vllm@0.33", ["PATH/TO/eagle3-llama-3.3-70b"]),
        ("sglang@0.5", ["PATH/TO/eagle3-llama-3.3-70b"]),
        ("trtllm@1.4", ["PATH/TO/eagle3-llama-3.3-70b"]),
        ("llamacpp", ["PATH/TO/llama-3.3-70b.gguf", "PATH/TO/eagle3-llama-3.3-70b.gguf"]),
    ],
)
def test_flags_are_there_where_no_card_names_a_checkpoint(capsys, engine, stand_ins):
    """With what stands in its place; that alone is what emit would write, given it."""
    version = engine if "@" in engine else f"{engine}@{example(engine)}"
    asked = ("-t", "llama-3.3-70b", "-d", "eagle3-llama-3.3-70b", "-g", "h100", "--tp", "4")
    asked = (*asked, "-e", version, "-a", "0.7", "-k", "3")
    said = json.loads(answered(capsys, ["report", *asked, "-f", "json"]).out)
    parts = {part["part"]["name"]: part["is"] for part in said["parts"]}
    options = ("--draft-path",) if len(stand_ins) == 1 else ("--target-path", "--draft-path")
    paths = [word for pair in zip(options, stand_ins, strict=True) for word in pair]
    alone = json.loads(answered(capsys, ["emit", *asked, *paths, "-f", "json"]).out)
    assert parts["flags"]["answer"] == alone["answer"]
    text = answered(capsys, ["report", *asked, "-f", "plain"]).out
    flags = " ".join(text.partition("== Flags of the engine")[2].partition("\n==")[0].split())
    assert f"Put your own in the place of {' and '.join(stand_ins)}, by hand or by " in flags
    assert "eagle3-llama-3.3-70b name" in flags


def test_a_title_that_is_too_long_goes_on_below(capsys):
    asked = ("-t", "llama-3.3-70b", "-d", "eagle3-llama-3.3-70b", "-g", "h100", "--tp", "4")
    out = answered(capsys, ["report", *asked, "-a", "0.7", "-f", "plain"]).out
    head = out.partition("\n\n")[0].splitlines()
    assert len(head) > 1
    assert all(len(line) <= 80 for line in head)
    assert " ".join(out.split()).startswith(
        "It pays: eagle3-llama-3.3-70b for llama-3.3-70b on 4x "
    )


class Text(HTMLParser):
    """The names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - as the parser calls it
        self.tags.append(tag)


def test_a_name_in_a_path_stays_text(capsys):
    name = "<img src=x onerror=alert(1)>.yaml"
    Path(name).write_text(PLAN % "1.5", encoding="utf-8")
    said = answered(capsys, ["report", name, "-f", "html"])
    assert said.code == 0
    parser = Text()
    parser.feed(said.out)
    assert "img" not in parser.tags
    assert "&lt;img src=x onerror=alert(1)&gt;" in said.out
    marked = answered(capsys, ["report", name, "-f", "markdown"]).out
    outside = re.sub(r"^~~~$.*?^~~~$", "", marked, flags=re.MULTILINE | re.DOTALL)
    assert "<img" not in outside.replace("\\<img", "")


def test_what_a_report_cannot_be_about(capsys):
    assert one_line(answered(capsys, ["report"])).startswith("--target: which model is to be sped")
    mix = ["report", "nowhere.yaml"]
    assert one_line(answered(capsys, mix)) == "nowhere.yaml: no such file"
    said = answered(capsys, [*FLAGS, "-o", "report.xyz"])
    assert said.code == 2
    assert "names no format" in one_line(said)
