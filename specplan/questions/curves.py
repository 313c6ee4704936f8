"""Acceptance curves figure by figure: tokens by draft length, rates by position, and two fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.domain.answer import (
    Answer,
    Column,
    Lines,
    Rows,
    Scalar,
    Section,
    View,
    table_of,
)
from specplan.domain.card import Origin
from specplan.domain.curve import Curve, Series
from specplan.questions.cards import BASIS, Filed, hiding_notes, inputs_of
from specplan.questions.curve_figures import CurveFigures, figures_of
from specplan.questions.showing import from_words, papers

MOST = 8  # draft length up to which figures are shown
LENGTHS = tuple(range(1, MOST + 1))
COLUMNS = (
    Column("curve", "", "curve", "text", "what to write after --acceptance"),
    Column("card", "", "card", "text", "the card that holds it"),
    Column("series", "", "series", "text", "its name in the card"),
    Column("task", "", "task", "text", "what was generated"),
    Column("temperature", "", "T", "alpha", "of sampling; nothing where it is not stated"),
    Column("measured", "", "measured", "text", "draft lengths with a measured figure"),
    *(Column(f"tokens_{k}", "tokens", f"k={k}", "number", "tokens per round") for k in LENGTHS),
    *(Column(f"rate_{k}", "", f"i={k}", "number", "kept if all before were") for k in LENGTHS),
    Column("off", "tokens", "off", "number", "farthest of the survival form from a measured k"),
    Column("decay_first", "", "first", "number", "p_1 of the decay p_i = first ratio^(i-1)"),
    Column("decay_ratio", "", "ratio", "number", "its ratio of neighbouring rates"),
    Column("decay_rmse", "tokens", "RMSE", "number", "its error over the measured lengths"),
    Column("alpha", "", "alpha", "number", "the best single alpha"),
    Column("alpha_rmse", "tokens", "RMSE", "number", "its error over the measured lengths"),
    Column("spread", "tokens", "spread", "number", "standard deviation between requests or runs"),
    Column("spread_of", "", "between", "text", "requests or runs"),
    Column("samples", "", "samples", "count", "how many were measured"),
    Column("samples_of", "", "of", "text", "rounds, requests, prompts or tokens"),
)
TOKENS = "Tokens per round, bonus included; in brackets where nobody measured:"
RATES = "Kept at position i, given that all before were:"
FITS = (
    "Fits: a decay, p_i = first ratio^(i-1), and one alpha; RMSE in tokens. The form",
    "with falling gains (isotonic regression) lies off by as many tokens at most:",
)
FITTED = ("decay_first", "decay_ratio", "decay_rmse", "alpha", "alpha_rmse", "off")

Asked = tuple[Filed[Curve], tuple[Series, ...]]


@dataclass(frozen=True, slots=True)
class CurveShown:
    """One card, which of its series were asked for, and where it came from."""

    card: Curve
    series: tuple[str, ...]
    origin: Origin
    hides: str | None


@dataclass(frozen=True, slots=True)
class CurvesShown:
    """The cards asked for, in that order."""

    curves: tuple[CurveShown, ...]


def show_curves(asked: Sequence[Asked]) -> Answer:
    """Cards with those of their series that were asked for, each with its figures."""
    filed = [one for one, _ in asked]
    flags = [Column(_flag(place), "", "", "flag", "of that card") for place in range(len(asked))]
    rows = [
        {**dict.fromkeys((flag.name for flag in flags), False), _flag(place): True, **row}
        for place, (one, series) in enumerate(asked)
        for row in (_row(one.card, each) for each in series)
    ]
    shown = (CurveShown(f.card, _names(s), f.origin, f.hides or None) for f, s in asked)
    return Answer(
        command="curves-show",
        value=CurvesShown(tuple(shown)),
        table=table_of(COLUMNS, rows, (*_texts(), *flags)),
        view=_view(asked),
        basis=BASIS,
        inputs=inputs_of(filed),
        notes=hiding_notes(filed),
    )


def _view(asked: Sequence[Asked]) -> View:
    """One card with its sources and notes, or several one below the other."""
    (first, _), *others = asked
    if others:
        title = "Acceptance curves"
        caption: tuple[str, ...] = ("Sources and notes: show one at a time.",)
    else:
        also = f", also {', '.join(first.card.aliases)}" if first.card.aliases else ""
        title, caption = first.card.title, (f"{first.card.name}{also}", from_words(first))
    sections: list[Section] = []
    for place, (one, series) in enumerate(asked):
        if others:
            sections.append(Lines((f"{one.card.name}: {one.card.title}", from_words(one))))
        sections += _sections(one.card, series, _flag(place))
    return View(
        title=title,
        caption=caption,
        sections=(*sections, *(() if others else papers(first.card))),
    )


def _sections(card: Curve, series: Sequence[Series], flag: str) -> Iterator[Section]:
    """One card: what was measured, then the figures of its series."""
    yield Lines(tuple(_measured(card, series)), wrap=True)
    yield Lines((TOKENS,))
    yield Rows(columns=("series", *(f"tokens_{k}:text" for k in LENGTHS)), where=flag)
    yield Lines((RATES,))
    yield Rows(columns=("series", *(f"rate_{k}:text" for k in LENGTHS)), where=flag)
    if any(one.measured for one in series):
        yield Lines(FITS)
        yield Rows(columns=("series", *FITTED), where=flag)


def _measured(card: Curve, series: Sequence[Series]) -> Iterator[str]:
    """What the figures are of, and each series in words."""
    cards = (f"{what} {name}" for what, name in (("target", card.target), ("drafter", card.draft)))
    named = [text for text in cards if not text.endswith(" None")]
    parts = (card.of, card.engine, ", ".join(named))
    yield "; ".join(filter(None, parts))
    for one in series:
        yield f"{one.name}: {'; '.join(_told(one))}"


def _told(series: Series) -> Iterator[str]:
    """Task, temperature, settings, form, sample and spread, as far as they are stated."""
    if series.task and series.task != series.name:
        yield series.task
    if series.temperature is not None:
        yield f"temperature {series.temperature:g}"
    if series.settings:
        yield series.settings
    yield _form(series)
    if series.samples is not None:
        yield f"{series.samples:,} {series.samples_of}"
    if series.spread is not None:
        yield f"spread {series.spread:g} tokens between {series.spread_of}"


def _form(series: Series) -> str:
    """What was measured, and where."""
    if series.lengths:
        return f"lengths at k = {' '.join(map(str, series.measured))}"
    if series.fire is not None:
        return f"a burst of {series.burst:g} tokens in {100 * series.fire:g} % of the rounds"
    kind = "conditional" if series.conditional else "unconditional"
    return f"{kind} rates of {len(series.measured)} positions"


def _row(card: Curve, series: Series) -> dict[str, Scalar]:
    """The figures of one series, and as people read them."""
    found = figures_of(series, MOST)
    rates = (*found.rates, *[None] * MOST)[:MOST]
    pairs = list(zip(LENGTHS, found.tokens, rates, strict=True))
    return {
        "curve": f"{card.name}/{series.name}",
        "card": card.name,
        "series": series.name,
        "task": series.task,
        "temperature": series.temperature,
        "measured": " ".join(map(str, series.measured)) or None,
        **{f"tokens_{k}": tokens for k, tokens, _ in pairs},
        **{f"rate_{k}": rate for k, _, rate in pairs},
        **{f"tokens_{k}:text": _tokens_text(series, k, tokens) for k, tokens, _ in pairs},
        **{f"rate_{k}:text": "-" if rate is None else f"{rate:.2f}" for k, _, rate in pairs},
        **_fits(found),
        "spread": series.spread,
        "spread_of": series.spread_of,
        "samples": series.samples,
        "samples_of": series.samples_of,
    }


def _fits(found: CurveFigures) -> dict[str, Scalar]:
    decay, alpha = found.decay, found.alpha
    return {
        "off": found.off,
        "decay_first": decay.first if decay else None,
        "decay_ratio": decay.ratio if decay else None,
        "decay_rmse": decay.rmse if decay else None,
        "alpha": alpha.alpha if alpha else None,
        "alpha_rmse": alpha.rmse if alpha else None,
    }


def _tokens_text(series: Series, k: int, tokens: float) -> str:
    return f"{tokens:.2f}" if k in series.measured else f"({tokens:.2f})"


def _texts() -> tuple[Column, ...]:
    """The same figures in words of two digits; the headings are those of the figures."""
    return tuple(
        Column(f"{column.name}:text", "", column.title, "number", "as people read it")
        for column in COLUMNS
        if column.name.startswith(("tokens_", "rate_"))
    )


def _names(series: Sequence[Series]) -> tuple[str, ...]:
    return tuple(one.name for one in series)


def _flag(place: int) -> str:
    return f"card_{place}"
