"""From what was asked to a Scenario: flags over plan over defaults, names to cards.

With `resolve`, the only place that knows the catalogue. Python callers use the same path:
every keyword is an option, every value its text or number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike

from specplan.catalogue.folders import user_folders
from specplan.catalogue.store import Catalogue
from specplan.cli import grammar
from specplan.cli.counted import Option, acceptance_texts
from specplan.cli.mixes import flag_of, mix_parts, mix_said
from specplan.cli.planned import Given, PlanRead, mixes, planned
from specplan.cli.resolve import Cards, Resolver
from specplan.cli.unusable import refuse_unusable
from specplan.domain.scenario import Input, Scenario, Setup
from specplan.errors import UsageError, Where, placed, unknown

# The scenario that sweep has of its own: the article's table.
GOLDEN = {
    "target": "llama-3-8b",
    "draft": "llama-3.2-1b",
    "hardware": "h100-sxm",
    "batch": "1,16,64,256",
    "acceptance": "0.6,0.8",
    "k": "1,2,4,6,8",
}
LONGEST = 16  # drafts that a best k is chosen from, unless --k-max says otherwise
DEFAULTS = {"tp": "1", "engine": "roofline", "batch": "1", "context": "2048", "k": "best"}
OPTIONS = (
    *("target", "draft", "hardware", "tp", "draft_tp", "engine", "attention_dp", "ep"),
    *("dtype", "draft_dtype", "kv_dtype"),
    *("batch", "context", "isl", "osl", "acceptance", "k"),
)
QUESTIONS = {
    "target": ("which model is to be sped up?", "a model such as llama-3-8b", "models"),
    "draft": (
        "what drafts?",
        "a model such as llama-3.2-1b, or ratio:0.05, free, none",
        "models",
    ),
    "hardware": ("on which accelerator?", "one such as h100-sxm", "hardware"),
    "acceptance": (
        "how likely is a draft token accepted?",
        "alpha such as 0.7",
        "write -a 0.7 or a range",
    ),
    "ranks": (
        "how often is the first, second, ... child of a node kept?",
        "shares such as .63,.11,.06",
        "a single alpha only knows chains",
    ),
}
NEEDED = ("target", "draft", "hardware", "acceptance")

Folder = str | PathLike[str]


def load(*folders: Folder) -> Catalogue:
    """The catalogue: packaged cards, the user's own, and those in `folders`, later ones winning."""
    return Catalogue(tuple(user_folders([str(folder) for folder in folders])))


def scenario(
    *,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k_max: int | None = None,
    mix: Sequence[str] = (),
    needs: Iterable[str] = NEEDED,
    **options: Option,
) -> Scenario:
    """The scenario of the named options, such as target="llama-3-8b" or batch=[1, 16].

    Names are those of the command line with underscores; values are texts of its grammar, numbers,
    or iterables of either; an acceptance may be the answer of `acceptance` to one capture. target,
    draft, hardware and acceptance have no default, and those in `needs` must be named: `best_tree`
    needs no acceptance. `catalogue` is what `load` returns, or the folder or folders to load.
    """
    parts = (mix,) if isinstance(mix, str) else tuple(map(str, mix))
    return build(
        texts_of(options), catalogue=loaded(catalogue), needs=needs, k_max=k_max, mix=parts
    )


def texts_of(
    options: Mapping[str, Option],
) -> dict[str, tuple[str, ...]]:
    """The options of Python callers in the grammar of the command line."""
    typed = {
        "acceptance" if name == "alpha" else name: _texts(name, value)
        for name, value in options.items()
    }
    for name in typed:
        if name not in OPTIONS:
            raise unknown("option", name, OPTIONS)
    return typed


def loaded(given: Catalogue | Folder | Iterable[Folder] | None) -> Catalogue:
    """The catalogue given, or that of the folders given."""
    if isinstance(given, Catalogue):
        return given
    return load(given) if isinstance(given, str | PathLike) else load(*(given or ()))


