"""The kinds of drafter that there are, and what may be typed after `-d` besides a card's name.

A new kind is one class with the members of `Drafter` in which it differs, and one line in DRAFTERS
(or an entry point of the group `specplan.drafters`), or in CARDS where cards describe it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

from specplan.domain.card import Dtype
from specplan.domain.drafter import Does, Drafter, Draws, Run
from specplan.domain.heads import MADE, MedusaHeads
from specplan.domain.model import Model
from specplan.domain.weightless import FREE, NONE, bare, lookahead, ngram, ratio, skip, suffix


@dataclass(frozen=True, slots=True)
class CardDrafter(Drafter):
    """A drafter that a card describes: it owns the weights of its card."""

    model: Model = field()

    @property
    def kind(self) -> str:
        """As its card says."""
        return self.model.drafts.kind if self.model.drafts else "model"

    @property
    def label(self) -> str:
        """The card's name."""
        return self.model.name

    @property
    def draws(self) -> Draws:
        """A head where it joins hidden states."""
        arch = self.model.architecture
        return Draws.HEAD if arch is None or arch.fuse else Draws.MODEL

    @property
    def modules(self) -> int:
        """How many of the layers that its card describes it has, one for each position."""
        return self.model.drafts.modules if self.model.drafts else 1

    @property
    def caches(self) -> int:
        """One for each module; heads without layers keep none."""
        return self.modules if self.model.kv_groups or self.model.state_bytes else 0

    def weights_bytes(self, dtype: Dtype) -> float:
        """Every stored parameter."""
        return self.modules * self.model.weights_bytes(dtype)


@dataclass(frozen=True, slots=True)
class ModelDrafter(CardDrafter):
    """A smaller language model, run k times in sequence.

    Its first pass carries two tokens: where every draft token was kept, the last of them never
    went through it.
    """

    @property
    def draws(self) -> Draws:
        """A model; a card without architecture is one."""
        arch = self.model.architecture
        return Draws.HEAD if arch is not None and arch.fuse else Draws.MODEL

    def runs(self, k: int) -> tuple[Run, ...]:
        """The pass that catches up, and one for each further token."""
        return _sequence(Run(self.model, 1, 2), Run(self.model, k - 1), k)


@dataclass(frozen=True, slots=True)
class HeadDrafter(CardDrafter):
    """EAGLE, EAGLE-3 and MTP: a layer on the target's hidden states, run k times in sequence.

    Its first pass carries the k + 1 tokens of the last round, whose hidden states only the target
    could give (engines pad it to that), and fuses them where the head joins several once a round
    (EAGLE-3); `later` is the head without that fusion. With a module for each position every one
    of them reads all of these tokens.
    """

    later: Model

    @classmethod
    def of(cls, model: Model) -> HeadDrafter:
        """From its card."""
        return cls(model, _without_fusion(model))

    def runs(self, k: int) -> tuple[Run, ...]:
        """The pass over the last round's tokens, then one for each further token."""
        if self.modules > 1:
            own = min(k, self.modules)
            last = Run(self.later, k - own)
            return tuple(r for r in (Run(self.model, own, k + 1), last) if r.count > 0)
        return _sequence(Run(self.model, 1, k + 1), Run(self.later, k - 1), k)


@dataclass(frozen=True, slots=True)
class MedusaDrafter(CardDrafter):
    """Heads side by side on the last hidden state: one pass proposes all tokens; every head runs,
    whatever k is.
    """

    @property
    def max_k(self) -> int | None:
        """One token for each head."""
        return self.model.medusa.heads if self.model.medusa else None

    def runs(self, k: int) -> tuple[Run, ...]:
        """One pass."""
        return (Run(self.model, 1),) if k else ()


@dataclass(frozen=True, slots=True)
class SpeculatorDrafter(CardDrafter):
    """An MLP speculator: a stage for each token, the first from the target's state (`model`), the
    others from the state of the stage before (`later`); a pass reads its own stage alone.
    """

    first: Model
    later: Model

    @classmethod
    def of(cls, model: Model) -> SpeculatorDrafter:
        """From its card."""
        shape = model.speculator
        if shape is None:
            return cls(model, model, model)
        stages = [replace(shape, stages=1, hidden=h) for h in (shape.hidden, shape.inner)]
        alone = replace(model, matmul_params=None, stored_params=None, stored_bytes=None)
        return cls(model, *(replace(alone, speculator=stage) for stage in stages))

    @property
    def max_k(self) -> int | None:
        """One token for each stage."""
        return self.model.speculator.stages if self.model.speculator else None

    def runs(self, k: int) -> tuple[Run, ...]:
        """Stage by stage."""
        return _sequence(Run(self.first, 1), Run(self.later, k - 1), k)


