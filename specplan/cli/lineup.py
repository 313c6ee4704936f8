"""From what was asked to a contest: which drafters there are for each target, with the acceptance
of each, in every place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product, starmap
from typing import NamedTuple

from specplan.catalogue.store import Catalogue
from specplan.cli import grammar
from specplan.cli.acceptance import acceptances
from specplan.cli.curves import found_curve
from specplan.cli.entrants import ALL, Entrant, Entrants
from specplan.cli.naming import distinct
from specplan.cli.planned import Given, PlanRead
from specplan.cli.resolve import Cards
from specplan.cli.scenario import build
from specplan.cli.unusable import refuse_cardless
from specplan.domain.acceptance import Acceptance, Burst, Named
from specplan.domain.card import Dtype
from specplan.domain.contest import Candidate, Contest, candidate_of
from specplan.domain.curve import Curve
from specplan.domain.drafter import Drafter
from specplan.domain.engine import Engine, Release
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.scenario import Input, Serving, Setup
from specplan.domain.weightless import NONE
from specplan.errors import SpecplanError, UsageError, Where, placed, unknown
from specplan.visible import visible

MOST_CANDIDATES = 10_000
ACCEPTANCE = Where("--acceptance")
FORM = "NAME=ACCEPTANCE such as eagle3=0.72"


class Accepted(NamedTuple):
    """What an acceptance is, whether it is of this drafter alone, and why there is none."""

    model: Acceptance | None = None
    own: bool = False
    reason: str = ""


class Place(NamedTuple):
    """Everything of a setup but target and drafter."""

    hardware: Hardware
    tp: int
    served: tuple[Engine, Release | None, str | None]
    dtype: Dtype | None
    kv_dtype: Dtype
    split: tuple[int, int]

    @property
    def serving(self) -> Serving:
        """Engine, version and split."""
        (engine, _, version), (groups, ep) = self.served, self.split
        return Serving(engine=engine.name, engine_version=version, attention_dp=groups, ep=ep)


def contest(
    flags: Mapping[str, Sequence[str]],
    *,
    catalogue: Catalogue,
    plan: PlanRead | None = None,
    k_max: int | None = None,
) -> Contest:
    """The contest asked for. -a may name drafters, each with an acceptance of its own beside one
    for all others; without -d every drafter of the catalogue that fits a target is in it.
    """
    plain, own = _split(flags.get("acceptance", ()))
    asked = {name: texts for name, texts in flags.items() if name != "acceptance"}
    if plain:
        asked["acceptance"] = plain
    lineup = Lineup(catalogue, own)
    scenario = build(
        asked,
        catalogue=catalogue,
        plan=plan,
        defaults={"draft": ALL},
        needs=("target", "hardware"),
        unused=("k", "draft"),
        k_max=k_max,
        resolving=lineup.asked_for,
        refusing=refuse_cardless,
    )
    given = {f"acceptance:{name}": Input(value=text, origin="flag") for name, text in own.items()}
    scenario = replace(scenario, inputs={**scenario.inputs, **given})
    return Contest(scenario=scenario, candidates=tuple(lineup.candidates))


def _split(texts: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Acceptances for all, and those of drafters that are named."""
    own: dict[str, str] = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign:
            continue
        shown = visible(text, 60)
        if not name or not value:
            raise UsageError(f"'{shown}' lacks a part", where=ACCEPTANCE, expected=FORM)
        if "=" in value:
            hint = "write -a once for each"
            raise UsageError(f"'{shown}' names several drafters", where=ACCEPTANCE, hint=hint)
        if name.lower() in own:
            raise UsageError(f"acceptance of {visible(name, 60)} is said twice", where=ACCEPTANCE)
        own[name.lower()] = value
    return tuple(text for text in texts if "=" not in text), own


