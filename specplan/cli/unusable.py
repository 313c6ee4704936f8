"""Setups that were named and that nobody can run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specplan.cli.mixes import flag_of
from specplan.cli.planned import Given
from specplan.domain.scenario import Setup
from specplan.errors import Refused, UsageError


def refuse_unusable(setups: Iterable[Setup], asked: Mapping[str, Given]) -> None:
    """Refuses weights without a rate, and a storage type that nothing is stored in."""
    _rateless(setups, asked)
    refuse_cardless(setups, asked)


def _rateless(setups: Iterable[Setup], asked: Mapping[str, Given]) -> None:
    """Refuses weights of a dtype that the accelerator cannot multiply, where they were named."""
    for setup in setups:
        stored = [("target", "dtype", setup.dtype)]
        if setup.draft.model is not None:
            stored.append(("draft", "draft_dtype", setup.draft_dtype))
        for name, flag, dtype in stored:
            try:
                setup.hardware.compute_dtype(dtype)
            except Refused as error:
                error.where = asked.get(flag, asked[name]).where
                if flag not in asked:
                    error.hint += f" with {flag_of(flag)}"
                raise


def refuse_cardless(setups: Iterable[Setup], asked: Mapping[str, Given]) -> None:
    """Refuses the storage of drafters that store nothing; a plan's may wait for another drafter."""
    given = asked.get("draft_dtype")
    if given and given.origin == "flag" and not any(s.draft.model for s in setups):
        drafts = ", ".join(dict.fromkeys(s.draft.label for s in setups))
        what = f"--draft-dtype is not used: draft {drafts} has no weights"
        raise UsageError(what, hint="leave it out, or name a model")
