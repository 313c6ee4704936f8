"""What SGLang's server refuses of its speculative arguments, or changes without asking:
srt/arg_groups/speculative_hook.py and srt/speculative/adaptive_spec_params.py of 0.5.23, and
srt/server_args.py before them.
"""

from __future__ import annotations

from collections.abc import Mapping

from specplan.dialects.spans import Span, whole_flag
from specplan.domain.deployment import Json
from specplan.errors import Refused

ALGORITHMS = {
    "EAGLE": Span("EAGLE", "0.4.10"),
    "EAGLE3": Span("EAGLE3", "0.4.10"),
    "NEXTN": Span("NEXTN", "0.4.10"),
    "STANDALONE": Span("STANDALONE", "0.5.2"),
    "NGRAM": Span("NGRAM", "0.5.6"),
    "DFLASH": Span("DFLASH", "0.5.13"),
    "DSPARK": Span("DSPARK", "0.5.23"),
}
"""--speculative-algorithm, the first release read with each."""
STEPPING = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")  # those with the three numbers
ADAPTING = ("EAGLE", "EAGLE3", "NEXTN")  # NEXTN is another name of EAGLE
ADAPTIVE = Span("", "0.5.13")  # --speculative-adaptive-config; absent in 0.5.10.post1
ZERO_STEPS = Span("", "0.5.23")  # candidate_steps of 0; 0.5.13 asks for positive ones
DP, DP_HEAD = "--enable-dp-attention", "--enable-dp-lm-head"
WITH_DP = {
    "EAGLE": Span("", "0.4.10"),
    "EAGLE3": Span("", "0.4.10"),
    "NEXTN": Span("", "0.4.10"),
    "DFLASH": Span("", "0.5.23"),
    "DSPARK": Span("", "0.5.23"),
}
"""Algorithms that run beside --enable-dp-attention, and since when."""
WITH_DP_HEAD = ("DFLASH", "DSPARK")  # which then need --enable-dp-lm-head too
STEPS, TOPK, NODES = (
    "--speculative-num-steps",
    "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
)


def check(
    flags: Mapping[str, str | None], adaptive: Mapping[str, Json] | None, *, version: str
) -> None:
    """Refuses flags that the server would refuse, or would not run as they are written. `adaptive`
    is the content of the file that --speculative-adaptive-config names.
    """
    algorithm = flags.get("--speculative-algorithm") or ""
    if algorithm not in ALGORITHMS or not ALGORITHMS[algorithm].holds(version):
        raise Refused(f"--speculative-algorithm {algorithm} is none of version {version}")
    named = "--speculative-draft-model-path" in flags
    if algorithm in {"EAGLE", "EAGLE3", "STANDALONE", "DFLASH"} and not named:
        raise Refused(f"{algorithm} without --speculative-draft-model-path")
    if algorithm in STEPPING:
        _check_numbers(flags)
    elif STEPS in flags:
        raise Refused(f"{STEPS} with {algorithm}", expected="its block or its draft tokens alone")
    _check_block(flags, algorithm)
    if DP in flags:
        _check_groups(flags, algorithm, version)
    if adaptive is not None:
        _check_adaptive(flags, adaptive, algorithm, version)


def _check_groups(flags: Mapping[str, str | None], algorithm: str, version: str) -> None:
    """Attention in data-parallel groups."""
    span = WITH_DP.get(algorithm)
    if span is None or not span.holds(version):
        raise Refused(
            f"{algorithm} beside {DP}",
            expected="no data-parallel attention" + (f", or {span.says}" if span else ""),
        )
    if algorithm in WITH_DP_HEAD and DP_HEAD not in flags:
        raise Refused(f"{algorithm} beside {DP}", expected=f"{DP_HEAD} too")


def _check_numbers(flags: Mapping[str, str | None]) -> None:
    """Steps, choices and nodes, the root among them: all three or the server picks its own."""
    steps, topk, nodes = (whole_flag(flags, name) for name in (STEPS, TOPK, NODES))
    if topk == 1 and nodes != steps + 1:
        raise Refused(
            f"{NODES} {nodes} with {TOPK} 1",
            expected=f"{STEPS} + 1, {steps + 1}: it is set to that",
        )
    most = topk + (steps - 1) * topk * topk + 1
    if not 2 <= nodes <= most:
        raise Refused(f"{NODES} {nodes}", expected=f"2 to the {most} that {steps} steps draft")


def _check_block(flags: Mapping[str, str | None], algorithm: str) -> None:
    """The window of drafters that draft a block."""
    if algorithm == "DFLASH" and whole_flag(flags, NODES) < 2:
        raise Refused(f"{NODES} 1", expected="a block of 2 or more, the known token included")
    if algorithm == "DSPARK":
        block = whole_flag(flags, "--speculative-dspark-block-size")
        if NODES in flags and whole_flag(flags, NODES) != block + 1:
            raise Refused(f"{NODES} {flags[NODES]}", expected=f"the block + 1, {block + 1}")


def _check_adaptive(
    flags: Mapping[str, str | None], adaptive: Mapping[str, Json], algorithm: str, version: str
) -> None:
    """Lower bounds of batch as texts, each with the steps to choose from."""
    if not ADAPTIVE.holds(version):
        raise Refused(f"--speculative-adaptive-config is not in {version}", expected="0.5.13 on")
    if algorithm not in ADAPTING or flags.get(TOPK) != "1":
        raise Refused("--speculative-adaptive", expected=f"EAGLE or EAGLE3 with {TOPK} 1")
    if DP in flags:
        raise Refused(f"--speculative-adaptive beside {DP}", expected="one of them")
    least = 0 if ZERO_STEPS.holds(version) else 1
    bounds: list[int] = []
    every: set[int] = set()
    for bound, entry in adaptive.items():
        if not bound.isdigit() or int(bound) < 1:
            raise Refused(f"adaptive config: '{bound}' is no batch", expected="a number as text")
        steps = entry.get("candidate_steps") if isinstance(entry, Mapping) else None
        known = isinstance(steps, list) and all(isinstance(s, int) and s >= least for s in steps)
        if not known or not steps:
            raise Refused(
                f"adaptive config: candidate_steps {steps!r} at batch {bound}",
                expected=f"a list of numbers from {least} on",
            )
        bounds.append(int(bound))
        every |= {s for s in steps if isinstance(s, int)}  # type: ignore[union-attr]
    if not bounds or min(bounds) != 1 or bounds != sorted(set(bounds)):
        raise Refused("adaptive config: batches", expected="lower bounds from 1 on, in order")
    if whole_flag(flags, STEPS) not in every:
        raise Refused(f"{STEPS} {flags[STEPS]}", expected="one of the candidate_steps")
