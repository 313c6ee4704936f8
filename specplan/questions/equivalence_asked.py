"""What `equivalence` is asked of: the outputs to the prompts that two files share, and what every
answer says of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specplan.domain.answer import Answer, Basis, Table, View
from specplan.domain.outputs import Output, Outputs
from specplan.domain.scenario import Input
from specplan.errors import InputError
from specplan.physics.twosample.opinion import Opinion
from specplan.questions.equivalence_greedy import Greedy
from specplan.visible import visible

Verdict = Literal["same", "differs", "unsure"]

LEVEL = 0.01
SENSITIVITY = 0.02
CUT = 0.1  # share of outputs that end at the longest length, from which on it is a limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """The verdict: `same` as far as could be seen, `differs`, or `unsure`.

    Of sampled outputs, `power` is the probability that a mean shift of TV `sensitivity` would have
    shown, `smallest_tv` the shift that shows 9 times in 10, both of the test that sees best, and
    `tv` what that test found, with a 95 % interval. `differing` names the tests that see a
    difference. Of greedy outputs, `greedy` tells where they part. `second_opinion` is SciPy's, if
    it was asked for, and no part of the verdict.
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
    second_opinion: Opinion | None = None


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


def join(plain: Outputs, spec: Outputs) -> Joined:
    """The outputs of both to each prompt, in the order of the plain file."""
    if plain.unit != spec.unit:
        called = {"tokens": "token ids", "text": "text"}
        raise InputError(
            f"{plain.name} has {called[plain.unit]} and {spec.name} {called[spec.unit]}",
            hint="give the same of both; token ids tell more",
        )
    shared = [prompt for prompt in plain.prompts if prompt in spec.prompts]
    if not shared or bool(plain.named_by) != bool(spec.named_by):  # a line is no name
        names, others = (one.named_by or "line" for one in (plain, spec))
        raise InputError(
            f"no prompt of {plain.name} is in {spec.name}",
            hint=f"they are named by {names} in one and by {others} in the other; "
            "give both the same prompt_id",
        )
    return Joined(
        names=tuple(shared),
        pairs=tuple((plain.prompts[prompt], spec.prompts[prompt]) for prompt in shared),
        plain_only=tuple(prompt for prompt in plain.prompts if prompt not in spec.prompts),
        spec_only=tuple(prompt for prompt in spec.prompts if prompt not in plain.prompts),
    )


@dataclass(frozen=True, slots=True)
class Asked:
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
            lines = "" if self.plain.named_by else "; lines without a prompt_id are a prompt each"
            yield f"one output to each prompt: taken for greedy; sampled ones need several{lines}"
        if self.plain.sha256 and self.plain.sha256 == self.spec.sha256:
            yield "both files are the same, byte for byte"
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
