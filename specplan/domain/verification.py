"""Rules that decide which drafts are kept. A rule is one line in RULES.

Some put out exactly what the target would; the relaxed ones do not, and are only ever measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specplan.errors import UsageError, unknown
from specplan.units import parse_number
from specplan.visible import visible


class Kind(StrEnum):
    """The rules by name."""

    TOKEN = "token"  # noqa: S105 - of text
    BLOCK = "block"
    MATCH = "match"
    GREEDY = "greedy"
    TYPICAL = "typical"
    RELAXED = "relaxed"
    THRESHOLD = "threshold"


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number that a rule takes: what it is called and what it may be."""

    name: str
    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of a rule: its numbers, an example, whether it keeps the distribution, and
    who says so.
    """

    exact: bool
    source: str
    takes: tuple[Bounded, ...] = ()
    example: str = ""


RULES = {
    Kind.TOKEN: Spec(exact=True, source="Leviathan et al. 2023"),
    Kind.BLOCK: Spec(exact=True, source="Sun et al. 2024"),
    Kind.MATCH: Spec(exact=True, source="llama.cpp"),
    # Exact where the request is greedy as well, and then only.
    Kind.GREEDY: Spec(exact=False, source="Leviathan et al. 2023"),
    Kind.TYPICAL: Spec(
        exact=False,
        source="Cai et al. 2024",
        takes=(Bounded("epsilon", 0, 1), Bounded("delta", 0, 1)),
        example="typical:0.09,0.3",
    ),
    Kind.RELAXED: Spec(
        exact=False,
        source="TensorRT-LLM",
        takes=(Bounded("top N", 1, 1000, whole=True), Bounded("delta", 0, 1)),
        example="relaxed:10,0.6",
    ),
    Kind.THRESHOLD: Spec(
        exact=False,
        source="SGLang",
        takes=(Bounded("single", 0, 1), Bounded("accumulated", 1e-9, 1)),
        example="threshold:0.3,1",
    ),
}
FORMS = tuple(spec.example or str(kind) for kind, spec in RULES.items())


@dataclass(frozen=True, slots=True)
class Verification:
    """A rule and its numbers."""

    kind: Kind = Kind.TOKEN
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        takes = RULES[self.kind].takes
        if len(self.values) != len(takes):
            wanted = ", ".join(one.name for one in takes) or "no numbers"
            raise UsageError(
                f"{self.kind} takes {wanted}", expected=RULES[self.kind].example or str(self.kind)
            )
        for one, value in zip(takes, self.values, strict=True):
            if not one.low <= value <= one.high or (one.whole and value != int(value)):
                kind = "a whole number from" if one.whole else "from"
                raise UsageError(
                    f"{one.name} of {self.kind} is {value:g}",
                    expected=f"{kind} {one.low:g} to {one.high:g}",
                )
        if self.kind is Kind.THRESHOLD and self.values == (1.0, 1.0):
            raise UsageError("thresholds of 1 relax nothing", hint="write match")

    def __str__(self) -> str:
        numbers = ",".join(f"{value:g}" for value in self.values)
        return f"{self.kind}:{numbers}" if numbers else str(self.kind)

    @property
    def exact(self) -> bool:
        """Whether the rule keeps any distribution asked for."""
        return RULES[self.kind].exact

    @property
    def relaxed(self) -> bool:
        """Whether it gives up the distribution for acceptance."""
        return bool(RULES[self.kind].takes)

    @property
    def source(self) -> str:
        """Where the rule comes from."""
        return RULES[self.kind].source


TOKEN = Verification()


def parse_verification(text: str) -> Verification:
    """The rule in `token`, `block`, `match`, `greedy`, `typical:0.09,0.3`, `relaxed:10,0.6` (top N,
    delta) or `threshold:0.3,1` (single, accumulated).
    """
    name, colon, numbers = text.strip().partition(":")
    if name not in list(Kind):
        raise unknown("verification", visible(name, 60), [str(kind) for kind in Kind])
    values = tuple(parse_number(item.strip()) for item in numbers.split(",")) if colon else ()
    return Verification(Kind(name), values)
