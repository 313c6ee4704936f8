"""What llama.cpp's server refuses of its speculative arguments: common/arg.cpp and
common/speculative.cpp of the builds named in `write`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from specplan.dialects.spans import whole_flag
from specplan.errors import Refused

REMOVED = ("--draft", "--draft-n", "--draft-max", "--draft-min", "--draft-n-min")
"""Arguments that end the server since ggml-org/llama.cpp#22397 (2026-04-28)."""
RENAMED = 9093  # the first build read that has --spec-draft-n-max
SYNTHETIC = 10760  # --spec-synth-rates (#27711): in this build, not in b10630
# LLAMA_MAX_SEQ of src/llama-cparams.h: 256 in b11434; 64 where it began, and in the old builds
MOST_SLOTS, MOST_SLOTS_OF_OLD = 256, 64
MOST_LOOKED_UP = 1024  # tokens of --spec-ngram-simple-size-m
DRAFTING = ("draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark", "draft")
MODELS = ("--spec-draft-model", "--spec-draft-hf")


def most_slots(build: int) -> int:
    """Requests that a build serves at once."""
    return MOST_SLOTS if build >= RENAMED else MOST_SLOTS_OF_OLD


def check(flags: Mapping[str, str | None], *, build: int) -> None:
    """Refuses flags that the server of a build would refuse, or ignore."""
    if build < RENAMED:
        if "--draft-max" not in flags or "-md" not in flags:
            raise Refused(f"b{build} drafts with -md and --draft-max alone")
        return
    for flag in REMOVED:
        if flag in flags:
            raise Refused(f"{flag} was removed", expected="--spec-draft-n-max")
    kind = flags.get("--spec-type")
    if not kind:
        raise Refused("without --spec-type nothing is drafted")
    if kind in DRAFTING and not any(name in flags for name in MODELS):
        raise Refused(f"--spec-type {kind} without a drafter", expected=" or ".join(MODELS))
    longest = "--spec-draft-n-max" if kind.startswith("draft") else None
    longest = longest or next((name for name in flags if name.endswith("-size-m")), None)
    k = whole_flag(flags, longest or "--spec-draft-n-max")
    if not kind.startswith("draft") and k > MOST_LOOKED_UP:
        raise Refused(f"{longest} {k}", expected=f"1 to {MOST_LOOKED_UP}")
    _check_synthetic(flags, k, build)


def _check_synthetic(flags: Mapping[str, str | None], k: int, build: int) -> None:
    """Rates of whole prefixes, one for each draft token."""
    text = flags.get("--spec-synth-rates")
    if text is None:
        return
    if build < SYNTHETIC:
        raise Refused(f"--spec-synth-rates is not in b{build}", expected=f"b{SYNTHETIC} or later")
    if "--spec-synth-len" in flags:
        raise Refused("--spec-synth-len beside --spec-synth-rates", expected="one of them")
    rates = [float(item) for item in text.split(",")]
    if len(rates) != k:
        raise Refused(f"{len(rates)} --spec-synth-rates", expected=f"{k}, one for each position")
    if not all(0 <= rate <= 1 for rate in rates):
        raise Refused(f"--spec-synth-rates {text}", expected="shares from 0 to 1")
    if any(later > rate for rate, later in pairwise(rates)):
        raise Refused(f"--spec-synth-rates {text} rise")
