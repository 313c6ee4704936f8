"""A model's description from the Hugging Face hub, and only when asked for by `hub:org/name`.

JSON files and safetensors headers are fetched, never weights or code. What the library remembers
(cache, tokens, HF_ENDPOINT, HF_HUB_OFFLINE) is its own business and honoured.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from specplan.errors import InputError, SpecplanError, UsageError
from specplan.importers.json_ import MAX_BYTES
from specplan.importers.safetensors import merged, tensors_of
from specplan.importers.tensor import Tensor
from specplan.opening import place
from specplan.visible import visible

PREFIX: Final = "hub:"
CONFIG: Final = "config.json"
SIDECAR: Final = "hf_quant_config.json"
NO_WEIGHTS: Final = "no safetensors weights: nothing to compare with"
_TIMEOUT_S: Final = 30.0
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_REVISION: Final = re.compile(r"\w[\w./-]{0,199}", re.ASCII)

_REASONS: Final = {
    "GatedRepoError": ("it is gated", "accept its terms on the hub and log in: hf auth login"),
    "RepositoryNotFoundError": ("no such repository, or a private one", ""),
    "RevisionNotFoundError": ("no such revision", ""),
    "OfflineModeIsEnabled": ("offline", "unset HF_HUB_OFFLINE"),
    "LocalEntryNotFoundError": ("not in the cache, and the hub cannot be reached", ""),
}
"""What the library's errors mean, and what to do; class names, as releases move the classes."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A folder with the JSON files, the commit they are from, and the tensors of the weights.

    The library's cache names a folder for its commit.
    """

    folder: Path
    commit: str
    tensors: tuple[Tensor, ...]
    notes: tuple[str, ...] = ()


class _File(Protocol):
    rfilename: str
    size: int | None


class _Info(Protocol):
    siblings: Sequence[_File] | None


class _Described(Protocol):
    dtype: str
    shape: Sequence[int]
    data_offsets: Sequence[int]


class _FileHeader(Protocol):
    tensors: Mapping[str, _Described]


class _RepoHeaders(Protocol):
    files_metadata: Mapping[str, _FileHeader]


class _Api(Protocol):
    def model_info(
        self, repo_id: str, *, revision: str | None, timeout: float, files_metadata: bool
    ) -> _Info: ...

    def hf_hub_download(
        self, repo_id: str, filename: str, *, revision: str | None, local_files_only: bool
    ) -> str: ...

    def get_safetensors_metadata(self, repo_id: str, *, revision: str | None) -> _RepoHeaders: ...


class _Constants(Protocol):
    HF_HUB_OFFLINE: bool


class _Library(Protocol):
    constants: _Constants
    HfApi: Callable[..., _Api]


def parts(source: str) -> tuple[str, str | None]:
    """Repository and revision of `hub:org/name[@revision]`."""
    repo, at, revision = source.removeprefix(PREFIX).partition("@")
    if not _NAME.fullmatch(repo) or ".." in repo or (at and not _REVISION.fullmatch(revision)):
        what = f"'{visible(source, 120)}' names no repository"
        raise UsageError(what, expected="hub:ORG/NAME or hub:ORG/NAME@REVISION")
    return repo, revision or None


def fetch(repo: str, revision: str | None = None) -> Fetched:
    """The description of a repository at a revision (default: its main branch)."""
    library = _library()
    with _told(repo):
        api = library.HfApi(library_name="specplan")
        if library.constants.HF_HUB_OFFLINE:
            return _cached(api, repo, revision)
        return _online(api, repo, revision)


def _library() -> _Library:
    try:
        library = importlib.import_module("huggingface_hub")
        utils = importlib.import_module("huggingface_hub.utils")
    except ImportError as error:
        what = "hub: sources need huggingface_hub"
        raise UsageError(what, hint="pip install 'specplan[hub]'") from error
    utils.disable_progress_bars()
    utils.logging.set_verbosity_error()
    return cast("_Library", library)


def _online(api: _Api, repo: str, revision: str | None) -> Fetched:
    info = api.model_info(repo, revision=revision, timeout=_TIMEOUT_S, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    if CONFIG not in sizes:
        gguf = any(name.endswith(".gguf") for name in sizes)
        hint = "download one of its GGUF files and import that" if gguf else ""
        raise InputError(f"no {CONFIG}", where=place(_shown(repo)), hint=hint)
    wanted = [name for name in (CONFIG, SIDECAR) if name in sizes]
    for name in wanted:
        if sizes[name] > MAX_BYTES:
            what = f"{sizes[name]} bytes are too many for a config"
            raise InputError(what, where=place(_shown(repo) / name))
    # By the name asked for, so that the cache knows it when offline; the rest by its commit.
    config = api.hf_hub_download(repo, CONFIG, revision=revision, local_files_only=False)
    folder = Path(config).parent
    commit = folder.name
    if SIDECAR in wanted:
        api.hf_hub_download(repo, SIDECAR, revision=commit, local_files_only=False)
    tensors, notes = _tensors(api, repo, commit, sizes)
    return Fetched(folder, commit, tensors, notes)


def _tensors(
    api: _Api, repo: str, commit: str, sizes: Mapping[str, int]
) -> tuple[tuple[Tensor, ...], tuple[str, ...]]:
    """The tensors of the weights that loaders take, from headers alone; the library finds them."""
    names = {name for name in sizes if "/" not in name}
    if not names & {"model.safetensors", "model.safetensors.index.json"}:
        return (), (NO_WEIGHTS,)
    found = api.get_safetensors_metadata(repo, revision=commit)
    by_file: dict[str, tuple[Tensor, ...]] = {}
    for file, described in sorted(found.files_metadata.items()):
        header: dict[str, object] = {
            name: {
                "dtype": info.dtype,
                "shape": list(info.shape),
                "data_offsets": list(info.data_offsets),
            }
            for name, info in described.tensors.items()
        }
        end = max((info.data_offsets[1] for info in described.tensors.values()), default=0)
        by_file[file] = tensors_of(header, end, _shown(repo) / file)
    return merged(_shown(repo), by_file), ()


def _cached(api: _Api, repo: str, revision: str | None) -> Fetched:
    path = api.hf_hub_download(repo, CONFIG, revision=revision, local_files_only=True)
    folder = Path(path).parent  # a sidecar was cached with the config
    return Fetched(folder, folder.name, (), ("offline: weights were not compared",))


@contextmanager
def _told(repo: str) -> Iterator[None]:
    """Turns whatever the library raises into one line."""
    try:
        yield
    except SpecplanError:
        raise
    except Exception as error:
        names = (each.__name__ for each in type(error).__mro__)
        first = next(iter(str(error).strip().splitlines()), "") or "no reason given"
        otherwise = (f"{type(error).__name__}: {visible(first, 160)}", "")
        what, hint = next((_REASONS[name] for name in names if name in _REASONS), otherwise)
        raise InputError(what, where=place(_shown(repo)), hint=hint) from error


def _shown(repo: str) -> Path:
    return Path(PREFIX + repo)
