"""Names to cards: every combination of what is planned, and what the answer then rests on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, starmap
from typing import Protocol, TypeVar

from specplan.catalogue.folders import PACKAGED
from specplan.catalogue.ledger import bands
from specplan.catalogue.store import AnyLoaded, Loaded
from specplan.cli import grammar
from specplan.cli.acceptance import PARTED, acceptances, is_capture
from specplan.cli.acceptance import Curves as AcceptanceOf
from specplan.cli.captures import Held, is_there, one_capture
from specplan.cli.curves import Curves, found_curve, unlike
from specplan.cli.kinds import Heads, meant, only_one
from specplan.cli.naming import by_itself, distinct, naming, versioned
from specplan.cli.planned import Given, beside
from specplan.domain.acceptance import Acceptance, Named
from specplan.domain.bands import like
from specplan.domain.card import Dtype
from specplan.domain.drafter import Drafter
from specplan.domain.drafters import drafter_of, plugged_drafter, typed_drafter
from specplan.domain.engine import Engine, Release
from specplan.domain.hardware import Hardware
from specplan.domain.heads import WAYS
from specplan.domain.model import Model
from specplan.domain.scenario import Input, Setup
from specplan.errors import SpecplanError, UnknownName, UsageError, Where, placed
from specplan.questions.captured import acceptance_of, beware
from specplan.rules.names import COUNTED
from specplan.visible import visible

V = TypeVar("V")
MOST_SETUPS = 10_000


class Cards(Heads, Curves, Protocol):
    """Where names become cards: a catalogue, or one that remembers what it gave."""

    def hardware(self, name: str, where: Where | None = None) -> Loaded[Hardware]:
        """The accelerator of that name, alias or path."""

    def model(self, name: str, where: Where | None = None) -> Loaded[Model]:
        """The model of that name, alias or path."""

    def engine(self, name: str, where: Where | None = None) -> Loaded[Engine]:
        """The engine of that name, alias or path."""


@dataclass(slots=True)
class Resolver:
    """Looks up names once each and remembers what the answer rests on."""

    catalogue: Cards
    asked: Mapping[str, Given]
    inputs: dict[str, Input]
    notes: list[str]
    ours: set[str]
    targets: list[Model]
    drafts: list[Drafter]
    captures: dict[str, Held]

    def __init__(self, catalogue: Cards, asked: Mapping[str, Given]) -> None:
        self.catalogue, self.asked, self.inputs, self.notes = catalogue, asked, {}, []
        self.ours, self.targets, self.drafts, self.captures = set(), [], [], {}

    def axis(self, name: str, parse: Callable[[Sequence[str]], tuple[V, ...]]) -> tuple[V, ...]:
        """The values of an axis, parsed by `parse`; its errors get the place they came from."""
        given = self.asked.get(name)
        if given is None:
            return ()
        try:
            values = parse(given.texts)
        except SpecplanError:
            with placed(given.where):
                return by_itself(given, parse)
        self.inputs.setdefault(name, Input(value=",".join(given.texts), origin=given.origin))
        return values

    def acceptance(self, texts: Sequence[str]) -> tuple[Acceptance, ...]:
        """The models of -a; names are looked up among the curves of these targets."""
        given = self.asked.get("acceptance", Given((), "flag", Where("--acceptance")))
        models = [
            acceptances((text,), self.curves_of(given, certain=text.strip().startswith(PARTED)))
            for text in texts
        ]
        return tuple(dict.fromkeys(model for some in models for model in some))

    def curves_of(self, given: Given, *, certain: bool = False) -> AcceptanceOf:
        """What looks up the names that `given` holds: files of counters, or curves; `certain`
        takes alphas of files for known.
        """

        def found(text: str) -> Acceptance:
            if is_capture(text):
                return self._counted(text, given, certain)
            try:
                return self.curve(text)
            except UnknownName:
                if not is_there(given.folder, text):
                    raise
                return self._counted(text, given, certain)

        return found

    def _counted(self, text: str, given: Given, certain: bool) -> Acceptance:
        """The acceptance that a file of counters holds, which the answer then rests on."""
        path = text
        if given.folder is not None:
            path = beside(given.folder, text, given.where, what="file")
        if path not in self.captures:
            with naming(given.where):
                self.captures[path] = one_capture(path)
        held = self.captures[path]
        ((_, sha256),) = held.files
        kept = Input(value=text, origin=f"{visible(path)} ({given.origin})", sha256=sha256)
        self._keep("acceptance", kept)
        self.notes += beware(held.capture, text)
        return Named(text, acceptance_of(held.capture, certain=certain))

    def curve(self, text: str) -> Acceptance:
        """The curve of that name, which the answer then rests on."""
        drafts = set(self.names("draft"))
        where = self.asked["acceptance"].where if "acceptance" in self.asked else Where("--mix")
        found = found_curve(text, self.targets, drafts, self.catalogue, where)
        self._record("acceptance", found.curve, found.name)
        self.notes += unlike(found.curve.card, self.targets, self.drafts)
        return found.named

    def names(self, name: str) -> dict[str, Where]:
        """The names on an axis and their places, comma lists and repeated options added up."""
        found: dict[str, Where] = {}
        for text, where in self.asked[name].each() if name in self.asked else ():
            with placed(where):
                found |= {each: where for each in grammar.names((text,)) if each not in found}
        return found

    def setups(self) -> tuple[Setup, ...]:
        """Every combination of what is planned, in the order it was named."""
        self.targets = distinct(starmap(self._target, self.names("target").items()))
        self.drafts = distinct(starmap(self._draft, self.names("draft").items()))
        axes = (
            self.targets,
            self.drafts,
            distinct(starmap(self._hardware, self.names("hardware").items())),
            self.axis("tp", grammar.whole_axis),
            self.axis("draft_tp", grammar.whole_axis) or (None,),
            distinct(starmap(self._engine, self.names("engine").items())),
            self.axis("dtype", grammar.dtypes) or (None,),
            self.axis("draft_dtype", grammar.dtypes) or (None,),
            self.axis("kv_dtype", grammar.dtypes) or (Dtype.BF16,),
            tuple(
                product(
                    self.axis("attention_dp", grammar.whole_axis) or (1,),
                    self.axis("ep", grammar.whole_axis) or (1,),
                )
            ),
        )
        if math.prod(map(len, axes)) > MOST_SETUPS:
            raise UsageError(f"more than {MOST_SETUPS:,} setups", hint="name fewer of everything")
        return tuple(self._setup(*choice) for choice in product(*axes))

    def _setup(
        self,
        target: Model,
        draft: Drafter,
        hardware: Hardware,
        tp: int,
        draft_tp: int | None,
        served: tuple[Engine, Release | None, str | None],
        dtype: Dtype | None,
        draft_dtype: Dtype | None,
        kv_dtype: Dtype,
        split: tuple[int, int],
    ) -> Setup:
        """One combination, with what follows from it."""
        (engine, release, version), (groups, ep) = served, split
        with placed(self.asked["draft"].where):
            draft = draft.joined(target)
        setup = Setup(
            target=target,
            draft=draft,
            hardware=hardware,
            tp=tp,
            draft_tp=draft_tp or tp,
            engine=engine,
            release=release,
            version=version,
            dtype=dtype or target.dtype,
            draft_dtype=draft_dtype or (draft.model or target).dtype,
            kv_dtype=kv_dtype,
            attention_dp=groups,
            ep=ep,
        )
        return self._banded(self._split(setup))

    def _split(self, setup: Setup) -> Setup:
        """The setup, if its GPUs divide into its groups and there are experts to share."""
        for field, parts in (("attention_dp", setup.attention_dp), ("ep", setup.ep)):
            if parts > 1 and not setup.target.expert_groups:
                raise UsageError(
                    f"{field.replace('_', '-')} is for experts, and {setup.target.name} has none",
                    where=self.asked[field].where,
                    hint="leave it out",
                )
            if setup.tp % parts:
                raise UsageError(
                    f"{field.replace('_', '-')} {parts} does not divide the {setup.tp} GPUs of tp",
                    where=self.asked[field].where,
                    expected="a divisor of tp",
                    hint=f"write --tp {parts}" if setup.tp < parts else "",
                )
        return setup

    def _target(self, name: str, where: Where) -> Model:
        model = self._model(name, "target", where)
        if model.drafts and model.drafts.kind != "model":
            raise UsageError(
                f"{model.name} drafts for a target ({model.drafts.kind}) and is none itself",
                where=where,
                hint=f"write -d {model.name}, and its target after -t",
            )
        return model

    def _model(self, name: str, field: str, where: Where) -> Model:
        with naming(where):
            loaded = self.catalogue.model(name, where)
        with placed(where):
            _ = loaded.card.active_params, loaded.card.kv_groups  # else nothing can be priced
        self._record(field, loaded)
        return loaded.card

    def _hardware(self, name: str, where: Where) -> Hardware:
        counted = re.fullmatch(COUNTED, name)
        if counted:
            gpus = counted["gpus"] or counted["m"]
            bare = visible(counted["name"] or counted["n"], 60)
            raise UsageError(
                f"'{visible(name, 60)}' counts GPUs",
                where=where,
                expected="a name; tp counts",
                hint=f"write -g {bare} --tp {gpus}",
            )
        with naming(where):
            loaded = self.catalogue.hardware(name, where)
        self._record("hardware", loaded)
        return loaded.card

    def _draft(self, name: str, where: Where) -> Drafter:
        with placed(where):
            drafter = typed_drafter(name)
        if drafter:
            self._keep("draft", Input(value=drafter.label, origin=self.asked["draft"].origin))
            return drafter
        kind, _, argument = name.partition(":")
        if kind.lower() in WAYS and not argument:
            name = only_one(kind.lower(), self.targets, self.catalogue, where)
        try:
            model = self._model(name, "draft", where)
            with placed(where):
                return drafter_of(model)
        except UnknownName as error:
            with placed(where):
                added = plugged_drafter(name)
            if added:
                self._keep("draft", Input(value=added.label, origin=self.asked["draft"].origin))
                return added
            if way := meant(name):
                error.expected, error.hint = "", f"did you mean the kind '{way}'?"
            elif not error.hint.startswith("did you mean"):
                error.hint = "a drafter without a card is ratio:0.05, its cost in target steps"
            raise

    def _engine(self, text: str, where: Where) -> tuple[Engine, Release | None, str | None]:
        """An engine, the habits of its version, and that version: vllm, or vllm@0.27."""
        with placed(where):
            name, said = versioned(text)
        with naming(where):
            loaded = self.catalogue.engine(name, where)
        version = said or loaded.card.ran_version
        self._record("engine", loaded)
        if loaded.origin.layer == PACKAGED:
            self.ours.add(loaded.card.name)
        with placed(where):
            release = loaded.card.release(version)
        self.notes += filter(None, [loaded.card.outgrown(said)])
        return loaded.card, release, version

    def _banded(self, setup: Setup) -> Setup:
        """The setup with how far predictions of its like were off; nobody measured a card of the
        user's own but whoever fitted it to steps.
        """
        if setup.engine.within is not None:
            return replace(setup, band=setup.engine.within)
        alike = like(setup) if setup.engine.name in self.ours and setup.draft.model else None
        return replace(setup, band=bands().share(alike)) if alike else setup

    def _keep(self, field: str, kept: Input) -> None:
        """Remembers an input; a second of its kind gets a number."""
        key, number = field, 2
        while key in self.inputs and self.inputs[key].value != kept.value:
            key, number = f"{field}_{number}", number + 1
        self.inputs[key] = kept

    def _record(self, field: str, loaded: AnyLoaded, value: str = "") -> None:
        """Keeps where a card came from, and says so when it hides a packaged one."""
        said = self.asked[field].origin if field in self.asked else "flag"
        origin = f"{loaded.origin.path} ({said})"
        sha256 = loaded.origin.sha256
        self._keep(field, Input(value=value or loaded.card.name, origin=origin, sha256=sha256))
        if loaded.hides is not None:
            self.notes.append(
                f"{loaded.card.name} is read from {visible(loaded.origin.path)}, "
                f"which hides the {loaded.hides.layer} card of that name"
            )
        elif loaded.origin.layer not in {PACKAGED, "path"}:
            self.notes.append(f"{loaded.card.name} is read from {visible(loaded.origin.path)}")
