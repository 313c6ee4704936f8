"""What `specplan emit` writes, read by the engines' own parsers, without a GPU.

    python benchmarks/engine_parsers.py vllm 0.33.0
    python benchmarks/engine_parsers.py sglang 0.5.23
    python benchmarks/engine_parsers.py llamacpp PATH/TO/llama-server BUILD

The first two download the engine's wheel with pip (without what it depends on), unpack the modules
that read these arguments and load them in this process, with stand-ins for all that they import
besides: no torch, no weights, no driver. The third runs a server's own binary on a model that does
not exist: arguments are read before it.

Each line is a deployment and what the engine's parser made of it. Broken objects follow, which the
parser has to refuse too. Exit 1 if anything is not as it should be.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import types
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from specplan.dialects.writers import writer
from specplan.domain.deployment import Deployment, OneK, Step, Written
from specplan.errors import Refused

STEPS = (Step(1, 16, 3), Step(17, 64, 1), Step(65, 90, 0))
RATES = (0.8, 0.5, 0.25)
Case = tuple[str, dict[str, Any]]
Check = Callable[[Written], str]


def deployment(engine: str, version: str, **more: Any) -> Deployment:  # noqa: ANN401
    """An EAGLE-3 head of three tokens, but for what is given."""
    usual: dict[str, Any] = {"way": "eagle3", "draws": "head", "k": 3}
    named = {"target_name": "t", "target": "org/target", "draft_name": "d", "draft": "org/head"}
    return Deployment(engine=engine, version=version, **(named | usual | more))


GATE: dict[str, Any] = {"schedule": STEPS, "instead": OneK(3, 0.1, 80)}


def cases(ways: tuple[str, ...]) -> Iterator[Case]:
    """What is written: each drafter, then k by batch, a pretended acceptance, tp."""
    for way in ways:
        draws = "lookup" if way in {"ngram", "suffix"} else "model" if way == "model" else "head"
        yield way, {"way": way, "draws": draws}
    yield "k by batch", GATE
    yield "synthetic", {"acceptance": RATES}
    yield "draft tp", {"tp": 4, "draft_tp": 4}


def fetched(package: str, version: str, into: Path) -> zipfile.ZipFile:
    """The wheel of a release."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(into)]
    subprocess.run([*command, f"{package}=={version}"], check=True)  # noqa: S603
    return zipfile.ZipFile(next(into.glob(f"{package}-*.whl")))


class StandIn(types.ModuleType):
    """A module of which every name is `Any`, unless it was set."""

    __path__: list[str] = []  # noqa: RUF012 - a package, so that modules may lie in it

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        return Any


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else does, under the names given."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self.roots = roots

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ANN401
        """A stand-in of that name, under one of the roots."""
        del path, target
        if name.split(".", maxsplit=1)[0] not in self.roots:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Empty."""
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""
        del module


def unpacked(wheel: zipfile.ZipFile, into: Path, begins: tuple[str, ...]) -> None:
    """The modules whose paths begin so."""
    for name in wheel.namelist():
        if name.startswith(begins) and name.endswith(".py"):
            wheel.extract(name, into)


# vLLM


class Fake:
    """A model's or a GPU group's config: what was given, and None for all else."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def vllm_config(folder: Path) -> type:
    """The class SpeculativeConfig of vLLM, itself."""
    from pydantic import ConfigDict
    from pydantic.dataclasses import dataclass

    def config(cls: type) -> type:
        """What vllm.config.utils.config does of it: a pydantic dataclass without extra keys."""
        return dataclass(cls, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))

    class Head(Fake):
        """The config of a head."""

    class Model(Fake):
        """A ModelConfig, as far as it is asked."""

        def __init__(self, **given: Any) -> None:  # noqa: ANN401
            own = given.get("runner") == "draft" and given["model"] == "org/target"
            hf = Head(model_type="deepseek_mtp", n_predict=1) if own else Head(model_type="llama")
            super().__init__(hf_config=hf, hf_text_config=hf, architectures=[], hf_overrides={})
            self.__dict__.update(given, max_model_len=4096)

        def get_vocab_size(self) -> int:
            return 128

        def using_transformers_backend(self) -> bool:
            return False

        def verify_with_parallel_config(self, other: object) -> None:
            del other

    sys.meta_path.append(StandIns(("vllm", "torch", "transformers", "regex")))
    sys.path.insert(0, str(folder))
    package = importlib.import_module("vllm")
    package.__path__ = [str(folder / "vllm")]
    made = {
        "vllm.config": {"__path__": [str(folder / "vllm/config")]},
        "vllm.config.utils": {"config": config},
        "vllm.config.model": {"ModelConfig": Model, "HfOverrides": Any},
        "vllm.config.parallel": {"ParallelConfig": Fake},
        "vllm.logger": {"init_logger": Logger},
        "vllm.utils.import_utils": {
            "LazyLoader": lambda *_: StandIn("lazy"),
            "has_arctic_inference": lambda: True,
        },
        "vllm.transformers_utils.configs.eagle": {"EAGLEConfig": Head},
        "vllm.transformers_utils.configs.speculators": {"SpeculatorsConfig": Head},
    }
    for name, values in made.items():
        module = StandIn(name)
        module.__dict__.update(values)
        sys.modules[name] = module
    found = importlib.import_module("vllm.config.speculative").SpeculativeConfig
    found.create_draft_parallel_config = staticmethod(lambda *_, **__: Fake())
    found.update_arch_ = lambda _: None
    found.target = lambda tp: {
        "target_model_config": Model(model="org/target"),
        "target_parallel_config": Fake(tensor_parallel_size=tp),
    }
    return found


