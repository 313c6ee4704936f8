"""`calibrate` for Python, and what the command asks: files and options to an answer and a card."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from specplan.catalogue.runs import read_runs
from specplan.catalogue.store import Catalogue, is_path
from specplan.cli import grammar
from specplan.cli.counted import Option
from specplan.cli.made import card_name
from specplan.cli.mixes import flag_of
from specplan.cli.naming import versioned
from specplan.cli.planned import Given
from specplan.cli.resolve import Resolver
from specplan.cli.scenario import build, loaded, texts_of
from specplan.domain.answer import Answer
from specplan.domain.engine import Engine
from specplan.domain.runs import Runs
from specplan.domain.scenario import Input, Scenario
from specplan.errors import UsageError, Where
from specplan.questions.calibrate import calibrate as question
from specplan.questions.calibrated import Around, Asked, Calibrated
from specplan.questions.calibrated_card import Naming

UNNAMED = "calibrated"  # a card's name where nobody gives one
NEXT = {
    "target": ("-t", "MODEL"),
    "draft": ("-d", "DRAFT"),
    "hardware": ("-g", "GPU"),
    "tp": ("--tp", ""),
    "draft_tp": ("--draft-tp", ""),
    "dtype": ("--dtype", ""),
    "draft_dtype": ("--draft-dtype", ""),
    "kv_dtype": ("--kv-dtype", ""),
    "acceptance": ("-a", "ACCEPTANCE"),
}
"""What best-k needs or was given, its flag, and the word that stands for what nobody said."""
WORKLOAD = ("batch", "context", "acceptance", "k", "isl", "osl")


def answered(
    paths: Sequence[Path],
    flags: Mapping[str, Sequence[str]],
    catalogue: Catalogue,
    name: str,
    *,
    force: bool = False,
) -> tuple[Answer, Engine]:
    """The answer, and the card in it; `force` takes times of a unit that is hard to believe."""
    read = read_runs(list(paths))
    known = _over_cards(flags, read)
    scene = _scene(known, catalogue, read) if known else None
    asked, resolver = _asked(flags, catalogue, scene)
    follows, version = _followed(flags, catalogue, read, scene)
    given = {f"runs_{n}": _file(path) for n, path in enumerate(paths, start=1)}
    around = Around(
        setup=scene.setups[0] if scene else None,
        naming=Naming(
            name=name,
            follows=follows,
            ran=replace(read.ran, version=version),
            files=", ".join(path.name for path in paths),
        ),
        inputs={**given, **(scene.inputs if scene else resolver.inputs)},
        notes=tuple(dict.fromkeys((*(scene.notes if scene else ()), *resolver.notes))),
    )
    answer = question(read, replace(asked, trusting=force), around)
    assert isinstance(answer.value, Calibrated)  # noqa: S101 - the question's own
    return answer, answer.value.card


def calibrate(
    *paths: str | Path,
    name: str = UNNAMED,
    force: bool = False,
    catalogue: Catalogue | None = None,
    **options: Option,
) -> Answer:
    """The answer of `specplan calibrate` for Python: `paths` are CSV files of step times, options
    those of the command line with underscores (acceptance, k, batch, context, target, draft,
    hardware, tp, engine, ...). `.value.card` is the engine card, `.value.best_k` the draft length
    for each batch where an acceptance is given. Plain steps above a second or below 20 us are
    refused unless `force` is given.
    """
    if not paths:
        raise UsageError("no RUNS", expected="CSV files of step times")
    files = [Path(path) for path in paths]
    flags = texts_of(options)
    return answered(files, flags, loaded(catalogue), card_name(name, None), force=force)[0]


def _over_cards(flags: Mapping[str, Sequence[str]], read: Runs) -> dict[str, tuple[str, ...]]:
    """The flags of a fit over cards, names that the rows state filling in for those that were not
    typed; nothing for a fit to times alone.
    """
    stated = {
        "target": read.ran.target,
        "draft": read.ran.draft,
        "hardware": read.ran.gpu,
        "tp": str(read.ran.gpus) if read.ran.gpus else None,
        "engine": read.engine,
    }
    found: dict[str, tuple[str, ...]]
    found = {key: (value,) for key, value in stated.items() if value}
    found |= {key: tuple(texts) for key, texts in flags.items() if key not in WORKLOAD}
    if "target" not in flags and "hardware" not in flags and not read.ran.target:
        stray = next((key for key in ("draft", "tp", "draft_tp", "dtype") if key in flags), None)
        if stray:
            flag = f"--{stray.replace('_', '-')}"
            hint = "add -t and -g, or leave it out"
            raise UsageError("no target to lay it over", where=Where(flag), hint=hint)
        return {}
    if not any(run.k for run in read.rows):
        found.setdefault("draft", ("none",))
    return found


def _scene(known: Mapping[str, Sequence[str]], catalogue: Catalogue, read: Runs) -> Scenario:
    """The one setup whose cards the fit is laid over."""
    needs = ("target", "draft", "hardware")
    scene = build(known, catalogue=catalogue, needs=needs, unused=("k", "batch", "context"))
    if len(scene.setups) != 1:
        raise UsageError(
            f"{len(scene.setups)} setups for one set of steps",
            expected="the one that was measured",
        )
    longest, most = max(run.k for run in read.rows), scene.setups[0].draft.max_k
    if most is not None and longest > most:
        what = f"draft {scene.setups[0].draft.label} cannot propose k = {longest}"
        where = next(run.where for run in read.rows if run.k == longest)
        raise UsageError(what, where=where, expected=f"at most {most}")
    return scene


def _asked(
    flags: Mapping[str, Sequence[str]], catalogue: Catalogue, scene: Scenario | None
) -> tuple[Asked, Resolver]:
    """What is asked beside the fit, in the grammar of every command."""
    for given_alone, other in (("isl", "osl"), ("osl", "isl")):
        if given_alone in flags and other not in flags:
            raise UsageError("--isl and --osl go together", hint="or give --context")
    if "isl" in flags and "context" in flags:
        raise UsageError("--context and --isl/--osl say the same twice", hint="give one of them")
    given = {n: Given(tuple(t), "flag", Where(flag_of(n))) for n, t in flags.items()}
    resolver = Resolver(catalogue, {n: g for n, g in given.items() if n in WORKLOAD})
    if scene:
        resolver.targets, resolver.drafts = [scene.setups[0].target], [scene.setups[0].draft]
    acceptance = resolver.axis("acceptance", resolver.acceptance)
    context = resolver.axis("context", grammar.contexts)
    if "isl" in flags:
        prompts, outputs = (resolver.axis(name, grammar.contexts) for name in ("isl", "osl"))
        context = tuple(prompt + output / 2 for prompt in prompts for output in outputs)
    for name, values in (("acceptance", acceptance), ("context", context)):
        if len(values) > 1:
            what = f"{len(values)} values of {name}"
            hint = "rates by position: unconditional:.8,.6,.5" if name == "acceptance" else ""
            raise UsageError(what, where=Where(flag_of(name)), expected="one", hint=hint)
    k = resolver.axis("k", grammar.lengths)
    batch = resolver.axis("batch", grammar.batches)
    if (k or batch) and not acceptance:
        name = "k" if k else "batch"
        hint = "add -a, such as unconditional:.8,.6,.5"
        what = "a best k needs an acceptance"
        raise UsageError(what, where=given[name].where, hint=hint)
    asked = Asked(
        acceptance=acceptance[0] if acceptance else None,
        k=k,
        batch=batch,
        context=context[0] if context else None,
    )
    return asked, resolver


def _followed(
    flags: Mapping[str, Sequence[str]], catalogue: Catalogue, read: Runs, scene: Scenario | None
) -> tuple[str | None, str | None]:
    """The engine that the card follows, and its release: those named, unless a bound or a file."""
    texts = tuple(flags.get("engine", ())) or ((read.engine,) if read.engine else ())
    if not texts:
        return None, None
    if len(texts) > 1 or "," in texts[0]:
        raise UsageError("several engines", where=Where("--engine"), expected="the one that ran")
    name, version = versioned(texts[0])
    if is_path(name):
        return None, None
    card = scene.setups[0].engine if scene else catalogue.engine(name, Where("--engine")).card
    return (None, None) if card.kind == "bound" else (card.name, version)


def next_words(
    flags: Mapping[str, Sequence[str]], card: Engine, file: str, folders: Sequence[str]
) -> str:
    """The command that uses the card: with all that was given or stated of its setup, and a word
    for what was not.
    """
    fitted = card.steps or card.passes
    ran = fitted.ran if fitted else None
    known = {"target": ran.target, "draft": ran.draft, "hardware": ran.gpu} if ran else {}
    words = ["specplan", "best-k"]
    for name, (flag, word) in NEXT.items():
        texts = flags.get(name) or ((known[name],) if known.get(name) else (word,) if word else ())
        words += [part for text in texts for part in (flag, str(text))]
    words += [part for folder in folders for part in ("--catalogue", folder)]
    return shlex.join([*words, "-e", file])


def _file(path: Path) -> Input:
    """A file of rows as what an answer rests on."""
    return Input(value=str(path), origin=str(path), sha256=sha256(path.read_bytes()).hexdigest())
