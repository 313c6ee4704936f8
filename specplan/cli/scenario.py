"""From what was asked to a Scenario: flags over plan over defaults, names to cards.

The only place that resolves names and knows the catalogue. Python callers use the same path:
every keyword is an option, every value its text or number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Protocol, TypeVar

from specplan.catalogue.folders import user_folders
from specplan.catalogue.store import Catalogue, Loaded
from specplan.cli import grammar
from specplan.cli.planned import Given, PlanRead, mixes, planned
from specplan.domain.card import Dtype
from specplan.domain.drafter import DRAFTERS, Drafter, ModelDrafter
from specplan.domain.engine import ENGINES, Engine
from specplan.domain.scenario import Input, Part, Scenario, Setup
from specplan.errors import UsageError, Where, placed, unknown
from specplan.visible import visible

if TYPE_CHECKING:
    from specplan.domain.hardware import Hardware
    from specplan.domain.model import Model

# The scenario that sweep has of its own: the article's table.
GOLDEN = {
    "target": "llama-3-8b",
    "draft": "llama-3.2-1b",
    "hardware": "h100-sxm",
    "batch": "1,16,64,256",
    "acceptance": "0.6,0.8",
    "k": "1,2,4,6,8",
}
V = TypeVar("V")
MOST_SETUPS = 10_000
DEFAULTS = {"tp": "1", "engine": "roofline", "batch": "1", "context": "2048", "k": "best"}
QUESTIONS = {
    "target": ("which model is to be sped up?", "a model such as llama-3-8b", "models"),
    "draft": (
        "what drafts?",
        "a model such as llama-3.2-1b, or ratio:0.05, free, none",
        "models",
    ),
    "hardware": ("on which accelerator?", "one such as h100-sxm", "hardware"),
    "acceptance": ("how likely is a draft token accepted?", "alpha such as 0.7", ""),
}


class Cards(Protocol):
    """Where names become cards: a catalogue, or one that remembers what it gave."""

    def hardware(self, name: str, where: Where | None = None) -> Loaded[Hardware]:
        """The accelerator of that name, alias or path."""

    def model(self, name: str, where: Where | None = None) -> Loaded[Model]:
        """The model of that name, alias or path."""


def load(*folders: str) -> Catalogue:
    """The catalogue: packaged cards, the user's own, and those in `folders`, later ones winning."""
    return Catalogue(tuple(user_folders(folders)))


def scenario(
    *,
    catalogue: Catalogue | None = None,
    k_max: int = 16,
    **options: str | float | Sequence[str | float],
) -> Scenario:
    """The scenario of the named options, such as target="llama-3-8b" or batch=[1, 16].

    Names are those of the command line with underscores; values are texts of its grammar, numbers,
    or lists of either. target, draft, hardware and acceptance have no default.
    """
    typed = {
        name: tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
        for name, value in options.items()
    }
    for name in typed:
        if name not in {*DEFAULTS, *QUESTIONS, "dtype", "draft_dtype", "kv_dtype", "draft_tp"}:
            raise unknown("option", name, [*DEFAULTS, *QUESTIONS, "dtype", "kv_dtype"])
    return build(typed, catalogue=catalogue or load(), k_max=k_max)


def build(
    flags: Mapping[str, Sequence[str]],
    *,
    catalogue: Cards,
    plan: PlanRead | None = None,
    defaults: Mapping[str, str] | None = None,
    needs: Iterable[str] = ("target", "draft", "hardware", "acceptance"),
    unused: Collection[str] = ("k",),
    k_max: int = 16,
    mix: Sequence[str] = (),
) -> Scenario:
    """The scenario asked for; an error names the option or the line that is at fault.

    `unused` are axes whose defaults the question does not rest on.
    """
    if not 1 <= k_max <= grammar.LARGEST_K:
        expected = f"1 to {grammar.LARGEST_K}"
        raise UsageError(f"{k_max} is out of range", where=Where("--k-max"), expected=expected)
    asked = _merge(flags, plan, {**DEFAULTS, **(defaults or {})})
    for name in needs:
        if name not in asked and not (name == "acceptance" and (mix or mixes(plan))):
            raise _missing(name)
    resolver = _Resolver(catalogue, asked)
    setups = resolver.setups()
    notes = [*resolver.notes, *_defaulted(asked, {"engine", *unused})]
    parts = _parts(mix, plan, asked)
    return Scenario(
        setups=setups,
        batch=resolver.axis("batch", grammar.batches),
        context=resolver.axis("context", grammar.contexts),
        acceptance=resolver.axis("acceptance", grammar.acceptances),
        k=resolver.axis("k", grammar.lengths),
        k_max=k_max,
        growth=_growth(asked),
        parts=parts,
        inputs=resolver.inputs,
        notes=tuple(dict.fromkeys(notes)),
    )


