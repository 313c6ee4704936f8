"""llama.cpp's log lines in their generations, and its /metrics.

Format strings: tools/server/server-context.cpp and common/speculative.cpp of those builds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from counters.dress import llamacpp_prefix
from counters.exposition import stream
from counters.world import Request, World, truth

GENERATIONS = ("c", "b", "d", "a")
"""Newest first: c is b11434, b PR #24536 (June 2026), d between, a the oldest."""


def llamacpp_log(
    world: World,
    generation: str = "c",
    *,
    stamps: bool = True,
    trace: bool = False,
    statistics: bool = True,
    kind: str = "draft-mtp",
    dropped: int = 0,
) -> str:
    """llama-server's log: a block of each finished request, in the order in which they end.

    `trace` is -lv 4, which c needs for the positions and the statistics; a, b and d print the
    statistics at the usual level. Statistics are totals of the process. `dropped` are tokens of
    drafts that were too short (n_min) and never tested: before PR #14104 (June 2025) they count
    as generated.
    """
    lines: list[str] = []
    done: list[Request] = []
    for request in sorted(world.requests, key=lambda one: one.last):
        done.append(request)
        lines += _block(request, world.k, generation, stamps, trace, dropped)
        if statistics and (trace or generation != "c"):
            lines.append(
                (llamacpp_prefix(request.last) if stamps else "")
                + statistics_line(done, world.k, generation, kind)
            )
    return "".join(f"{line}\n" for line in lines)


def _block(
    request: Request, k: int, generation: str, stamps: bool, trace: bool, dropped: int
) -> Sequence[str]:
    slot = f"slot print_timing: id {request.number % 4:2d} | task {request.number * 131} | "
    lead = (llamacpp_prefix(request.last) if stamps else "") + ("" if generation == "a" else slot)
    ms = 1000 * (request.last - request.first)
    prompt = request.prompt
    rows = [
        f"{lead}prompt eval time = {50.0:10.2f} ms / {prompt:5d} tokens "
        f"({50 / prompt:8.2f} ms per token, {prompt / 0.05:8.2f} tokens per second)",
        f"{lead}       eval time = {ms:10.2f} ms / {request.tokens:5d} tokens "
        f"({ms / request.tokens:8.2f} ms per token, "
        f"{1000 * request.tokens / ms:8.2f} tokens per second)",
        f"{lead}      total time = {ms + 50:10.2f} ms / {prompt + request.tokens:5d} tokens",
    ]
    told = Counts([request])
    told.drafted += dropped
    if told.drafted:
        rows.append(lead + DRAFT_LINES[generation](told, k))
        if generation == "c" and trace:
            rows.append(f"{lead}     acc per pos = ({told.positions(k)})")
    return rows


class Counts:
    """Sums over some rounds that drafted."""

    def __init__(self, requests: Sequence[Request]) -> None:
        drafts = [row for one in requests for row in one.rounds if row.drafted]
        self.steps = len(drafts)
        self.drafted = sum(one.drafted for one in drafts)
        self.accepted = sum(one.accepted for one in drafts)
        self.kept = sum(one.accepted > 0 for one in drafts)
        self.calls = sum(len(one.rounds) for one in requests)
        self.lengths = [one.accepted for one in drafts]

    @property
    def mean(self) -> float:
        return 1 + self.accepted / self.steps

    def positions(self, k: int) -> str:
        """Shares of the steps that kept drafts up to a place, as far as any did."""
        counts = [sum(size > place for size in self.lengths) for place in range(k)]
        return ", ".join(f"{count / self.steps:.3f}" for count in counts)


def _ratio(told: Counts) -> str:
    return (
        f"{told.accepted / told.drafted:.5f} "
        f"({told.accepted:5d} accepted / {told.drafted:5d} generated)"
    )


