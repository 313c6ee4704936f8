"""An engine's counters in place of an acceptance: --accepted and --drafted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specplan.cli import grammar
from specplan.cli.acceptance import UNCERTAIN
from specplan.domain.scenario import Input
from specplan.errors import UsageError, Where
from specplan.physics.estimate import alpha_from_counts


@dataclass(frozen=True, slots=True)
class Counted:
    """Flags whose acceptance comes from counters, and what the answer should say of them."""

    flags: Mapping[str, tuple[str, ...]]
    inputs: Mapping[str, Input]
    notes: tuple[str, ...]


def counted(
    flags: Mapping[str, tuple[str, ...]],
    accepted: int | None,
    drafted: int | None,
    *,
    mixed: bool = False,
) -> Counted:
    """The flags with the acceptance that the counters imply, if there are any.

    -k then names the draft length that was in use, not a candidate. `mixed` says that several
    workloads share the server, of which counters tell nothing apart.
    """
    asked = dict(flags)
    if accepted is None and drafted is None:
        return Counted(asked, {}, ())
    if accepted is None or drafted is None:
        raise UsageError("--accepted and --drafted go together")
    used = _length_in_use(asked, drafted, mixed=mixed)
    alpha = alpha_from_counts(accepted, drafted, used)
    values = {"accepted": accepted, "drafted": drafted, "k_in_use": used}
    note = f"{accepted:,} of {drafted:,} drafted at k = {used} is alpha {alpha.alpha:.3f}"
    if 0 < accepted < drafted and used > 1:
        rate = f"{accepted / drafted:.3f}"
        note += f", not {rate}: drafts after a rejection were never tried"
    return Counted(
        flags=asked | {"acceptance": (f"{alpha.alpha!r}{UNCERTAIN}{alpha.sd!r}",)},
        inputs={name: Input(value=value, origin="flag") for name, value in values.items()},
        notes=(note,),
    )


def _length_in_use(asked: dict[str, tuple[str, ...]], drafted: int, *, mixed: bool) -> int:
    """The k taken out of what was asked; refuses what the counters cannot be about."""
    if mixed:
        raise UsageError(
            "--accepted and --drafted are about one workload, not a mix",
            hint="give each part its alpha",
        )
    if "acceptance" in asked:
        raise UsageError("--acceptance and counters say the same twice", hint="give one of them")
    used = grammar.lengths(asked.pop("k", ("best",)))
    if len(used) != 1:
        raise UsageError(
            "counters need the draft length in use",
            where=Where("--k"),
            expected="one k, such as -k 4",
        )
    if used[0] and drafted % used[0]:
        raise UsageError(
            f"{drafted:,} drafted tokens are no whole number of rounds of k = {used[0]}",
            where=Where("--drafted"),
            expected=f"a multiple of {used[0]}: engines count k tokens for every round",
        )
    return used[0]
