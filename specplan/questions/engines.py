"""One serving engine with its habits and the constants of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from itertools import zip_longest
from typing import get_args, get_type_hints

from specplan.domain.answer import (
    Answer,
    Column,
    Facts,
    Lines,
    Scalar,
    Section,
    View,
    table_of,
)
from specplan.domain.engine import (
    PAYLOADS_BYTES,
    AllReduce,
    Decode,
    Engine,
    Gemm,
    Grouped,
    Kernels,
    Latent,
    Release,
    Small,
)
from specplan.questions.cards import (
    BASIS,
    Filed,
    hiding_notes,
    inputs_of,
)
from specplan.questions.engine_passes import passes_rows, passes_sections
from specplan.questions.showing import from_words, papers
from specplan.units import Unit, people

CONSTANT_COLUMNS = (
    Column("gpu", "", "accelerator", "text", "card; nothing where it holds on every one"),
    Column("basis", "", "basis", "text", "measured there, scaled from another, or assumed"),
    Column("kernel", "", "kernel", "text", "what it computes and in which dtype; or whose habit"),
    Column("constant", "", "constant", "text", "its name in the card"),
    Column("value", "", "value", "number", "SI: seconds, bytes/s, a share of the peak; 1 for true"),
)
LEGEND = Lines(
    (
        "Constants by their names in the card, shares of the accelerator's figures: "
        "engines/README.md has what each means. All-reduce is timed at "
        f"{', '.join(people(size, 'B') for size in PAYLOADS_BYTES)}.",
    ),
    wrap=True,
)
Family = Gemm | Decode | Latent | Grouped


@dataclass(frozen=True, slots=True)
class EngineShown:
    """One engine's card."""

    card: Engine


def show_engine(filed: Filed[Engine], version: str | None = None) -> Answer:
    """One engine: habits by version (or of one alone), then its constants by accelerator."""
    card = filed.card
    release = card.release(version) if version else None
    outgrown = card.outgrown(version)
    if release:
        card = replace(card, releases=(release,))
    also = f", also {', '.join(card.aliases)}" if card.aliases else ""
    return Answer(
        command="engines-show",
        value=EngineShown(card),
        table=table_of(
            CONSTANT_COLUMNS, [*_habit_rows(card), *passes_rows(card), *_kernel_rows(card)]
        ),
        view=View(
            title=_title(card, version),
            caption=(f"{card.name}{also}", from_words(filed)),
            sections=(
                Facts(tuple(_general(card))),
                *passes_sections(card),
                *_releases(filed.card, release),
                *([LEGEND] if card.kernels else []),
                *(_kernels(kernels) for kernels in card.kernels),
                *papers(card),
            ),
        ),
        basis=BASIS,
        inputs=inputs_of([filed]),
        notes=(*hiding_notes([filed]), *filter(None, [outgrown])),
    )


def _title(card: Engine, version: str | None) -> str:
    """Its full name and what its figures are, the name once."""
    head, colon, rest = card.says.partition(": ")
    says = rest if colon and head.casefold() in card.title.casefold() else card.says
    return f"{card.title}{f' {version}' if version else ''}: {says}"


def _general(card: Engine) -> Iterator[tuple[str, str]]:
    """What holds on every accelerator and in every version."""
    if card.follows:
        yield "follows", f"{card.follows}, for what its own card does not state"
    if card.stand_in:
        yield "stand-in", f"{card.stand_in}, for accelerators that are not named below"
    if card.kind != "bound":
        yield "expert overlap", f"kappa {card.overlap:g}"
        yield "KV cache", f"read once for each {'query' if card.rereads else 'sequence'}"
    if card.small:
        small = card.small
        each, target = people(small.launch, "s"), people(small.sampler, "s")
        yield (
            "small kernels",
            f"{small.launches} a layer, {each} each, {small.memory:g} of bandwidth",
        )
        yield "recurrent layer", people(small.state, "s")
        yield "sampler", f"{target} a pass, {people(small.draft_sampler, 's')} a draft pass"


def _releases(card: Engine, only: Release | None) -> Iterator[Section]:
    """Habits version by version, or of one alone, each with what the card says of them."""
    for release, later in zip_longest(card.releases, card.releases[1:]):
        if only in {None, release}:
            end = f", before {later.since}" if later else ""
            yield Facts((("versions", f"from {release.since}{end}"), *_habits(release)))
            yield Lines((release.says,), wrap=True)


