"""Serving engines: all in a table, or one with its habits and the constants of its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from specplan.domain.answer import Answer, Column, Facts, Rows, Scalar, View, table_of
from specplan.domain.engine import Engine, Kernels, Release
from specplan.questions.cards import (
    BASIS,
    ORIGIN_COLUMNS,
    Filed,
    counted,
    hiding_notes,
    inputs_of,
    origin_row,
)
from specplan.questions.showing import from_words, papers
from specplan.units import people

LIST_COLUMNS = (
    Column("name", "", "name", "text", "what to write after --engine"),
    Column("title", "", "engine", "text", "its full name"),
    Column("kind", "", "figures", "text", "a bound, an estimate, or calibrated to your data"),
    Column("since", "", "versions from", "text", "where its card tells versions apart"),
    Column("follows", "", "follows", "text", "the engine whose kernels stand in for its own"),
    Column("measured", "", "measured on", "text", "accelerators whose kernels were fitted"),
    *ORIGIN_COLUMNS,
)
LISTED = ("name", "kind", "since", "follows", "measured")
CONSTANT_COLUMNS = (
    Column("gpu", "", "accelerator", "text", "card"),
    Column("basis", "", "basis", "text", "measured there, scaled from another, or assumed"),
    Column("kernel", "", "kernel", "text", "what it computes, and in which storage type"),
    Column("constant", "", "constant", "text", "its name in the card"),
    Column("value", "", "value", "number", "SI: seconds, bytes/s, or a share of the peak"),
)


@dataclass(frozen=True, slots=True)
class EngineShown:
    """One engine's card."""

    card: Engine


def list_engines(filed: Sequence[Filed[Engine]]) -> Answer:
    """A row for each engine."""
    return Answer(
        command="engines-list",
        value=counted(filed),
        table=table_of(LIST_COLUMNS, [_row(f.card) | origin_row(f) for f in filed]),
        view=View(
            title=f"{len(filed)} engines",
            caption=("What an engine reaches on an accelerator; any other takes its stand-in's.",),
            sections=(Rows(columns=LISTED),),
        ),
        basis=BASIS,
        inputs=inputs_of(filed),
        notes=hiding_notes(filed),
    )


def _row(card: Engine) -> dict[str, Scalar]:
    measured = [kernels.gpus[0] for kernels in card.kernels if kernels.basis == "measured"]
    return {
        "name": card.name,
        "title": card.title,
        "kind": card.kind,
        "since": ", ".join(release.since for release in card.releases) or None,
        "follows": card.follows,
        "measured": ", ".join(measured) or None,
    }


def show_engine(filed: Filed[Engine]) -> Answer:
    """One engine: host habits by version, then every constant by accelerator and kernel."""
    card = filed.card
    rows = [row for kernels in card.kernels for row in _constants(kernels)]
    also = f", also {', '.join(card.aliases)}" if card.aliases else ""
    return Answer(
        command="engines-show",
        value=EngineShown(card),
        table=table_of(CONSTANT_COLUMNS, rows),
        view=View(
            title=f"{card.title}: {card.says}",
            caption=(f"{card.name}{also}", from_words(filed)),
            sections=(
                Facts(tuple(_habits(card))),
                Facts(tuple(_kernel_lines(card))),
                *papers(card),
            ),
        ),
        basis=BASIS,
        inputs=inputs_of([filed]),
        notes=hiding_notes([filed]),
    )


def _habits(card: Engine) -> Iterator[tuple[str, str]]:
    for release in card.releases:
        yield f"from {release.since}", _release_words(release)
    if card.small:
        yield (
            "small kernels",
            f"{card.small.launches} a layer of {people(card.small.launch, 's')}, "
            f"sampler {people(card.small.sampler, 's')}",
        )
    if card.kind != "bound":
        yield "expert overlap", f"kappa {card.expert_overlap:g}"


def _release_words(release: Release) -> str:
    plain = "hidden" if release.host_hidden else "exposed"
    rounds = "hidden" if release.round_hidden else "exposed"
    return (
        f"host {people(release.host, 's')} a step ({plain}), "
        f"{people(release.round_host, 's')} a round ({rounds}); graphs to {release.graphs:,} rows"
    )


def _kernel_lines(card: Engine) -> Iterator[tuple[str, str]]:
    """An accelerator a line: the shares that its 16-bit kernels reach, and what else is known."""
    for kernels in card.kernels:
        gemm = ", ".join(
            f"{dtype} {one.memory:.2f} of bandwidth, {one.compute:.2f} of peak"
            for dtype, one in kernels.gemm.items()
        )
        yield f"{kernels.gpus[0]} ({kernels.basis})", gemm or "no matrix kernels"


def _constants(kernels: Kernels) -> Iterator[dict[str, Scalar]]:
    """Every constant as a row."""
    families: list[tuple[str, object]] = [
        *((f"gemm {dtype}", one) for dtype, one in kernels.gemm.items()),
        *((f"attention {dtype}", one) for dtype, one in kernels.attention.items()),
        *((f"experts {dtype}", one) for dtype, one in kernels.experts.items()),
    ]
    if kernels.latent:
        families.append(("latent attention", kernels.latent))
    for family, constants in families:
        for field in fields(constants):  # type: ignore[arg-type]
            value = getattr(constants, field.name)
            if isinstance(value, float | int):
                yield {
                    "gpu": kernels.gpus[0],
                    "basis": kernels.basis,
                    "kernel": family,
                    "constant": field.name,
                    "value": float(value),
                }