@dataclass(frozen=True, slots=True)
class BlockDrafter(CardDrafter):
    """One pass that proposes k tokens: P-EAGLE, PARD, DFlash, DSpark.

    Beside k - 1 masks the pass carries the k + 1 tokens that the last round may have added: what
    was cached for their masks is of no use. DFlash and DSpark (`block`) read no token of the last
    round anew: its hidden states become keys and values alone (`keys`), beside which a block of
    k + 1 places runs. DSpark draws the block's tokens one after the other, each through a low-rank
    head on the one before (`coupling`).
    """

    block: Model | None = None
    coupling: Model | None = None

    @classmethod
    def of(cls, model: Model) -> BlockDrafter:
        """From its card."""
        arch = model.architecture
        if arch is None or model.family not in MADE:
            return cls(model)
        block = _without_fusion(model)
        if not arch.markov:
            return cls(model, block)
        stated = block.matmul_params
        rest = None if stated is None else stated - arch.vocab * arch.markov
        alone = replace(arch, fuse=0, markov=None)
        head = MedusaHeads(hidden=arch.markov, vocab=arch.vocab, heads=1, layers=0)
        return cls(
            model,
            replace(block, architecture=alone, matmul_params=rest),
            replace(model, architecture=None, medusa=head, matmul_params=None, stored_params=None),
        )

    @property
    def max_k(self) -> int | None:
        """The length it was trained to propose."""
        return self.model.drafts.proposes if self.model.drafts else None

    def runs(self, k: int) -> tuple[Run, ...]:
        """One pass, of which k places propose."""
        if not k:
            return ()
        if self.block is None:
            return (Run(self.model, 1, 2 * k, k),)
        runs = [Run(self.model, 1, k + 1, 0, Does.KEYS), Run(self.block, 1, k + 1, k)]
        if self.coupling:
            runs.append(Run(self.coupling, k, does=Does.MORE))
        return tuple(runs)


def _sequence(first: Run, later: Run, k: int) -> tuple[Run, ...]:
    return (first, later)[: min(k, 2)]


def _without_fusion(model: Model) -> Model:
    """What a pass runs that fuses nothing: a head that fuses where a round begins does so once."""
    arch = model.architecture
    if arch is None or not arch.fuse or arch.fuse_each:
        return model
    stated = model.matmul_params
    return replace(
        model,
        architecture=replace(arch, fuse=0),
        matmul_params=None if stated is None else stated - arch.fuse_inputs * arch.hidden,
    )


# How a card drafts, by the kind that it states; one that states none is a language model.
CARDS: dict[str, Callable[[Model], Drafter]] = {
    "model": ModelDrafter,
    "eagle": HeadDrafter.of,
    "eagle3": HeadDrafter.of,
    "mtp": HeadDrafter.of,
    "medusa": MedusaDrafter,
    "mlp-speculator": SpeculatorDrafter.of,
    "block": BlockDrafter.of,
}


def drafter_of(model: Model) -> Drafter:
    """The drafter that a card describes."""
    if model.drafts:
        return CARDS[model.drafts.kind](model)
    fuses = model.architecture is not None and model.architecture.fuse > 0
    return HeadDrafter.of(model) if fuses else ModelDrafter(model)


# What may be typed after --draft besides the name of a card: KIND or KIND:ARGUMENT.
DRAFTERS: dict[str, Callable[[str], Drafter]] = {
    "ratio": ratio,
    "free": bare("free", FREE),
    "none": bare("none", NONE),
    "ngram": bare("ngram", ngram()),
    "suffix": bare("suffix", suffix()),
    "lookahead": lookahead,
    "skip": skip,
}
PLUGINS = "specplan.drafters"
"""The group of entry points under which packages add kinds: NAME = MODULE:FUNCTION of ARGUMENT."""


def typed_drafter(text: str) -> Drafter | None:
    """The drafter of KIND or KIND:ARGUMENT; None for what may be a card's name."""
    kind, _, argument = text.partition(":")
    make = DRAFTERS.get(kind.lower())
    return make(argument) if make else None


def plugged_drafter(text: str) -> Drafter | None:
    """The same of a kind that an installed package adds."""
    kind, _, argument = text.partition(":")
    found = next(iter(entry_points(group=PLUGINS, name=kind)), None)
    made: Drafter | None = found.load()(argument) if found else None
    return made
