"""Which card a name finds: folders in order, layouts, aliases, paths, and what is refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from specplan.catalogue.folders import Folder, user_folders
from specplan.catalogue.store import Catalogue, Loaded
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.errors import InputError, SpecplanError, Where

CARD = """\
schema: hardware/1
name: {name}
title: {title}
vendor: acme
aliases: [{aliases}]
rates: {{bf16: 100 TFLOP/s}}
bandwidth: 1 TB/s
memory: 80 GiB
memory_basis: driver
sources: {{of: [rates, bandwidth, memory], kind: datasheet, cite: it}}
"""
MODEL = """\
schema: model/1
name: {name}
title: A model
family: acme
matmul_params: 1e9
kv_bytes_per_token: 1024
stored_params: 1e9
sources: {{of: [matmul_params, kv_bytes_per_token, stored_params], kind: published, cite: it}}
"""


PACKAGED = {
    kind: len(list((Path(__file__).parents[2] / kind).glob("*.yaml")))
    for kind in ("hardware", "models")
}


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No catalogue of whoever runs the tests."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SPECPLAN_CATALOGUE", raising=False)


def put(
    folder: Path, name: str, *, title: str = "A GPU", aliases: str = "", stem: str = ""
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{stem or name}.yaml"
    file.write_text(CARD.format(name=name, title=title, aliases=aliases), "utf-8")
    return file


def catalogue(*folders: Path) -> Catalogue:
    return Catalogue(tuple(user_folders([str(folder) for folder in folders])))


def refusal(store: Catalogue, name: str) -> str:
    with pytest.raises(SpecplanError) as caught:
        store.hardware(name)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_packaged_cards():
    store = catalogue()
    assert {kind: len(store.entries(kind)) for kind in PACKAGED} == PACKAGED
    found = store.hardware("h100-sxm")
    assert (found.origin.layer, found.hides, found.hides_packaged) == ("packaged", None, False)
    assert [card.card.name for card in store.every(Hardware)] == list(store.entries("hardware"))
    assert [card.card.name for card in store.every(Model)] == list(store.entries("models"))


def test_names_are_found_in_any_case_and_by_alias():
    store = catalogue()
    for name in ("h100-sxm", "H100-SXM", "h100", "H100"):
        assert store.hardware(name).card.name == "h100-sxm"
    assert store.model("Meta-Llama-3-8B").card.name == "llama-3-8b"
    assert store.hardware("4090").card.name == "rtx-4090"


@pytest.fixture
def layers(tmp_path, monkeypatch) -> dict[str, Path]:
    """A folder for each way to add one, lowest first."""
    variable = [tmp_path / "variable-1", tmp_path / "variable-2"]
    option = [tmp_path / "option-1", tmp_path / "option-2"]
    for folder in (*variable, *option):
        folder.mkdir()
    monkeypatch.setenv("SPECPLAN_CATALOGUE", os.pathsep.join(map(str, variable)))
    return {
        "user": tmp_path / "home" / "specplan",
        "./specplan.d": Path("specplan.d"),
        str(variable[0]): variable[0],
        str(variable[1]): variable[1],
        str(option[0]): option[0],
        str(option[1]): option[1],
    }


def opened(layers: dict[str, Path]) -> Catalogue:
    return catalogue(*(folder for folder in layers.values() if "option" in folder.name))


def test_a_later_folder_wins_and_hides_the_one_before(layers):
    before = "packaged"
    for layer, folder in layers.items():
        put(folder, "h100-sxm", title=f"from {layer}"[:60])
        found = opened(layers).hardware("h100-sxm")
        assert found.card.title == f"from {layer}"[:60]
        assert found.origin.layer == layer
        assert found.hides is not None
        assert found.hides.layer == before
        assert found.hides_packaged
        before = layer
    assert hidden(found) == [*reversed(layers), "packaged"][1:]


def hidden(found: Loaded[Hardware]) -> list[str]:
    chain, entry = [], found.hides
    while entry is not None:
        chain.append(entry.layer)
        entry = entry.hides
    return chain


def test_a_users_own_card_hides_nothing_packaged(layers):
    for layer in ("user", "./specplan.d"):
        put(layers[layer], "mine")
    found = opened(layers).hardware("mine")
    assert found.hides is not None
    assert found.hides.layer == "user"
    assert not found.hides_packaged


@pytest.mark.parametrize("layout", [".", "hardware"])
def test_layouts(tmp_path, layout):
    put(tmp_path / "cards" / layout, "mine")
    models = tmp_path / "cards" / ("." if layout == "." else "models")
    models.mkdir(exist_ok=True)
    (models / "lm.yml").write_text(MODEL.format(name="lm"), "utf-8")
    store = catalogue(tmp_path / "cards")
    assert store.hardware("mine").card.vendor == "acme"
    assert store.model("lm").card.family == "acme"
    assert "mine" not in store.entries("models")
    assert "lm" not in store.entries("hardware")


def test_a_sub_folder_wins_over_the_folder_itself(tmp_path):
    put(tmp_path, "mine", title="flat")
    put(tmp_path / "hardware", "mine", title="deep")
    assert catalogue(tmp_path).hardware("mine").card.title == "deep"


def test_what_is_no_card_is_passed_over(tmp_path):
    put(tmp_path, "mine", stem="_template")
    put(tmp_path, "mine", stem=".hidden")
    (tmp_path / "plan.yaml").write_text("schema: plan/1\n", "utf-8")
    (tmp_path / "other.yaml").write_text("a: 1\n", "utf-8")
    (tmp_path / "notes.txt").write_text("schema: hardware/1\n", "utf-8")
    (tmp_path / "hardware" / "folder.yaml").mkdir(parents=True)
    assert len(catalogue(tmp_path).entries("hardware")) == PACKAGED["hardware"]


def test_an_alias_of_two_cards_is_refused_with_both(layers):
    file = put(layers["user"], "one", aliases="h100")
    with pytest.raises(InputError) as caught:
        opened(layers).hardware("h100", Where("--hardware"))
    assert str(caught.value) == (
        "--hardware: 'h100' is an alias of 2 cards: "
        f"h100-sxm (hardware/h100-sxm.yaml) and one ({file}); write a name"
    )
    put(layers["./specplan.d"], "another", aliases="h100")
    assert "is an alias of 3 cards: another (specplan.d/another.yaml) and" in refusal(
        opened(layers), "h100"
    )
    assert opened(layers).hardware("h100-sxm").card.name == "h100-sxm"


def test_an_alias_never_wins_over_a_name(tmp_path):
    put(tmp_path, "mine", aliases="h100-sxm")
    assert catalogue(tmp_path).hardware("h100-sxm").card.name == "h100-sxm"


def test_a_card_keeps_the_aliases_of_those_that_it_hides(layers):
    put(layers["user"], "h100-sxm", aliases="ours")
    put(layers["./specplan.d"], "h100-sxm", title="the last")
    for alias in ("h100", "ours"):
        assert opened(layers).hardware(alias).card.title == "the last"


def test_an_alias_of_a_card_whose_override_is_broken_is_no_way_around_it(tmp_path):
    file = put(tmp_path, "h100-sxm")
    file.write_text(file.read_text("utf-8").replace("vendor", "vendour"), "utf-8")
    message = f"{file}:4:1: unknown key 'vendour'; did you mean 'vendor'?"
    assert refusal(catalogue(tmp_path), "h100") == message


def test_a_name_wins_over_an_alias(tmp_path):
    put(tmp_path, "h100")
    assert catalogue(tmp_path).hardware("h100").card.vendor == "acme"


def test_text_that_only_mentions_a_name_is_no_alias(tmp_path):
    put(tmp_path, "mine", title="like an h100 but ours")
    assert catalogue(tmp_path).hardware("h100").card.name == "h100-sxm"


def test_a_path(tmp_path):
    file = put(tmp_path / "anywhere", "mine")
    found = catalogue().hardware(str(file))
    assert found.card.name == "mine"
    assert (found.origin.path, found.origin.layer) == (str(file), "path")
    assert found.origin.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found.hides is None


def test_a_path_below_where_one_stands_is_shown_short():
    put(Path("cards"), "mine")
    found = catalogue().hardware("cards/mine.yaml")
    assert found.origin.path == str(Path("cards", "mine.yaml"))


def test_a_hub_name_is_no_path():
    assert catalogue().model("meta-llama/Llama-3.1-8B").card.name == "llama-3.1-8b"
    with pytest.raises(SpecplanError) as caught:
        catalogue().model("meta-llama/Llama-3.1-9B", Where("--target"))
    message = "--target: unknown model 'Llama-3.1-9B'; did you mean 'llama-3.1-8b'?"
    assert str(caught.value) == message


def test_missing_file():
    assert refusal(catalogue(), "nowhere/gpu.yaml") == "nowhere/gpu.yaml: no such file"


def test_a_card_of_the_other_kind():
    Path("lm.yaml").write_text(MODEL.format(name="lm"), "utf-8")
    message = "lm.yaml:1:9: schema is 'model/1'; expected 'hardware/1'"
    assert refusal(catalogue(), "lm.yaml") == message


def test_name_and_file_must_agree():
    put(Path("specplan.d"), "mine", stem="yours")
    message = (
        "specplan.d/yours.yaml:2:7: the card calls itself 'mine'; "
        "expected 'yours', as its file is called"
    )
    assert refusal(catalogue(), "yours") == message
    assert list(map(str, catalogue().shelf(Hardware).broken)) == [message]


def test_a_file_name_that_no_card_can_have():
    put(Path("specplan.d"), "mine", stem="My GPU")
    (broken,) = catalogue().shelf(Hardware).broken
    assert str(broken) == (
        "specplan.d/My GPU.yaml:2:7: the file name 'My GPU' is no card's name; "
        "expected 'mine', as the card calls itself"
    )


# 64 * 32 * (2 * 4 + 2 * 2) in each of 4 layers and a head of 64 * 1000: 162,304 are multiplied;
# with 9 norms of 64, 162,880 are stored; 2 * 2 * 32 elements in 4 layers at 2 bytes: 1,024.
SMALL = (
    MODEL.format(name="lm")
    + """\