class Logger(logging.Logger):
    """A logger that says things once."""

    def __init__(self, name: str) -> None:
        super().__init__(name, logging.CRITICAL)

    def warning_once(self, *_: object) -> None:
        """Says nothing."""

    info_once = debug_once = warning_once


VLLM_BROKEN = (
    {"num_speculative_tokens": 0},
    {"draft_tensor_parallel_size": 2},
    {"tensor_parallel_size": 4},
    {"method": "medusa"},
    {"nonsense": 1},
    {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.5, 0.6, 0.1]},
    {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.5]},
    {"synthetic_acceptance_length": 2.0},
)


def vllm(version: str) -> int:
    """The speculative configs of a release that has the schedule."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = fetched("vllm", version, folder)
        unpacked(wheel, folder, ("vllm/config/speculative.py", "vllm/v1/spec_decode/dynamic/"))
        config = vllm_config(folder)
        dynamic = importlib.util.spec_from_file_location(  # type: ignore[attr-defined]
            "dynamic", folder / "vllm/v1/spec_decode/dynamic/utils.py"
        )
        reader = importlib.util.module_from_spec(dynamic)  # type: ignore[attr-defined]
        dynamic.loader.exec_module(reader)

        def check(written: Written) -> str:
            made = config(**written.config, **config.target(written.done.tp))
            schedule = written.config.get("num_speculative_tokens_per_batch_size")
            if schedule:
                steps = written.done.schedule
                lookup = reader.build_dynamic_sd_schedule_lookup(
                    schedule, steps[-1].last_batch, made.num_speculative_tokens
                )
                wanted = [s.k for s in steps for _ in range(s.first_batch, s.last_batch + 1)]
                if lookup[1:] != wanted:
                    raise AssertionError(f"k by batch is read as {lookup[1:]}")
            return f"method {made.method}, k {made.num_speculative_tokens}"

        ways = ("eagle3", "eagle", "model", "ngram", "suffix", "mtp", "dflash", "dspark")
        failed = reported("vllm", version, cases(ways), check)
        right = dict(writer("vllm")(deployment("vllm", version)).config)
        for broken in VLLM_BROKEN:
            failed += not refused(
                broken, lambda b=broken: config(**(right | b), **config.target(4))
            )
        for bad in ([[2, 9, 1]], [[1, 9, 3], [9, 12, 1]], [[1, 9]], [], [[1, 0, 1]]):
            failed += not refused(
                bad, lambda b=bad: reader.build_dynamic_sd_schedule_lookup(b, 9, 3)
            )
        return failed


# SGLang


def sglang(version: str) -> int:
    """The adaptive config by SGLang's own reader, and the flags by its own fields."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = fetched("sglang", version, folder)
        begins = (
            "sglang/srt/speculative/adaptive_spec_params.py",
            "sglang/srt/arg_groups/fields/spec.py",
            "sglang/srt/server_args.py",
        )
        unpacked(wheel, folder, begins)
        sys.meta_path.append(StandIns(("sglang", "torch", "transformers")))
        package = importlib.import_module("sglang")
        package.__path__ = [str(folder / "sglang")]
        for name in ("sglang.srt", "sglang.srt.speculative"):
            module = StandIn(name)
            module.__path__ = [str(folder / name.replace(".", "/"))]
            sys.modules[name] = module
        for name in ("sglang.srt.arg_groups.overrides", "sglang.srt.runtime_context"):
            sys.modules[name] = StandIn(name)
        utils = StandIn("sglang.srt.utils")
        utils.log_info_on_rank0 = lambda *_: None
        sys.modules["sglang.srt.utils"] = utils
        adaptive = importlib.import_module("sglang.srt.speculative.adaptive_spec_params")
        known = sglang_flags(folder)

        def check(written: Written) -> str:
            for flag, value in written.flags:
                if flag not in known and flag.startswith("--speculative"):
                    raise AssertionError(f"{flag} is no flag of its")
                del value
            if written.file is None:
                return "every flag is one of its"
            path = folder / written.file.name
            path.write_text(written.file.text, encoding="utf-8")
            params = adaptive.AdaptiveSpeculativeParams(written.done.k, str(path))
            steps = written.done.schedule
            wanted = [s.k for s in steps for _ in range(s.first_batch, s.last_batch + 1)]
            found = [params.get_steps_for_batch(b) for b in range(1, steps[-1].last_batch + 1)]
            if found != wanted:
                raise AssertionError(f"k by batch is read as {found}")
            return f"steps {params.candidate_steps} by batch as planned"

        failed = reported(
            "sglang",
            version,
            cases(("eagle3", "eagle", "model", "ngram", "mtp", "dflash", "dspark")),
            check,
        )
        for bad in ({"1": {"candidate_steps": []}}, {"x": {}}, {"1": {"candidate_steps": [-1]}}):
            path = folder / "bad.json"
            path.write_text(json.dumps(bad), encoding="utf-8")
            failed += not refused(bad, lambda p=path: adaptive.AdaptiveSpeculativeParams(1, str(p)))
        return failed


