"""The engine's flags in a report: they are there even where no card names what is to be loaded, and
where nobody said the engine's version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from specplan.dialects.writers import example, newest
from specplan.domain.answer import Answer, Lines
from specplan.domain.deployment import Unloadable
from specplan.domain.scenario import Scenario
from specplan.questions.emit import emit, speaking


def flags_of(scenario: Scenario) -> Answer:
    """The scenario as `emit` writes it; what no card names has a stand-in, and the version is the
    newest known where nobody said one: both are said.
    """
    (setup,) = scenario.setups
    engine = speaking(setup)
    if engine is None or setup.version is not None:
        return _loadable(scenario)
    version = newest(engine)
    found = _loadable(replace(scenario, setups=(replace(setup, version=version),)))
    line = (
        f"Flags depend on the version, which nobody said: these are of {engine} {version}, the "
        f"newest that specplan knows. Say yours, as in -e {setup.engine.name}@{example(engine)}."
    )
    sections = (Lines((line,), wrap=True), *found.view.sections)
    return replace(found, view=replace(found.view, sections=sections))


def _loadable(scenario: Scenario) -> Answer:
    """The same with a stand-in for whatever no card names."""
    missing: dict[str, str] = {}
    said: list[str] = []
    while True:
        try:
            found = emit(
                scenario, target=missing.get("--target-path"), draft=missing.get("--draft-path")
            )
        except Unloadable as error:
            if error.stand_ins.keys() <= missing.keys():
                raise
            missing |= error.stand_ins
            said.append(error.what)
        else:
            return _with_words(found, said, missing)


def _with_words(answer: Answer, said: list[str], missing: Mapping[str, str]) -> Answer:
    """The same with what is to be put in the place of each stand-in."""
    if not said:
        return answer
    stand_ins, options = " and ".join(missing.values()), " and ".join(missing)
    line = f"Put your own in the place of {stand_ins}, by hand or by {options} of specplan emit: "
    sections = (*answer.view.sections, Lines((line + "; ".join(said),), wrap=True))
    return replace(answer, view=replace(answer.view, sections=sections))
