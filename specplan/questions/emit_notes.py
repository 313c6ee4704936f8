"""What to know about what was emitted: how k was chosen, what could not be said, what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.dialects.writers import outgrown
from specplan.domain.deployment import OneK, Step, Written
from specplan.domain.hub import other_names
from specplan.domain.scenario import Scenario, Setup
from specplan.questions.beyond import beyond_tokens
from specplan.questions.bills import bill_at, usual_k
from specplan.questions.common import percent
from specplan.questions.emit_k import Chosen, asked_plain, joined, losses_of, never_off, worth_of
from specplan.visible import visible

_NOTHING = 0.0005  # is written as 0.0 %


def notes_of(
    scenario: Scenario, setup: Setup, chosen: Chosen, written: Written, form: str
) -> Iterator[str]:
    """What was chosen, what of it cannot be said, and what else to know."""
    yield from chosen.said
    if not chosen.fits:
        yield "the plan does not fit: memory ends below its batch"
    elif not chosen.k and not asked_plain(scenario, setup):
        yield "speculation does not pay here at any k: nothing is switched on"
    for sentence in written.lost:
        yield f"not said: {sentence}"
    if chosen.instead:
        yield from _of_schedule(scenario, setup, chosen, written, chosen.instead)
    yield from _of_version(written)
    yield from written.notes
    yield from _beside(written, form)
    yield from _of_checkpoint(setup, written)
    if chosen.said or chosen.schedule:
        yield from beyond_tokens(scenario)


def _of_schedule(
    scenario: Scenario, setup: Setup, chosen: Chosen, written: Written, one: OneK
) -> Iterator[str]:
    """What k by batch is worth, as it was planned and as it was written."""
    done = written.done
    steps = done.schedule
    if not steps:
        whole = Step(1, chosen.schedule[-1].last_batch, done.k)
        loss, batch = (one.loss, one.batch)
        if done.k != one.k:
            ((loss, batch),) = losses_of(scenario, setup, (whole,))
        yield f"in place of k by batch one k for all: k = {done.k}, which {_lost(loss, batch)}"
        return
    said = "" if steps == chosen.schedule else " as it can be said"
    own, drafting = losses_of(scenario, setup, steps, never_off(steps))
    gain, where = worth_of(scenario, setup, steps, one.k)
    yield (
        f"k by batch{said} {_lost(*own)}; k = {one.k} for all up to {percent(one.loss)}, at "
        f"{one.batch:,}: by batch is up to {percent(gain)} faster, at {where:,}"
    )
    asked, last = scenario.inputs.get("batch"), steps[-1].last_batch
    if asked and asked.origin != "default" and max(scenario.batch) < last:
        yield (
            f"k by batch goes to {last:,}, the largest batch that fits: batch {asked.value} does "
            "not limit it"
        )
    if any(not step.k for step in steps):
        yield from _of_zeros(scenario, setup, written, drafting)


def _lost(loss: float, batch: int) -> str:
    if loss < _NOTHING:
        return "loses nothing against the best k of any batch"
    return f"loses up to {percent(loss)} against the best k of a batch, most at batch {batch:,}"


def _of_zeros(
    scenario: Scenario, setup: Setup, written: Written, drafting: tuple[float, int]
) -> Iterator[str]:
    """What it costs never to stop drafting, and what a drafter costs that does not draft."""
    steps, (loss, batch) = written.done.schedule, drafting
    tiers = ", ".join(
        f"{s.first_batch:,}-{s.last_batch:,}: {s.k}" for s in joined(never_off(steps))
    )
    instead = f"k = 1 in place of 0 ({tiers}) loses up to {percent(loss)}, most at batch {batch:,}"
    if loss < written.off_cost:
        instead += (
            f": less than the {percent(written.off_cost)} and more that k = 0 was seen to cost"
        )
    yield instead
    end = max(scenario.context) + scenario.growth
    bill = bill_at(setup, end, usual_k(setup, scenario.k))
    yield (
        f"where k = 0 the drafter stays in memory: {float(bill.largest):,.0f} sequences fit, "
        f"{float(bill.largest_plain):,.0f} without it"
    )


def _of_version(written: Written) -> Iterator[str]:
    """That a version is newer than all whose words are known."""
    done = written.done
    newest = outgrown(done.engine, done.version)
    if newest:
        yield f"{done.at} is read as {newest}, the newest whose flags are known here"


def _beside(written: Written, form: str) -> Iterator[str]:
    """What belongs to the plan and is not in the form that was asked for."""
    if form == "yaml" and written.environment:
        said = " ".join(f"{name}={value}" for name, value in written.environment)
        yield f"start the server with {said}, as the first line says"
    file = written.file
    if file and form != "shell" and written.texts[form] != file.text:
        whole = {n: t for n, t in written.texts.items() if n != "json" or not written.environment}
        inside = next((name for name, text in whole.items() if text == file.text), "shell")
        yield f"the server reads {file.name} beside it: --as {inside} writes that"


def _of_checkpoint(setup: Setup, written: Written) -> Iterator[str]:
    """Where what is loaded may be another one than what was meant."""
    target = written.done.target
    others = other_names(setup.target, target or "")
    if others:
        yield (
            f"{visible(target or '', 80)} is what the card {setup.target.name} names: for "
            f"{' or '.join(others[:3])} say --target-path"
        )
    card = setup.draft.model
    planned = [("weights", "card's", setup.dtype, setup.target.dtype)]
    if card:
        planned.append(("the drafter's weights", "drafter's", setup.draft_dtype, card.dtype))
    for what, whose, dtype, stored in planned:
        if dtype != stored:
            yield (
                f"{what} are planned as {dtype}, the {whose} checkpoint is {stored}: load one that "
                "is stored so, or have the engine quantise"
            )
