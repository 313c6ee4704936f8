"""`specplan acceptance` as it is typed, and files of counters in place of an acceptance."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from typed import ANSI, answered, one_line, terminal

import specplan
from specplan.cli import watched as module
from specplan.cli.acceptance import is_capture
from specplan.errors import SpecplanError

FIXTURES = Path(__file__).parents[1] / "counters" / "fixtures"
PAIR = ["-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100"]


@pytest.fixture(autouse=True)
def _files(tmp_path):
    """A log, scrapes of a server before and after, and a log of a drafter that fits nothing."""
    for name in (
        *("vllm-0.33.log", "sglang-0.5.23.log", "vllm-2025-04.log", "hand-vllm-broken.log"),
        *("vllm-metrics-before.prom", "vllm-metrics.prom", "bad-positions.log"),
        *("bad-accepted.log", "nothing-plain.prom"),
    ):
        (tmp_path / name).write_bytes((FIXTURES / name).read_bytes())
    (tmp_path / "server.log").write_bytes((FIXTURES / "vllm-0.33.log").read_bytes())


def asked(capsys, *words):
    return answered(capsys, ["acceptance", *map(str, words)])


def told(capsys, *words):
    said = asked(capsys, *words, "-f", "json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def truth(name):
    """The row of the index that says what a file holds."""
    with (FIXTURES / "index.csv").open(encoding="utf-8") as file:
        return next(row for row in csv.DictReader(file) if row["file"] == name)


def test_what_people_see(capsys):
    said = asked(capsys, "server.log")
    lines = said.out.splitlines()
    assert said.code == 0
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Acceptance: 2.52 tokens per round   ")
    assert lines[0].endswith("vllm-v1-log, 95 % intervals")
    assert lines[1] == "server.log"
    labels = [line.split()[0] for line in lines[4:11]]
    assert labels == [
        *("tokens/round", "alpha", "rate", "counted", "effective", "batch", "throughput"),
    ]
    assert any(line.split() == ["position", "kept", "(95", "%)", "given", "all", "before"]
               for line in lines)  # fmt: skip
    for defined in ("tokens/round: 1 + accepted", "alpha: accepted / (acc", "rate: accepted /",
                    "kept: share of all", "alpha here: rejections counted."):  # fmt: skip
        assert any(line.startswith(defined) for line in lines), defined
    for trap in ("bonus-in", "percent", "no-drafts-count"):
        assert any(line.startswith(f"{trap}: ") for line in lines)


def test_what_machines_get(capsys):
    found, row = told(capsys, "server.log"), truth("vllm-0.33.log")
    answer = found["answer"]
    assert found["schema"] == "specplan.acceptance/1"
    assert answer["format"] == row["format"]
    assert answer["drafts"] == float(row["drafts"])
    assert answer["accepted_tokens"] == float(row["accepted_tokens"])
    assert answer["drafted_tokens"] == float(row["drafted_tokens"])
    assert answer["tokens_per_round"] == pytest.approx(float(row["tokens_per_round"]), abs=0.005)
    assert answer["alpha_low"] < answer["alpha"] < answer["alpha_high"]
    assert answer["definitions"]
    assert len(found["rows"]) == answer["k"] == 3
    for number, position in enumerate(found["rows"]):
        assert position["position"] == number + 1
        assert position["unconditional"] == answer["per_position"][number]
        assert position["low"] < position["unconditional"] < position["high"]
    first, second = found["rows"][:2]
    assert first["conditional"] == first["unconditional"]
    assert second["conditional"] == second["unconditional"] / first["unconditional"]
    file = found["inputs"]["capture"]
    assert (file["value"], file["from"]) == ("server.log", "server.log (flag)")
    assert len(file["sha256"]) == 64


def test_gzip_and_standard_input_say_the_same(capsys, monkeypatch):
    plain = told(capsys, "server.log")["answer"]
    text = Path("server.log").read_bytes()
    Path("packed").write_bytes(gzip.compress(text))
    packed = told(capsys, "packed")["answer"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
    piped = told(capsys, "-")["answer"]
    for other in (packed, piped):
        assert {**other, "source": "", "sha256": ""} == {**plain, "source": "", "sha256": ""}
    assert piped["source"] == "standard input"


def test_two_scrapes_are_one_capture_and_four_are_two(capsys):
    pair = ["vllm-metrics-before.prom", "vllm-metrics.prom"]
    found = told(capsys, *pair)
    assert found["schema"] == "specplan.acceptance/1"
    total, before = (told(capsys, name)["answer"]["drafts"] for name in reversed(pair))
    assert found["answer"]["drafts"] == total - before
    assert set(found["inputs"]) == {"capture", "capture_2"}
    each = told(capsys, *pair, "--each")
    assert each["schema"] == "specplan.acceptance-difference/1"
    assert each["answer"]["a"]["drafts"] == before
    for name in pair:
        Path(f"again-{name}").write_bytes(Path(name).read_bytes())
    four = told(capsys, *pair, *(f"again-{name}" for name in pair))
    assert four["answer"]["a"]["drafts"] == four["answer"]["b"]["drafts"] == total - before
    assert four["answer"]["verdict"] != "differs"


def test_together_adds_files_up(capsys):
    Path("server.log.1").write_bytes(Path("server.log").read_bytes())
    one = told(capsys, "server.log")["answer"]
    both = told(capsys, "server.log.1", "server.log", "--together")["answer"]
    assert both["drafts"] == 2 * one["drafts"]
    assert both["tokens_per_round"] == pytest.approx(one["tokens_per_round"])


def test_two_captures_that_differ(capsys):
    said = asked(capsys, "vllm-metrics.prom", "hand-vllm-broken.log", "-d", "ratio:0.05")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert said.out.startswith("The captures differ   ")
    assert "* differs at level 0.05: tokens/round, alpha, position 1" in said.out
    assert "B: k = 0 (1.00x)" in said.out
    found = told(capsys, "vllm-metrics.prom", "hand-vllm-broken.log", "-d", "ratio:0.05")
    answer = found["answer"]
    assert answer["verdict"] == "differs"
    assert [own["k"] for own in answer["best"]["captures"]][1] == 0
    losses = [own["loss"] for own in answer["best"]["captures"]]
    assert all(0 <= loss < 1 for loss in losses)
    assert max(losses) > 0
    rows = {row["figure"]: row for row in found["rows"]}
    assert rows["alpha"]["difference"] == rows["alpha"]["b"] - rows["alpha"]["a"]
    assert rows["rate"]["adjusted_p"] is None
    assert rows["position 2"]["high"] < 0


def test_the_same_capture_twice_is_no_difference(capsys):
    Path("copy.prom").write_bytes(Path("vllm-metrics.prom").read_bytes())
    said = asked(capsys, "vllm-metrics.prom", "copy.prom", "--each")
    assert said.out.startswith("No difference seen   ")
    assert "in alpha would have shown 9 times in 10" in said.out
    assert "byte for byte" in said.err


def test_best_k_at_the_log_s_batch(capsys):
    found = told(capsys, "server.log", *PAIR)
    best = found["answer"]["best"]
    assert best["batch"] == round(found["answer"]["batch"]["mean"])
    assert best["captures"][0]["k"] == best["shared"] > 0
    assert best["captures"][0]["loss"] == 0
    assert found["inputs"]["target"]["sha256"]
    one = json.loads(
        answered(capsys, ["best-k", "-a", "server.log", *PAIR, "-b", str(int(best["batch"])),
                          "-f", "json"]).out
    )  # fmt: skip
    assert one["answer"]["choice"]["k"] == best["shared"]
    assert one["answer"]["choice"]["speedup"] == pytest.approx(best["captures"][0]["speedup"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nope.log"], "nope.log: no such file"),
        (["prose.txt"], "prose.txt: nothing recognised in 2 lines; expected a log"),
        (["nothing-plain.prom"], "no drafts in it (vllm-metrics, 3 lines); speculation was off"),
        (["bad-accepted.log"], "contradicts itself: line 1: 3,200 accepted of 3,000 drafted"),
        (["server.log", "./server.log"], "server.log is given twice"),
        (["server.log", "vllm-0.33.log", "sglang-0.5.23.log"], "3 files, and two captures are"),
        (["-", "-"], "standard input can be one of the files"),
        (["server.log", "--together", "--each"], "--together and --each exclude"),
        (["server.log", "-k", "0"], "--k: 0 is out of range"),
        (["server.log", "--k-max", "4"], "--k-max is of the best k"),
        (["server.log", "-t", "llama-3-8b"], "what drafts?"),
        (["server.log", "-d", "ratio:x"], "ratio"),
        (["server.log", *PAIR, "-b", "1,2"], "at one batch and context"),
    ],
)
def test_kind_refusals(capsys, words, error):
    Path("prose.txt").write_text("Nothing of the sort.\nAccepted is a word.\n")
    said = asked(capsys, *words)
    assert said.code == 2
    assert error in one_line(said)


def test_nothing_recognised_says_what_was_looked_for(capsys):
    Path("prose.txt").write_text("Nothing of the sort.\n")
    line = one_line(asked(capsys, "prose.txt"))
    for name in ("vllm-v1-log", "sglang-log", "trtllm-iterations", "llamacpp-log"):
        assert name in line or name.split("-")[0] in line


def test_contradictions_are_named_and_the_rest_stands(capsys):
    said = asked(capsys, "bad-positions.log")
    assert said.code == 0
    assert "contradiction: line 1: position 2 is kept in 800 rounds, position 1 in 550" in said.err
    answer = told(capsys, "bad-positions.log")["answer"]
    assert answer["per_position"] == []
    assert answer["tokens_per_round"] == pytest.approx(2.7)
    assert answer["alpha_basis"].startswith("solved from tokens per round")


def test_the_length_in_use_where_nobody_prints_it(capsys):
    bare = told(capsys, "vllm-2025-04.log")["answer"]
    assert bare["tokens_per_round"] is bare["alpha"] is None
    row = truth("vllm-0.33.log")
    found = told(capsys, "vllm-2025-04.log", "-k", "3")
    assert found["inputs"]["k_in_use"]["value"] == 3
    assert found["answer"]["tokens_per_round"] == pytest.approx(
        1 + float(row["accepted_tokens"]) / float(row["drafts"])
    )


def test_our_own_json_stands_for_its_source(capsys):
    first = told(capsys, "server.log")["answer"]
    assert asked(capsys, "server.log", "-o", "acc.json").code == 0
    again = told(capsys, "acc.json")["answer"]
    assert again == first
    said = asked(capsys, "acc.json", "server.log")
    assert said.out.startswith("No difference seen")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"engine": "vllm"},
        {"engine": "abacus", "format": "x"},
        {"engine": "vllm", "format": "x", "per_position": ["a"]},
        {"engine": "vllm", "format": "x", "per_position": [2.0]},
        {"engine": "vllm", "format": "x", "source": "s", "alpha": 1.5},
        {"engine": "vllm", "format": "x", "source": "s", "k": True},
    ],
)
def test_json_that_is_no_capture(capsys, answer):
    Path("acc.json").write_text(json.dumps({"schema": "specplan.acceptance/1", "answer": answer}))
    said = asked(capsys, "acc.json")
    assert said.code == 2
    assert one_line(said).startswith("acc.json: ")


def test_a_long_file_has_a_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(module, "LONG_FILES", 1_000)
    size = Path("server.log").stat().st_size
    for words, told in ((["-q"], False), ([], True)):
        with terminal() as (stream, shown):
            monkeypatch.setattr(sys, "stderr", stream)
            answered(capsys, ["acceptance", "server.log", *words])
        assert (f"{size / 1000:.1f}/{size / 1000:.1f} kB" in ANSI.sub("", shown[0])) == told


def test_names_of_files():
    for name in ("server.log", "a/acc.json", "./server", "/x/y", "../z", "m.prom", "log.gz"):
        assert is_capture(name)
    for name in ("0.7", "mtp-glm-5.2/coding", "eagle3/mt-bench", "./mine.yaml", "x.yml/s", "curve"):
        assert not is_capture(name)


@pytest.mark.parametrize("command", ["sweep", "best-k", "gate", "explain", "compare", "memory"])
def test_every_command_takes_a_file(capsys, command):
    more = {"sweep": ["-k", "1,3"], "explain": ["-k", "3"], "memory": ["-k", "3"]}
    words = [command, "-a", "server.log", *PAIR, *more.get(command, []), "-f", "json"]
    said = answered(capsys, words)
    assert said.code == 0, said.err
    given = json.loads(said.out)["inputs"]["acceptance"]
    assert (given["value"], given["from"]) == ("server.log", "server.log (flag)")
    assert len(given["sha256"]) == 64


def test_a_file_is_its_rates_by_position(capsys):
    answer = told(capsys, "server.log")["answer"]
    rates = ",".join(map(repr, answer["per_position"]))
    words = ["best-k", *PAIR, "-f", "json", "-a"]
    by_file, by_hand = (
        json.loads(answered(capsys, [*words, text]).out)["answer"]["choice"]
        for text in ("server.log", f"unconditional:{rates}")
    )
    assert by_file.pop("acceptance") == "server.log"
    by_hand.pop("acceptance")
    assert by_file == by_hand


def test_without_positions_alpha_is_uncertain(capsys):
    answer = told(capsys, "sglang-0.5.23.log")["answer"]
    said = json.loads(
        answered(capsys, ["best-k", *PAIR, "-a", "sglang-0.5.23.log", "-f", "json"]).out
    )
    assert said["answer"]["choice"]["alpha"] == answer["alpha"]
    assert said["answer"]["uncertain"]["loss_probability"] >= 0


def test_a_file_beside_alphas_and_inside_other_models(capsys):
    words = ["best-k", *PAIR, "-f", "json"]
    both = answered(capsys, [*words, "-a", "server.log", "-a", "0.7"])
    assert len(json.loads(both.out)["rows"]) == 2
    said = answered(capsys, [*words, "-a", "server.log,0.7"])
    assert "mixes files and other models" in one_line(said)
    parted = ["-a", "context:server.log@2k,sglang-0.5.23.log@8k", "-c", "4k"]
    assert answered(capsys, [*words, *parted]).code == 0
    mixed = ["--mix", "1,acceptance=sglang-0.5.23.log", "--mix", "2,alpha=0.8"]
    assert answered(capsys, [*words, *mixed]).code == 0


def test_a_file_without_rounds_stands_for_nothing(capsys):
    said = answered(capsys, ["best-k", *PAIR, "-a", "vllm-2025-04.log"])
    assert "the number of rounds is not printed" in one_line(said)


PLAN = """\
schema: plan/1
target: llama-3-8b
draft: llama-3.2-1b
hardware: h100-sxm
k: 3
workload: {batch: 8, acceptance: LOG}
expect: {at: {acceptance: LOG}, fits: true}
"""


def plan(folder, log):
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / "plan.yaml"
    path.write_text(PLAN.replace("LOG", log))
    return str(path)


def test_a_plan_names_a_file_beside_it(capsys):
    path = plan("plans", "chat.log")
    Path("plans/chat.log").write_bytes(Path("server.log").read_bytes())
    said = answered(capsys, ["check", path])
    assert (said.code, said.err) == (0, ""), said.out
    assert "1 expectation: 1 holds" in said.out
    found = json.loads(answered(capsys, ["best-k", path, "-f", "json"]).out)
    assert found["inputs"]["acceptance"]["value"] == "chat.log"
    assert found["inputs"]["acceptance"]["from"].startswith("plans/chat.log (plans/plan.yaml")


@pytest.mark.parametrize("form", ["LOG", "{context: {2k: LOG}}"])
def test_a_plan_s_file_cannot_leave_its_root(capsys, form, tmp_path):
    path = plan("plans", "here")
    outside = tmp_path / "server.log"
    for name in ("../server.log", str(outside)):
        text = PLAN.replace("acceptance: LOG}\n", f"acceptance: {form}}}\n").replace("LOG", name)
        Path(path).write_text(text.replace("{at: {acceptance: " + name + "}, ", "{"))
        said = answered(capsys, ["check", path])
        assert said.code == 2
        assert "outside the plan's folder and repository" in said.out + said.err
    Path("plans/link.log").symlink_to(outside)
    said = answered(capsys, ["check", plan("plans", "link.log")])
    assert "outside the plan's folder and repository" in said.out + said.err


def test_a_plan_s_mix_names_files_too(capsys):
    path = plan("plans", "chat.log")
    Path("plans/chat.log").write_bytes(Path("server.log").read_bytes())
    mix = "mix: [{weight: 1, acceptance: chat.log}, {weight: 2, alpha: 0.8}]"
    text = Path(path).read_text().replace("acceptance: chat.log", mix, 1)
    Path(path).write_text(text.replace("{at: {acceptance: chat.log}, fits", "{fits"))
    said = answered(capsys, ["check", path])
    assert said.code == 0, said.out + said.err


def test_init_writes_the_file_s_name_from_the_plan(capsys):
    Path("plans").mkdir()
    said = answered(capsys, ["init", "plans/new.yaml", *PAIR, "-a", "server.log"])
    assert said.code == 2  # a plan's files lie below its folder
    Path("plans/server.log").write_bytes(Path("server.log").read_bytes())
    said = answered(capsys, ["init", "plans/new.yaml", *PAIR, "-a", "plans/server.log"])
    assert said.code == 0, said.err
    assert "acceptance: server.log" in Path("plans/new.yaml").read_text()
    assert answered(capsys, ["check", "plans/new.yaml"]).code == 0


def test_python_says_the_same(capsys):
    found = specplan.acceptance("server.log")
    assert found.value.alpha == told(capsys, "server.log")["answer"]["alpha"]
    two = specplan.acceptance(Path("vllm-metrics.prom"), "hand-vllm-broken.log", draft="ratio:0.05")
    assert two.value.verdict == "differs"
    scene = specplan.scenario(
        target="llama-3-8b", draft="llama-3.2-1b", hardware="h100-sxm", acceptance="server.log"
    )
    assert str(scene.acceptance[0]) == "server.log"
    with pytest.raises(SpecplanError, match="which file"):
        specplan.acceptance()


def test_a_file_of_any_name_stands_for_its_acceptance(capsys):
    """A curve's name comes first; what is neither is an unknown curve."""
    for name in ("server.log.1", "results", "decay"):
        Path(name).write_bytes(Path("server.log").read_bytes())
    with_end = json.loads(answered(capsys, ["best-k", *PAIR, "-a", "server.log", "-f", "json"]).out)
    for name in ("server.log.1", "results", "decay"):
        said = answered(capsys, ["best-k", *PAIR, "-a", name, "-f", "json"])
        assert said.code == 0, said.err
        found = json.loads(said.out)["answer"]["choice"]
        assert found["speedup"] == with_end["answer"]["choice"]["speedup"]
    Path("folder").mkdir()
    for name in ("folder", "nowhere"):
        assert "unknown curve" in answered(capsys, ["best-k", *PAIR, "-a", name]).err


