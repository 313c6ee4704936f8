"""From a plan's file to a case for its rules: cards looked up, limits and points with places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath

from specplan.catalogue.read import Document
from specplan.catalogue.store import AnyLoaded, Catalogue, Loaded, is_path
from specplan.cli import grammar
from specplan.cli.acceptance import acceptances
from specplan.cli.demanded import refuse_unsized, served, sized_for
from specplan.cli.planned import Given, PlanRead, mixes, planned
from specplan.cli.scenario import build
from specplan.domain.acceptance import Alpha, Named
from specplan.domain.curve import Curve
from specplan.domain.drafters import plugged_drafter, typed_drafter
from specplan.domain.engine import Engine
from specplan.domain.hardware import Hardware
from specplan.domain.model import Model
from specplan.domain.plan import At
from specplan.domain.scenario import Scenario
from specplan.errors import InputError, Where, placed
from specplan.questions.expectations import Case, Expectation, Narrowed, Outcome, Used, Value
from specplan.rules import Finding
from specplan.rules.cards import check_card
from specplan.rules.names import OVERRIDE
from specplan.rules.plans import UNGUARDED

ANY = Alpha(0.5)  # stands for a curve where its name alone is wanted
_NEEDED = {
    "target": "a model such as llama-3-8b",
    "draft": "a model such as llama-3.2-1b, or ratio:0.05, free, none",
    "hardware": "an accelerator such as h100-sxm",
}


@dataclass(slots=True)
class Library:
    """A catalogue that reads each card once, however many plans name it, and tells who did."""

    catalogue: Catalogue
    given: list[tuple[Where, AnyLoaded]] = field(default_factory=list)
    _accelerators: dict[str, Loaded[Hardware]] = field(default_factory=dict)
    _models: dict[str, Loaded[Model]] = field(default_factory=dict)
    _engines: dict[str, Loaded[Engine]] = field(default_factory=dict)
    _curves: dict[str, Loaded[Curve]] = field(default_factory=dict)

    def hardware(self, name: str, where: Where | None = None) -> Loaded[Hardware]:
        """The accelerator of that name, alias or path."""
        if name not in self._accelerators:
            self._accelerators[name] = self.catalogue.hardware(name, where)
        self.given.append((where or Where(name), self._accelerators[name]))
        return self._accelerators[name]

    def model(self, name: str, where: Where | None = None) -> Loaded[Model]:
        """The model of that name, alias or path."""
        if name not in self._models:
            self._models[name] = self.catalogue.model(name, where)
        self.given.append((where or Where(name), self._models[name]))
        return self._models[name]

    def engine(self, name: str, where: Where | None = None) -> Loaded[Engine]:
        """The engine of that name, alias or path."""
        if name not in self._engines:
            self._engines[name] = self.catalogue.engine(name, where)
        self.given.append((where or Where(name), self._engines[name]))
        return self._engines[name]

    def curve(self, name: str, where: Where | None = None) -> Loaded[Curve]:
        """The card of acceptance curves of that name, alias or path."""
        if name not in self._curves:
            self._curves[name] = self.catalogue.curve(name, where)
        self.given.append((where or Where(name), self._curves[name]))
        return self._curves[name]

    def curves(
        self, target: Model | None, wanted: Callable[[str, str], bool]
    ) -> list[Loaded[Curve]]:
        """The cards measured with the target, or with any, of drafters that are `wanted`."""
        return self.catalogue.curves(target, wanted)

    def drafters(self, target: Model, wanted: Callable[[str, str], bool]) -> list[Loaded[Model]]:
        """The heads trained for the target of which the kind and the family are `wanted`."""
        return self.catalogue.drafters(target, wanted)

    def kindred(
        self, target: Model, wanted: Callable[[str, str], bool]
    ) -> list[tuple[Loaded[Model], str]]:
        """The same of other models of its family and width, with the name of one of them."""
        return self.catalogue.kindred(target, wanted)


def case_of(read: PlanRead, library: Library) -> tuple[Case, list[Outcome]]:
    """The plan as a case, and what is to be said of the cards that it uses."""
    document = read.document
    head = document.where(("schema",), key=True)
    _complete(read)
    library.given.clear()
    given = planned(read)
    found = served(read)
    with placed(document.where(("workload", "mix")) if mixes(read) else head):
        told = {"acceptance": Given(("0",), "default", head)} if _plain(read) else {}
        scenario = build({}, catalogue=library, plan=read, told=told)
    scenario = sized_for(scenario, read, found)
    _refuse_k(scenario, given.get("k"))
    workload = document.where(("workload",), key=True)
    used = tuple(_used(library))
    expectations = tuple(_expectations(read))
    refuse_unsized(expectations, scenario, read, found)
    case = Case(
        file=document.name,
        sha256=document.sha256,
        head=head,
        scenario=scenario,
        expectations=expectations,
        used=used,
        files={**_files(scenario, {card.sha256 for card in used}), **found.files},
        places={
            "workload": workload,
            **found.places,
            **{key: axis.where for key, axis in given.items()},
        },
        demand=found.demand,
    )
    return case, [*_overriding(library), *_idle(read)]


def _complete(read: PlanRead) -> None:
    """Refuses a plan that leaves open what nobody can guess."""
    for key, expected in _NEEDED.items():
        if getattr(read.plan, key) is None:
            where = read.document.where((key,))
            raise InputError(f"missing key '{key}'", where=where, expected=expected)
    load = read.plan.workload
    if _plain(read):
        return
    if load is None or (load.acceptance is None and load.alpha is None and not load.mix):
        raise InputError(
            "missing key 'alpha' in workload",
            where=read.document.where(("workload",), key=True),
            expected="an acceptance such as 0.7",
        )
    common = load.acceptance is not None or load.alpha is not None
    for number, part in enumerate(load.mix or ()):
        if part.alpha is None and part.acceptance is None and not common:
            raise InputError(
                "missing key 'alpha' in mix",
                where=read.document.where(("workload", "mix", number)),
                expected="an acceptance such as 0.7",
            )
    for key, other in (("isl", "osl"), ("osl", "isl")):
        if getattr(load, key, None) is not None and getattr(load, other) is None:
            raise InputError(
                f"{key} without {other}",
                where=read.document.where(("workload", key), key=True),
                expected="both, or context",
            )


def _plain(read: PlanRead) -> bool:
    """Whether a plan of traffic has nothing to accept: it never speculates, and says no more."""
    load = read.plan.workload
    said = load and (load.acceptance is not None or load.alpha is not None or load.mix)
    return read.plan.traffic is not None and read.plan.draft == ("none",) and not said


def _refuse_k(scenario: Scenario, given: Given | None) -> None:
    """Refuses a draft length that a drafter of the plan cannot propose, where it stands."""
    if given is None:
        return
    asked = {k: where for text, where in given.each() for k in grammar.lengths((text,))}
    for setup in scenario.setups:
        most = setup.draft.max_k
        for k, where in asked.items():
            if most is not None and k > most:
                what = f"draft {setup.draft.label} cannot propose k = {k}"
                raise InputError(what, where=where, hint=f"at most {most}")


def _used(library: Library) -> Iterator[Used]:
    seen = set()
    for where, loaded in library.given:
        used = Used(
            card=loaded.card, path=loaded.origin.path, sha256=loaded.origin.sha256, where=where
        )
        if (used.key, used.sha256) not in seen:
            seen.add((used.key, used.sha256))
            yield used


def _files(scenario: Scenario, cards: set[str]) -> dict[str, str]:
    """The hashes of the files of counters that a plan's acceptances come from; those that are
    curves are cards.
    """
    return {
        str(given.value): given.sha256
        for name, given in scenario.inputs.items()
        if name.partition("_")[0] == "acceptance" and given.sha256 and given.sha256 not in cards
    }


def _overriding(library: Library) -> Iterator[Outcome]:
    """SC005 for each card of the plan that hides a packaged one."""
    hiding = {
        loaded.origin.path: (w, loaded) for w, loaded in library.given if loaded.hides_packaged
    }
    for where, loaded in hiding.values():
        for finding in check_card(loaded.card, overrides=True):
            if finding.rule == OVERRIDE.id:
                told = replace(finding, message=f"{loaded.origin.path}: {finding.message}")
                yield Outcome(finding=told, where=where, name=OVERRIDE.title)


def _expectations(read: PlanRead) -> Iterator[Expectation]:
    document = read.document
    for number, expect in enumerate(read.plan.expect or ()):
        path = ("expect", number)
        at = {} if expect.at is None else dict(_narrowed(expect.at, document, (*path, "at")))
        for key, limit in expect.limits().items():
            yield Expectation(
                key=key,
                limit=limit,
                text=_as_written(document, number, key),
                where=document.where((*path, key)),
                at=at,
            )


def _idle(read: PlanRead) -> Iterator[Outcome]:
    """SP104 for each entry without an expectation, beside others that have some."""
    entries = read.plan.expect or ()
    if any(expect.limits() for expect in entries):
        for number, expect in enumerate(entries):
            if not expect.limits():
                nothing = Finding(UNGUARDED.id, UNGUARDED.level, "the entry expects nothing")
                where = read.document.where(("expect", number))
                yield Outcome(finding=nothing, where=where, name=UNGUARDED.title)


def _as_written(document: Document, number: int, key: str) -> str:
    """A limit as it stands in the file."""
    expect = document.data["expect"]
    record = expect[number] if isinstance(expect, list) else expect
    value = record[key] if isinstance(record, dict) else None
    if isinstance(value, float) and value.is_integer() and value >= 1000:
        return f"{value:.0f}"  # 1e4 is no float to whoever wrote it
    return str(value).lower() if isinstance(value, bool) else str(value)


def _narrowed(
    at: At, document: Document, path: tuple[str | int, ...]
) -> Iterator[tuple[str, Narrowed]]:
    for name in (f.name for f in fields(at)):
        text = getattr(at, name)
        if text is not None:
            where = document.where((*path, name))
            with placed(where):
                each = [text] if name == "acceptance" else grammar.names((text,))
                items = tuple(frozenset(_ITEMS[name](item)) for item in each)
            yield name, Narrowed(text=text, where=where, items=items)


def _card(item: str) -> tuple[str]:
    return (PurePath(item).stem if is_path(item) else item.lower(),)


def _drafter(item: str) -> tuple[str]:
    drafter = typed_drafter(item) or plugged_drafter(item)
    return (drafter.label,) if drafter else _card(item)


_ITEMS: dict[str, Callable[[str], tuple[Value, ...]]] = {
    "target": _card,
    "draft": _drafter,
    "hardware": _card,
    "tp": lambda item: grammar.whole_axis((item,)),
    "batch": lambda item: grammar.batches((item,)),
    "context": lambda item: grammar.contexts((item,)),
    "acceptance": lambda item: tuple(map(str, acceptances((item,), lambda text: Named(text, ANY)))),
    "alpha": lambda item: tuple(a.iid for a in acceptances((item,)) if a.iid is not None),
}
