"""Is the distribution of a speculative engine's outputs the plain engine's?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from specplan.domain.answer import Answer, Basis, Table, View
from specplan.domain.outputs import Output, Outputs
from specplan.domain.scenario import Input
from specplan.errors import InputError, Refused, UsageError
from specplan.physics.divergence import Divergence
from specplan.physics.trials import check_seed
from specplan.physics.twosample.compare import TESTS, Found, compare, nothing
from specplan.physics.twosample.judge import Tested, judged
from specplan.physics.twosample.labels import log_labellings
from specplan.questions.equivalence_greedy import (
    Greedy,
    greedy,
    greedy_table,
    greedy_view,
    verdict_on,
)
from specplan.questions.equivalence_view import sampled_table, sampled_view
from specplan.visible import visible

Verdict = Literal["same", "differs", "unsure"]

LEVEL = 0.01
SENSITIVITY = 0.02
ROOM = 20  # labellings drawn for each that the level would need if there were one test
MOST_PERMUTATIONS = 1_000_000
LARGEST_LEVEL = 0.5
CERTAIN = 0.9  # power from which on seeing nothing means that there is nothing to see
CUT = 0.1  # share of outputs that end at the longest length, from which on it is a limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """The verdict: `same` as far as could be seen, `differs`, or `unsure`.

    Of sampled outputs, `power` is the probability that a mean shift of TV `sensitivity` would have
    shown, `smallest_tv` the shift that shows 9 times in 10, both of the test that sees best, and
    `tv` what that test found, with a 95 % interval. `differing` names the tests that see a
    difference. Of greedy outputs, `greedy` tells where they part.
    """

    verdict: Verdict
    decoding: Literal["sampled", "greedy"]
    unit: Literal["tokens", "text"]
    prompts: int
    plain_outputs: int
    spec_outputs: int
    plain_only: int
    spec_only: int
    level: float
    sensitivity: float
    seed: int
    permutations: int | None = None
    differing: tuple[str, ...] = ()
    power: float | None = None
    smallest_tv: float | None = None
    sees_best: str | None = None
    tv: float | None = None
    tv_low: float | None = None
    tv_high: float | None = None
    greedy: Greedy | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """The outputs of both to the prompts that both have, and the prompts that one alone has."""

    names: tuple[str, ...]
    pairs: tuple[tuple[Sequence[Output], Sequence[Output]], ...]
    plain_only: tuple[str, ...]
    spec_only: tuple[str, ...]

    @property
    def deterministic(self) -> bool:
        """Whether no prompt has two different outputs in one file."""
        return all(len({o.tobytes() for o in arm}) == 1 for pair in self.pairs for arm in pair)


def equivalence(
    plain: Outputs,
    spec: Outputs,
    *,
    level: float = LEVEL,
    sensitivity: float = SENSITIVITY,
    permutations: int | None = None,
    seed: int = 0,
    done: Callable[[int], None] = nothing,
) -> Answer:
    """The outputs of two engines, held against each other prompt by prompt.

    `level` in (0, 0.5] is the probability of seeing a difference where there is none; `sensitivity`
    in [0, 1] the mean TV that is asked about; `permutations` by default 20 / level. Where every
    prompt has one output in each file, however often, decoding was greedy. `done` is told of each
    prompt. Exit 1 when the distributions differ.
    """
    if not 0 < level <= LARGEST_LEVEL:
        raise UsageError(f"level is {level:g}", expected=f"above 0, up to {LARGEST_LEVEL:g}")
    if not 0 <= sensitivity <= 1:
        raise UsageError(f"sensitivity is {sensitivity:g}", expected="a TV from 0 to 1")
    check_seed(seed)
    joined = join(plain, spec)
    said = _Asked(plain, spec, joined, level, sensitivity, seed)
    if joined.deterministic:
        return _greedy(said)
    rows = _permutations(permutations, level)
    _check_room(joined, level)
    found = compare(joined.pairs, rows, np.random.default_rng(seed), done=done)
    return _sampled(said, found, rows)


def join(plain: Outputs, spec: Outputs) -> Joined:
    """The outputs of both to each prompt, in the order of the plain file."""
    if plain.unit != spec.unit:
        called = {"tokens": "token ids", "text": "text"}
        raise InputError(
            f"{plain.name} has {called[plain.unit]} and {spec.name} {called[spec.unit]}",
            hint="give the same of both; token ids tell more",
        )
    if plain.sha256 and plain.sha256 == spec.sha256:
        raise UsageError(f"{plain.name} and {spec.name} are the same file")
    shared = [prompt for prompt in plain.prompts if prompt in spec.prompts]
    if not shared:
        by = [f"{one.name} names prompts by {one.named_by or 'line'}" for one in (plain, spec)]
        raise InputError(
            f"no prompt of {plain.name} is in {spec.name}",
            hint=f"{by[0]}, {by[1]}: use one prompt_id in both",
        )
    return Joined(
        names=tuple(shared),
        pairs=tuple((plain.prompts[prompt], spec.prompts[prompt]) for prompt in shared),
        plain_only=tuple(prompt for prompt in plain.prompts if prompt not in spec.prompts),
        spec_only=tuple(prompt for prompt in spec.prompts if prompt not in plain.prompts),
    )


def _permutations(asked: int | None, level: float) -> int:
    """How many labellings to draw; refuses fewer than could show anything."""
    if asked is None:
        return math.ceil(ROOM / level) - 1
    fewest = math.ceil(len(TESTS) / level) - 1
    if not fewest <= asked <= MOST_PERMUTATIONS:
        raise UsageError(
            f"{asked:,} permutations at level {level:g}",
            expected=f"{fewest:,} to {MOST_PERMUTATIONS:,}: fewer cannot show a difference",
        )
    return asked


def _check_room(joined: Joined, level: float) -> None:
    """Refuses outputs so few that no labelling of them is unlikely enough."""
    sizes = [(len(plain), len(spec)) for plain, spec in joined.pairs]
    if log_labellings(sizes) < math.log(len(TESTS) / level):
        plain, spec = (sum(arm) for arm in zip(*sizes, strict=True))
        raise Refused(
            f"{plain} and {spec} outputs to {len(sizes)} prompts cannot show a difference",
            expected=f"p-values down to {level / len(TESTS):.2g}",
            hint="give more outputs to each prompt",
        )


def _sampled(asked: _Asked, found: Found, rows: int) -> Answer:
    result = judged(found, asked.level, asked.sensitivity)
    differing = result.differing(asked.level)
    best = min(result.tests, key=_blindness)
    certain = best.power is not None and best.power >= CERTAIN
    value = asked.value(
        verdict="differs" if differing else "same" if certain else "unsure",
        decoding="sampled",
        permutations=rows,
        differing=differing,
        power=best.power,
        smallest_tv=best.smallest_tv,
        sees_best=best.test if best.power is not None else None,
        tv=best.effect,
        tv_low=best.effect_low,
        tv_high=best.effect_high,
    )
    return asked.answer(
        value,
        sampled_table(result, found.prompts, asked.joined.names, value),
        sampled_view(value, result, asked.caption),
        Basis(
            kind="exact",
            says=f"permutation tests, level {asked.level:g}",
            source="Phipson and Smyth 2010; Holm 1979",
        ),
    )


def _blindness(tested: Tested) -> tuple[float, float]:
    """The shift that a test needs, above 1 where none is enough; then what it misses."""
    power = -1.0 if tested.power is None else tested.power
    return tested.smallest_tv or 2.0, -power


def _greedy(asked: _Asked) -> Answer:
    pairs = ((plain[0], spec[0]) for plain, spec in asked.joined.pairs)
    found = Divergence.of(pairs)
    told = greedy(found, asked.sensitivity)
    value = asked.value(
        verdict=verdict_on(found, asked.level, asked.sensitivity), decoding="greedy", greedy=told
    )
    basis = Basis(kind="exact", says="token by token", source="Clopper and Pearson 1934")
    return asked.answer(value, greedy_table(found), greedy_view(value, told, asked.caption), basis)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked of which outputs, and what all answers say of that."""

    plain: Outputs
    spec: Outputs
    joined: Joined
    level: float
    sensitivity: float
    seed: int

    def value(self, **found: Any) -> Equivalence:  # noqa: ANN401 - the fields left
        """The answer's value with what was found."""
        return Equivalence(
            unit=self.plain.unit,
            prompts=len(self.joined.names),
            plain_outputs=sum(len(plain) for plain, _ in self.joined.pairs),
            spec_outputs=sum(len(spec) for _, spec in self.joined.pairs),
            plain_only=len(self.joined.plain_only),
            spec_only=len(self.joined.spec_only),
            level=self.level,
            sensitivity=self.sensitivity,
            seed=self.seed,
            **found,
        )

    @property
    def caption(self) -> tuple[str, str]:
        """The files and how much they have in common."""
        plain, spec = (sum(map(len, arm)) for arm in zip(*self.joined.pairs, strict=True))
        unit = "token ids" if self.plain.unit == "tokens" else "text"
        prompts = len(self.joined.names)
        return (
            f"{visible(self.plain.name, 38)} and {visible(self.spec.name, 38)}",
            f"{prompts:,} prompt{'s' * (prompts > 1)}, {plain:,} and {spec:,} outputs, {unit}",
        )

    def answer(self, value: Equivalence, table: Table, view: View, basis: Basis) -> Answer:
        """The answer, exit 1 if the distributions differ."""
        return Answer(
            command="equivalence",
            value=value,
            table=table,
            view=view,
            basis=basis,
            inputs={
                "plain": Input(value=self.plain.name, origin="flag", sha256=self.plain.sha256),
                "spec": Input(value=self.spec.name, origin="flag", sha256=self.spec.sha256),
                "level": Input(value=self.level, origin=_origin(self.level, LEVEL)),
                "sensitivity": Input(
                    value=self.sensitivity, origin=_origin(self.sensitivity, SENSITIVITY)
                ),
                "seed": Input(value=self.seed, origin=_origin(self.seed, 0)),
            },
            notes=tuple(self._notes(value)),
            ok=value.verdict != "differs",
        )

    def _notes(self, value: Equivalence) -> Iterator[str]:
        alone = (self.plain, self.joined.plain_only), (self.spec, self.joined.spec_only)
        for outputs, prompts in alone:
            if prompts:
                some = ", ".join(visible(prompt, 30) for prompt in prompts[:3])
                more = ", ..." if len(prompts) > 3 else ""
                count = f"{len(prompts):,} prompt{'s' * (len(prompts) > 1)}"
                yield f"in {outputs.name} alone, not compared: {count} ({some}{more})"
        if value.unit == "text":
            yield "text is compared in pieces of up to four letters; token ids tell more"
        single = all(len(arm) == 1 for pair in self.joined.pairs for arm in pair)
        if value.decoding == "greedy" and single:
            yield "one output to each prompt: taken for greedy; sampled ones need several"
        yield from self._limits()

    def _limits(self) -> Iterator[str]:
        """Outputs that end at different limits differ in that alone."""
        longest, share = [], []
        for outputs in zip(*self.joined.pairs, strict=True):
            lengths = [len(output) for arm in outputs for output in arm]
            longest.append(max(lengths))
            share.append(lengths.count(max(lengths)) / len(lengths))
        if longest[0] != longest[1] and min(share) >= CUT:
            unit = "tokens" if self.plain.unit == "tokens" else "pieces"
            yield (
                f"many outputs of {self.plain.name} end at {longest[0]:,} {unit}, of "
                f"{self.spec.name} at {longest[1]:,}: is the limit the same?"
            )


def _origin(value: float, default: float) -> str:
    return "default" if value == default else "flag"