class Lineup(Entrants):
    """Looks up names, and makes a candidate of every combination of them; `own` are acceptances by
    the name of a drafter.
    """

    __slots__ = ("candidates", "curves", "here", "own")

    def __init__(self, catalogue: Catalogue, own: Mapping[str, str]) -> None:
        super().__init__(catalogue)
        self.own = own
        self.candidates: list[Candidate] = []
        self.curves: dict[str, Curve] = {}
        self.here: tuple[list[Model], set[str]] = ([], set())

    def asked_for(self, catalogue: Cards, asked: Mapping[str, Given]) -> Lineup:
        """The same with what was asked."""
        self.catalogue, self.asked = catalogue, asked
        return self

    def setups(self) -> tuple[Setup, ...]:
        """Of every candidate that has one; all of them are kept beside."""
        self.targets = distinct(starmap(self._target, self.names("target").items()))
        places = self._places()
        drafters = [self.drafters(target) for target in self.targets]
        self._refuse_strangers([one for some in drafters for one in some])
        variants = list(
            product(
                self.axis("draft_tp", grammar.whole_axis) or (None,),
                self.axis("draft_dtype", grammar.dtypes) or (None,),
            )
        )
        most = sum(map(len, drafters)) * len(places) * len(variants)
        if most > MOST_CANDIDATES:
            what, expected = f"{most:,} candidates", f"at most {MOST_CANDIDATES:,}"
            raise UsageError(what, expected=expected, hint="name fewer of everything")
        for target, some in zip(self.targets, drafters, strict=True):
            accepted = [self._accepted(target, one) for one in some]
            for place in places:
                self.candidates.append(self._candidate(target, NONE, place))
                for one, given in zip(some, accepted, strict=True):
                    for variant in variants if _stores(one) else variants[:1]:
                        made = self._candidate(target, one.draft, place, variant)
                        reason = made.reason or one.reason or given.reason
                        self.candidates.append(
                            replace(made, acceptance=given.model, own=given.own, reason=reason)
                        )
        return tuple(c.setup for c in self.candidates if c.setup is not None)

    def curve(self, text: str) -> Acceptance:
        """The curve of that name, of the target and the drafter that an acceptance is asked for."""
        where = self.asked["acceptance"].where if "acceptance" in self.asked else ACCEPTANCE
        found = found_curve(text, *self.here, self.catalogue, where)
        self._record("acceptance", found.curve, found.name)
        self.curves[found.name] = found.curve.card
        return found.named

    def _places(self) -> list[Place]:
        splits = product(
            self.axis("attention_dp", grammar.whole_axis) or (1,),
            self.axis("ep", grammar.whole_axis) or (1,),
        )
        axes = (
            self.accelerators(),
            self.axis("tp", grammar.whole_axis),
            distinct(starmap(self._engine, self.names("engine").items())),
            self.axis("dtype", grammar.dtypes) or (None,),
            self.axis("kv_dtype", grammar.dtypes) or (Dtype.BF16,),
            tuple(splits),
        )
        return list(starmap(Place, product(*axes)))

    def _candidate(
        self,
        target: Model,
        draft: Drafter | str,
        place: Place,
        variant: tuple[int | None, Dtype | None] = (None, None),
    ) -> Candidate:
        """A drafter in a place, or why it cannot be there."""
        hardware, tp, served, dtype, kv_dtype, split = place
        draft_tp, draft_dtype = (
            variant if not isinstance(draft, str) and draft.model else (None, None)
        )
        reason = ""
        if not isinstance(draft, str):
            try:
                setup = self._setup(
                    *(target, draft, hardware, tp, draft_tp, served),
                    *(dtype, draft_dtype, kv_dtype, split),
                )
                return candidate_of(setup, None)
            except SpecplanError as error:
                reason = error.said
        return Candidate(
            target=target,
            draft=draft,
            hardware=hardware,
            tp=tp,
            serving=place.serving,
            reason=reason,
        )

    def _accepted(self, target: Model, one: Entrant) -> Accepted:
        """The acceptance of a drafter: given under the nearest of its words, or else the one for
        all. Lookups that nobody named take that only where it says how often they find drafts.

        A curve that was measured with one of several targets is a reason for the others.
        """
        word = next((word for word in one.words if word in self.own), None)
        self.here = [target], {one.label}
        try:
            model = self._own(word) if word is not None else self._common()
        except UsageError as error:
            if len(self.targets) == 1:
                raise
            return Accepted(reason=error.said)
        if word is None and not one.named and not _of_lookups(model):
            return Accepted()
        return Accepted(model, word is not None or self._measured_with(model, one))

    def _common(self) -> Acceptance | None:
        """The acceptance of those without their own."""
        return next(iter(self.axis("acceptance", self.acceptance)), None)

    def _measured_with(self, model: Acceptance | None, one: Entrant) -> bool:
        """Whether a curve is of this very drafter, or of its kind where its card names none."""
        card = self.curves.get(model.name) if isinstance(model, Named) else None
        return card is not None and (card.draft or card.drafter) in {one.label, one.words[-1]}

    def _own(self, word: str) -> Acceptance:
        """What was given under a word."""
        with placed(ACCEPTANCE):
            texts = (self.own[word],)
            found = acceptances(texts, self.curves_of(Given(texts, "flag", ACCEPTANCE)))
        if len(found) != 1:
            what = f"{len(found)} acceptances of {visible(word, 60)}"
            raise UsageError(what, where=ACCEPTANCE, expected="one for each drafter")
        return found[0]

    def _refuse_strangers(self, entrants: Sequence[Entrant]) -> None:
        """Refuses an acceptance of what is not compared."""
        words = {word for one in entrants for word in one.words}
        for word in self.own:
            if word not in words:
                hint = "name it after -d too"
                raise unknown("drafter", word, words, where=ACCEPTANCE, hint=hint)


def _stores(one: Entrant) -> bool:
    """Whether a drafter has weights that may lie and be stored in several ways."""
    return not isinstance(one.draft, str) and one.draft.model is not None


def _of_lookups(model: Acceptance | None) -> bool:
    """Whether it says how often drafts are found."""
    while isinstance(model, Named):
        model = model.model
    return isinstance(model, Burst) or (model is not None and model.fires < 1)
