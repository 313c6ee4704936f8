"""From types of modules to types of parts: the type of most of a part stands for all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from specplan.domain.card import Dtype
from specplan.domain.layers import Part
from specplan.domain.model import LIKE, UNQUANTISED
from specplan.importers.quant_modules import Module

NEGLIGIBLE: Final = 0.01
"""The share of a part below which nothing is said of modules that are stored otherwise."""

_NAMES: Final = {
    Part.MLP: "feed-forward",
    Part.RECURRENT: "recurrent mixers",
    Part.SHARED: "shared experts",
    Part.ROUTER: "routers",
}
Typed = tuple[Module, Dtype]
Parts = dict[Part, Dtype]


@dataclass(frozen=True, slots=True)
class Assigned:
    """A checkpoint's type, what differs in all of it, what differs in each layer, and notes."""

    dtype: Dtype
    parts: Parts
    by_layer: tuple[Parts, ...]
    notes: tuple[str, ...]


class _Case(NamedTuple):
    """Modules of a part stored otherwise than it is taken, and the rest of it."""

    part: Part
    leaves: tuple[str, ...]
    others: tuple[str, ...]
    dtype: Dtype
    taken: Dtype

    @property
    def words(self) -> str:
        """Which modules these are, by the shorter list."""
        if len(self.leaves) <= len(self.others):
            return f"{_listed(self.leaves)} alone {'is' if len(self.leaves) == 1 else 'are'}"
        return f"all but {_listed(self.others)} is"


@dataclass(slots=True)
class _Seen:
    """Where a case occurs: layers, parameters of its modules, and of its part there."""

    layers: int = 0
    params: int = 0
    of: int = 0


def assigned(layers: Sequence[Sequence[Typed]], outside: Sequence[Typed], base: Dtype) -> Assigned:
    """The parts of every layer, and of what lies outside; `base` is the unquantised type. The
    checkpoint's type is that of most of its quantised parameters.
    """
    votes: Counter[Dtype] = Counter()
    most: dict[Part, Counter[Dtype]] = {}
    cases: dict[_Case, _Seen] = {}
    wanted: list[Parts] = []
    for typed in (*layers, outside):
        taken: Parts = {}
        for part, modules in _by_part(typed).items():
            taken[part], params = _majority(modules, cases)
            most.setdefault(part, Counter())[taken[part]] += params
            if taken[part] is not base:
                votes[taken[part]] += params
        wanted.append(taken)
    dtype = votes.most_common(1)[0][0] if votes else base
    usual = {part: types.most_common(1)[0][0] for part, types in most.items()}
    parts = _differing(usual, dtype, ({},))
    by_layer = tuple(_differing(taken, dtype, ({}, parts)) for taken in wanted[:-1])
    having = Counter(part for taken in wanted for part in taken)
    return Assigned(dtype, parts, by_layer, tuple(_notes(cases, having)))


def group_sizes(
    all_of: Sequence[Sequence[Typed]], size_of: Callable[[Module], int | None]
) -> dict[Part, int | None]:
    """The weights of 4-bit integers that share a scale, by part: None where each row has one, 0
    where modules of a part differ in that or in their type.
    """
    found: dict[Part, set[int | None]] = {}
    for typed in all_of:
        for part, modules in _by_part(typed).items():
            total = sum(module.params for module, _ in modules)
            counted = [pair for pair in modules if pair[0].params >= NEGLIGIBLE * total]
            types = {dtype for _, dtype in counted}
            if Dtype.INT4 in types:
                sizes = {size_of(module) for module, _ in counted} if len(types) == 1 else {0}
                found.setdefault(part, set()).update(sizes)
    return {part: next(iter(sizes)) if len(sizes) == 1 else 0 for part, sizes in found.items()}


def _by_part(typed: Sequence[Typed]) -> dict[Part, list[Typed]]:
    found: dict[Part, list[Typed]] = {}
    for module, dtype in typed:
        found.setdefault(module.part, []).append((module, dtype))
    return found


def _majority(modules: Sequence[Typed], cases: dict[_Case, _Seen]) -> tuple[Dtype, int]:
    """The type of most of a part, and the part's parameters; what differs is added to cases."""
    params: Counter[Dtype] = Counter()
    for module, dtype in modules:
        params[dtype] += module.params
    taken, total = params.most_common(1)[0][0], params.total()
    for dtype, few in params.items():
        if dtype is taken or few < NEGLIGIBLE * total:
            continue
        part = modules[0][0].part
        leaves = tuple(module.leaf for module, other in modules if other is dtype)
        others = tuple(module.leaf for module, other in modules if other is not dtype)
        seen = cases.setdefault(_Case(part, leaves, others, dtype, taken), _Seen())
        seen.layers += 1
        seen.params += few
        seen.of += total
    return taken, total


def _differing(wanted: Parts, dtype: Dtype, stored: tuple[Parts, ...]) -> Parts:
    """What must be written, beside what is stored already, for every part to read as wanted; the
    first of `stored` is what is written. Parts that others follow come first.
    """
    written = stored[0]
    for part in sorted(wanted, key=lambda part: part in LIKE):
        if _read(part, dtype, stored) is not wanted[part]:
            written[part] = wanted[part]
    return written


def _read(part: Part, dtype: Dtype, stored: Sequence[Mapping[Part, Dtype]]) -> Dtype:
    """As Model.part_dtype reads a card."""
    for parts in stored:
        for name in (part, LIKE.get(part, part)):
            if name in parts:
                return parts[name]
    return Dtype.BF16 if part in UNQUANTISED and dtype.bytes_per_element < 2 else dtype


def _notes(cases: Mapping[_Case, _Seen], having: Mapping[Part, int]) -> Iterator[str]:
    for case, seen in cases.items():
        few = seen.layers < having[case.part]
        where = f" in {seen.layers} of {having[case.part]} layers" if few else ""
        share = f"{100 * seen.params / seen.of:.0f} % of it"
        name = _NAMES.get(case.part, str(case.part))
        said = f"{case.words} {case.dtype}, {share}"
        yield f"Within {name}{where}, {said}; all is taken as {case.taken}."


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
