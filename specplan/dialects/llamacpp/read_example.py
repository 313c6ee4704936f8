"""What llama.cpp's `examples/speculative` and `speculative-simple` print at their end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specplan.dialects.figures import positive, written
from specplan.dialects.once import Once
from specplan.domain.capture import Found, Noted, Span

_COUNT: Final = re.compile(r"\b(n_draft|n_predict|n_drafted|n_accept)\s*=\s*(\d+)\s*$", re.ASCII)
_SHARE: Final = re.compile(r"\baccept\s+=\s+([\d.]+)%", re.ASCII)
_DECODED: Final = re.compile(r"\bdecoded\s+\d+ tokens in\s+([\d.]+) seconds", re.ASCII)
_TREE: Final = (
    "more draft tokens than passes of n_draft: drafts were trees, whose rates are no acceptance of "
    "a chain, and whose rounds cannot be counted"
)


MARKS: Final = ("n_draft", "n_predict", "n_accept", "decoded ", "accept  ")
DEFINITIONS: Final = {
    "acceptance_rate": "n_accept / n_drafted",
    "drafts": "passes of the target: n_predict - n_accept",
}


class Example:
    """Reads the counts at the end of a run; `found` where there were any."""

    def __init__(self) -> None:
        self._counts: dict[str, float] = {}
        self._place = 0
        self._noted = Once()
        self.found = False

    def read(self, line: str, place: int) -> Iterator[Found]:
        """One count; all together come with the last."""
        if match := _DECODED.search(line):
            yield from self._run()
            self._add("seconds", match[1])
        elif match := _COUNT.search(line):
            if match[1] in self._counts and match[1] != "n_draft":  # some print n_draft twice
                yield from self._run()
            self._add(match[1], match[2])
            self._place = place
            yield Noted()
        elif match := _SHARE.search(line):
            self._add("accept", match[1])

    def finish(self) -> Iterator[Found]:
        """The last run."""
        yield from self._run()

    def _add(self, name: str, word: str) -> None:
        value = written(word)
        if value is not None:
            self._counts[name] = value

    def _run(self) -> Iterator[Found]:
        counts, self._counts = self._counts, {}
        drafted, accepted = counts.get("n_drafted"), counts.get("n_accept")
        if not drafted or accepted is None:
            return
        self.found = True
        k, predicted = positive(counts.get("n_draft")), counts.get("n_predict")
        passes = None if predicted is None else positive(max(predicted - accepted, 0.0))
        tree = bool(k and passes and drafted > k * passes)
        yield from self._notes(tree)
        seconds, share = counts.get("seconds"), counts.get("accept")
        yield Span(
            drafts=None if tree else passes,
            drafted=drafted,
            accepted=accepted,
            stated=(("rate", share / 100, 5e-6),) if share is not None else (),
            k=int(k) if k else None,
            tokens=predicted,
            duration_s=seconds,
            tokens_per_s=predicted / seconds if predicted and seconds else None,
            running=1.0,
            line=self._place,
        )

    def _notes(self, tree: bool) -> Iterator[Noted]:  # noqa: FBT001 - which of two notes
        for trap in ("percent", "no-drafts-count"):
            yield from self._noted.trap(trap, self._place)
        if tree:
            yield from self._noted.warning(_TREE, self._place)
