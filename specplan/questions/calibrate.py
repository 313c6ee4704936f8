"""Your engine's steps: what explains them, what stays open, and which k is best at each batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from specplan.domain.answer import Answer, Basis, table_of
from specplan.domain.runs import Runs
from specplan.domain.scenario import Setup
from specplan.physics.between import BEYOND, Fitted
from specplan.physics.leastsq import LEAST_NOISE, fit
from specplan.physics.pass_form import PassForm
from specplan.physics.step_form import StepForm
from specplan.physics.told import Told, told
from specplan.questions import calibrate_view as view
from specplan.questions.calibrate_best import best_k, candidates, choices_of, rows_of
from specplan.questions.calibrate_doubts import doubts, refuse_units
from specplan.questions.calibrated import Around, Asked, Calibrated, Constant, Wrong
from specplan.questions.calibrated_card import passes_card, steps_card
from specplan.questions.step_times import StepTimes, step_times

USUAL_CONTEXT = 2048.0
FAR = 0.9  # quantile of errors that a card's band holds


def calibrate(runs: Runs, asked: Asked, around: Around) -> Answer:
    """Fits an engine to measured steps: to whole passes of the setup's cards, or without cards to
    the form of `specplan.physics.step_form`.

    Refused with fewer than 3 figures, with steps of an incredible length unless they are trusted,
    without SciPy, and where tokens per round are missing.
    """
    setup = around.setup
    times = _timed(runs, asked, setup)
    if not asked.trusting:
        refuse_units(runs, times)
    if setup is None:
        times, asked = _one_context(times, asked)
    form: PassForm | StepForm
    form = PassForm.of(setup, times.points) if setup else StepForm.of(times.points, times.time_s)
    found = fit(form.unknowns, lambda values: form.seconds(values, times.points), times.time_s)
    fitted = Fitted(form.seconds, found, times.points, times.time_s)
    value = _value(times, form, fitted, asked, around)
    records = list(rows_of(fitted, times, asked, value.choices))
    return Answer(
        command="calibrate",
        value=value,
        table=table_of(view.COLUMNS, records),
        view=view.calibrated(value, around.naming, known=times.known),
        basis=Basis(
            kind="calibrated",
            says=view.says(value),
            source=around.naming.files,
            bands={"step_s": (-value.within, value.within)},
            assumed=(*times.assumed, *_assumed(times, fitted, value, asked)),
            extrapolated=tuple(_beyond(value)),
        ),
        inputs=around.inputs,
        notes=(*around.notes, *_notes(runs, value), *doubts(runs, times)),
    )


def _timed(runs: Runs, asked: Asked, setup: Setup | None) -> StepTimes:
    """The figures as step times; cards cannot be asked without a context."""
    if setup is None or asked.context is not None or all(r.context is not None for r in runs.rows):
        return step_times(runs.rows, asked.acceptance, asked.context)
    times = step_times(runs.rows, asked.acceptance, USUAL_CONTEXT)
    taken = f"context {USUAL_CONTEXT:,.0f} is taken where no row states one: -c says another"
    return replace(times, assumed=(*times.assumed, taken))


def _one_context(times: StepTimes, asked: Asked) -> tuple[StepTimes, Asked]:
    """Steps of one context say nothing of another: whichever is asked about, theirs is answered."""
    contexts = np.unique(times.points.context).tolist()
    if not times.known or len(contexts) > 1 or asked.context in {None, contexts[0]}:
        return times, asked
    said = (
        f"all steps were measured at context {contexts[0]:,.0f}, and are taken to take as long at "
        f"{asked.context:,.0f}: -t, -d and -g say what a context costs"
    )
    asked = replace(asked, context=contexts[0])
    return replace(times, assumed=(*times.assumed, said)), asked


def _value(
    times: StepTimes,
    form: PassForm | StepForm,
    fitted: Fitted,
    asked: Asked,
    around: Around,
) -> Calibrated:
    found, kept = fitted.found, fitted.found.kept
    open_ = told(found)
    within = max(float(np.quantile(np.abs(found.left_out[kept]), FAR)), LEAST_NOISE)
    choices = tuple(choices_of(fitted, times, asked)) if asked.acceptance else ()
    naming = around.naming
    if isinstance(form, StepForm):
        card = steps_card(form, fitted, naming, within, known=times.known)
    else:
        card = passes_card(form, fitted, naming, within)
    return Calibrated(
        form="steps" if isinstance(form, StepForm) else "passes",
        figures=len(times.time_s),
        kept=int(kept.sum()),
        residual=float(np.median(np.abs(found.residual[kept]))),
        left_out=float(np.median(np.abs(found.left_out[kept]))),
        within=within,
        noise=found.noise,
        constants=tuple(_constants(fitted, open_)),
        rank=open_.rank,
        condition=open_.condition if np.isfinite(open_.condition) else None,
        only_together=open_.together,
        not_told=open_.alone,
        outliers=tuple(_wrong(times, fitted)),
        best_k=best_k(choices) if asked.acceptance else None,
        choices=choices,
        card=card,
    )


def _constants(fitted: Fitted, open_: Told) -> Iterator[Constant]:
    untold = {*open_.alone, *(name for group in open_.together for name in group)}
    found = fitted.found
    for unknown, value, error in zip(found.unknowns, found.values, found.errors, strict=True):
        yield Constant(
            name=unknown.name,
            value=float(value),
            unit=unknown.unit,
            error=float(error),
            prior=unknown.prior,
            prior_error=unknown.error(unknown.prior, 1.0),
            told=unknown.name not in untold,
            says=unknown.says,
        )


def _wrong(times: StepTimes, fitted: Fitted) -> Iterator[Wrong]:
    found, points = fitted.found, fitted.points
    for at in np.flatnonzero(~found.kept).tolist():
        measured_s = float(fitted.measured[at])
        expected_s = float(measured_s * np.exp(-found.residual[at]))
        batch, k = float(points.batch[at]), int(points.k[at])
        cliff = bool(fitted.cliffs[at])
        yield Wrong(str(times.where[at]), batch, k, measured_s, expected_s, cliff)


def _assumed(times: StepTimes, fitted: Fitted, value: Calibrated, asked: Asked) -> Iterator[str]:
    """What no figure says and the answer rests on."""
    for group in value.only_together:
        yield f"{view.listed(group)}: the steps tell them only in combination"
    if value.not_told:
        yield f"{view.listed(value.not_told)}: left to the prior, the steps do not tell"
    rounds = sorted({int(k) for k in fitted.points.k if k})
    if len(rounds) == 1:
        yield (
            f"all rounds draft {rounds[0]}: what a round takes whatever it drafts, and what each "
            "draft takes, cannot be told apart; rounds of a larger k would tell"
        )
    inner = [k for k in candidates(fitted, asked) if rounds and rounds[0] < k < rounds[-1]]
    between = [k for k in inner if k not in rounds]
    if between and asked.acceptance:
        yield (
            f"k = {view.listed(tuple(map(str, between)))} "
            f"{'was' if len(between) == 1 else 'were'} not measured: taken to follow the fitted "
            f"form between k = {rounds[0]} and {rounds[-1]}, and what passes of as many rows took; "
            "a step of kernels or graphs there may not show"
        )
    if not ((fitted.points.k == 0) & (fitted.points.width == 1)).any():
        yield "no plain step was measured: k = 0, and every speedup, is what the form says of it"
    if not times.known:
        yield "no context is stated: times are taken to be of one, whatever it was"


def _beyond(value: Calibrated) -> Iterator[str]:
    for choice in value.choices:
        if choice.how == BEYOND:
            yield f"k = {choice.k} at batch {choice.batch:g} lies beyond what was measured"


_FOLLOWED = ", and as a cliff by passes of about as many rows"


def _notes(runs: Runs, value: Calibrated) -> Iterator[str]:
    for wrong in value.outliers:
        yield (
            f"{wrong.where}: batch {wrong.batch:g}, k = {wrong.k} takes "
            f"{view.seconds(wrong.measured_s)} where the others say "
            f"{view.seconds(wrong.expected_s)}: left out of the fit, and taken as it is at its own "
            f"place{_FOLLOWED if wrong.cliff else ''}; measure it again"
        )
    if runs.skipped:
        yield f"{runs.skipped} rows of kernels hold no step and were skipped"
    if runs.doubtful:
        yield f"{runs.doubtful} rows that their notes doubt were skipped"