def sglang_flags(folder: Path) -> set[str]:
    """The flags of speculation: fields of a record in newer releases, words in older ones."""
    fields = folder / "sglang/srt/arg_groups/fields/spec.py"
    if fields.exists():
        text = fields.read_text(encoding="utf-8")
        names = re.findall(r"^ {4}(speculative_[a-z0-9_]+): A\[", text, re.MULTILINE)
        return {"--" + name.replace("_", "-") for name in names}
    text = (folder / "sglang/srt/server_args.py").read_text(encoding="utf-8")
    return set(re.findall(r'"(--speculative-[a-z0-9-]+)"', text))


# llama.cpp


def llamacpp(server: str, build: str) -> int:
    """The flags by a server that was built: it stops at the model, not at an argument."""

    def run(flags: list[str]) -> str:
        command = [server, *flags, "-m", "/nonexistent.gguf"]
        library = {"LD_LIBRARY_PATH": str(Path(server).parent)}
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, **library},
        )  # fmt: skip
        said = done.stdout + done.stderr
        wrong = [
            line for line in said.splitlines() if "invalid argument" in line or "removed" in line
        ]
        wrong += [line for line in said.splitlines() if "error while handling argument" in line]
        if wrong:
            raise ValueError(wrong[0])
        return "read up to the model"

    def check(written: Written) -> str:
        return run([word for flag, v in written.flags for word in (flag, v) if word is not None])

    given = {"target": "t.gguf", "draft": "d.gguf"}
    ways = [case for case in cases(("eagle3", "model", "ngram", "mtp")) if case[0] != "synthetic"]
    if int(build) >= 10760:
        ways.append(("synthetic", {"acceptance": RATES}))
    failed = reported("llamacpp", build, [(name, more | given) for name, more in ways], check)
    for bad in (["--draft-max", "3"], ["--spec-type", "draft-none"], ["--draft-min", "1"]):
        failed += not refused(bad, lambda b=bad: run(b))
    return failed


def reported(engine: str, version: str, asked: Iterable[Case], check: Check) -> int:
    """A line for each deployment; how many the engine's parser did not take."""
    failed = 0
    for name, more in asked:
        try:
            written = writer(engine)(deployment(engine, version, **more))
        except Refused as error:
            print(f"--    {name:<12} not written: {str(error)[:80]}")
            continue
        try:
            print(f"ok    {name:<12} {check(written)}")
        except Exception as error:  # noqa: BLE001 - whatever a foreign parser raises
            failed += 1
            print(f"FAIL  {name:<12} {type(error).__name__}: {str(error)[:300]}")
    return failed


def refused(broken: object, read: Callable[[], object]) -> bool:
    """Whether the engine's parser refuses a broken object, on a line of its own."""
    try:
        read()
    except Exception as error:  # noqa: BLE001 - whatever a foreign parser raises
        print(f"ok    refuses      {json.dumps(broken)} ({type(error).__name__})")
        return True
    print(f"FAIL  takes        {json.dumps(broken)}")
    return False


if __name__ == "__main__":
    engines = {"vllm": vllm, "sglang": sglang, "llamacpp": llamacpp}
    sys.exit(1 if engines[sys.argv[1]](*sys.argv[2:]) else 0)
