"""Capacity planning for speculative decoding of language models.

    import specplan

    scene = specplan.scenario(target="llama-3-8b", draft="llama-3.2-1b", hardware="h100-sxm",
                              batch=16, context=2048, acceptance=0.8)
    specplan.best_k(scene).value.choice.k

Names are resolved on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Answer": "specplan.domain.answer",
    "Catalogue": "specplan.catalogue.store",
    "Scenario": "specplan.domain.scenario",
    "SpecplanError": "specplan.errors",
    "acceptance": "specplan.cli.captured",
    "accuracy": "specplan.cli.scored",
    "best_k": "specplan.questions.best_k",
    "best_tree": "specplan.questions.best_tree",
    "calibrate": "specplan.cli.fitting",
    "capacity": "specplan.cli.fleets",
    "check": "specplan.cli.checked",
    "compare": "specplan.cli.compared",
    "diagnose": "specplan.cli.diagnosed",
    "emit": "specplan.questions.emit",
    "equivalence": "specplan.cli.generated",
    "exactness": "specplan.questions.exactness",
    "explain": "specplan.questions.explain",
    "gate": "specplan.cli.gated",
    "load": "specplan.cli.scenario",
    "memory": "specplan.questions.memory",
    "report": "specplan.cli.reported",
    "scenario": "specplan.cli.scenario",
    "simulate": "specplan.cli.simulating",
    "sweep": "specplan.questions.sweep",
}

if TYPE_CHECKING:
    from specplan.catalogue.store import Catalogue
    from specplan.cli.captured import acceptance
    from specplan.cli.checked import check
    from specplan.cli.compared import compare
    from specplan.cli.diagnosed import diagnose
    from specplan.cli.fitting import calibrate
    from specplan.cli.fleets import capacity
    from specplan.cli.gated import gate
    from specplan.cli.generated import equivalence
    from specplan.cli.reported import report
    from specplan.cli.scenario import load, scenario
    from specplan.cli.scored import accuracy
    from specplan.cli.simulating import simulate
    from specplan.domain.answer import Answer
    from specplan.domain.scenario import Scenario
    from specplan.errors import SpecplanError
    from specplan.questions.best_k import best_k
    from specplan.questions.best_tree import best_tree
    from specplan.questions.emit import emit
    from specplan.questions.exactness import exactness
    from specplan.questions.explain import explain
    from specplan.questions.memory import memory
    from specplan.questions.sweep import sweep

__all__ = [
    "Answer",
    "Catalogue",
    "Scenario",
    "SpecplanError",
    "acceptance",
    "accuracy",
    "best_k",
    "best_tree",
    "calibrate",
    "capacity",
    "check",
    "compare",
    "diagnose",
    "emit",
    "equivalence",
    "exactness",
    "explain",
    "gate",
    "load",
    "memory",
    "report",
    "scenario",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'specplan' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
