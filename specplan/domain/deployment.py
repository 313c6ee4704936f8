"""A plan as an engine is to run it, and the engine's own words for it.

What is written for is decided here and in the question: which drafter, how many tokens at which
load. An engine's dialect says the same in its flags, or refuses what it has no words for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specplan.domain.card import Dtype
from specplan.errors import Refused

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]


class Unloadable(Refused):
    """No card names what the engine is to load. `stand_ins` is what can be written in its place,
    for whoever runs it to replace, by the option that would say it.
    """

    def __init__(
        self, what: str, stand_ins: Mapping[str, str], *, expected: str, hint: str = ""
    ) -> None:
        super().__init__(what, expected=expected, hint=hint)
        self.stand_ins = dict(stand_ins)


@dataclass(frozen=True, slots=True)
class Step:
    """Batches first..last draft k tokens; 0 is plain decoding."""

    first_batch: int
    last_batch: int
    k: int


@dataclass(frozen=True, slots=True)
class OneK:
    """One k in place of a schedule: it loses at most `loss` of the speedup, at `batch`."""

    k: int
    loss: float
    batch: int


@dataclass(frozen=True, slots=True)
class TreeShape:
    """A tree as EAGLE's options say it: draft passes, choices kept, nodes with the root."""

    steps: int
    topk: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What an engine is to do. `way` is how the drafter drafts: a card's kind, dflash, dspark, or
    the kind that was typed; `draws` is what it draws on (head, model or lookup), `modules` how many
    tokens it was trained to predict, `vocabs` the sizes of the target's vocabulary and of its own;
    `target_family` is that of the target's card. `target` and `draft` are what the engine loads,
    None where nobody knows, or for the draft where it lies in the target. `k` is the longest
    draft, of the `schedule` where there is one; `instead` is the one k for engines without
    schedules. `acceptance` holds S_1..S_k, the shares of rounds that keep each position, where the
    engine is to pretend them; `batch` is the largest that is planned for, `context` the tokens that
    a request comes to, 0 where nobody said.
    """

    engine: str
    version: str
    target_name: str
    target: str | None
    draft_name: str
    draft: str | None
    way: str
    draws: str = "lookup"
    modules: int = 1
    target_family: str = ""
    vocabs: tuple[int, int] | None = None
    k: int = 0
    schedule: tuple[Step, ...] = ()
    instead: OneK | None = None
    tree: TreeShape | None = None
    acceptance: tuple[float, ...] | None = None
    tp: int = 1
    draft_tp: int = 1
    attention_dp: int = 1
    ep: int = 1
    kv_dtype: Dtype = Dtype.BF16
    batch: int = 1
    context: int = 0

    @property
    def at(self) -> str:
        """The engine and its version as they are typed."""
        return f"{self.engine}@{self.version}"

    @property
    def speculates(self) -> bool:
        """Whether anything is to be drafted at any load."""
        return self.k > 0

    @property
    def tokens(self) -> float | None:
        """Tokens of a round, the bonus included, of the acceptance that is to be pretended."""
        return None if self.acceptance is None else 1 + sum(self.acceptance)

    @property
    def cutoff(self) -> int | None:
        """The last batch that drafts, where the schedule is one k up to it and none beyond."""
        steps = self.schedule
        only = len(steps) == 2 and steps[0].k > 0 and not steps[1].k
        return steps[0].last_batch if only else None

    def fixed(self) -> Deployment:
        """With one k for every load in place of the schedule."""
        if not self.schedule or self.instead is None:
            return self
        kept = None if self.acceptance is None else self.acceptance[: self.instead.k]
        return replace(self, k=self.instead.k, schedule=(), acceptance=kept)

    def unsaid_cache(self, known: Mapping[Dtype, str]) -> list[str]:
        """The cache's type, where the engine has no word for it; 16 bits are what it has anyway."""
        if self.kv_dtype in {*known, Dtype.BF16}:
            return []
        return [f"kv-dtype {self.kv_dtype}: it is not one that is written for {self.engine}"]

    def needed(self, what: str, flag: str, name: str, value: str | None) -> str:
        """What the engine is to load; refused where no card says it."""
        if value is None:
            raise Unloadable(
                f"the card of {name} names no checkpoint that {self.engine} could load as {what}",
                {flag: f"PATH/TO/{name}"},
                expected=f"{flag} FOLDER or ORG/NAME",
            )
        return value

    @property
    def head(self) -> str:
        """The drafter's checkpoint, which has to be known."""
        return self.needed("the drafter", "--draft-path", self.draft_name, self.draft)


@dataclass(frozen=True, slots=True)
class File:
    """A file that the engine reads beside its flags."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The engine's words. `program` starts the server and `flags` follow it, each with its value or
    none; `environment` stands before it. `config` is the object of the engine's that says how it
    speculates, as its own reader gets it. `texts` are the forms in which all this can be printed,
    the first the usual one. `done` is the deployment as it was written, with one k where the
    engine has no words for a schedule; `lost` says what of the plan it has no words for, `notes`
    what else whoever runs it should know; `off_cost` is the least share of a step that k = 0 was
    seen to cost against a server without a drafter, 0 where nobody measured.
    """

    done: Deployment
    program: tuple[str, ...]
    flags: tuple[tuple[str, str | None], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Json] = field(default_factory=dict)
    file: File | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    off_cost: float = 0.0
