"""`acceptance` for Python, and what the command shares with it: captures read and answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath

from specplan.catalogue.store import Catalogue
from specplan.cli.captures import Held, Moved, captures
from specplan.cli.scenario import LONGEST, Folder, build, loaded, texts_of
from specplan.domain.answer import Answer
from specplan.domain.drafters import typed_drafter
from specplan.domain.scenario import Input, Scenario
from specplan.errors import UsageError, Where
from specplan.questions.acceptance import acceptance as question
from specplan.questions.acceptance import refuse_empty
from specplan.questions.acceptance_difference import acceptance_difference
from specplan.questions.captured import acceptance_of
from specplan.questions.shared_k import SharedK, shared_k, shared_k_by_ratio

NEEDED = ("target", "draft", "hardware")
LETTERS = "ab"


def acceptance(
    *files: str | PathLike[str],
    k: int | None = None,
    together: bool = False,
    each: bool = False,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k_max: int | None = None,
    **options: str | float | Iterable[str | float],
) -> Answer:
    """What an engine's counters say, as `specplan acceptance` answers it: logs, /metrics pages and
    results, by content, gzip or not.

    Two files are two captures held against each other; two scrapes are one, the difference, and
    four are two. `together` makes all files one capture, `each` every file one. `k` is the draft
    length in use, where the files do not say it. With target, draft and hardware (and what else
    `scenario` takes of a setup), or a draft such as "ratio:0.05" alone, the answer has the best k.
    """
    held = captures([str(fspath(file)) for file in files], k=k, together=together, each=each)
    return answered(held, texts_of(options), k=k, k_max=k_max, catalogue=catalogue)


def read(
    files: Sequence[str], k: int | None, *, together: bool, each: bool, moved: Moved | None
) -> list[Held]:
    """The captures in files, a bar told of the bytes."""
    return captures(files, k=k, together=together, each=each, moved=moved)


def answered(
    held: Sequence[Held],
    flags: Mapping[str, Sequence[str]],
    *,
    k: int | None,
    k_max: int | None,
    catalogue: Catalogue | Folder | Iterable[Folder] | None,
) -> Answer:
    """The answer to one capture, or to two."""
    for one in held:
        refuse_empty(one.capture)
    best, scenario = _best(held, flags, k_max, catalogue)
    inputs: dict[str, Input] = {}
    for letter, one in zip(LETTERS, held, strict=False):
        inputs |= one.inputs("capture" if len(held) == 1 else letter)
    if k is not None:
        inputs["k_in_use"] = Input(value=k, origin="flag")
    notes: tuple[str, ...] = ()
    if scenario:
        inputs |= scenario.inputs
        notes = scenario.notes
    if len(held) == 1:
        return question(held[0].capture, inputs=inputs, best=best, notes=notes)
    first, second = (one.capture for one in held)
    return acceptance_difference(first, second, inputs=inputs, best=best, notes=notes)


def _best(
    held: Sequence[Held],
    flags: Mapping[str, Sequence[str]],
    k_max: int | None,
    catalogue: Catalogue | Folder | Iterable[Folder] | None,
) -> tuple[SharedK | None, Scenario | None]:
    """The best k for each capture, if a deployment or at least what a draft costs was given."""
    if not flags:
        if k_max is not None:
            raise UsageError("--k-max is of the best k, which needs -t, -d and -g")
        return None, None
    models = [acceptance_of(one.capture) for one in held]
    ratio = _ratio_alone(flags)
    if ratio is not None:
        return shared_k_by_ratio(ratio, k_max or LONGEST, models), None
    seen = [one.capture.batch for one in held if one.capture.batch]
    mean = sum(batch.mean for batch in seen) / len(seen) if seen else 1.0
    scenario = build(
        flags,
        catalogue=loaded(catalogue),
        defaults={"batch": str(max(round(mean), 1))},
        needs=NEEDED,
        k_max=k_max,
    )
    return shared_k(scenario, models), scenario


def _ratio_alone(flags: Mapping[str, Sequence[str]]) -> float | None:
    """The cost ratio of `-d ratio:0.05` where nothing else of a deployment is named."""
    if set(flags) != {"draft"} or len(flags["draft"]) != 1:
        return None
    text = flags["draft"][0]
    if not text.startswith("ratio:"):
        return None
    try:
        drafter = typed_drafter(text)
    except UsageError as error:
        error.where = error.where or Where("--draft")
        raise
    return drafter.ratio if drafter else None