architecture:
  hidden: 64
  vocab: 1000
  tied_embeddings: true
  blocks: {repeat: 4, attention: {heads: 4, kv_heads: 2, head_dim: 32}}
"""
)
AGREED = {"matmul_params": 162304, "kv_bytes_per_token": 1024, "stored_params": 162880}


def small(**figures: float) -> Loaded[Model]:
    text = SMALL
    for key, value in (AGREED | figures).items():
        text = text.replace(f"{key}: {'1024' if 'kv' in key else '1e9'}", f"{key}: {value}")
    Path("lm.yaml").write_text(text, "utf-8")
    return catalogue().model("lm.yaml")


def test_figures_within_half_a_percent_of_the_architecture():
    assert small().card.matmul_params == 162304
    assert small(matmul_params=163100).card.matmul_params == 163100
    assert small(matmul_params=161500).card.matmul_params == 161500


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "matmul_params",
            164000,
            "5:16: matmul_params 164,000 is 1.0 % above what the architecture gives; expected "
            "162,304 within 0.5 %; likely the embedding, an MTP layer or every expert is counted",
        ),
        (
            "matmul_params",
            160000,
            "5:16: matmul_params 160,000 is 1.4 % below what the architecture gives; expected "
            "162,304 within 0.5 %; likely the head or a shared expert is left out",
        ),
        (
            "kv_bytes_per_token",
            2048,
            "6:21: kv_bytes_per_token 2,048 is 100.0 % above what the architecture gives; expected "
            "1,024 within 0.5 %; likely every query head is counted, and kv_heads share theirs",
        ),
        (
            "stored_params",
            226880,
            "7:16: stored_params 226,880 is 39.3 % above what the architecture gives; expected "
            "162,880 within 0.5 %; likely the difference is vocab x hidden, 64,000: a tied head is "
            "stored twice, or tied_embeddings is false",
        ),
    ],
)
def test_figures_that_contradict_the_architecture(key, value, message):
    with pytest.raises(InputError) as caught:
        small(**{key: value})
    assert str(caught.value) == f"lm.yaml:{message}"


def test_unknown_names():
    message = "unknown hardware 'h10'; did you mean 'h100'?"
    assert refusal(catalogue(), "h10") == message
    first = ", ".join(list(catalogue().entries("hardware"))[:12])
    assert refusal(catalogue(), "zzzzzzzz") == (
        f"unknown hardware 'zzzzzzzz'; expected one of {first}, ...; "
        "specplan hardware list shows all"
    )


@pytest.mark.parametrize("name", ["", "../h100-sxm", "h100 sxm", "h100\x00", "h\x1b[31m", "*"])
def test_a_name_never_becomes_a_path(name):
    assert "unknown hardware" in refusal(catalogue(), name)


def test_a_broken_card_is_named_and_does_not_spoil_the_others(tmp_path):
    broken = put(tmp_path, "mine")
    broken.write_text(broken.read_text("utf-8").replace("vendor", "vendour"), "utf-8")
    store = catalogue(tmp_path)
    assert store.hardware("h100").card.name == "h100-sxm"
    assert refusal(store, "h10") == (
        f"unknown hardware 'h10'; could not be read: {broken}:4:1; did you mean 'h100'?"
    )
    message = f"{broken}:4:1: unknown key 'vendour'; did you mean 'vendor'?"
    assert refusal(store, "mine") == message
    shelf = store.shelf(Hardware)
    assert (len(shelf.cards), list(map(str, shelf.broken))) == (PACKAGED["hardware"], [message])
    assert len(store.every(Hardware)) == PACKAGED["hardware"]
    assert store.shelf(Model).broken == []


def test_many_broken_cards_are_counted(tmp_path):
    for number in range(5):
        put(tmp_path, f"mine-{number}").write_text("schema: hardware/1\n", "utf-8")
    named = ", ".join(f"{tmp_path / f'mine-{number}.yaml'}:1:1" for number in range(3))
    assert f"could not be read: {named} and 2 more;" in refusal(catalogue(tmp_path), "mine")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("schema: hardware/2", "1:9: schema is 'hardware/2'; expected 'hardware/1'"),
        ('"schema": hardware', "1:11: schema is 'hardware'; expected 'hardware/1'"),
        ("schema: hardwrae/1", "1:9: schema is 'hardwrae/1'; expected 'hardware/1'"),
        ("#" * 5000, "2:1: schema is missing; expected 'hardware/1'"),
    ],
)
def test_a_card_whose_schema_is_unknown_is_not_passed_over(tmp_path, header, said):
    file = put(tmp_path, "h100-sxm")
    file.write_text(file.read_text("utf-8").replace("schema: hardware/1", header), "utf-8")
    store = catalogue(tmp_path)
    assert refusal(store, "h100") == f"{file}:{said}"
    assert list(map(str, store.shelf(Hardware).broken)) == [f"{file}:{said}"]
    assert store.shelf(Model).broken == []


def test_a_model_without_a_schema_is_not_passed_over(tmp_path):
    file = tmp_path / "lm.yaml"
    file.write_text(MODEL.format(name="lm").replace("schema: model/1\n", ""), "utf-8")
    (broken,) = catalogue(tmp_path).shelf(Model).broken
    assert str(broken) == f"{file}:1:1: schema is missing; expected 'model/1'"


def denied(monkeypatch, method: str, path: Path) -> None:
    """Makes a method of Path fail for one path, as it would without the right to look."""
    real = getattr(Path, method)

    def fail(self: Path, *given: object, **named: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return real(self, *given, **named)

    monkeypatch.setattr(Path, method, fail)


def test_a_file_that_cannot_be_read_may_be_any_card(tmp_path, monkeypatch):
    file = put(tmp_path, "mine")
    denied(monkeypatch, "open", file)
    store = catalogue(tmp_path)
    message = f"{file}: cannot be read: Permission denied"
    assert store.hardware("h100").card.name == "h100-sxm"
    assert refusal(store, "mine") == message
    for kind in (Hardware, Model):
        assert list(map(str, store.shelf(kind).broken)) == [message]
    assert f"unknown hardware 'mime'; could not be read: {file};" in refusal(store, "mime")


@pytest.mark.parametrize("method", ["iterdir", "is_file"])
def test_a_folder_that_cannot_be_read_is_one_line(tmp_path, monkeypatch, method):
    file = put(tmp_path, "mine")
    denied(monkeypatch, method, tmp_path if method == "iterdir" else file)
    message = f"{tmp_path}: cannot be read: Permission denied"
    assert refusal(catalogue(tmp_path), "h100") == message


def test_a_folder_name_that_is_too_long():
    with pytest.raises(InputError) as caught:
        user_folders(["x" * 300])
    assert str(caught.value) == f"--catalogue: no folder '{'x' * 57}...'"


@pytest.mark.parametrize("how", ["SPECPLAN_CATALOGUE", "--catalogue"])
def test_a_folder_named_by_hand_must_exist(monkeypatch, how):
    if how == "SPECPLAN_CATALOGUE":
        monkeypatch.setenv(how, "nowhere")
    with pytest.raises(InputError) as caught:
        user_folders(["nowhere"])
    assert str(caught.value) == f"{how}: no folder 'nowhere'"


def test_folders_that_nobody_named_need_not_exist():
    assert user_folders() == []


def test_empty_parts_of_the_variable_are_no_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECPLAN_CATALOGUE", f"{os.pathsep}{tmp_path}{os.pathsep}")
    assert user_folders() == [Folder(tmp_path, str(tmp_path))]