def test_a_best_k_beyond_what_was_counted_says_so(capsys):
    said = asked(capsys, "server.log", "-d", "ratio:0.01")
    assert "is extrapolated: drafts of 3 were counted." in " ".join(said.out.split())
    best = told(capsys, "server.log", "-d", "ratio:0.01")["answer"]["best"]["captures"][0]
    assert best["k"] > best["measured"] == 3
    assert (
        told(capsys, "server.log", "-d", "ratio:0.3")["answer"]["best"]["captures"][0]["measured"]
        is None
    )


def test_nothing_but_what_cannot_be_is_refused(capsys):
    Path("bench.txt").write_text("#questions: 80, Throughput: 276.30 token/s, "
                                 "Acceptance length: 5.36\n")  # fmt: skip
    said = asked(capsys, "bench.txt", "-k", "3")
    assert said.code == 2
    assert one_line(said).startswith("bench.txt: contradicts itself: ")
    assert asked(capsys, "bench.txt", "-k", "5").code == 0


def test_drafts_of_several_lengths_stay_within_80_columns(capsys):
    Path("short.log").write_text(
        "draft acceptance = 0.64479 (  167 accepted /   259 generated), mean len =  2.92\n"
    )
    lines = asked(capsys, "short.log").out.splitlines()
    assert any("solved at the mean draft length" in line for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("alpha", ["0.7", "0.95"])
def test_the_best_k_stays_within_80_columns(capsys, alpha):
    of = ("-t", "llama-3.1-8b", "-d", "eagle3", "-g", "h100", "-e", "vllm", "-b", "16")
    lines = answered(capsys, ["best-k", *of, "-a", alpha]).out.splitlines()
    assert any("loses below" in line and "at alpha" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_cut_stream_that_tells_nothing_is_named(capsys):
    Path("cut.gz").write_bytes((FIXTURES / "vllm.log.gz").read_bytes()[:100])
    assert "which end in the middle of a gzip stream" in one_line(asked(capsys, "cut.gz"))
