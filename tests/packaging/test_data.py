"""Cards are found wherever the package lies, and the package's surface is what it says it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest
from typed import ROOT, answered, environment

import specplan
from specplan.__main__ import main

PUBLIC = {
    "Answer",
    "Catalogue",
    "Scenario",
    "SpecplanError",
    "acceptance",
    "accuracy",
    "best_k",
    "best_tree",
    "calibrate",
    "capacity",
    "check",
    "compare",
    "diagnose",
    "emit",
    "equivalence",
    "exactness",
    "explain",
    "gate",
    "load",
    "memory",
    "report",
    "scenario",
    "simulate",
    "sweep",
}
CARD = "hardware/h100-sxm.yaml"
FOLDERS = ("hardware", "models", "engines", "curves", "measurements", "schemas", "traffic")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run_from(place: Path, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The program as it lies in `place`, run from an unrelated folder."""
    return subprocess.run(
        [sys.executable, "-m", "specplan", *words],
        cwd=folder,
        env=environment(folder, PYTHONPATH=str(place)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def site(tmp_path) -> Path:
    """The files of a wheel, as pip unpacks them."""
    place = tmp_path / "site-packages"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "specplan", place / "specplan", ignore=ignored)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / "specplan" / "_data" / folder)
    with (place / "specplan" / "_data" / CARD).open("a", encoding="utf-8") as card:
        card.write("# not the checkout's\n")
    return place


@pytest.fixture
def archive(tmp_path, site) -> Path:
    """The same in a zip file."""
    path = tmp_path / "specplan.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for file in site.rglob("*"):
            packed.write(file, file.relative_to(site))
    shutil.rmtree(site)
    return path


@pytest.mark.parametrize("layout", ["site", "archive"])
def test_an_installed_copy_finds_its_own_cards(capsys, request, tmp_path, layout):
    place = request.getfixturevalue(layout)
    expected = sha256(b"%b# not the checkout's\n" % (ROOT / CARD).read_bytes()).hexdigest()
    (tmp_path / "elsewhere").mkdir()
    done = run_from(place, ["sweep", "-q"], tmp_path / "elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == answered(capsys, ["sweep", "-q"]).out

    assert hash_of_card(place, tmp_path / "elsewhere") == expected


def test_a_copy_without_cards_says_so_and_reads_no_other_projects(tmp_path, site):
    shutil.rmtree(site / "specplan" / "_data")
    shutil.copytree(ROOT / "hardware", site / "hardware")  # some other project's, as it were
    shutil.copytree(ROOT / "models", site / "models")
    done = run_from(site, ["sweep"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    missing = "specplan's own models folder is missing; reinstall specplan"
    assert done.stderr == f"specplan: {missing}\n"


def test_a_bare_checkout_finds_the_cards_beside_it(tmp_path):
    assert hash_of_card(ROOT, tmp_path) == sha256((ROOT / CARD).read_bytes()).hexdigest()


def hash_of_card(place: Path, folder: Path) -> str:
    """The sha256 of the card that the program in `place` reads."""
    shown = run_from(place, ["hardware", "show", "h100", "-f", "json"], folder)
    return str(json.loads(shown.stdout)["inputs"]["h100-sxm"]["sha256"])


def test_the_wheel_takes_every_folder_of_data_along():
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {folder: f"specplan/_data/{folder}" for folder in FOLDERS}
    assert wheel["packages"] == ["specplan"]


def test_every_import_is_a_dependency():
    declared = {d.partition(">")[0].strip() for d in PYPROJECT["project"]["dependencies"]}
    names = {"pyyaml": "yaml", "annotated-types": "annotated_types"}
    for name in declared:
        assert import_module(names.get(name, name)) is not None
    assert declared >= {"numpy", "platformdirs", "pydantic", "pyyaml", "rich", "typer"}


def test_the_script_is_main():
    assert PYPROJECT["project"]["scripts"] == {"specplan": "specplan.__main__:main"}
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2  # whatever pytest was called with, it is no command of ours


def test_the_version_is_one(capsys):
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "specplan/__init__.py"
    for spelling in ("--version", "-V"):
        said = answered(capsys, [spelling])
        assert said == (0, f"specplan {specplan.__version__}\n", "")


def test_the_public_names():
    assert set(specplan.__all__) == PUBLIC
    assert len(specplan.__all__) == len(PUBLIC)
    assert set(dir(specplan)) >= PUBLIC
    for name in PUBLIC:
        assert getattr(specplan, name).__name__ == name
        assert getattr(specplan, name).__doc__


def test_a_name_that_is_none():
    with pytest.raises(AttributeError, match="module 'specplan' has no attribute 'best_bush'"):
        _ = specplan.best_bush  # type: ignore[attr-defined]


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "specplan" / "py.typed").is_file()
