"""The GPU benchmark without a GPU: what it says, what it would measure, and that its rows read."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from specplan.catalogue.ledger import read_rows
from specplan.domain.measurement import COLUMNS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "verify_attention.py"
NO_TORCH = importlib.util.find_spec("torch") is None


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in which every kernel takes 12.5 us."""
    spec = importlib.util.spec_from_file_location("verify_attention", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "verify_attention", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "seconds", lambda *_: 12.5e-6)
    return module


def bench(script: ModuleType, *, device: str = "cpu", deadline: float = float("inf")) -> object:
    functional = SimpleNamespace(scaled_dot_product_attention=None)
    torch = SimpleNamespace(
        bfloat16=None,
        nn=SimpleNamespace(functional=functional),
        randn=lambda *shape, **_: SimpleNamespace(T=None, shape=shape),
    )
    return script.Bench(torch, "h100-sxm", "vllm", device, deadline)


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )


def test_help_needs_no_torch():
    said = typed("--help")
    assert said.returncode == 0
    assert "--cpu" in said.stdout


@pytest.mark.skipif(not NO_TORCH, reason="torch is installed")
def test_without_torch_it_says_what_to_install():
    said = typed("--cpu")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("this benchmark needs torch: pip install torch")
    assert said.stderr.count("\n") == 1


def test_what_is_missing_is_said_in_turn(script):
    without, with_gpu = (
        SimpleNamespace(cuda=SimpleNamespace(is_available=lambda found=found: found))
        for found in (False, True)
    )
    assert "sees no GPU" in script.refusal(without, cpu=False, gpu="h100-sxm")
    assert "which GPU" in script.refusal(with_gpu, cpu=False, gpu=None)
    assert script.refusal(without, cpu=True, gpu=None) == ""
    assert script.refusal(with_gpu, cpu=False, gpu="h100-sxm") == ""


def test_its_rows_are_measurements(script, tmp_path):
    out = io.StringIO()
    count = script.write(script.measured(bench(script)), out)
    file = tmp_path / "verify.csv"
    file.write_text(out.getvalue(), encoding="utf-8")
    rows = list(read_rows(file))
    assert len(rows) == count == 5
    assert out.getvalue().splitlines()[0] == ",".join(COLUMNS)
    assert {(row.kind, row.value) for row in rows} == {
        (kind, 12.5e-6) for kind in ("attention", "gemm", "step")
    }
    assert [row.tokens for row in rows if row.kind == "attention"] == [1, 4]
    assert {row.note for row in rows if row.kind == "attention"} == {"torch sdpa"}


def test_it_measures_the_widths_of_verification(script):
    shapes = script.wide_shapes()
    assert {shape.tokens for shape in shapes} >= {1, 2, 5, 8, 16}
    assert {shape.batch for shape in shapes} == {1, 4, 16, 64}
    assert {shape.context for shape in shapes} == {1024, 4096, 16_384, 32_768}
    assert max(shape.cache_bytes for shape in shapes) <= 16e9
    assert (min(script.ROWS), max(script.ROWS)) == (1, 512)


def test_nothing_is_measured_once_the_time_is_spent(script):
    out = io.StringIO()
    assert script.write(script.measured(bench(script, deadline=0.0)), out) == 0
    assert out.getvalue() == ",".join(COLUMNS) + "\n"
