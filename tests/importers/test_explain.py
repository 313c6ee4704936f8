"""A published count beside a derived one: the same, explained, or a difference that stands."""

from __future__ import annotations

import pytest
from families import DEEP, PLAIN
from small import card, made, small

from specplan.domain.imported import Extra, Imported
from specplan.importers.explain import verdict_on

# 16,644,000 parameters: enough for shares of 0.5 % to be told from those of 0.01 %.
WIDE = small(hidden_size=800, intermediate_size=1600, vocab_size=3200)
COUNT = 2 * (800 * 800 * 2 + 800 * 400 * 2 + 3 * 800 * 1600 + 2 * 800) + 2 * 3200 * 800 + 800


def result(*extras: Extra, tower: int | None = None, towered: bool = False) -> Imported:
    beside = towered or tower is not None
    return Imported(card=card(WIDE), derived=(), extras=extras, tower=tower, towered=beside)


HEAD = Extra("the tied head stored a second time", 2_560_000)
MODULES = Extra("the layers that draft (MTP)", 1_000_000, announced=True)


@pytest.mark.parametrize(
    ("published", "verdict", "says"),
    [
        (COUNT, "pass", "exactly as published"),
        (COUNT + 1000, "pass", "+0.006 % published over derived"),
        (COUNT - 60_000, "pass", "-0.360 % published over derived"),
        (COUNT + 2_560_000, "explained", "with the tied head stored a second time (2,560,000)"),
        (COUNT + 2_560_500, "explained", "with the tied head stored a second time (2,560,000)"),
        (
            COUNT + 3_560_000,
            "explained",
            "with the tied head stored a second time (2,560,000) and the layers that draft (MTP) "
            "(1,000,000)",
        ),
        (COUNT + 2_570_000, "differs", "+15.44 % published over derived, which nothing explains"),
        (17_000_000, "explained", "rounded to 0.017 billion"),
        (16_000_000, "differs", "-3.87 % published over derived, which nothing explains"),
    ],
)
def test_verdicts(published, verdict, says):
    assert COUNT == card(WIDE).shape.stored_params == 16_644_000
    assert verdict_on(result(HEAD, MODULES), published) == (verdict, says)


def test_an_encoder_explains_what_is_about_its_size():
    rest = 2_000_000
    for size, verdict in ((1_500_000, "explained"), (500_000, "differs"), (5_000_000, "differs")):
        assert verdict_on(result(tower=size), COUNT + rest)[0] == verdict
    says = verdict_on(result(tower=1_500_000), COUNT + rest)[1]
    assert says == "with the encoder of images (2,000,000)"


def test_what_a_config_announces_comes_before_its_encoder():
    says = verdict_on(result(HEAD, MODULES, tower=1_500_000), COUNT + 3_000_000)[1]
    assert says == (
        "with the layers that draft (MTP) (1,000,000) and the encoder of images (2,000,000)"
    )


def test_a_rounded_count_of_a_model_with_an_encoder():
    verdict, says = verdict_on(result(towered=True), 16_900_000)
    assert (verdict, says) == (
        "explained",
        "rounded to 0.0169 billion, with its encoder of images",
    )


def test_heads_beyond_those_that_a_config_counts():
    target = card(small(), name="target")
    heads = made({"medusa_num_heads": 2}, target=target)
    assert heads.per_head == 8 * 8 + 8 + 32 * 8
    assert verdict_on(heads, 5 * heads.per_head) == (
        "explained",
        "the file holds 5 heads, the config says 2",
    )


def test_extras_of_a_config():
    """A module, and copies of embedding and head beside it; a second head where it is tied."""
    deep = small("deepseek_v3", **DEEP, num_nextn_predict_layers=1)
    module = made(deep, mtp=True).card.shape.stored_params
    assert [(e.what, e.params, e.announced) for e in made(deep).extras][:2] == [
        ("the layers that draft (MTP)", module, True),
        ("copies of embedding and head beside them", 2 * 32 * 8, False),
    ]
    tied = made(small(tie_word_embeddings=True))
    assert tied.extras == (Extra("the tied head stored a second time", 32 * 8),)
    assert verdict_on(tied, PLAIN)[0] == "explained"
    assert made(small()).extras == ()


SCALES = Extra("scales of the quantised blocks", 1_040, announced=True)


@pytest.mark.parametrize(
    ("published", "says"),
    [
        (
            COUNT + 1_000,
            "+0.006 % published over derived, with scales of the quantised blocks (1,040)",
        ),
        (COUNT + 2_000, "+0.012 % published over derived"),
        (COUNT, "exactly as published"),
        (
            COUNT + 3_561_000,
            "with the tied head stored a second time (2,560,000), the layers that draft (MTP) "
            "(1,000,000) and scales of the quantised blocks (1,040)",
        ),
    ],
)
def test_scales_that_a_config_announces_are_named_however_few(published, says):
    assert verdict_on(result(HEAD, MODULES, SCALES), published)[1] == says
