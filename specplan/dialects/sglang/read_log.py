"""SGLang's log: one line for each rank every `--decode-log-interval` decode steps, and what it says
while it starts.

    [2025-01-02 10:27:57 TP0] Decode batch. #running-req: 1, #token: 186, token usage: 0.00,
    accept len: 1.95, accept rate: 0.49, cuda graph: True, gen throughput (token/s): 178.86, ...

An accept length is a mean without its count: the rounds behind it are worked out from the batch
and the interval, which the server's options say, or throughput and timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from specplan.dialects.figures import first, positive, written
from specplan.dialects.once import Once
from specplan.dialects.sglang.clock import Clock
from specplan.dialects.sglang.deployment import is_tree, longest_draft, said
from specplan.dialects.sglang.rate import DraftTokens, Meaning
from specplan.dialects.sglang.starting import BATCH, memory, server_args
from specplan.domain.capture import Found, Noted, Origin, Span, Told

HALF: Final = 0.005  # of what is printed with two decimals
CHAIN: Final = (
    "k is taken as num_draft_tokens - 1, which holds for a chain; with --speculative-eagle-topk "
    "above 1 it is --speculative-num-steps"
)
CHANGING: Final = "no one num_draft_tokens fits all lines: the length of drafts changes in between"

_STAMP: Final = re.compile(
    r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[.,\d]*((?: [A-Z]{2,3}\d{1,5})*)\]", re.ASCII
)
_FIELD: Final = re.compile(
    r"(?<![a-z] )(#running-req|#(?:full )?token|accept (?:len|rate)|cap len|"
    r"gen throughput \(token/s\)|#queue-req): ([\d.]+)",
    re.ASCII,
)
_COPIED: Final = ("PP", "TP")  # ranks that run one and the same batch


class Log:
    """Reads a server's log."""

    format: ClassVar[str] = "sglang-log"
    marks: ClassVar[tuple[str, ...]] = ("gen throughput",)
    starts: ClassVar[tuple[str, ...]] = ("server_args=",)
    opening: ClassVar[tuple[str, ...]] = (" mem usage=", "#tokens: ", "max_total_num_tokens=")

    def __init__(self) -> None:
        self._options: Mapping[str, object] = {}
        self._options_k: int | None = None
        self._tokens = DraftTokens()
        self._told_tokens = False
        self._heard: dict[str, str] = {}  # by data-parallel rank, the one rank that is counted
        self._clock = Clock()
        self._parts: dict[str, int] = {}  # lines of each kind about memory: target, then draft
        self._noted = Once()
        self._lengths = self._rates = self._caps = 0
        self._comma = False

    def read(self, line: str, place: int) -> Iterable[Found]:
        """A batch's line, or one of those while the server starts."""
        at = line.find(BATCH)
        if at >= 0:
            return self._batch(line, line[at + len(BATCH) :], place)
        options = server_args(line)
        if options:
            return self._started(options, place)
        return memory(line, self._ranks(line)[1], self._parts, place)

    def finish(self) -> Iterator[Found]:
        """Lines that waited, and the length of drafts where only the figures tell it."""
        yield from map(self._whole, self._clock.end())
        tokens = self._draft_tokens()
        if tokens is not None and not self._told_tokens:
            yield Told(facts={"draft_tokens": tokens, "k": tokens - 1})
            yield Noted(warning=CHAIN)
        if self._tokens.changed:
            yield Noted(warning=CHANGING)
            yield Noted(trap="short-drafts")
        if self._meaning == "floor":
            yield Noted(trap="rate-floor")

    def origin(self) -> Origin:
        """The versions that print so."""
        return Origin(
            format=self.format,
            engine="sglang",
            version_guess=self._versions(),
            definitions=self._definitions(),
        )

    def _started(self, options: Mapping[str, object], place: int) -> Iterator[Found]:
        yield from map(self._whole, self._clock.end())
        self._clock = Clock(positive(first(options, "decode_log_interval")))
        self._options = options
        self._options_k = longest_draft(options)
        self._parts.clear()
        tokens = first(options, "speculative_num_draft_tokens")
        self._told_tokens = bool(tokens)
        self._tokens = DraftTokens.known(int(tokens)) if tokens else DraftTokens()
        yield from said(options, place)

    def _batch(self, line: str, rest: str, place: int) -> Iterator[Found]:
        stamp, ranks = self._ranks(line)
        group, copied = self._group(ranks)
        if copied:
            yield Noted()
            yield from self._noted.trap("rank-copies", place)
            return
        if len(self._heard) > 1:
            yield from self._noted.trap("data-parallel", place)
        values = _fields(rest)
        length = values.get("accept len")
        if length is not None and length >= 1:
            yield from self._length(values, rest, place)
        running, speed = values.get("#running-req"), values.get("gen throughput (token/s)")
        if running is None and speed is None:
            return
        tokens = values.get("#token", values.get("#full token"))
        tau = length if length is not None and length >= 1 else None
        rounds = self._clock.rounds(group, stamp, running, (speed or 0.0) / (tau or 1.0))
        k = self._k()
        span = Span(
            tau=tau,
            rate=(tau - 1) / k if tau and k and not is_tree(self._options) else None,
            weight=rounds or 1.0,
            stated=self._stated(values),
            k=k,
            running=running,
            waiting=values.get("#queue-req"),
            tokens_per_s=speed,
            context=tokens / running if tokens and running else None,
            group=group,
            line=place,
        )
        if rounds is None:
            self._clock.wait(span)
            yield Noted()
        else:
            yield from map(self._whole, self._clock.end())
            yield span

    def _length(self, values: Mapping[str, float], rest: str, place: int) -> Iterator[Found]:
        self._lengths += 1
        for trap in ("bonus-in", "no-drafts-count"):
            yield from self._noted.trap(trap, place)
        rate = values.get("accept rate")
        if rate is not None:
            self._rates += 1
            self._comma = rest.rstrip().endswith(",")
            self._tokens.see(values["accept len"], rate, HALF)
        if "cap len" in values:  # drafts are cut; the rate is over num_draft_tokens all the same
            self._caps += 1
            yield from self._noted.trap("short-drafts", place)

    def _stated(self, values: Mapping[str, float]) -> tuple[tuple[str, float, float], ...]:
        rate = values.get("accept rate")
        if rate is None or is_tree(self._options) or self._meaning != "strict":
            return ()
        return (("rate", rate, HALF),)

    def _whole(self, span: Span) -> Span:
        """A span with what the lines have told of k by now."""
        k = self._k()
        if span.k is not None or span.tau is None or k is None:
            return span
        return replace(span, k=k, rate=None if is_tree(self._options) else (span.tau - 1) / k)

    def _ranks(self, line: str) -> tuple[float | None, str]:
        match = _STAMP.search(line)
        if not match:
            return None, ""
        try:
            return datetime.fromisoformat(match[1]).timestamp(), match[2]
        except (ValueError, OverflowError, OSError):
            return None, match[2]

    def _group(self, ranks: str) -> tuple[str, bool]:
        """The data-parallel rank of a line, and whether another rank prints the same batch.

        Without a DP in the prefix, ranks of `--enable-dp-attention` run batches of their own.
        """
        names = ranks.split()
        group = next((name for name in names if name.startswith("DP")), "")
        if not group and self._options.get("enable_dp_attention") is True:
            group = next((name for name in names if name.startswith("TP")), "")
        rank = " ".join(name for name in names if name.startswith(_COPIED))
        return group, self._heard.setdefault(group, rank) != rank

    @property
    def _meaning(self) -> Meaning:
        if not self._rates:
            return ""
        if self._caps:  # printed beside strict rates alone
            return "strict"
        return self._tokens.meaning or ("floor" if self._comma else "")

    def _draft_tokens(self) -> int | None:
        return self._tokens.tokens(self._meaning) if self._rates else None

    def _k(self) -> int | None:
        if self._options_k is not None:
            return self._options_k
        tokens = self._draft_tokens()
        return tokens - 1 if tokens else None

    def _versions(self) -> str:
        if not self._lengths:
            return ""
        if self._caps:
            return "0.5.23 or newer"
        if not self._rates:
            return "0.4.10 to 0.5.2"
        if self._meaning == "strict":
            return "0.5.13 or newer"
        return "0.5.3 to 0.5.10" if self._meaning == "floor" else "0.5.10 or newer"

    def _definitions(self) -> dict[str, str]:
        if not self._lengths:
            return {}
        definitions = {"tokens_per_round": "accept len: (accepted + bonus) / rounds of an interval"}
        if self._meaning == "floor":
            definitions["acceptance_rate"] = (
                "not accept rate, which is (accepted + bonus) / (rounds x num_draft_tokens)"
            )
        elif self._rates:
            definitions["acceptance_rate"] = (
                "accept rate: accepted / (rounds x (num_draft_tokens - 1))"
            )
        definitions["drafts"] = "not printed: decode steps of an interval times running requests"
        return definitions


def _fields(rest: str) -> dict[str, float]:
    """The figures of a batch's line that are of use, by their names."""
    found = ((match[1], written(match[2])) for match in _FIELD.finditer(rest))
    return {name: figure for name, figure in found if figure is not None}
