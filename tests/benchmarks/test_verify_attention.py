"""The GPU benchmark without a GPU: what it says, what it would measure, and that its rows read."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from specplan.catalogue.ledger import read_rows
from specplan.domain.measurement import COLUMNS
from specplan.questions.timed import on_gpu_alone

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "verify_attention.py"
NO_TORCH = importlib.util.find_spec("torch") is None
FIXED = {"source": "a test", "unit": "s", "engine": "vllm", "gpu": "h100-sxm", "assumed": "engine"}
LARGEST_L2 = 126 * 2**20  # B200's


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_attention", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "verify_attention", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def quick(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in which every kernel takes 12.5 us."""
    monkeypatch.setattr(script, "seconds", lambda *_: 12.5e-6)
    return script


def bench(script: ModuleType, *, numbers: int = 1 << 40) -> object:
    return script.Bench(None, "cuda", "torch 2.14.1; a GPU", range(numbers))


def asked(**words: object) -> argparse.Namespace:
    usual = {"gpu": "h100-sxm", "engine": "vllm", "output": None, "cpu": False}
    return argparse.Namespace(**(usual | words))


def torch_like(version: str = "2.14.1+cu130", *, gpu: bool = True) -> SimpleNamespace:
    cuda = SimpleNamespace(is_available=lambda: gpu)
    return SimpleNamespace(__version__=version, cuda=cuda, inference_mode=nullcontext)


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )


def test_help_needs_no_torch():
    said = typed("--help")
    assert said.returncode == 0
    assert "--cpu" in said.stdout


def test_the_plan_needs_no_torch():
    said = typed("--plan")
    assert (said.returncode, said.stderr) == (0, "")
    assert " figures, " in said.stdout
    assert " s on an H100" in said.stdout


@pytest.mark.skipif(not NO_TORCH, reason="torch is installed")
def test_without_torch_it_says_what_to_install():
    said = typed("--cpu")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("this benchmark needs torch: pip install torch")
    assert said.stderr.count("\n") == 1


def test_a_torch_that_does_not_load_is_said_in_a_line(script, monkeypatch):
    def broken(_: str) -> None:
        raise ImportError("libcudnn.so.9: cannot open shared object file\nmore")

    monkeypatch.setattr(script.importlib.util, "find_spec", lambda _: "there")
    monkeypatch.setattr(script.importlib, "import_module", broken)
    why = "torch does not load: libcudnn.so.9: cannot open shared object file"
    assert script.torch_or_why() == why


