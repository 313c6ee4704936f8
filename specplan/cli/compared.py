"""`compare` for Python: the same candidates, the same rows, an Answer instead of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specplan.catalogue.store import Catalogue
from specplan.cli.lineup import contest
from specplan.cli.scenario import Folder, loaded, texts_of
from specplan.domain.acceptance_text import KEYS, acceptance_text
from specplan.domain.answer import Answer
from specplan.domain.contest import Contest
from specplan.domain.scenario import Scenario
from specplan.errors import UsageError
from specplan.questions.compare import compare as question


def compare(
    scenario: Scenario | Contest | None = None,
    *,
    catalogue: Catalogue | Folder | Iterable[Folder] | None = None,
    k_max: int | None = None,
    sort: str = "speedup",
    reverse: bool = False,
    top: int | None = None,
    usd_per_gpu_hour: float | None = None,
    **options: str | float | Iterable[str | float] | Mapping[str, object],
) -> Answer:
    """Every candidate at its own best k, as `specplan compare` answers it: of a scenario, or of the
    named options, such as target="llama-3-8b", hardware="all", acceptance=0.7.

    Without `draft` all drafters that fit are candidates. `acceptance` may also be a mapping from
    drafters to acceptances, {"eagle3": 0.75, "ngram": {"fire": 0.3, "burst": 4}}, or a list of
    "eagle3=0.75" beside one for all others.
    """
    if scenario is None:
        flags = texts_of({name: _own(name, value) for name, value in options.items()})
        scenario = contest(flags, catalogue=loaded(catalogue), k_max=k_max)
    elif options or catalogue is not None or k_max is not None:
        raise UsageError("a scenario and options beside it", hint="give one of both")
    return question(
        scenario, sort=sort, reverse=reverse, top=top, usd_per_gpu_hour=usd_per_gpu_hour
    )


def _own(
    name: str, value: str | float | Iterable[str | float] | Mapping[str, object]
) -> str | float | Iterable[str | float]:
    """Acceptances by drafter as the texts that -a takes."""
    by_drafter = isinstance(value, Mapping) and not KEYS.issuperset(value)
    if name in {"acceptance", "alpha"} and isinstance(value, Mapping) and by_drafter:
        return [f"{drafter}={acceptance_text(of)}" for drafter, of in value.items()]
    return value