def _missing(name: str) -> UsageError:
    question, expected, listing = QUESTIONS[name]
    hint = f"specplan {listing} list shows all" if listing else "write -a 0.7 or a range"
    return UsageError(question, where=Where(f"--{name}"), expected=expected, hint=hint)


def _merge(
    flags: Mapping[str, Sequence[str]], plan: PlanRead | None, defaults: Mapping[str, str]
) -> dict[str, Given]:
    asked = {n: Given((t,), "default", Where(_flag(n))) for n, t in defaults.items()}
    if plan is not None:
        asked.update(planned(plan))
    asked.update({n: Given(tuple(t), "flag", Where(_flag(n))) for n, t in flags.items()})
    if "isl" in asked or "osl" in asked:
        asked["context"] = _from_lengths(asked)
    return asked


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _from_lengths(asked: Mapping[str, Given]) -> Given:
    """Context from prompt and output lengths: the average over the output, n + m/2."""
    if not ("isl" in asked and "osl" in asked):
        raise UsageError("--isl and --osl go together", hint="or give --context")
    if asked["context"].origin == "flag":
        raise UsageError("--context and --isl/--osl say the same twice", hint="give one of them")
    prompt, output = _one_length(asked, "isl"), _one_length(asked, "osl")
    return Given((repr(prompt + output / 2),), "isl and osl", Where("--isl"))


def _one_length(asked: Mapping[str, Given], name: str) -> float:
    with placed(asked[name].where):
        values = grammar.contexts(asked[name].texts)
    if len(values) != 1:
        raise UsageError(f"{name} is one length, not {len(values)}", where=asked[name].where)
    return values[0]


def _growth(asked: Mapping[str, Given]) -> float:
    """What is still to come when a sequence is at its average length: half of its output."""
    return _one_length(asked, "osl") / 2 if "osl" in asked else 0.0


def _defaulted(asked: Mapping[str, Given], unsaid: Collection[str]) -> list[str]:
    """What nobody said, in one sentence; when nothing at all was, the caption says it."""
    defaulted = {n: g for n, g in asked.items() if g.origin == "default"}
    if len(defaulted) == len(asked):
        return []
    names = [f"{n} {g.texts[0]}" for n, g in defaulted.items() if n not in unsaid]
    return [f"by default: {', '.join(names)}"] if names else []


def _parts(
    mix: Sequence[str], plan: PlanRead | None, asked: Mapping[str, Given]
) -> tuple[Part, ...]:
    typed = [grammar.mix_part(text) for text in mix]
    from_plan = [
        {f.name: str(v) for f in fields(p) if (v := getattr(p, f.name)) is not None}
        for p in mixes(plan)
    ]
    base = {n: asked[n].texts for n in ("batch", "context", "acceptance") if n in asked}
    where = Where("--mix") if typed or plan is None else plan.document.where(("workload", "mix"))
    with placed(where):
        return tuple(grammar.part(p, base) for p in (typed or from_plan))


