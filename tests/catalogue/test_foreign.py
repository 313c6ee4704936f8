"""A model in others' words where a card is expected: the import is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specplan.catalogue.store import Catalogue
from specplan.domain.model import Model
from specplan.errors import InputError, SpecplanError

CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})
CATALOGUE = Catalogue()


@pytest.fixture(autouse=True)
def configs(tmp_path, monkeypatch):
    """A config.json where one stands, and in a folder called as a packaged card is."""
    monkeypatch.chdir(tmp_path)
    for folder in (".", "llama-3.1-8b", "a b"):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, "config.json").write_text(CONFIG)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("config.json", "config.json: looks like a config.json; expected a model card; "
         "specplan models import config.json"),
        ("./config.json", "config.json: looks like a config.json; expected a model card; "
         "specplan models import config.json"),
        ("./llama-3.1-8b", "llama-3.1-8b: is a folder with a config.json; expected a model card; "
         "specplan models import llama-3.1-8b"),
        ("a b/config.json", "a b/config.json: looks like a config.json; expected a model card; "
         "specplan models import 'a b/config.json'"),
    ],
)  # fmt: skip
def test_a_config_is_known_for_one(name, line):
    with pytest.raises(InputError) as caught:
        CATALOGUE.model(name)
    assert str(caught.value) == line


def test_a_folder_called_as_a_card_does_not_hide_the_card():
    assert CATALOGUE.model("llama-3.1-8b").card.name == "llama-3.1-8b"


@pytest.mark.parametrize("text", ["{}", '{"schema": "model/1", "architectures": []}', "no", ""])
def test_other_files_are_refused_for_what_they_are(text):
    Path("other.json").write_text(text)
    with pytest.raises(SpecplanError) as caught:
        CATALOGUE.model("./other.json")
    assert "models import" not in str(caught.value)


def test_accelerators_have_no_configs():
    with pytest.raises(SpecplanError) as caught:
        CATALOGUE.hardware("./config.json")
    assert "models import" not in str(caught.value)


def test_a_card_in_json_is_a_card():
    card = CATALOGUE.model("llama-3.1-8b").card
    assert isinstance(card, Model)
    made = {
        "schema": "model/1",
        "name": "mine",
        "title": "Mine",
        "family": "acme",
        "matmul_params": 10**9,
        "kv_bytes_per_token": 1024,
        "sources": [{"of": ["matmul_params"], "kind": "published", "cite": "it"}],
    }
    Path("mine.json").write_text(json.dumps(made))
    assert CATALOGUE.model("./mine.json").card.name == "mine"
