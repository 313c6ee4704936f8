"""Which checkpoint a card describes: named by its sources, or not named."""

from __future__ import annotations

from dataclasses import replace

import pytest

import specplan
from specplan.domain.card import Source
from specplan.domain.hub import hub_name

CARD = specplan.load().model("qwen3-8b").card


def named(*urls: str, name: str = "qwen3-8b") -> str | None:
    sources = tuple(Source(of=("architecture",), kind="config", cite="c", url=url) for url in urls)
    return hub_name(replace(CARD, name=name, sources=sources))


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/org/Qwen3-8B-Instruct-2507", "org/Qwen3-8B-Instruct-2507"),
        (
            "https://huggingface.co/Qwen/Qwen3-8B-FP8/blob/main/config.json",
            None,
        ),  # stored otherwise
        ("https://huggingface.co/Qwen/Qwen3-14B", None),  # another size
        ("https://huggingface.co/datasets/Qwen3-8B", None),
        ("https://github.com/Qwen/Qwen3-8B", None),
        ("https://huggingface.co/Qwen", None),
    ],
)
def test_a_page_of_the_hub_names_it(url, found):
    assert named(url) == found


def test_two_repositories_name_none():
    one, other = "https://huggingface.co/a/Qwen3-8B", "https://huggingface.co/b/Qwen3-8B"
    assert named(one, one) == "a/Qwen3-8B"
    assert named(one, other) is None
    assert named("https://huggingface.co/a/Qwen3-14B", other) == "b/Qwen3-8B"


def test_a_type_in_the_cards_own_name_is_no_other():
    assert named("https://huggingface.co/Qwen/Qwen3-8B-FP8", name="qwen3-8b-fp8") == (
        "Qwen/Qwen3-8B-FP8"
    )


def test_heads_are_named_for_how_they_were_trained():
    catalogue = specplan.load()
    assert hub_name(catalogue.model("eagle-llama-2-7b").card) == "yuhuili/EAGLE-llama2-chat-7B"
    assert hub_name(catalogue.model("eagle3-llama-3.3-70b").card) is None
