"""The engine card that a fit writes: constants of whole passes, or steps as they were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specplan.domain.card import Source
from specplan.domain.engine import Engine, Release
from specplan.domain.fitted import At, Passes, Ran, Steps
from specplan.physics.between import Fitted
from specplan.physics.pass_form import PassForm, passes_at
from specplan.physics.step_form import Points, StepForm
from specplan.physics.tokens import FloatArray

DIGITS = 6  # of a fitted figure: far below its error
ALL_GRAPHS = 1_000_000  # rows: launches are in the host times that were fitted
LEAST_PASS = 0.05  # of a round: what its verification takes at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How the card is called, which engine it `follows`, what ran, and what it was fitted to; the
    release that ran is part of what ran.
    """

    name: str
    follows: str | None
    ran: Ran
    files: str
    read: str | None = None


def steps_card(
    form: StepForm, fitted: Fitted, naming: Naming, within: float, *, known: bool
) -> Engine:
    """A card with times at each batch that was measured, and at every width up to the longest
    round's; of several contexts the median.
    """
    points = fitted.points
    context = float(np.median(np.unique(points.context)))
    drafts = bool(points.k.any())
    longest = int(points.k.max())
    widths = {1.0, *points.width.tolist(), *(float(k + 1) for k in range(longest + 1))}
    batches, every = np.unique(points.batch), np.asarray(sorted(widths))
    at = [_at(form, fitted, float(batch), context, every, drafts=drafts) for batch in batches]
    constants = dict(
        zip((u.name for u in form.unknowns), fitted.found.values.tolist(), strict=True)
    )
    steps = Steps(
        width=tuple(every.tolist()),
        at=tuple(at),
        round=_rounded(constants.get("round", 0.0)),
        context=context if known else None,
        ran=naming.ran if naming.ran != Ran() else None,
    )
    return _card(naming, fitted, within, ("steps",), steps=steps)


def _at(
    form: StepForm,
    fitted: Fitted,
    batch: float,
    context: float,
    widths: FloatArray,
    *,
    drafts: bool,
) -> At:
    """Times at one batch: of rounds without what is not verification, else of passes alone."""
    ones = np.ones_like(widths)
    rounds = (widths > 1) & drafts
    points = Points(batch * ones, context * ones, widths, np.where(rounds, widths - 1, 0.0))
    time_s = fitted.at(points).time_s
    pass_s = time_s - form.extra_s(fitted.found.values, points)
    one = Points(*(a[:1] for a in (batch * ones, context * ones, ones, ones)))
    two = Points(one.batch, one.context, one.width, 2 * one.k)
    extra = form.extra_s(fitted.found.values, two) - form.extra_s(fitted.found.values, one)
    return At(
        batch=batch,
        time=tuple(_rounded(t) for t in np.maximum(pass_s, LEAST_PASS * time_s).tolist()),
        draft=_rounded(float(extra[0])) if drafts else None,
    )


def passes_card(form: PassForm, fitted: Fitted, naming: Naming, within: float) -> Engine:
    """A card with the constants of a whole pass and host times that all show."""
    at = {name: _rounded(value) for name, value in form.constants(fitted.found.values).items()}
    base = form.setup.release
    release = Release(
        since="0",
        host=at["host"],
        host_hidden=False,
        round_host=at.get("round_host", at["host"]),
        round_hidden=False,
        draft_host=at.get("draft_host", base.draft_host if base else 0.0),
        graphs=ALL_GRAPHS,
        eager=0.0,
        says="host times as fitted: what shows of them, launches and samplers included",
    )
    passes = passes_at(at)
    ran = Ran(
        target=form.setup.target.name,
        draft=form.setup.draft.label if fitted.points.k.any() else None,
        gpu=form.setup.hardware.name,
        gpus=form.setup.gpus,
        version=naming.ran.version,
    )
    passes = Passes(memory=passes.memory, compute=passes.compute, blend=passes.blend, ran=ran)
    of = ("passes", "releases", *(("expert_overlap",) if "expert_overlap" in at else ()))
    return _card(
        naming,
        fitted,
        within,
        of,
        passes=passes,
        releases=(release,),
        expert_overlap=at.get("expert_overlap"),
    )


def _card(
    naming: Naming,
    fitted: Fitted,
    within: float,
    of: tuple[str, ...],
    *,
    steps: Steps | None = None,
    passes: Passes | None = None,
    releases: tuple[Release, ...] = (),
    expert_overlap: float | None = None,
) -> Engine:
    used = int(fitted.found.kept.sum())
    error = float(np.median(np.abs(fitted.found.residual[fitted.found.kept])))
    cite = (
        f"specplan calibrate, of {used} step times in {naming.files}: the median lies "
        f"{100 * error:.1f} % off the fit"
    )
    return Engine(
        schema="engine/1",
        name=naming.name,
        title=naming.name,
        kind="calibrated",
        says=f"{naming.name}: calibrated to {used} steps",
        follows=naming.follows,
        expert_overlap=expert_overlap,
        passes=passes,
        steps=steps,
        within=_rounded(within),
        releases=releases,
        sources=(Source(of=of, kind="derived", cite=cite[:600], read=naming.read),),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS - 1}e}")