DRAFT_LINES: dict[str, Callable[[Counts, int], str]] = {
    "a": lambda told, _: f"draft acceptance rate = {_ratio(told)}",
    "d": lambda told, _: f"draft acceptance = {_ratio(told)}",
    "b": lambda told, k: (
        f"draft acceptance = {_ratio(told)}, mean acceptance length = {told.mean:5.2f}, "
        f"acceptance rate per position = ({told.positions(k)})"
    ),
    "c": lambda told, _: f"draft acceptance = {_ratio(told)}, mean len = {told.mean:5.2f}",
}
"""A request's line of each generation, from its counts and k."""


def statistics_line(
    requests: Sequence[Request], k: int, generation: str = "c", kind: str = "draft-mtp"
) -> str:
    """`statistics …`: totals of the process, with the time that drafting took."""
    told = Counts(requests)
    sums = (
        f"#gen drafts = {told.steps}, #acc drafts = {told.kept}, "
        f"#gen tokens = {told.drafted}, #acc tokens = {told.accepted}"
    )
    drafting = 6.034 * told.steps
    if generation == "a":
        return f"statistics {kind}: #calls = {told.calls}, {sums}, dur = {drafting:.3f} ms"
    lengths = ""
    head = f"statistics {kind}: #calls(b,g,a) = {len(requests)} {told.calls} {told.steps}"
    if generation in {"b", "c"}:
        head = (
            f"statistics {kind:>16}: #calls(b,g,a) = {len(requests):4d} {told.calls:6d} "
            f"{told.steps:6d}"
        )
        sums = (
            f"#gen drafts = {told.steps:6d}, #acc drafts = {told.kept:5d}, "
            f"#gen tokens = {told.drafted:6d}, #acc tokens = {told.accepted:5d}"
        )
        if told.steps:
            lengths = f", #mean acc len = {told.mean:.2f}, #acc rate/pos = ({told.positions(k)})"
    if generation == "c":
        head = f"spec common_specu: {head}"
    return f"{head}, {sums}{lengths}, dur(b,g,a) = 0.004, {drafting:.3f}, 0.264 ms"


def llamacpp_metrics(world: World, *, at: float | None = None, scale: int = 1) -> str:
    """/metrics with --metrics: six digits of each value, as a C++ stream gives by default.

    Counts by position are absent before the first draft. `scale` multiplies all counts, for a
    server that has run for long.
    """
    end = world.end if at is None else at
    told = truth(world, until=end)
    generated = sum(one.tokens for one in world.requests if one.last <= end)
    rows = [
        ("prompt_tokens_total", "Number of prompt tokens processed.", 64),
        ("tokens_predicted_total", "Number of generation tokens processed.", generated),
        (
            "spec_decode_num_draft_tokens_total",
            "Speculative: Total draft tokens generated",
            told.drafted_tokens,
        ),
        (
            "spec_decode_num_accepted_tokens_total",
            "Speculative: Total draft tokens accepted by the target model",
            told.accepted_tokens,
        ),
        (
            "spec_decode_num_drafts_total",
            "Speculative: Total speculative decoding verification steps",
            told.drafts,
        ),
    ]
    text = "".join(
        f"# HELP llamacpp:{name} {says}\n# TYPE llamacpp:{name} counter\n"
        f"llamacpp:{name} {stream(count * scale)}\n"
        for name, says, count in rows
    )
    if told.drafts:
        name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
        text += f"# HELP {name} Speculative: Accepted tokens per draft position\n"
        text += f"# TYPE {name} counter\n"
        text += "".join(
            f'{name}{{position="{place}"}} {stream(count * scale)}\n'
            for place, count in enumerate(told.accepted_at)
        )
    return text


def speculative_example(world: World, n_draft: int | None = None) -> str:
    """What examples/speculative prints at its end."""
    told = truth(world)
    return (
        f"n_draft   = {n_draft or world.k}\nn_predict = {sum(r.tokens for r in world.requests)}\n"
        f"n_drafted = {told.drafted_tokens}\nn_accept  = {told.accepted_tokens}\n"
        f"accept    = {100 * told.acceptance_rate:.3f}%\n"
    )