def _habits(release: Release) -> Iterator[tuple[str, str]]:
    host, round_host = people(release.host, "s"), people(release.round_host, "s")
    yield "plain step", f"{host} of host time, {_shown(hidden=release.host_hidden)}"
    yield "round", f"{round_host} of host time, {_shown(hidden=release.round_hidden)}"
    if release.unhidden:
        kinds = ", ".join(release.unhidden)
        yield "round of", f"{kinds} drafts: the longer of both, shown"
    if release.host_per_sequence:
        each = people(release.host_per_sequence, "s")
        yield "request", f"{each} of host time, in a server's time per token"
    floor = f"; at least {people(release.draft_floor, 's')}" if release.draft_floor else ""
    yield "draft pass", f"{people(release.draft_host, 's')} of host time{floor}"
    eager = f"one by one, {people(release.eager, 's')} each"
    wide = f"up to {release.graphs:,} rows; beyond, kernels start {eager}"
    yield "CUDA graphs", wide if release.graphs else f"none: kernels start {eager}"


def _shown(*, hidden: bool) -> str:
    return "hidden behind the GPU" if hidden else "exposed"


def _kernels(kernels: Kernels) -> Lines:
    """An accelerator: a line for each family of kernels, with the names that its card gives."""
    same = f"; the same on {', '.join(kernels.gpus[1:])}" if kernels.gpus[1:] else ""
    told = [f"{name}: {_words(family)}" for name, family in _families(kernels)]
    told += [_exchange(one) for one in kernels.allreduce]
    return Lines((f"{kernels.gpus[0]} ({kernels.basis}{same})", *told), wrap=True)


def _families(kernels: Kernels) -> Iterator[tuple[str, Family]]:
    """Its kernels, each under what it computes and in which dtype."""
    yield from ((f"gemm {dtype}", one) for dtype, one in kernels.gemm.items())
    yield from ((f"attention {dtype}", one) for dtype, one in kernels.attention.items())
    if kernels.latent:
        yield "latent attention", kernels.latent
    yield from ((f"experts {dtype}", one) for dtype, one in kernels.experts.items())


def _words(family: Family) -> str:
    """The constants of a family that are not those of a card which leaves them out."""
    of: type = type(family)
    told, units = [], _units(of)
    for field in fields(family):
        value = getattr(family, field.name)
        if field.default is MISSING or value != field.default:
            unit = units.get(field.name)
            shown = (
                people(value, unit) if unit else value if field.name == "tiles" else f"{value:g}"
            )
            told.append(f"{field.name} {shown}")
    return ", ".join(told)


@cache
def _units(of: type) -> dict[str, str]:
    """The SI unit of each constant that has one, as its annotation says."""
    hints = get_type_hints(of, include_extras=True)
    marks = {
        name: [mark for arm in (hint, *get_args(hint)) for mark in getattr(arm, "__metadata__", ())]
        for name, hint in hints.items()
    }
    return {n: mark.symbol for n, some in marks.items() for mark in some if isinstance(mark, Unit)}


def _exchange(one: AllReduce) -> str:
    """All-reduce times of every payload, in a row."""
    times = " ".join(f"{1e6 * time_s:.1f}" for time_s in one.times)
    return f"all-reduce over {one.gpus}: {times} us; beyond, {people(one.bus, 'B/s')}"


def _habit_rows(card: Engine) -> Iterator[dict[str, Scalar]]:
    """Every constant that belongs to no accelerator."""
    if card.kind != "bound":
        general = {"expert_overlap": card.overlap, "rereads_kv": float(card.rereads)}
        yield from _rows("engine", general.items())
    if card.small:
        yield from _rows("small", _numbers(card.small))
    for release in card.releases:
        yield from _rows(f"from {release.since}", _numbers(release))


def _kernel_rows(card: Engine) -> Iterator[dict[str, Scalar]]:
    """Every constant of the kernels, accelerator by accelerator."""
    for kernels in card.kernels:
        for name, family in _families(kernels):
            yield from _rows(name, _numbers(family), kernels)
        for one in kernels.allreduce:
            at = ((f"times {size}", time_s) for size, time_s in _sized(one))
            yield from _rows(f"all-reduce {one.gpus}", (*at, ("bus", one.bus)), kernels)


def _sized(one: AllReduce) -> Iterator[tuple[str, float]]:
    """Each payload, in words, with its time."""
    return zip((people(size, "B") for size in PAYLOADS_BYTES), one.times, strict=True)


def _numbers(one: Family | Small | Release) -> Iterator[tuple[str, float]]:
    """Its constants that are numbers, true and false among them."""
    for field in fields(one):
        value = getattr(one, field.name)
        if isinstance(value, float | int):
            yield field.name, float(value)


def _rows(
    kernel: str, constants: Iterable[tuple[str, float]], kernels: Kernels | None = None
) -> Iterator[dict[str, Scalar]]:
    """A row for each constant."""
    for constant, value in constants:
        yield {
            "gpu": kernels.gpus[0] if kernels else None,
            "basis": kernels.basis if kernels else None,
            "kernel": kernel,
            "constant": constant,
            "value": value,
        }
