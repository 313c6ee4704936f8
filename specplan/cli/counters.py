"""An engine's counters in place of an acceptance: --accepted and --drafted."""

from __future__ import annotations

from collections.abc import Mapping

from specplan.cli import grammar
from specplan.errors import UsageError, Where
from specplan.physics.estimate import alpha_from_counts


def counted(
    flags: Mapping[str, tuple[str, ...]], accepted: int | None, drafted: int | None
) -> dict[str, tuple[str, ...]]:
    """The flags with the acceptance that the counters imply.

    -k then names the draft length that was in use, not a candidate.
    """
    asked = dict(flags)
    if accepted is None and drafted is None:
        return asked
    if accepted is None or drafted is None:
        raise UsageError("--accepted and --drafted go together")
    if "acceptance" in asked:
        raise UsageError("--acceptance and counters say the same twice", hint="give one of them")
    used = grammar.lengths(asked.pop("k", ("best",)))
    if len(used) != 1:
        raise UsageError(
            "counters need the draft length in use",
            where=Where("--k"),
            expected="one k, such as -k 4",
        )
    alpha = alpha_from_counts(accepted, drafted, used[0])
    return asked | {"acceptance": (f"{alpha.alpha!r}{grammar.UNCERTAIN}{alpha.sd!r}",)}
