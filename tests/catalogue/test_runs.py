"""Step times from CSV: columns by name and in any order, each mistake at its cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from specplan.catalogue.runs import read_runs
from specplan.errors import InputError


def read(tmp_path: Path, text: str, name: str = "runs.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_runs([path])


def test_columns_stand_in_any_order_and_blank_cells_say_nothing(tmp_path):
    runs = read(tmp_path, "tau,k,step_ms,context,batch,note\n,0,6.5,2048,8,plain\n2.5,3,8,,8,\n")
    plain, drafted = runs.rows
    assert (plain.batch, plain.k, plain.width, plain.context, plain.tau) == (8, 0, 1, 2048, None)
    assert plain.value == pytest.approx(0.0065)
    assert (drafted.k, drafted.width, drafted.context, drafted.tau) == (3, 4, None, 2.5)
    assert str(drafted.where).endswith("runs.csv:3:7")


@pytest.mark.parametrize(
    ("column", "cell", "what", "value"),
    [
        ("step_s", "0.01", "step", 0.01),
        ("step_ms", "10", "step", 0.01),
        ("step_us", "10000", "step", 0.01),
        ("tpot_ms", "10", "tpot", 0.01),
        ("tpot_s", ".01", "tpot", 0.01),
        ("tokens_per_s", "800", "tokens_per_s", 800),
    ],
)
def test_the_unit_stands_in_the_columns_name(tmp_path, column, cell, what, value):
    (run,) = read(tmp_path, f"batch,k,{column}\n8,0,{cell}\n").rows
    assert run.what == what
    assert run.value == pytest.approx(value)


def test_names_are_read_in_any_case_and_others_stay_unread(tmp_path):
    runs = read(tmp_path, "GPU,Batch, K ,Step_MS,alpha\nh100,8,3,6.5,0.7\n")
    assert (runs.rows[0].batch, runs.rows[0].k) == (8, 3)
    assert runs.rows[0].value == pytest.approx(0.0065)
    assert runs.unread == ("GPU", "alpha")


def test_passes_of_the_target_alone(tmp_path):
    first, second = read(tmp_path, "batch,width,step_ms\n8,1,6\n8,4,7\n").rows
    assert (first.k, first.width, second.k, second.width) == (0, 1, 0, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch,k,step\n1,0,1\n", "1:9: unknown column 'step'; did you mean 'step_s'?"),
        ("batch,k,itl_ms\n1,0,1\n", "1:9: unknown column 'itl_ms'; did you mean 'step_ms'?"),
        ("batch size,k,step_s\n", "1:1: unknown column 'batch size'; did you mean 'batch'?"),
        ("batch,gamma,step_s\n", "1:7: unknown column 'gamma'; did you mean 'k'?"),
        ("1,0,.01\n1,1,.02\n", "1:1: numbers where the names of columns should be; expected batch"),
        ("batch,k,K,step_s\n", "1:9: column 'k' twice; keep one"),
        ("batch,k,k,step_s\n", "1:9: column 'k' twice; keep one"),
        ("batch,k\n1,0\n", "1:1: no column of times; expected one of step_s, tpot_s, tokens_per_s"),
        (
            "batch,k,step_s,tpot_s\n1,0,1,1\n",
            "1:1: step_s and tpot_s in one file; expected one of step_s, tpot_s, tokens_per_s",
        ),
        ("k,step_s\n0,1\n", "1:1: missing column 'batch'; expected batch, k (0 is plain) and one"),
        ("batch,step_s\n1,1\n", "1:1: missing column 'k'; expected batch, k (0 is plain) and one"),
        ("batch;k;step_s\n", "1:1: semicolons between cells; separate them by commas"),
        ("batch,k,step_s\n1,0\n", "2:1: 2 cells under 3 columns; expected a cell for each column"),
        ("batch,k,step_s\n1,0,abc\n", "2:5: step_s: 'abc' is not a number"),
        ("batch,k,step_s\n1,0,5ms\n", "2:5: step_s: '5ms' is not a number"),
        ("batch,k,step_s\n0,0,1\n", "2:1: batch 0 is out of range; expected 1 to 1e+06"),
        ("batch,k,step_s\n1,1.5,1\n", "2:3: k 1.5 is a fraction; expected a whole number"),
        ("batch,k,step_s\n1,65,1\n", "2:3: k 65 is out of range; expected 0 to 64"),
        ("batch,k,step_s\n1,,1\n", "2:3: k is blank; 0 is a plain step"),
        ("batch,k,step_s\n1,0,\n", "2:5: step_s is blank; expected what was measured"),
        ("batch,k,step_s\n1,0,-1\n", "2:5: step_s -1 is implausible"),
        ("batch,k,step_s\n1,0,6e4\n", "2:5: step_s 6e4 is implausible"),
        ("batch,k,width,step_s\n1,3,2,1\n", "2:5: width 2 of k = 3; expected at least 4"),
        ("batch,k,tau,step_s\n1,1,2.5,1\n", "2:5: tau 2.5 after 1 drafts; expected at most 2"),
        ("batch,k,step_s\n", "no step times; expected rows of batch, k (0 is plain) and one of"),
        ("", "1:1: no column of times"),
    ],
)
def test_a_mistake_is_told_at_its_cell(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    said = str(error.value).removeprefix(f"{tmp_path / 'runs.csv'}:").strip()
    assert said.startswith(message)


HEAD = "kind,source,engine,gpu,gpus,target,draft,batch,context,k,tokens,tau,value,unit,note"


def test_rows_of_measurements(tmp_path):
    text = (
        f"{HEAD}\n"
        "step,us,vllm,h100-sxm,1,llama-3.1-8b,,8,2048,,,,7,ms,\n"
        "round,us,vllm,h100-sxm,1,llama-3.1-8b,eagle3,8,2048,3,4,2.5,1.6,1,\n"
        "round,us,vllm,h100-sxm,1,llama-3.1-8b,eagle3,8,2048,5,6,2.9,9,1,doubt:speedup > tau\n"
    )
    runs = read(tmp_path, text)
    step, drafted = runs.rows
    assert (step.what, step.value, step.k) == ("step", 0.007, 0)
    assert (drafted.what, drafted.value, drafted.k, drafted.tau) == ("speedup", 1.6, 3, 2.5)
    assert (runs.engine, runs.ran.target, runs.ran.draft) == ("vllm", "llama-3.1-8b", "eagle3")
    assert (runs.skipped, runs.doubtful) == (0, 1)


def test_rows_of_two_setups_are_refused(tmp_path):
    text = (
        f"{HEAD}\n"
        "step,us,vllm,h100-sxm,1,llama-3.1-8b,,8,2048,,,,7,ms,\n"
        "step,us,vllm,h200-sxm,1,llama-3.1-8b,,8,2048,,,,6,ms,\n"
    )
    with pytest.raises(InputError, match="3:14: gpu h200-sxm beside h100-sxm"):
        read(tmp_path, text)
