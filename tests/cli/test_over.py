"""gate --over as typed: the forms of a batch histogram, and one line for each file that is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import answered, one_line

import specplan
from specplan.cli.over import over_of, read_over
from specplan.errors import InputError

GATE = ("gate", "-t", "llama-3-8b", "-d", "llama-3.2-1b", "-g", "h100", "-a", "0.8")


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(text: str | bytes, name: str = "batches.csv", recorded=None):
    path = Path(name)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_over(path, recorded)


@pytest.mark.parametrize(
    ("text", "batch", "weight", "of"),
    [
        ("batch,share\n1,0.25\n64,0.75\n", (1, 64), (0.25, 0.75), "time"),
        ("share , Batch\r\n0.75,64\r\n\r\n0.25,1\r\n", (1, 64), (0.25, 0.75), "time"),
        ("batch,count\n8,5\n0,2\n", (0, 8), (2, 5), "rounds"),
        ("note,batch,time_s\n,8,1.5e3\n", (8,), (1500,), "time"),
        ("batch,share_of_rounds,share_of_time\n8,1,0.5\n9,0,0.5\n", (8, 9), (0.5, 0.5), "time"),
        ("batch,share_of_tokens\n8,1\n", (8,), (1,), "tokens"),
        ("batch,share\n1,0.334\n2,0.333\n3,0.334\n", (1, 2, 3), (0.334, 0.333, 0.334), "time"),
        ('{"64": 0.75, "1": 0.25}', (1, 64), (0.25, 0.75), "time"),
        ('{"64": 75, "1": 25}', (1, 64), (25, 75), "rounds"),
        ('{"64": 1}', (64,), (1,), "time"),
        (
            '{"answer": {"batch_histogram": [{"batch": 2, "share_of_time": 1, '
            '"share_of_rounds": 1}]}}',
            (2,),
            (1,),
            "time",
        ),
        ('{"batch_histogram": [{"batch": 2, "count": 12}]}', (2,), (12,), "rounds"),
    ],
)
def test_forms(text, batch, weight, of):
    found = read(text)
    assert (found.batch, found.weight, found.of) == (batch, weight, of)
    assert (found.recorded, found.source) == (0, "batches.csv")
    assert len(found.sha256) == 64


def test_an_answer_of_simulate_says_how_it_ran():
    rows = {"batch": [{"batch": 2, "time_share": 1, "round_share": 1}]}
    for policy, recorded in (("none", 0), ("k=3", 3), ("gated", "gate")):
        text = json.dumps({"schema": "specplan.simulate/1", "answer": rows | {"policy": policy}})
        assert read(text).recorded == recorded
        assert read(text, recorded=2).recorded == 2


def test_a_simulation_is_a_histogram(capsys):
    words = ["-t", "llama-3.1-8b", "-d", "eagle3", "-g", "l4", "-e", "vllm", "-a", "0.7", "-k", "3"]
    coming = ["--rate", "1/s", "--isl", "500", "--osl", "100", "--requests", "60"]
    said = answered(capsys, ["simulate", *words, *coming, "-f", "json"])
    assert said.code == 0, said.err
    Path("run.json").write_text(said.out, "utf-8")
    found = read_over(Path("run.json"))
    assert (found.recorded, found.of) == (3, "time")
    told = answered(capsys, ["gate", *words, "-c", "550", "--over", "run.json"])
    assert told.code == 0
    assert "shares of the time of a server with k=3" in told.out


HOSTILE = {
    "": "batches.csv: is empty; expected batch and share (of time), or batch and count (of rounds)",
    "batch,share\n": "batches.csv:1:1: no batch has a weight above 0; expected batch and share",
    "batch,share\n1,-0.2\n": "batches.csv:2:3: weight -0.2; expected 0 to 1e18",
    "batch,share\n1,nan\n": "batches.csv:2:3: share: 'nan' is",
    "batch,share\n1,inf\n": "batches.csv:2:3: share: 'inf' is",
    "batch,share\n1,\n": "batches.csv:2:3: share is blank; expected a number",
    "batch,share\n1,20 %\n": "batches.csv:2:3: share: '20 %' is",
    "batch,share\n1,0.5\n1,0.5\n": "batches.csv:3:1: batch 1 stands twice; first on line 2; add",
    "batch,share\n1.5,1\n": "batches.csv:2:1: batch 1.5 is no number of sequences; expected a",
    "batch,share\n1e12,1\n": "batches.csv:2:1: batch 1e+12 is no number of sequences",
    "batch,share\n1,0.5\n": "batches.csv:1:1: the shares add up to 0.5; expected 1; counts",
    "batch,share\n1,50\n2,50\n": "batches.csv:1:1: the shares add up to 100; expected 1; 20 %",
    "batch,count\n1,0\n": "batches.csv:1:1: no batch has a weight above 0",
    "batch,count\n1,1e308\n2,1e308\n": "batches.csv:2:3: weight 1e+308; expected 0 to 1e18",
    "b,share\n1,1\n": "batches.csv:1:1: no column 'batch'; expected batch and share (of time)",
    "batch,weight\n1,1\n": "batches.csv:1:1: no column 'share'; expected batch and share (of time)",
    "batch,share,share\n1,1,1\n": "batches.csv:1:1: column 'share' twice; keep one",
    "batch,share\n1\n": "batches.csv:2:1: 1 cells under 2 columns; expected a cell for each column",
    "batch,share\n1,\x1b[31m\n": "batches.csv:2:3: invisible character \\x1b; remove it",
    "1,0.5\n2,0.5\n": "batches.csv:1:1: no column 'batch'",
    "{}": "batches.csv: no batch has a weight above 0; expected batch and share",
    "[1, 2]": "batches.csv:1:1: a list at the top; expected a JSON object",
    '{"a": 1}': "batches.csv: 'a' is no batch; expected such as",
    '{"1": NaN}': "batches.csv: '1' is NaN; expected a number",
    '{"1": -1}': "batches.csv: weight -1; expected 0 to 1e18",
    '{"1": 1e999}': "batches.csv: '1' is 1e999; expected a number",
    '{"1": "x"}': "batches.csv: '1' is x; expected a number",
    '{"1": true}': "batches.csv: '1' is True; expected a number",
    '{"1": 0.5}': "batches.csv: the shares add up to 0.5; expected 1",
    '{"1": 0.5, "1.0": 0.5}': "batches.csv: batch 1 stands twice; add up",
    '{"1": 0.5, "1": 0.5}': "batches.csv:1:12: duplicate key '1'",
    '{"1": 1': "batches.csv:1:8: not JSON: expecting ',' delimiter",
    '{"schema": "specplan.gate/1", "answer": {}}': (
        "batches.csv: specplan.gate/1 holds no batches; expected an answer of specplan simulate"
    ),
    '{"batch_histogram": 3}': "batches.csv: an answer holds no batches",
    '{"batch_histogram": [3]}': "batches.csv: the batches are no list of rows; expected ",
    '{"batch_histogram": []}': "batches.csv: the batches are no list of rows; expected ",
    '{"batch_histogram": [{"batch": 1}]}': "batches.csv: no column 'share'",
    '{"batch_histogram": [{"batch": [1], "share": 1}]}': (
        "batches.csv: batch 0 is [1]; expected a number"
    ),
    '{"batch_histogram": [{"batch": 1, "share": null}]}': (
        "batches.csv: share of batch 0 is None; expected a number"
    ),
}


@pytest.mark.parametrize(("text", "line"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_a_file_that_is_none_is_one_line(text, line):
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_whole_numbers_beyond_a_float_are_refused():
    with pytest.raises(InputError, match="a number"):
        read('{"1": 1' + "0" * 400 + "}")


def test_files_of_any_size_are_one_line(tmp_path):
    with pytest.raises(InputError, match=r"batches\.csv: too large; expected at most 8,000,000"):
        read(b"batch,share\n" + b"1,0.1\n" * 2_000_000)
    with pytest.raises(InputError, match=r"batches\.csv:50001:1: too many lines; expected at most"):
        read("batch,count\n" + "".join(f"{n},1\n" for n in range(60_000)))
    with pytest.raises(InputError, match="no such file"):
        read_over(tmp_path / "absent.csv")


def test_typed(capsys):
    Path("batches.csv").write_text("batch,share\n1,0.2\n16,0.3\n64,0.4\n500,0.1\n", "utf-8")
    said = answered(capsys, [*GATE, "-k", "8", "--over", "batches.csv"])
    assert said.code == 0
    title = said.out.splitlines()[0]
    assert title.startswith("k = 8 everywhere loses ")
    assert title.endswith(" % against gating; best single k is 4")
    assert max(map(len, said.out.splitlines())) <= 80
    assert "10.0 % of the histogram is beyond batch 174, the largest that fits" in said.err

    document = json.loads(answered(capsys, [*GATE, "--over", "batches.csv", "-f", "json"]).out)
    assert document["schema"] == "specplan.gate/1"
    assert document["answer"]["beyond"] == pytest.approx(0.1)
    assert document["inputs"]["over"]["sha256"]
    assert len(document["rows"]) == 17
    python = specplan.gate(
        specplan.scenario(
            target="llama-3-8b", draft="llama-3.2-1b", hardware="h100", acceptance=0.8
        ),
        over={1: 0.2, 16: 0.3, 64: 0.4, 500: 0.1},
    )
    assert [row["loss"] for row in python.table.records()] == [
        row["loss"] for row in document["rows"]
    ]


def test_a_plan_s_k_is_the_one_asked_about(capsys):
    Path("plan.yaml").write_text(
        "schema: plan/1\ntarget: llama-3-8b\ndraft: llama-3.2-1b\nhardware: h100\nk: 6\n"
        "workload: {batch: [1, 64], context: 2k, alpha: 0.8}\n",
        "utf-8",
    )
    Path("batches.csv").write_text("batch,share\n1,1\n", "utf-8")
    said = answered(capsys, ["gate", "plan.yaml", "--over", "batches.csv"])
    assert said.out.startswith("k = 6 everywhere loses ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--recorded", "3"], "--recorded: is about a histogram of batches; give --over FILE"),
        (
            ["--gate-tax", "0.1"],
            "--gate-tax: is about a histogram of batches; give --over FILE, or",
        ),
        (["--hysteresis", "0"], "--hysteresis: is about a histogram of batches; give --over FILE,"),
        (
            ["--over", "batches.csv", "--recorded", "gated"],
            "--recorded: 'gated' is no k; expected such as 0 or 3, or gate",
        ),
        (
            ["--over", "batches.csv", "--recorded", "33"],
            "--recorded: k = 33 is none of the candidates; expected one of 0, 1, 2, 3,",
        ),
        (["--over", "absent.csv"], "absent.csv: no such file"),
        (["--slo", "ttft_p99=2s"], "--slo: gate keeps no promises; specplan capacity does"),
        (["--window", "0:60"], "--window: is of traffic; give --rate 5/s or --trace FILE"),
        (
            ["--over", "batches.csv", "--rate", "5/s"],
            "--rate: the batches of --over are those of their own traffic; give one of them",
        ),
        (
            ["--rate", "5/s", "--isl", "500", "--osl", "100"],
            "--engine: roofline is a bound: real batches are larger; expected an engine with",
        ),
        (["--rate", "5/s", "--isl", "500"], "--osl: how long are the outputs?; expected tokens"),
        (
            ["--rate", "500/s", "--isl", "500", "--osl", "100", "-e", "vllm", "-k", "2"],
            "--rate: 500 requests a second are more than one server finishes; give it its share",
        ),
    ],
)
def test_mistakes_are_one_line(capsys, words, line):
    Path("batches.csv").write_text("batch,share\n1,1\n", "utf-8")
    said = answered(capsys, [*GATE, *words])
    assert said.code == 2
    assert one_line(said).startswith(line)


def test_python_takes_what_a_file_holds():
    assert over_of({1: 0.2, 64: 0.8}).of == "time"
    assert over_of({1: 20, 64: 80}).of == "rounds"
    with pytest.raises(InputError, match=r"over: the shares add up to 0\.7; expected 1"):
        over_of({1: 0.2, 64: 0.5})
    with pytest.raises(InputError, match="over: '64' is nan; expected a number"):
        over_of({1: 0.2, 64: float("nan")})


def test_traffic_comes_to_batches_of_its_own(capsys):
    words = [
        "gate",
        "-t",
        "llama-3.1-8b",
        "-d",
        "eagle3",
        "-g",
        "l4",
        "-e",
        "vllm",
        "-a",
        "0.7",
        "-k",
        "1",
        "--osl",
        "100",
    ]
    said = answered(capsys, [*words, "--rate", "1/s", "--isl", "500", "-f", "json"])
    assert said.code == 0, said.err
    document = json.loads(said.out)
    answer, inputs = document["answer"], document["inputs"]
    assert (inputs["rate"]["value"], inputs["isl"]["value"]) == (1.0, "500")
    assert (answer["recorded"], answer["weighed_by"]) == ("gate", "time")
    assert 0 < answer["idle"] < 1
    assert answer["idle"] + answer["counted"] + answer["beyond"] == pytest.approx(1)
    assert answer["loss"] > 0
    # Little's law: as many decode as come in a second times the seconds that each takes.
    tokens_per_s = answer["gated_speedup"] * answer["plain_tokens_per_s"]
    busy = 1 - answer["idle"]
    assert tokens_per_s * busy == pytest.approx(100, rel=0.1)


def test_lengths_alone_say_the_context(capsys):
    said = answered(capsys, [*GATE, "--isl", "1000", "--osl", "200"])
    assert said.code == 0
    assert "context 1,100, acceptance 0.8" in said.out


def test_batches_of_another_server_are_said_to_be(capsys):
    rows = [{"batch": 2, "time_share": 1, "round_share": 1}]
    ran = {"target": "llama-3.3-70b", "hardware": "h100-sxm", "acceptance": "0.8"}
    inputs = {name: {"value": value, "from": "flag"} for name, value in ran.items()}
    text = json.dumps({"inputs": inputs, "answer": {"batch": rows, "policy": "none"}})
    Path("run.json").write_text(text, encoding="utf-8")
    said = answered(capsys, [*GATE, "--over", "run.json"])
    assert said.code == 0
    told = [line for line in said.err.splitlines() if "another server" in line]
    wanted = "these batches are of another server: target llama-3.3-70b, not llama-3-8b"
    assert told == [f"specplan: {wanted}"]