def _texts(name: str, value: Option) -> tuple[str, ...]:
    """An option's value in the grammar; a list of numbers is read as one axis."""
    if name in {"acceptance", "alpha"}:
        return acceptance_texts(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (str(value),)
    items = tuple(value)
    if not items:
        raise UsageError(f"{name} is empty", expected="a value, or several")
    numbers = not any(isinstance(item, str) for item in items)
    return (",".join(map(str, items)),) if numbers else tuple(map(str, items))


def build(
    flags: Mapping[str, Sequence[str]],
    *,
    catalogue: Cards,
    plan: PlanRead | None = None,
    defaults: Mapping[str, str] | None = None,
    needs: Iterable[str] = NEEDED,
    unused: Collection[str] = ("k",),
    k_max: int | None = None,
    mix: Sequence[str] = (),
    told: Mapping[str, Given] | None = None,
    resolving: Callable[[Cards, Mapping[str, Given]], Resolver] = Resolver,
    refusing: Callable[[Iterable[Setup], Mapping[str, Given]], None] = refuse_unusable,
) -> Scenario:
    """The scenario asked for; an error names the option or the line that is at fault.

    `unused` are axes whose defaults the question does not rest on. `told` is what a file says that
    is no plan: it stands above the plan and below the flags. Names become cards by `resolving`;
    `refusing` takes offence at setups that nobody can run.
    """
    longest = _longest(k_max)
    asked = _merge(flags, plan, {**DEFAULTS, **(defaults or {})}, told or {})
    _refuse_missing(needs, asked, mixed=bool(mix or mixes(plan)))
    resolver = resolving(catalogue, asked)
    setups = resolver.setups()
    refusing(setups, asked)
    said, whose = mix_said(mix, plan)
    parts, own = mix_parts(said, whose, asked, partial(resolver.curves_of, certain=True))
    k = resolver.axis("k", grammar.lengths)
    acceptance = resolver.axis("acceptance", resolver.acceptance)
    notes = [*resolver.notes, *_defaulted(asked, {"engine", *unused, *own})]
    notes += _refuse_long(setups, k, asked["k"])
    if k and k_max is not None:
        raise UsageError("--k-max is not used beside a list of -k", hint="leave out one of them")
    return Scenario(
        setups=setups,
        batch=resolver.axis("batch", grammar.batches),
        context=resolver.axis("context", grammar.contexts),
        acceptance=acceptance,
        k=k,
        k_max=longest,
        growth=_growth(asked),
        parts=parts,
        inputs={
            **{
                name: given
                for name, given in resolver.inputs.items()
                if name not in own or given.sha256
            },
            **_more_inputs(asked, k_max, said, whose.origin, resolver.inputs),
        },
        notes=tuple(dict.fromkeys(notes)),
    )


def _longest(k_max: int | None) -> int:
    """The longest draft to try."""
    if k_max is None:
        return LONGEST
    if k_max not in range(1, grammar.LARGEST_K + 1):
        expected = f"1 to {grammar.LARGEST_K}"
        raise UsageError(f"{k_max!r} is out of range", where=Where("--k-max"), expected=expected)
    return k_max


def _more_inputs(
    asked: Mapping[str, Given],
    k_max: int | None,
    said: Sequence[Mapping[str, str]],
    whose: str,
    cards: Mapping[str, Input],
) -> dict[str, Input]:
    """What the answer rests on beside `cards` and axes: the engine as it was typed, with its card's
    hash, and the mix, `said` by `whose`.
    """
    found = {
        name: Input(value=",".join(asked[name].texts), origin=asked[name].origin)
        for name in ("engine", "isl", "osl")
        if name in asked
    }
    card = cards.get("engine")
    if card is not None and "engine" in found:
        found["engine"] = replace(found["engine"], sha256=card.sha256)
    if k_max is not None:
        found["k_max"] = Input(value=k_max, origin="flag")
    if said:
        parts = "; ".join(map(grammar.mix_text, said))
        found["mix"] = Input(value=parts, origin=whose)
    return found


def _refuse_long(setups: Iterable[Setup], k: Sequence[int], given: Given) -> list[str]:
    """Refuses draft lengths of which a drafter can propose none; notes on those left out."""
    notes = []
    longest = {setup.draft.label: setup.draft.max_k for setup in setups}
    for label, most in longest.items():
        beyond = [n for n in k if most and n > most]
        if not most or not beyond or given.origin == "default":
            continue
        what = f"draft {label} cannot propose k = {beyond[0]}"
        if not any(0 < n <= most for n in k):
            raise UsageError(what, where=given.where, expected=f"at most {most}")
        notes.append(f"{what}: left out, for it proposes at most {most}")
    return notes


def _refuse_missing(needs: Iterable[str], asked: Mapping[str, Given], *, mixed: bool) -> None:
    """The first option that nobody gave is refused, naming the others too; parts of a mix have
    acceptances of their own.
    """
    names = [n for n in needs if n not in asked and not (n == "acceptance" and mixed)]
    if not names:
        return
    question, expected, told = QUESTIONS[names[0]]
    hint = told if " " in told else f"specplan {told} list shows all"
    if names[1:]:
        hint += f"; also needed: {', '.join(flag_of(name) for name in names[1:])}"
    raise UsageError(question, where=Where(flag_of(names[0])), expected=expected, hint=hint)


def _merge(
    flags: Mapping[str, Sequence[str]],
    plan: PlanRead | None,
    defaults: Mapping[str, str],
    told: Mapping[str, Given],
) -> dict[str, Given]:
    asked = {n: Given((t,), "default", Where(flag_of(n))) for n, t in defaults.items()}
    if plan is not None:
        asked.update(planned(plan))
    asked.update(told)
    asked.update({n: Given(tuple(t), "flag", Where(flag_of(n))) for n, t in flags.items()})
    lengths = [asked[n] for n in ("isl", "osl") if n in asked]
    context = asked["context"].origin
    if context == "flag" and lengths and all(given.origin != "flag" for given in lengths):
        for name in ("isl", "osl"):
            asked.pop(name, None)
    elif lengths:
        asked["context"] = _from_lengths(asked)
    return asked


def _from_lengths(asked: Mapping[str, Given]) -> Given:
    """Context from prompt and output lengths: the average over the output, n + m/2."""
    said = [asked[name] for name in ("isl", "osl") if name in asked]
    if len(said) == 1:
        where = None if said[0].origin == "flag" else said[0].where
        raise UsageError("--isl and --osl go together", where=where, hint="or give --context")
    if asked["context"].origin == asked["isl"].origin:
        raise UsageError("--context and --isl/--osl say the same twice", hint="give one of them")
    prompt, output = _one_length(asked, "isl"), _one_length(asked, "osl")
    return Given((repr(grammar.count(prompt + output / 2)),), "isl and osl", asked["isl"].where)


def _one_length(asked: Mapping[str, Given], name: str) -> float:
    with placed(asked[name].where):
        values = grammar.contexts(asked[name].texts)
    if len(values) != 1:
        raise UsageError(f"{name} is one length, not {len(values)}", where=asked[name].where)
    return values[0]


def _growth(asked: Mapping[str, Given]) -> float:
    """What is still to come when a sequence is at its average length: half of its output."""
    return grammar.count(_one_length(asked, "osl") / 2) if "osl" in asked else 0


def _defaulted(asked: Mapping[str, Given], unsaid: Collection[str]) -> list[str]:
    """What nobody said, in one sentence; when nothing at all was, the caption says it."""
    defaulted = {n: g for n, g in asked.items() if g.origin == "default"}
    if len(defaulted) == len(asked):
        return []
    names = [f"{n} {g.texts[0]}" for n, g in defaulted.items() if n not in unsaid]
    return [f"by default: {', '.join(names)}"] if names else []
