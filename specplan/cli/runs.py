"""Which run each capture of a diagnosis is: the one in use, one before it, or one without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specplan.cli.captures import Held
from specplan.domain.capture import Capture
from specplan.domain.scenario import Input
from specplan.visible import visible


@dataclass(frozen=True, slots=True)
class Runs:
    """Captures by name: `capture` or `after` is in use, `before` it ran another, `plain` ran
    without speculation.
    """

    held: tuple[tuple[str, Held], ...]

    def _named(self, *names: str) -> Capture | None:
        return next((held.capture for name, held in self.held if name in names), None)

    @property
    def now(self) -> Capture | None:
        """That of the deployment."""
        return self._named("capture", "after")

    @property
    def before(self) -> Capture | None:
        """That of the deployment earlier."""
        return self._named("before")

    @property
    def plain(self) -> Capture | None:
        """That of a run without speculation."""
        return self._named("plain")

    def inputs(self) -> dict[str, Input]:
        """The files, with their digests."""
        return {key: given for name, held in self.held for key, given in held.inputs(name).items()}

    def notes(self) -> Iterator[str]:
        """What is to be said of two runs that are held against each other."""
        now, plain = self.now, self.plain
        if now is not None and plain is not None:
            yield f"{visible(plain.source, 60)} has no drafts: it is the run without speculation"


def runs_of(captures: Sequence[Held]) -> Runs:
    """The runs: of two captures the earlier is before, and one in which nothing was drafted while
    tokens came is the run without speculation, wherever it stands.
    """
    if len(captures) == 2:
        first, last = captures
        if undrafted(last.capture) and not undrafted(first.capture):
            return Runs((("capture", first), ("plain", last)))
        if undrafted(first.capture) and not undrafted(last.capture):
            return Runs((("capture", last), ("plain", first)))
        return Runs((("before", first), ("after", last)))
    return Runs(tuple(("capture", one) for one in captures))


def undrafted(capture: Capture) -> bool:
    """Whether a run generated tokens and drafted none."""
    return capture.drafts == 0 and capture.tokens_per_s is not None