@dataclass(slots=True)
class _Resolver:
    """Looks up names once each and remembers what the answer rests on."""

    catalogue: Cards
    asked: Mapping[str, Given]
    inputs: dict[str, Input]
    notes: list[str]

    def __init__(self, catalogue: Cards, asked: Mapping[str, Given]) -> None:
        self.catalogue, self.asked, self.inputs, self.notes = catalogue, asked, {}, []

    def axis(self, name: str, parse: Callable[[Sequence[str]], tuple[V, ...]]) -> tuple[V, ...]:
        """The values of an axis, parsed by `parse`; its errors get the place they came from."""
        given = self.asked.get(name)
        if given is None:
            return ()
        with placed(given.where):
            values = parse(given.texts)
        self.inputs.setdefault(name, Input(value=",".join(given.texts), origin=given.origin))
        return values

    def names(self, name: str) -> list[str]:
        """The names on an axis, comma lists and repeated options added up."""
        given = self.asked.get(name)
        if given is None:
            return []
        with placed(given.where):
            return list(dict.fromkeys(grammar.names(given.texts)))

    def setups(self) -> tuple[Setup, ...]:
        """Every combination of what is planned, in the order it was named."""
        targets = [self._model(n, "target") for n in self.names("target")]
        drafts = [self._draft(n) for n in self.names("draft")]
        accelerators = [self._hardware(n) for n in self.names("hardware")]
        tps = self.axis("tp", grammar.whole_axis)
        draft_tps = self.axis("draft_tp", grammar.whole_axis) or (None,)
        engines = [self._engine(n) for n in self.names("engine")]
        dtypes = self.axis("dtype", grammar.dtypes) or (None,)
        draft_dtypes = self.axis("draft_dtype", grammar.dtypes) or (None,)
        kv_dtypes = self.axis("kv_dtype", grammar.dtypes) or (Dtype.BF16,)
        sizes = map(len, (targets, drafts, accelerators, tps, draft_tps))
        if math.prod((*sizes, len(dtypes), len(draft_dtypes), len(kv_dtypes))) > MOST_SETUPS:
            raise UsageError(f"more than {MOST_SETUPS:,} setups", hint="name fewer of everything")
        grid = product(
            targets, drafts, accelerators, tps, draft_tps, engines, dtypes, draft_dtypes, kv_dtypes
        )
        return tuple(
            Setup(
                target=target,
                draft=draft,
                hardware=hardware,
                tp=tp,
                draft_tp=draft_tp or tp,
                engine=engine,
                dtype=dtype or target.dtype,
                draft_dtype=draft_dtype or (draft.model or target).dtype,
                kv_dtype=kv_dtype,
            )
            for target, draft, hardware, tp, draft_tp, engine, dtype, draft_dtype, kv_dtype in grid
        )

    def _model(self, name: str, field: str) -> Model:
        loaded = self.catalogue.model(name, self.asked[field].where)
        self._record(field, loaded)
        return loaded.card

    def _hardware(self, name: str) -> Hardware:
        counted = re.fullmatch(r"(\d+)x(.+)", name)
        if counted:
            raise UsageError(
                f"'{visible(name, 60)}' counts GPUs",
                where=self.asked["hardware"].where,
                expected="a name; tp counts",
                hint=f"write -g {visible(counted[2], 60)} --tp {counted[1]}",
            )
        loaded = self.catalogue.hardware(name, self.asked["hardware"].where)
        self._record("hardware", loaded)
        return loaded.card

    def _draft(self, name: str) -> Drafter:
        kind, _, argument = name.partition(":")
        if kind in DRAFTERS:
            with placed(self.asked["draft"].where):
                drafter = DRAFTERS[kind](argument)
            self.inputs["draft"] = Input(value=drafter.label, origin=self.asked["draft"].origin)
            return drafter
        return ModelDrafter(self._model(name, "draft"))

    def _engine(self, name: str) -> Engine:
        if name not in ENGINES:
            raise unknown("engine", name, ENGINES, where=self.asked["engine"].where)
        return ENGINES[name]

    def _record(self, field: str, loaded: Loaded[Model] | Loaded[Hardware]) -> None:
        """Keeps where a card came from, and says so when it hides a packaged one."""
        key, number = field, 2
        while key in self.inputs and self.inputs[key].value != loaded.card.name:
            key, number = f"{field}_{number}", number + 1
        origin = f"{loaded.origin.path} ({self.asked[field].origin})"
        self.inputs[key] = Input(value=loaded.card.name, origin=origin, sha256=loaded.origin.sha256)
        if loaded.hides is not None:
            self.notes.append(
                f"{loaded.card.name} is read from {visible(loaded.origin.path)}, "
                f"which hides the {loaded.hides.layer} card of that name"
            )
        elif loaded.origin.layer not in {"packaged", "path"}:
            self.notes.append(f"{loaded.card.name} is read from {visible(loaded.origin.path)}")
