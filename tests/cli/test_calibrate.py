"""calibrate as it is typed: the answer, the card that every command takes, mistakes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from steptimes import BATCHES, DENSE, table, written
from typed import answered, one_line

CHAT = "unconditional:.75,.55,.42,.33,.26"
SETUP = ("-t", "llama-3.1-8b", "-d", "eagle3-llama-3.1-8b", "-g", "h100")


@pytest.fixture
def runs() -> Path:
    return written("runs.csv", table(DENSE))


@pytest.fixture
def card(capsys, runs) -> str:
    said = answered(capsys, ["calibrate", str(runs), "-o", "mine.yaml"])
    assert said.code == 0
    assert "wrote mine.yaml" in said.err
    return "./mine.yaml"


def test_the_json_maps_batches_to_draft_lengths(capsys, runs):
    words = ["calibrate", str(runs), "-a", CHAT, "-k", "0,1,3,5", "-f", "json"]
    said = answered(capsys, words)
    assert said.code == 0
    found = json.loads(said.out)
    best = found["answer"]["best_k"]
    assert list(best) == [str(batch) for batch in BATCHES]
    assert set(best.values()) <= {0, 1, 3, 5}
    marked = {str(row["batch"]): row["k"] for row in found["rows"] if row["best"]}
    assert marked == best
    assert found["basis"]["kind"] == "calibrated"
    assert found["inputs"]["runs_1"]["sha256"]


def test_people_see_constants_residuals_and_the_best_k(capsys, runs):
    said = answered(capsys, ["calibrate", str(runs), "-a", CHAT])
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for words in ("best k", "constants", "residuals", "unseen", "rank", "+-", "batch 128"):
        assert words in said.out
    assert "\n  draft " in said.out
    assert "were not measured" in said.err


def test_what_the_steps_leave_to_the_prior_is_one_line(capsys, runs):
    said = answered(capsys, ["calibrate", str(runs)])
    found = json.loads(answered(capsys, ["calibrate", str(runs), "-f", "json"]).out)["answer"]
    assert max(map(len, said.out.splitlines())) <= 80
    lines = said.out[said.out.index("constants") : said.out.index("residuals")].splitlines()
    told = [c for c in found["constants"] if c["told"] and c["error"] <= c["value"]]
    folded = [c["name"].replace("_", " ") for c in found["constants"] if c not in told]
    assert "spread" in folded
    assert len([line for line in lines if "+-" in line]) == len(told)
    (left,) = [part for part in said.out.split("\n\n") if part.startswith("? ")]
    assert all(name in " ".join(left.split()) for name in folded)


def test_milliseconds_in_the_column_of_seconds_write_no_card(capsys):
    written("runs.csv", table(DENSE), header="step_s")
    said = answered(capsys, ["calibrate", "runs.csv", "-o", "mine.yaml"])
    assert said.code == 2
    assert "its column is step_ms; --force takes it as it is" in one_line(said)
    assert not Path("mine.yaml").exists()
    assert answered(capsys, ["calibrate", "runs.csv", "-o", "mine.yaml", "--force"]).code == 0
    assert "step_ms, tpot_ms" in " ".join(answered(capsys, ["calibrate", "--help"]).out.split())


def test_a_batch_that_was_not_measured(capsys, runs):
    words = ["calibrate", str(runs), "-a", CHAT, "-b", "8,32", "-f", "json"]
    found = json.loads(answered(capsys, words).out)
    assert list(found["answer"]["best_k"]) == ["8", "32"]
    asked = {row["batch"] for row in found["rows"] if row["how"] == "between"}
    assert asked == {8, 32}


def test_beyond_the_measured_is_said(capsys, runs):
    words = ["calibrate", str(runs), "-a", "1", "-k", "8", "-b", "256", "-f", "json"]
    found = json.loads(answered(capsys, words).out)
    assert found["answer"]["best_k"] == {"256": 8}
    assert found["basis"]["extrapolated"] == ["k = 8 at batch 256 lies beyond what was measured"]


@pytest.mark.parametrize(
    "words",
    [
        "best-k -a 0.7 -b 16",
        "best-k -a 0.7 -b 1,16",
        "sweep -a 0.7 -b 1,16 -k 1,3",
        "gate -a 0.7 --k-max 5",
        "memory",
        "explain -a 0.7 -k 3",
        "best-tree --ranks .6,.1 --nodes 1:4",
        "compare -a 0.7",
    ],
)
def test_every_command_takes_the_card(capsys, card, words):
    said = answered(capsys, [*words.split(), *SETUP, "-e", card])
    assert said.code == 0, said.err
    assert "mine" in said.out


def test_best_k_of_the_card_is_that_of_the_answer(capsys, runs, card):
    words = ["calibrate", str(runs), "-a", CHAT, "-f", "json"]
    answer = json.loads(answered(capsys, words).out)["answer"]
    for batch, k in answer["best_k"].items():
        asked = [
            "best-k",
            *SETUP,
            "-e",
            card,
            "-a",
            CHAT,
            "-b",
            batch,
            "--k-max",
            "5",
            "-f",
            "json",
        ]
        found = json.loads(answered(capsys, asked).out)
        assert found["answer"]["choice"]["k"] == k
        assert found["basis"]["kind"] == "calibrated"
        band = found["basis"]["bands"]["speedup"][1]
        assert band == pytest.approx(answer["within"], rel=1e-4)


def test_the_card_is_checked_and_shown(capsys, card):
    assert answered(capsys, ["check", card]).code == 0
    said = answered(capsys, ["engines", "show", card])
    assert said.code == 0
    assert "batch 64" in said.out
    assert "context" not in said.out  # none was stated
    rows = json.loads(answered(capsys, ["engines", "show", card, "-f", "json"]).out)["rows"]
    assert {"width 6", "draft", "round"} <= {row["constant"] for row in rows}


def test_a_card_over_cards_follows_the_engine_named(capsys, runs):
    words = ["calibrate", str(runs), *SETUP, "-e", "vllm", "-c", "2k", "-o", "ours.yaml"]
    assert answered(capsys, words).code == 0
    text = Path("ours.yaml").read_text(encoding="utf-8")
    assert "follows: vllm" in text
    assert "\npasses:\n" in text
    assert "steps:" not in text
    assert answered(capsys, ["check", "ours.yaml"]).code == 0
    assert answered(capsys, ["engines", "show", "./ours.yaml"]).code == 0
    said = answered(capsys, ["explain", *SETUP, "-e", "./ours.yaml", "-a", "0.7", "-k", "3"])
    assert said.code == 0
    other = ["best-k", "-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100", "-a", "0.7"]
    said = answered(capsys, [*other, "-e", "./ours.yaml"])
    assert "was calibrated with target llama-3.1-8b: taken to hold for llama-3-8b" in said.err


@pytest.mark.parametrize("setup", [SETUP, ()])
def test_a_card_keeps_the_release_that_it_was_measured_on(capsys, runs, setup):
    """Over cards and without: emit then speaks to that release unless another is named."""
    words = ["calibrate", str(runs), *setup, "-e", "sglang@0.5.23", "-o", "mine.yaml"]
    assert answered(capsys, words).code == 0
    assert 'version: "0.5.23"' in Path("mine.yaml").read_text("utf-8")

    def asked(engine):
        return answered(capsys, ["emit", *SETUP, "-a", "0.7", "-k", "3", "-e", engine])

    bare = asked("./mine.yaml")
    assert bare.code == 0, bare.err
    assert bare.out == asked("sglang@0.5.23").out
    older = asked("./mine.yaml@0.5.2")
    assert older.code == 0
    shown = answered(capsys, ["engines", "show", "./mine.yaml"]).out
    assert "version 0.5.23" in shown
    if not setup:  # the release alone does not say what was measured
        words = ["best-k", *SETUP, "-a", "0.7", "-e", "./mine.yaml"]
        assert "does not say what its steps were measured with" in answered(capsys, words).err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            (*SETUP, "-a", CHAT),
            "-t llama-3.1-8b -d eagle3-llama-3.1-8b -g h100 -a unconditional:.75,.55,.42,.33,.26",
        ),
        (("-a", "0.7"), "-t MODEL -d DRAFT -g GPU -a 0.7"),
        ((), "-t MODEL -d DRAFT -g GPU -a ACCEPTANCE"),
        (
            (*SETUP, "--tp", "1", "-e", "vllm"),
            "-t llama-3.1-8b -d eagle3-llama-3.1-8b -g h100 --tp 1 -a ACCEPTANCE",
        ),
    ],
)
def test_what_to_do_next_is_a_whole_command(capsys, runs, given, words):
    said = answered(capsys, ["calibrate", str(runs), *given, "-o", "mine.yaml"])
    then = f"specplan best-k {words} -e ./mine.yaml"
    assert f"specplan: next: {then}\n" in said.err
    if "ACCEPTANCE" not in words and "MODEL" not in words:
        assert answered(capsys, shlex.split(then)[1:]).code == 0


def test_a_measured_verify_width_curve_takes_the_models_place(capsys):
    lines = [f"{b},{w},{10 + 0.4 * b * w!r}" for b in (1, 8, 32) for w in (1, 2, 4, 8)]
    Path("verify.csv").write_text("batch,width,step_ms\n" + "\n".join(lines) + "\n")
    words = ["calibrate", "verify.csv", "-e", "vllm", "-o", "curve.yaml"]
    assert answered(capsys, words).code == 0
    text = Path("curve.yaml").read_text(encoding="utf-8")
    assert "draft:" not in text
    asked = ["sweep", "-t", "llama-3.1-8b", "-d", "ratio:0.1", "-g", "h100", "-a", "0.7"]
    said = answered(capsys, [*asked, "-e", "./curve.yaml", "-b", "8", "-k", "3", "-f", "json"])
    (row,) = json.loads(said.out)["rows"]
    assert row["plain_step_s"] == pytest.approx(0.0132)
    assert row["verify_s"] == pytest.approx(0.0228)
    assert row["draft_s"] == pytest.approx(3 * 0.1 * 0.0132)


def test_longer_contexts_take_longer(capsys):
    lines = [
        f"{b},{k},2048,{5 + b * (k + 1) * 0.05 + (k > 0) + k!r}" for b in (1, 8) for k in (0, 2)
    ]
    Path("runs.csv").write_text("batch,k,context,step_ms\n" + "\n".join(lines) + "\n")
    assert answered(capsys, ["calibrate", "runs.csv", "-o", "mine.yaml"]).code == 0
    asked = [
        "sweep",
        *SETUP,
        "-e",
        "./mine.yaml",
        "-a",
        "0.7",
        "-b",
        "8",
        "-k",
        "2",
        "-c",
        "2k,32k",
    ]
    near, far = json.loads(answered(capsys, [*asked, "-f", "json"]).out)["rows"]
    longer_s = far["plain_step_s"] - near["plain_step_s"]
    assert longer_s == pytest.approx(8 * 30 * 1024 * 131072 / 3.35e12, rel=1e-6)
    assert far["verify_s"] - near["verify_s"] == pytest.approx(longer_s)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("calibrate", "missing argument 'RUNS'"),
        ("calibrate nowhere.csv", "nowhere.csv: "),
        ("calibrate runs.csv -k 3", "--k: a best k needs an acceptance; add -a"),
        ("calibrate runs.csv -d eagle3", "--draft: no target to lay it over; add -t and -g"),
        ("calibrate runs.csv -t llama-3.1-8b -d free", "--hardware: on which accelerator?"),
        ("calibrate runs.csv -t llama-3.1-8b,llama-3-8b -d free -g h100", "2 setups for one set"),
        (
            "calibrate runs.csv -a 0.6,0.7",
            "acceptance; expected one; rates by position: unconditional:",
        ),
        ("calibrate runs.csv --isl 100", "--isl and --osl go together"),
        ("calibrate runs.csv -e vllm,sglang", "--engine: several engines"),
        ("calibrate runs.csv -o runs.csv", "runs.csv is an input of this answer"),
        ("calibrate runs.csv -o NOT-A-NAME.yaml", "--output: 'NOT-A-NAME' is no name of a card"),
        ("calibrate runs.csv --name UP", "--name: 'UP' is no name of a card"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_mistakes(capsys, words, message):
    said = answered(capsys, words.split())
    assert said.code == 2
    assert message in one_line(said)


@pytest.mark.usefixtures("card")
def test_a_card_is_not_replaced_unasked(capsys, runs):
    words = ["calibrate", str(runs), "-o", "mine.yaml"]
    assert "--force replaces it" in one_line(answered(capsys, words))
    assert answered(capsys, [*words, "--force"]).code == 0
    assert answered(capsys, [*words[:-1], "other.csv"]).code == 0
    assert Path("other.csv").read_text().startswith("batch,context,k,width,measured_s")
