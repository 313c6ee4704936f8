"""`equivalence` for Python: two files of generated outputs, held against each other."""

from __future__ import annotations

from pathlib import Path

from specplan.domain.answer import Answer
from specplan.domain.outputs import Outputs
from specplan.errors import UsageError
from specplan.importers.outputs import STDIN, read_outputs
from specplan.opening import exists, place
from specplan.questions.equivalence import equivalence as question
from specplan.questions.equivalence_asked import LEVEL, SENSITIVITY


def equivalence(
    plain: str | Path,
    spec: str | Path,
    *,
    level: float = LEVEL,
    sensitivity: float = SENSITIVITY,
    permutations: int | None = None,
    seed: int = 0,
    opinion: bool = False,
) -> Answer:
    """Does a speculative engine keep the distribution, as `specplan equivalence` answers it.

    `plain` and `spec` are JSONL files of outputs to the same prompts, gzip or not. `level` is the
    probability of a false alarm, `sensitivity` the mean total variation distance asked about,
    `permutations` the number of labellings drawn, by default 20 / level; with `opinion` SciPy's own
    tests stand beside ours (the extra `stats`).
    """
    return question(
        *read_both(str(plain), str(spec)),
        level=level,
        sensitivity=sensitivity,
        permutations=permutations,
        seed=seed,
        opinion=opinion,
    )


def read_both(plain: str, spec: str) -> tuple[Outputs, Outputs]:
    """The outputs of both files, text numbered alike."""
    if plain == spec == STDIN:
        raise UsageError("standard input can be one of the files, not both")
    if exists(Path(plain)) and exists(Path(spec)) and Path(plain).samefile(spec):
        raise UsageError(f"{place(Path(plain))} is given twice", hint="name the other file")
    pieces: dict[str, int] = {}
    return read_outputs(plain, pieces), read_outputs(spec, pieces)