@pytest.mark.parametrize(
    ("torch", "words", "why"),
    [
        (torch_like(gpu=False), {}, "sees no GPU"),
        (torch_like(), {"gpu": None}, "which GPU"),
        (torch_like("2.4.1"), {}, "too old"),
        (torch_like(), {"gpu": "H100"}, "lower case"),
        (torch_like(), {"gpu": ""}, "which GPU"),
        (torch_like(), {"output": SCRIPT / "no" / "rows.csv"}, "no such folder"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_measured(script, torch, words, why):
    assert why in script.refusal(torch, asked(**words))


def test_nothing_is_missing(script, tmp_path):
    assert script.refusal(torch_like(), asked(output=tmp_path / "rows.csv")) == ""
    assert script.refusal(torch_like(gpu=False), asked(cpu=True, gpu=None)) == ""


def test_its_header_is_that_of_measurements(script):
    assert script.COLUMNS == COLUMNS


@pytest.mark.parametrize(("cpu", "count"), [(True, 5), (False, 6 + 60 + 2 * 144)])
def test_its_rows_are_measurements(quick, tmp_path, cpu, count):
    backends = ("torch sdpa", "flashinfer")
    found = quick.measured(bench(quick), quick.cases(backends, cpu=cpu), float("inf"))
    file = tmp_path / "verify.csv"
    quick.save(quick.table(found, FIXED, "torch 2.14.1; a GPU"), file)
    rows = list(read_rows(file))
    assert len(rows) == count
    assert {(row.kind, row.value) for row in rows} == {
        (kind, 12.5e-6) for kind in ("attention", "gemm", "step")
    }
    assert all(row.note.endswith("torch 2.14.1; a GPU") for row in rows)
    assert {on_gpu_alone(row) for row in rows if row.kind == "step"} == {True}


def test_it_measures_the_widths_of_verification(script):
    columns = [case.columns for case in script.cases(["torch sdpa"], cpu=False)]
    shapes = [one for one in columns if one["kind"] == "attention"]
    assert {one["tokens"] for one in shapes} >= {1, 2, 5, 8, 16}
    assert {one["batch"] for one in shapes} == {1, 4, 16, 64}
    assert {one["context"] for one in shapes} == {1024, 4096, 16_384, 32_768}
    rows = {one["rows"] for one in columns if one["kind"] == "gemm"}
    assert (min(rows), max(rows)) == (1, 512)


def test_calls_together_read_more_than_any_l2_holds_and_fit_a_gpu(script):
    for case in script.cases(["torch sdpa"], cpu=False):
        assert 4 * LARGEST_L2 <= case.calls * case.read_bytes < max(2e9, case.read_bytes + 1)
        assert case.calls * case.read_bytes <= 20e9
    widest = script.attention("torch sdpa", script.Shape(64, 16, 32_768))
    assert (widest.calls, widest.read_bytes) == (1, 2 * 2 * 64 * 32_768 * 8 * 128)


def test_the_draft_is_as_large_as_its_card_says(script):
    head, *layers = script.Small().shapes(batch=1, context=1)
    weights = [head, *(shape for shape in layers if len(shape) == 2)]
    norms = 2048 * 33  # not read here: two of each layer and the last
    assert sum(n * inner for n, inner in weights) + norms == 1_235_814_400
    assert 2 * sum(64 for shape in layers if len(shape) == 4) * 8 == 32_768  # KV bytes per token


def test_a_figure_is_a_calls_share_of_a_median_replay(script):
    """Five calls, captured once after a warm-up; replays of 10 ms that start slow."""
    ran, replays = [], []

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.place = len(replays)

        def elapsed_time(self, end: Event) -> float:
            assert end.place == self.place + 1
            return 10.0 if self.place >= script.WARM else 500.0

    class Stream:
        def wait_stream(self, other: Stream) -> None:
            pass

    cuda = SimpleNamespace(
        Event=Event,
        Stream=Stream,
        current_stream=Stream,
        stream=lambda _: nullcontext(),
        graph=lambda _, stream: nullcontext(stream),
        CUDAGraph=lambda: SimpleNamespace(replay=lambda: replays.append(1)),
        synchronize=lambda: None,
    )
    case = script.Case({}, "", 1e9 / 5, lambda _, n: [lambda i=i: ran.append(i) for i in range(n)])
    on_gpu = script.Bench(SimpleNamespace(cuda=cuda), "cuda", "a GPU", None)
    assert script.seconds(on_gpu, case) == pytest.approx(2e-3)
    assert ran == [0, 1, 2, 3, 4] * 2
    assert len(replays) == script.WARM + script.REPEATS


def test_what_does_not_fit_is_said_once_and_the_rest_measured(quick, capsys):
    wanted = quick.cases(["torch sdpa"], cpu=False)
    small = bench(quick, numbers=1_000_000_000)
    found = [case for case, _ in quick.measured(small, wanted, float("inf"))]
    assert 0 < len(found) < len(wanted)
    assert max(case.calls * case.read_bytes for case in found) <= 2e9
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all("larger than the memory at hand" in line for line in said)


def test_nothing_is_measured_once_the_time_is_spent(quick, capsys):
    wanted = quick.cases(["torch sdpa"], cpu=False)
    assert list(quick.measured(bench(quick), wanted, 0.0)) == []
    assert "210 of 210 figures are missing" in capsys.readouterr().err


def test_a_backend_that_fails_is_left_out(script, monkeypatch, capsys):
    def refused(_: object, case: object) -> float:
        if case.note.startswith("flash_attn"):
            raise ImportError("undefined symbol")
        return 1e-6

    monkeypatch.setattr(script, "seconds", refused)
    monkeypatch.setattr(script, "installed", lambda: ["torch sdpa", "flash_attn"])
    assert script.running(bench(script)) == ["torch sdpa"]
    assert capsys.readouterr().err == "flash_attn does not run: undefined symbol\n"


def test_an_interrupted_run_leaves_what_was_there(script, monkeypatch, tmp_path):
    file = tmp_path / "verify.csv"
    file.write_text("older rows", encoding="utf-8")
    times = iter([1e-6, 1e-6])

    def stopped(*_: object) -> float:
        for time_s in times:
            return time_s
        raise KeyboardInterrupt

    monkeypatch.setattr(script, "torch_or_why", torch_like)
    monkeypatch.setattr(script, "bench_on", lambda *_, **__: bench(script))
    monkeypatch.setattr(script, "running", lambda _: ["torch sdpa"])
    monkeypatch.setattr(script, "seconds", stopped)
    monkeypatch.setattr(sys, "argv", ["verify_attention.py", "-g", "h100-sxm", "-o", str(file)])
    with pytest.raises(KeyboardInterrupt):
        script.main()
    assert [(one.name, one.read_text("utf-8")) for one in tmp_path.iterdir()] == [
        ("verify.csv", "older rows")
    ]


def test_attention_of_torch_is_causal_from_the_end_of_the_cache(script):
    torch = pytest.importorskip("torch")
    heads, kv_heads, width = script.LLAMA
    pool = torch.randn(1 << 18, dtype=torch.bfloat16)
    on_cpu = script.Bench(torch, "cpu", "a CPU", pool)
    calls = script.sdpa(script.Shape(1, 3, 40), on_cpu, 2)
    assert len({call.args[1].data_ptr() for call in calls}) == 2
    for call in calls:
        q, k, v = (tensor.float() for tensor in call.args)
        k, v = (tensor.repeat_interleave(heads // kv_heads, 1) for tensor in (k, v))
        scores = q @ k.transpose(-1, -2) / width**0.5
        for row in range(3):
            scores[:, :, row, 40 - 3 + row + 1 :] = -torch.inf
        expected = torch.softmax(scores, -1) @ v
        assert torch.allclose(call().float(), expected, atol=0.02)
