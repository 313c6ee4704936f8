"""The plan as the engine's own words: which k at which load, then what the engine calls that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.dialects.writers import WRITERS, example, writer
from specplan.domain.answer import (
    Answer,
    Basis,
    Column,
    Facts,
    Lines,
    Section,
    Verbatim,
    View,
    table_of,
)
from specplan.domain.deployment import Deployment, Step, TreeShape, Written
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError, Where, unknown
from specplan.physics.schedule import HYSTERESIS
from specplan.questions.common import basis_of, dtype_words, one_setup, refuse_mix
from specplan.questions.emit_deployment import deployment_of, pretending
from specplan.questions.emit_k import Chosen, asked_plain
from specplan.questions.emit_k import chosen as chosen_k
from specplan.questions.emit_notes import notes_of
from specplan.visible import visible

COLUMNS = (
    Column("part", "", "part", "text", "program, flag, variable or config"),
    Column("name", "", "name", "text", "as the engine calls it"),
    Column("value", "", "value", "text", "its value; empty for a flag without one"),
)


@dataclass(frozen=True, slots=True)
class Emitted:
    """The engine's words in every form that it reads, `text` in the one asked for; `lost` is what
    of the plan it has no words for. `schedule` is what was written of the plan's k by batch.
    """

    engine: str
    way: str
    k: int
    schedule: tuple[Step, ...]
    form: str
    text: Verbatim
    texts: dict[str, Verbatim]
    lost: tuple[str, ...]


def emit(
    scenario: Scenario,
    *,
    form: str | None = None,
    synthetic: bool = False,
    hysteresis: float = HYSTERESIS,
    target: str | None = None,
    draft: str | None = None,
    shape: TreeShape | None = None,
) -> Answer:
    """The scenario as its engine's flags, JSON or YAML (`form`; the engine's usual one where None).

    k is the scenario's own, `best` (the one that loses least over its workloads) or `gate`: k by
    batch, where another k is taken if it gains more than `hysteresis` over a doubling of the batch
    (`physics.schedule`). `synthetic` adds what makes the engine pretend the scenario's acceptance;
    `target` and `draft` are what it is to load instead of what the cards' sources name; `shape` is
    a tree in place of a chain of k.
    """
    refuse_mix(scenario, "emit")
    setup = one_setup(scenario, "emit")
    engine = dialect_of(scenario, setup)
    if not 0 <= hysteresis < 1:
        raise UsageError(
            f"{hysteresis:g} is out of range", where=Where("--hysteresis"), expected="0 to below 1"
        )
    chosen = chosen_k(scenario, setup, shape, hysteresis)
    deployment = deployment_of(scenario, engine, chosen, (target, draft), shape)
    if synthetic:
        deployment = pretending(scenario, deployment)
    written = writer(engine)(deployment)
    form = _form(form, written, engine)
    wrote = written.done
    return Answer(
        command="emit",
        value=Emitted(
            engine=deployment.at,
            way=deployment.way,
            k=wrote.k,
            schedule=wrote.schedule,
            form=form,
            text=Verbatim(written.texts[form]),
            texts={name: Verbatim(text) for name, text in written.texts.items()},
            lost=written.lost,
        ),
        table=table_of(COLUMNS, list(_rows(written))),
        view=_view(setup, written),
        basis=_basis(scenario, chosen),
        inputs=scenario.inputs,
        notes=(*scenario.notes, *notes_of(scenario, setup, chosen, written, form)),
        ok=chosen.fits and (wrote.speculates or asked_plain(scenario, setup)),
    )


def speaking(setup: Setup) -> str | None:
    """The engine whose words the setup's engine reads, if it reads any."""
    fitted = setup.engine.follows if setup.engine.kind == "calibrated" else None
    return next((name for name in (setup.engine.name, fitted) if name in WRITERS), None)


def dialect_of(scenario: Scenario, setup: Setup) -> str:
    """The engine whose words are asked for: of its card, or of the one that was fitted to
    measurements of it; refused without a version.
    """
    engine, where = speaking(setup), Where("--engine")
    if engine is None and setup.engine.kind == "calibrated" and not setup.engine.follows:
        usual = next(iter(WRITERS))
        raise UsageError(
            f"{setup.engine.name} follows no engine, and reads no flags of its own",
            where=where,
            hint=f"calibrate again with -e {usual}@{example(usual)}, so that the card follows an "
            "engine",
        )
    if engine is None:
        raise UsageError(
            f"{setup.engine.name} reads no flags" + (": it is a bound" if _bound(setup) else ""),
            where=where,
            expected=f"one of {', '.join(f'{name}@{example(name)}' for name in WRITERS)}",
        )
    if setup.version is None:
        typed = scenario.inputs.get("engine")
        name = visible(str(typed.value), 60) if typed else setup.engine.name
        raise UsageError(
            f"which flags {engine} takes, and what they mean, depends on its version",
            where=where,
            expected=f"a version such as {name}@{example(engine)}",
        )
    return engine


def _bound(setup: Setup) -> bool:
    return setup.engine.kind == "bound"


def _form(form: str | None, written: Written, engine: str) -> str:
    if form is None:
        return next(iter(written.texts))
    if form not in written.texts:
        where = Where("--as")
        raise unknown(f"form for {engine}", form, written.texts, where=where)
    if form == "json" and written.environment:
        names = " ".join(name for name, _ in written.environment)
        raise UsageError(
            f"JSON has no place for {names}", where=Where("--synthetic"), hint="add --as shell"
        )
    return form


def _rows(written: Written) -> Iterator[dict[str, str]]:
    yield {"part": "program", "name": written.program[0], "value": " ".join(written.program[1:])}
    for name, value in written.environment:
        yield {"part": "variable", "name": name, "value": value}
    for name, flag in written.flags:
        yield {"part": "flag", "name": name, "value": flag or ""}
    for key, setting in written.config.items():
        yield {"part": "config", "name": key, "value": json.dumps(setting)}


def _basis(scenario: Scenario, chosen: Chosen) -> Basis:
    """Predicted where a k was chosen; else the plan's own."""
    if chosen.said or chosen.schedule:
        return basis_of(scenario)
    return Basis(kind="exact", says="the plan's own k", source=scenario.setups[0].engine.name)


def _view(setup: Setup, written: Written) -> View:
    done = written.done
    sections: list[Section] = [Lines(tuple(written.texts["shell"].splitlines()), drawn=True)]
    if done.schedule:
        sections.append(Facts(tuple(_ranges(done.schedule))))
    return View(
        title=f"{done.at}: {_k_words(done)}",
        caption=(f"{setup.label}, {dtype_words(setup)}",),
        sections=tuple(sections),
    )


def _k_words(done: Deployment) -> str:
    if done.schedule:
        return "k by batch"
    return f"k = {done.k}" if done.speculates else "no speculation"


def _ranges(schedule: Sequence[Step]) -> Iterator[tuple[str, str]]:
    for step in schedule:
        yield f"batch {step.first_batch:,}-{step.last_batch:,}", f"k = {step.k}"
