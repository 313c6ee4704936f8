"""Hub ids: what is fetched and what is said when it cannot be.

The real library talks to a server on the loopback interface; where it is not installed, those tests
are skipped. A stand-in for the library covers what a server cannot make it do.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from foreign import safetensors

from specplan.errors import InputError, SpecplanError, UsageError
from specplan.importers.hub import fetch, parts
from specplan.importers.json_ import MAX_BYTES
from specplan.importers.tensor import Tensor

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = {
    "s-1.safetensors": safetensors({"a": ("BF16", (4, 8))}),
    "s-2.safetensors": safetensors({"b": ("F8_E4M3", (1000, 300)), "c": ("F32", ())}),
}
SHARDED = {
    "config.json": b'{"model_type": "llama", "limit": Infinity}',
    "hf_quant_config.json": b'{"quantization": {"quant_algo": "FP8"}}',
    "model.safetensors.index.json": json.dumps(
        {"weight_map": {"a": "s-1.safetensors", "b": "s-2.safetensors", "c": "s-2.safetensors"}}
    ).encode(),
    "modeling_evil.py": b"raise SystemExit",
    **WEIGHTS,
}
REPOS = {
    "org/sharded": SHARDED,
    "org/single": {
        "config.json": b"{}",
        "model.safetensors": safetensors({"w": ("BF16", (2,))}),
    },
    "org/only-gguf": {"tiny.gguf": b"GGUF"},
    "org/bare": {"config.json": b"{}"},
}


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as the library asks for; every path that was asked for is kept."""

    asked: list[tuple[str, str]]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.asked.append((self.command, path))
        for repo, files in REPOS.items():
            if path.startswith(f"/api/models/{repo}"):
                listed = [{"rfilename": name, "size": len(raw)} for name, raw in files.items()]
                info = {"id": repo, "sha": COMMIT, "siblings": listed}
                if "/revision/" in path and not path.endswith(("/main", "/v1", COMMIT)):
                    return self.missing("RevisionNotFound")
                return self.send(json.dumps(info).encode(), "", body=body)
            if path.startswith(f"/{repo}/resolve/"):
                name = path.rpartition("/")[2]
                if name not in files:
                    return self.missing("EntryNotFound")
                return self.send(files[name], f'"{name}-etag"', body=body)
        return self.missing("GatedRepo" if "gated" in path else "RepoNotFound")

    def send(self, raw: bytes, etag: str, *, body: bool) -> None:
        ranged = self.headers.get("Range") or self.headers.get("range")
        if ranged:
            first, _, last = ranged.removeprefix("bytes=").partition("-")
            raw = raw[int(first) : int(last) + 1]
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("X-Repo-Commit", COMMIT)
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        if body:
            self.wfile.write(raw)

    def missing(self, code: str) -> None:
        self.send_response(403 if code == "GatedRepo" else 404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: a test's output is its own."""


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    asked: list[tuple[str, str]] = []
    handler = type("Asked", (Hub,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


OPEN = """
import json, sys
from specplan.errors import SpecplanError
from specplan.importers.source import open_source
try:
    found = open_source(sys.argv[1])
except SpecplanError as error:
    print(json.dumps([error.exit_code, str(error)]))
else:
    tensors = [[t.name, t.dtype, list(t.shape), t.bytes] for t in found.tensors]
    print(json.dumps([0, found.origin, found.name, found.quant, tensors, list(found.notes)]))
"""

real = pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"
)


def opened(source: str, endpoint: str, home: Path, **more: str) -> list[object]:
    """What a process of its own says: the library reads its environment once."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("HF_")}
    settings = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    run = [sys.executable, "-c", OPEN, source]
    done = subprocess.run(
        run, capture_output=True, text=True, env=kept | settings | more, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert isinstance(answer, list)
    return answer


@real
class TestRealLibrary:
    def test_json_and_headers_are_fetched_and_nothing_else(self, endpoint, tmp_path):
        url, asked = endpoint
        assert opened("hub:org/sharded", url, tmp_path) == [
            0,
            f"hub:org/sharded@{COMMIT}",
            "sharded",
            {"quantization": {"quant_algo": "FP8"}},
            [
                ["a", "BF16", [4, 8], 64],
                ["b", "F8_E4M3", [1000, 300], 300_000],
                ["c", "F32", [], 4],
            ],
            ["limit is Infinity, which is no JSON; it is not used"],
        ]
        assert not [path for _, path in asked if path.endswith(".py")]
        kept = {path.name for path in tmp_path.rglob("*") if path.is_symlink() or path.is_file()}
        assert "config.json" in kept
        assert not [name for name in kept if name.endswith((".safetensors", ".py"))]
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 5000

    def test_a_single_file_at_a_revision(self, endpoint, tmp_path):
        url, asked = endpoint
        found = opened("hub:org/single@v1", url, tmp_path)
        assert found[4] == [["w", "BF16", [2], 4]]
        assert ("GET", "/api/models/org/single/revision/v1") in asked

    def test_weights_of_another_format_are_not_compared(self, endpoint, tmp_path):
        found = opened("hub:org/bare", endpoint[0], tmp_path)
        assert found[4:] == [[], ["no safetensors weights: nothing to compare with"]]

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("hub:org/only-gguf", "hub:org/only-gguf: no config.json; download one of its GGUF"),
            ("hub:org/nothing", "hub:org/nothing: no such repository, or a private one"),
            ("hub:org/gated", "hub:org/gated: it is gated; accept its terms"),
            ("hub:org/single@v9", "hub:org/single: no such revision"),
        ],
    )
    def test_what_the_hub_does_not_give_is_one_line(self, endpoint, tmp_path, source, message):
        code, said = opened(source, endpoint[0], tmp_path)
        assert code == 2
        assert str(said).startswith(message)
        assert "\n" not in str(said)

    def test_a_hub_that_cannot_be_reached_is_one_line(self, tmp_path):
        code, said = opened("hub:org/single", "http://127.0.0.1:9", tmp_path)
        assert code == 2
        assert str(said).startswith("hub:org/single: ")
        assert "\n" not in str(said)

    def test_offline_only_the_cache_is_asked(self, endpoint, tmp_path):
        url, asked = endpoint
        code, said = opened("hub:org/sharded", url, tmp_path, HF_HUB_OFFLINE="1")
        assert (code, asked) == (2, [])
        assert str(said).startswith("hub:org/sharded: not in the cache")
        opened("hub:org/sharded", url, tmp_path)
        before = len(asked)
        found = opened("hub:org/sharded", url, tmp_path, HF_HUB_OFFLINE="1")
        assert found[1] == f"hub:org/sharded@{COMMIT}"
        assert found[3] == {"quantization": {"quant_algo": "FP8"}}
        assert found[4:] == [
            [],
            [
                "limit is Infinity, which is no JSON; it is not used",
                "offline: weights were not compared",
            ],
        ]
        assert len(asked) == before


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("hub:org/name", ("org/name", None)),
        ("hub:gpt2", ("gpt2", None)),
        ("hub:org/Na.me-1@refs/pr/3", ("org/Na.me-1", "refs/pr/3")),
    ],
)
def test_repository_and_revision(source, found):
    assert parts(source) == found


@pytest.mark.parametrize(
    "source",
    ["hub:", "hub:a/b/c", "hub:/a", "hub:a/../b", "hub:a/b@", "hub:a/b@../x", "hub:a b", "hub:a\n"],
)
def test_what_names_no_repository(source):
    with pytest.raises(UsageError, match="names no repository"):
        parts(source)


def stand_in(monkeypatch, tmp_path, **api: object) -> None:
    """Puts a library in place whose calls answer what a test wants."""
    folder = tmp_path / COMMIT
    folder.mkdir()
    (folder / "config.json").write_bytes(b"{}")
    sizes = [SimpleNamespace(rfilename="config.json", size=2)]
    given = {
        "model_info": lambda *_, **__: SimpleNamespace(siblings=sizes),
        "hf_hub_download": lambda _, name, **__: str(folder / name),
    } | api
    library, utils = ModuleType("huggingface_hub"), ModuleType("huggingface_hub.utils")
    library.HfApi = lambda **_: SimpleNamespace(**given)
    library.constants = SimpleNamespace(HF_HUB_OFFLINE=False)
    utils.disable_progress_bars = lambda: None
    utils.logging = SimpleNamespace(set_verbosity_error=lambda: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    monkeypatch.setitem(sys.modules, "huggingface_hub.utils", utils)


def info(**sizes: int) -> object:
    files = [
        SimpleNamespace(rfilename=name.replace("__", "."), size=size)
        for name, size in sizes.items()
    ]
    return lambda *_, **__: SimpleNamespace(siblings=files)


def refusal() -> str:
    with pytest.raises(SpecplanError) as caught:
        fetch("org/name")
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError) as caught:
        fetch("org/name")
    assert str(caught.value) == ("hub: sources need huggingface_hub; pip install 'specplan[hub]'")


def test_a_config_that_is_no_config_is_not_fetched(monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, model_info=info(config__json=MAX_BYTES + 1))
    assert refusal() == f"hub:org/name/config.json: {MAX_BYTES + 1} bytes are too many for a config"


def test_errors_of_the_library_become_one_line(monkeypatch, tmp_path):
    class OddError(Exception):
        pass

    def fail(*_: object, **__: object) -> object:
        raise OddError("\n first\x1b[31m\nsecond")

    stand_in(monkeypatch, tmp_path, model_info=fail)
    assert refusal() == "hub:org/name: OddError: first\\x1b[31m"


def headers(**tensors: tuple[str, list[int], tuple[int, int]]) -> SimpleNamespace:
    described = {
        name: SimpleNamespace(dtype=dtype, shape=shape, data_offsets=offsets)
        for name, (dtype, shape, offsets) in tensors.items()
    }
    return SimpleNamespace(tensors=described)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": headers(w=("U7", [1], (0, 1)))}, "hub:org/name/a: 'w' has dtype 'U7'"),
        ({"a": headers(w=("U8", [-1], (0, 1)))}, "hub:org/name/a: 'w' has no valid shape"),
        ({"a": headers(w=("U8", [1], (1, 2)))}, "hub:org/name/a: 'w' begins at byte 1, where 0"),
        (
            {"a": headers(w=("U8", [1], (0, 1))), "b": headers(w=("U8", [1], (0, 1)))},
            "hub:org/name/b: 'w' is also in a",
        ),
    ],
)
def test_headers_from_the_hub_are_checked_like_any_other(monkeypatch, tmp_path, files, message):
    stand_in(
        monkeypatch,
        tmp_path,
        model_info=info(config__json=2, model__safetensors=9),
        get_safetensors_metadata=lambda *_, **__: SimpleNamespace(files_metadata=files),
    )
    assert refusal().startswith(message)


def test_headers_from_the_hub_are_tensors(monkeypatch, tmp_path):
    files = {"a": headers(w=("BF16", [2, 3], (0, 12)))}
    stand_in(
        monkeypatch,
        tmp_path,
        model_info=info(config__json=2, model__safetensors=99),
        get_safetensors_metadata=lambda *_, **__: SimpleNamespace(files_metadata=files),
    )
    got = fetch("org/name")
    assert got.tensors == (Tensor("w", "BF16", (2, 3), 12),)
    assert (got.folder, got.commit, got.notes) == (tmp_path / COMMIT, COMMIT, ())


def test_an_error_of_ours_passes_as_it_is(monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, model_info=info(weights__bin=3))
    with pytest.raises(InputError, match=r"^hub:org/name: no config\.json$"):
        fetch("org/name")
