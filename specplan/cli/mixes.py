"""The workloads of a traffic mix: said by flags or by a plan, each with what it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

from specplan.cli import grammar
from specplan.cli.acceptance import Curves
from specplan.cli.planned import Given, PlanRead, mixes
from specplan.domain.scenario import Part
from specplan.errors import UsageError, Where, placed


def flag_of(name: str) -> str:
    """The option of that name."""
    return "--" + name.replace("_", "-")


def mix_said(mix: Sequence[str], plan: PlanRead | None) -> tuple[list[dict[str, str]], Given]:
    """The workloads of a mix as keys and texts, and who gave them: flags, or else the plan."""
    if mix or plan is None:
        return [grammar.mix_part(text) for text in mix], Given((), "flag", Where("--mix"))
    parts = [
        {f.name: str(v) for f in fields(p) if (v := getattr(p, f.name)) is not None}
        for p in mixes(plan)
    ]
    where = plan.document.where(("workload", "mix"))
    return parts, Given((), plan.document.name, where, folder=plan.folder)


def mix_parts(
    said: Sequence[Mapping[str, str]],
    whose: Given,
    asked: Mapping[str, Given],
    curves_of: Callable[[Given], Curves],
) -> tuple[tuple[Part, ...], set[str]]:
    """The workloads of a mix, and the axes that each of them has for itself."""
    base = {n: asked[n].texts for n in ("batch", "context", "acceptance") if n in asked}
    common = curves_of(asked.get("acceptance", whose))
    with placed(whose.where):
        parts = tuple(
            grammar.part(
                p,
                base,
                common if grammar.part_text(p, "acceptance") is None else curves_of(whose),
            )
            for p in said
        )
    own = {n for n in base if said and all(grammar.part_text(p, n) is not None for p in said)}
    for name in sorted(own):
        lengths = name == "context" and "isl" in asked
        given = asked["isl" if lengths else name]
        if given.origin in {"flag", whose.origin}:
            key = "isl" if lengths else name
            raise UsageError(
                f"{flag_of(key) if given.origin == 'flag' else key} is not used: every part of the "
                "mix has its own",
                where=given.where if given.where.line else None,
                hint="leave it out, here or in the parts",
            )
    return parts, own
