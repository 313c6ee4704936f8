"""Rules of acceptance curves one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specplan.catalogue.store import Catalogue
from specplan.domain import curve
from specplan.domain.card import Source
from specplan.domain.curve import Curve, Series
from specplan.errors import UnknownName
from specplan.rules import Finding
from specplan.rules.cards import check_card, check_curve
from specplan.rules.curves import cardless, unfit_curve


def source(*of: str) -> Source:
    return Source(of=of, kind="measured", cite="ours")


LENGTHS = Series(name="chat", lengths={1: 1.79, 2: 2.27, 3: 2.49, 4: 2.54})
CARD = Curve(
    schema="curve/1",
    name="mine",
    title="Ours",
    drafter="mtp",
    of="a module of a model",
    series=(LENGTHS, Series(name="code", conditional=(0.79, 0.61, 0.46, 0.23))),
    sources=(source("series"),),
)
STORE = Catalogue()


def of(drafter: str = "mtp", **series: object) -> list[Finding]:
    made = Series(name="chat", **series)  # type: ignore[arg-type]
    return check_curve(replace(CARD, drafter=drafter, series=(made,)))


def test_a_good_card_has_no_findings():
    assert check_card(CARD) == []


def test_every_series_has_a_source():
    named = replace(CARD, sources=(source("series.code"),))
    (found,) = check_curve(named)
    assert found == Finding("SC001", "error", "no source covers series.chat", ("series", 0))
    assert check_curve(replace(named, sources=(source("series.code", "series.chat"),))) == []
    stray = check_curve(replace(CARD, sources=(source("series", "series.none", "engine"),)))
    assert [(f.rule, f.path) for f in stray] == [
        ("SC012", ("sources", 0, "of", 1)),
        ("SC012", ("sources", 0, "of", 2)),
    ]


@pytest.mark.parametrize("drafter", ["mtp", "block", "ngram", "lookahead", "skip", "model"])
def test_kinds_that_there_are(drafter):
    assert check_curve(replace(CARD, drafter=drafter)) == []


@pytest.mark.parametrize(
    ("drafter", "hint"), [("egale3", "; did you mean 'eagle3'?"), ("dflash", ""), ("zz", "")]
)
def test_a_kind_that_there_is_not(drafter, hint):
    (found,) = check_curve(replace(CARD, drafter=drafter))
    message = f"'{drafter}' is no kind of drafter{hint}"
    assert found == Finding("SC044", "warning", message, ("drafter",))


def test_a_kind_that_a_package_adds(monkeypatch):
    added = {"specplan.drafters": "oracle"}
    monkeypatch.setattr(curve, "entry_points", lambda group, name: [1] * (added[group] == name))
    assert check_curve(replace(CARD, drafter="oracle")) == []
    assert [f.rule for f in check_curve(replace(CARD, drafter="orcale"))] == ["SC044"]


@pytest.mark.parametrize(
    ("rates", "wrong"),
    [
        ((0.8, 0.64, 0.51), True),
        ((0.79, 0.61, 0.46, 0.23), False),  # DeepSeek-V4-Pro's module, conditional in truth
        ((0.8, 0.64), False),  # two rates have no shape
        ((0.8, 0.8, 0.8), False),
        ((1.0, 1.0, 1.0), False),
        ((0.0, 0.0, 0.0), False),
    ],
)
def test_shares_written_as_conditional_rates(rates, wrong):
    found = of(conditional=rates)
    assert [(f.rule, f.path) for f in found] == [
        ("SC046", ("series", 0, "conditional")) for _ in range(wrong)
    ]
    if wrong:
        assert "0.8 0.64 0.51: are they shares of all rounds" in found[0].message


@pytest.mark.parametrize(
    ("rates", "wrong"),
    [
        ((0.68, 0.66, 0.65), True),
        ((0.9, 0.88, 0.86), True),
        ((0.97, 0.941, 0.913), False),  # what alpha 0.97 gives
        ((0.757, 0.601, 0.498, 0.411), False),  # Inkling: easy spans survive
        ((0.68, 0.0, 0.0), False),
        ((0.68, 0.66), False),
    ],
)
def test_conditional_rates_written_as_shares(rates, wrong):
    found = of(unconditional=rates)
    assert [(f.rule, f.path) for f in found] == [
        ("SC046", ("series", 0, "unconditional")) for _ in range(wrong)
    ]
    assert of("ngram", unconditional=rates) == []  # what a lookup finds goes on


@pytest.mark.parametrize(
    ("lengths", "places"),
    [
        ({1: 1.8, 2: 2.4, 3: 2.21}, []),  # noise
        ({1: 1.8, 2: 2.4, 3: 2.19}, ["3"]),
        ({5: 3.0, 6: 3.2, 7: 3.1, 8: 2.9}, ["8"]),
        ({8: 2.0, 1: 1.9}, []),  # in whichever order it is written
    ],
)
def test_longer_drafts_that_keep_less(lengths, places):
    found = of(lengths=lengths)
    assert [(f.rule, f.path) for f in found] == [
        ("SC047", ("series", 0, "lengths", place)) for place in places
    ]


def test_what_was_measured_so_is_accepted():
    series = (replace(LENGTHS, lengths={1: 1.8, 2: 1.5}),)
    card = replace(CARD, series=series, accept={"SC047": "it was"})
    (found,) = check_curve(card)
    assert (found.rule, found.level) == ("SC047", "note")
    assert found.message == "1.5 tokens at k = 2 after 1.8 at k = 1; accepted: it was"


def test_a_model_that_is_not_there():
    error = UnknownName("unknown model 'lama'", hint="did you mean 'llama'?")
    message = "target lama: unknown model 'lama'; did you mean 'llama'?"
    assert cardless("target", "lama", error) == Finding("SC045", "warning", message, ("target",))


@pytest.mark.parametrize(
    ("drafter", "draft", "target", "messages"),
    [
        ("eagle3", "eagle3-llama-3.1-8b", "llama-3.1-8b", []),
        ("eagle3", "eagle3-llama-3.1-8b", None, []),
        ("eagle3", None, "llama-3.1-8b", []),
        ("model", "llama-3.2-1b", "llama-3.1-8b", []),
        ("eagle3", "llama-3.2-1b", None, ["llama-3.2-1b is of kind model, not eagle3"]),
        (
            "mtp",
            "eagle3-llama-3.1-8b",
            "llama-3.3-70b",
            [
                "eagle3-llama-3.1-8b is of kind eagle3, not mtp",
                "eagle3-llama-3.1-8b was made for llama-3.1-8b, not for llama-3.3-70b",
            ],
        ),
    ],
)
def test_drafters_that_are_not_of_the_curve(drafter, draft, target, messages):
    models = [STORE.model(name).card if name else None for name in (draft, target)]
    found = list(unfit_curve(replace(CARD, drafter=drafter), *models))
    assert [f.message for f in found] == messages
    assert all(f.rule == "SC045" and f.path == ("draft",) for f in found)


@pytest.mark.parametrize("name", ["eagle3", "dflash", "ngram"])
def test_a_name_that_means_a_kind(name):
    (found,) = check_curve(replace(CARD, name=name))
    message = f"'{name}' before a / is a kind of drafter, not this card"
    assert found == Finding("SC008", "error", message, ("name",))
