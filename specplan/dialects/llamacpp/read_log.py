"""llama-server's log, in its four generations.

    a  draft acceptance rate = 0.57576 (  171 accepted /   297 generated)
    d  draft acceptance = 0.50000 (    1 accepted /    2 generated)
    b  draft acceptance = 0.64479 (...), mean acceptance length =  2.92, acceptance rate per
       position = (0.805, 0.632, 0.483)
    c  draft acceptance = 0.64479 (...), mean len =  2.92

Rounds are counted once: from lines of single rounds where there are any (-lv 5), else from the
totals of `statistics`, else from the line of each request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from specplan.dialects.figures import MAX_POSITIONS, written, written_whole
from specplan.dialects.llamacpp import read_example, starting
from specplan.dialects.llamacpp.request import Request, Rounds
from specplan.dialects.llamacpp.statistics import Sums, rates, sums
from specplan.dialects.llamacpp.totals import Totals
from specplan.dialects.once import Once
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Origin, Span

_SLOT: Final = re.compile(r"\bid\s+(\d+) \| task\s+-?\d+ \|", re.ASCII)
_TIME: Final = re.compile(r"\b(prompt )?eval time =\s*([\d.]+) ms /\s*(\d+) tokens", re.ASCII)
_DRAFTS: Final = re.compile(
    r"draft acceptance( rate)? = ([\d.]+|-?nan) \(\s*(\d+) accepted /\s*(\d+) generated\)"
    r"(?:, mean (acceptance length|len) =\s*([\d.]+))?"
    r"(?:, acceptance rate per position = \(([\d., ]*)\))?",
    re.ASCII,
)
_PER_POS: Final = re.compile(r"acc per pos = \(([\d., ]*)\)", re.ASCII)
_ROUND: Final = re.compile(
    r"accepted\s+(\d+)/\s*(\d+) draft tokens(, new n_tokens)?( ?\(restore checkpoint\))?", re.ASCII
)
_BUSY: Final = re.compile(
    r"\| processing task|stop processing: n_(?:tokens|past) = (\d+)", re.ASCII
)
_AGAIN: Final = (
    "drafts were verified again from a checkpoint, cut to what was kept: the rate of requests is "
    "then 1, and no acceptance; counted from the totals of drafts instead"
)
_VERSIONS: Final = {
    "a": "before PR 24536 (June 2026)",
    "d": "shortly before PR 24536 (June 2026)",
    "b": "PR 24536 (June 2026) and shortly after",
    "c": "about b11434",
}


class Log:
    """Reads a server's log."""

    format: ClassVar[str] = "llamacpp-log"
    marks: ClassVar[tuple[str, ...]] = (
        "print_timing:",
        "eval time =",
        "draft acceptance",
        "acc per pos",
        "accepted ",
        "#calls",
        "processing task",
        "stop processing",
        *read_example.MARKS,
    )
    starts: ClassVar[tuple[str, ...]] = starting.STARTS
    opening: ClassVar[tuple[str, ...]] = starting.OPENING

    def __init__(self) -> None:
        self._known: dict[str, Scalar] = {}
        self._request: Request | None = None
        self._totals = Totals()
        self._rounds: dict[str, Rounds] = {}  # of each slot, where single rounds are printed
        self._last_round: dict[str, tuple[int, int, str]] = {}
        self._lead = ""
        self._slots: set[str] = set()
        self._busy: dict[str, bool] = {}  # slots that run, and whether others ran beside them
        self._noted = Once()
        self._generation = ""
        self._example = read_example.Example()

    def read(self, line: str, place: int) -> Iterable[Found]:
        """A line of a request, of totals, or of those while the server starts."""
        for mark, pattern, reads in (
            ("draft acceptance", _DRAFTS, self._drafts),
            ("draft tokens", _ROUND, self._round),
            ("eval time =", _TIME, self._time),
            ("acc per pos", _PER_POS, self._positions),
            ("processing", _BUSY, self._slots_in_use),
        ):
            if mark in line and (match := pattern.search(line)):
                yield Noted()
                yield from reads(match, line, place)
                return
        if "print_timing:" in line:  # the oldest name a slot before the lines of its request
            self._lead = _slot(line)
            yield Noted()
        if "#calls" in line and (found := sums(line)):
            yield from self._statistics(*found, place)
            return
        yield from self._example.read(line, place)
        yield from starting.said(line, self._known, place)

    def finish(self) -> Iterator[Found]:
        """The last request, and rounds of those that did not end."""
        yield from self._flush()
        for slot, rounds in self._rounds.items():
            yield rounds.span(0, slot)
        yield from self._example.finish()

    def origin(self) -> Origin:
        """The builds that print so."""
        definitions = dict(read_example.DEFINITIONS) if self._example.found else {}
        if self._generation or self._totals.seen or self._last_round:
            definitions["acceptance_rate"] = "accepted / generated draft tokens"
            definitions["tokens_per_round"] = self._tau()
        build = self._known.get("version")
        return Origin(
            format=self.format,
            engine="llamacpp",
            version_guess=str(build) if build else _VERSIONS.get(self._generation, ""),
            definitions=definitions,
        )

    def _tau(self) -> str:
        if self._last_round:
            return "1 + accepted / rounds, counted round by round"
        if self._totals.seen:
            return "1 + #acc tokens / accept calls of the process"
        if self._generation in {"b", "c"}:
            return "mean len: 1 + accepted / verify steps"
        return "1 + accepted / passes, which are tokens less the prompt's own less accepted"

    def _drafts(self, match: re.Match[str], line: str, place: int) -> Iterator[Found]:
        request = self._request
        if request is None or request.accepted is not None:
            yield from self._flush()
            request = self._request = Request(place)
        self._belongs(request, line)
        self._generation = self._form(match)
        request.place = place
        request.accepted, request.drafted = written(match[3]), written(match[4]) or 0.0
        request.ratio, request.mean = written(match[2]), written(match[6])
        request.rates = rates(match[7] or "")
        if match[1]:
            yield from self._noted.trap("ignored-drafts", place)
        if request.mean is not None:
            yield from self._noted.trap("bonus-in", place)
        rounds = self._rounds.pop(request.slot, None)
        if rounds:
            request.counted = True
            yield rounds.span(place, request.slot)

    def _form(self, match: re.Match[str]) -> str:
        if match[5]:
            return "b" if match[5].startswith("acceptance") else "c"
        return "a" if match[1] else "d"

    def _time(self, match: re.Match[str], line: str, place: int) -> Iterator[Found]:
        """The line of a prompt begins a request's, in every generation."""
        request = self._request
        if match[1] or request is None or request.tokens is not None:
            yield from self._flush()
            request = self._request = Request(place)
        self._belongs(request, line)
        if not match[1]:
            milliseconds = written(match[2])
            request.tokens = written(match[3])
            request.seconds = milliseconds / 1e3 if milliseconds else None

    def _statistics(self, kind: str, now: Sums, place: int) -> Iterator[Found]:
        """What the totals grew by belongs to the requests that ran, the last one among them."""
        request = self._request
        grown, fell = self._totals.growth(kind, now, request)
        if fell:
            yield from self._noted.trap("counter-reset", place)
        if request is not None:
            request.draft_s += grown.draft_ms / 1e3
        if self._last_round:  # single rounds are printed and counted
            return
        if request is not None:
            request.counted = True
        if now.at_position:
            yield from self._noted.trap("bonus-in", place)
        yield from self._noted.trap("cumulative", place)
        if grown.drafts:
            yield from self._grown(grown, request, kind, place)

    def _grown(
        self, grown: Sums, request: Request | None, kind: str, place: int
    ) -> Iterator[Found]:
        drafts, drafted = grown.drafts, grown.drafted
        rounds = drafts if grown.rounds is None else grown.rounds
        if 0 < rounds < drafts:
            if request and request.accepted == request.drafted and rounds == grown.kept_any:
                yield from self._noted.warning(_AGAIN, place)
            else:  # some drafts were thrown away, or are in flight
                drafted, drafts = max(drafted * rounds / drafts, grown.accepted), rounds
                if grown.drafts - rounds > max(4.0, 0.02 * grown.drafts):
                    yield from self._noted.trap("ignored-drafts", place)
        if kind.startswith("ngram"):
            yield from self._noted.trap("short-drafts", place)
        yield Span(
            drafts=drafts,
            drafted=drafted,
            accepted=grown.accepted,
            at_position=grown.positions,
            stated=grown.stated,
            k=self._k(),
            draft_s=grown.draft_ms / 1e3 or None,
            line=place,
        )

    def _positions(self, match: re.Match[str], _line: str, _place: int) -> Iterable[Found]:
        if self._request:
            self._request.rates = rates(match[1])
        return ()

    def _round(self, match: re.Match[str], line: str, _place: int) -> Iterable[Found]:
        """One round. A line may say it again with the new length, and a round that was cut short
        is run again from a checkpoint, with the drafts that are known to be kept.
        """
        accepted, drafted = written_whole(match[1]), written_whole(match[2])
        slot = _slot(line)
        if accepted is None or drafted is None or not 0 <= accepted <= drafted <= MAX_POSITIONS:
            return ()
        tail = "again" if match[3] else "restored" if match[4] else ""
        before = self._last_round.get(slot)
        self._last_round[slot] = (accepted, drafted, tail)
        if drafted == 0:
            return ()
        if before and tail == "again" and before == (accepted, drafted, ""):
            return ()
        if before and before[2] == "restored" and drafted == before[0] == accepted:
            return ()
        self._rounds.setdefault(slot, Rounds()).add(accepted, drafted)
        return ()

    def _slots_in_use(self, match: re.Match[str], line: str, _place: int) -> Iterable[Found]:
        """A slot starts or ends; its length is told after the lines of its request."""
        slot = _slot(line)
        if match[1] is None:
            beside = bool(self._busy.keys() - {slot})
            self._busy = dict.fromkeys((*self._busy, slot), beside)
            return ()
        self._busy.pop(slot, None)
        request, tokens = self._request, written(match[1])
        if request and request.slot == slot and tokens:
            request.context = max(tokens - (request.tokens or 0.0) / 2, 0.0)
        return ()

    def _belongs(self, request: Request, line: str) -> None:
        slot = _slot(line) or self._lead
        if slot:
            request.slot = slot
            self._slots.add(slot)
        if slot in self._busy:
            request.alone, request.running = not self._busy[slot], float(len(self._busy))
        else:
            request.alone = len(self._slots) <= 1 and not self._busy

    def _flush(self) -> Iterator[Found]:
        request, self._request = self._request, None
        if request is None:
            return
        if request.accepted is not None and not request.counted:
            yield from self._noted.trap("no-drafts-count", request.place)
        span = request.span(self._k())
        if span is not None:
            yield span

    def _k(self) -> int | None:
        k = self._known.get("k")
        return k if isinstance(k, int) and k > 0 else None


def _slot(line: str) -> str:
    match = _SLOT.search(line)
    return f"slot {match[1]}" if match and len(match[1]) < 6 else ""
