"""What vLLM's SpeculativeConfig refuses, in our words: vllm/config/speculative.py and
vllm/v1/spec_decode/dynamic/utils.py of the releases named. An object that passes here was refused
by none of those rules; what depends on the checkpoints' own files is not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from specplan.dialects.spans import Span
from specplan.domain.deployment import Json
from specplan.errors import Refused

FLAG = "--speculative-config"
METHODS = {
    "ngram": Span("ngram", "0.8.5"),
    "suffix": Span("suffix", "0.11.2"),
    "draft_model": Span("draft_model", "0.8.5"),
    "eagle": Span("eagle", "0.8.5"),
    "eagle3": Span("eagle3", "0.9.2"),
    "mtp": Span("mtp", "0.11.2"),
    "medusa": Span("medusa", "0.8.5", "0.30", "gone by 0.33"),
    "mlp_speculator": Span("mlp_speculator", "0.8.5", "0.30", "gone by 0.33"),
    "dflash": Span("dflash", "0.20.2"),
    "dspark": Span("dspark", "0.26"),
}
"""SpeculativeMethod, as far as it is written here."""
KEYS = {
    "method": Span("", "0.8.5"),
    "model": Span("", "0.8.5"),
    "num_speculative_tokens": Span("", "0.8.5"),
    "draft_tensor_parallel_size": Span("", "0.8.5"),
    "prompt_lookup_max": Span("", "0.8.5"),
    "prompt_lookup_min": Span("", "0.8.5"),
    "disable_by_batch_size": Span("", "0.8.5", "0.15.1", "gone in 0.17.1"),
    "parallel_drafting": Span("", "0.17.1"),
    "rejection_sample_method": Span("", "0.20.2"),
    "synthetic_acceptance_rates": Span("", "0.20.2"),
    "synthetic_acceptance_length": Span("", "0.20.2"),
    "num_speculative_tokens_per_batch_size": Span("", "0.24"),
}
"""Keys that are written, and the versions that know them."""
TARGETS = (
    Span("llama", "0.8.5", "0.9.2"),
    Span("llama qwen", "0.10.2", "0.10.2"),
    Span("llama qwen minicpm gpt_oss", "0.11.2", "0.15.1"),
    Span("llama qwen minicpm gpt_oss hunyuan afmoe nemotron_h", "0.17.1", "0.17.1"),
    Span(
        "llama qwen minicpm gpt_oss hunyuan afmoe nemotron_h deepseek_v2 deepseek_v3 kimi_k2 "
        "minimax_m2 gemma4",
        "0.20.2",
        "0.20.2",
    ),
)
"""Types of targets (model_type in config.json) that eagle3 drafts for; since 0.22.1 any."""
DETECTED = ("eagle-", "eagle3", "dflash", "dspark")
"""Words in a checkpoint's name by which it is taken for one of these, whatever its method."""
SCHEDULE = "num_speculative_tokens_per_batch_size"
RATES, LENGTH = "synthetic_acceptance_rates", "synthetic_acceptance_length"


def check(
    config: Mapping[str, Json],
    *,
    version: str,
    tp: int = 1,
    modules: int = 1,
    vocabs: tuple[int, int] | None = None,
) -> None:
    """Refuses a speculative config that vLLM would refuse, or read otherwise than it was meant.

    `tp` is the target's; `modules` how many tokens the drafter was trained to predict (n_predict);
    `vocabs` the sizes of the target's vocabulary and of a drafting model's.
    """
    if "tensor_parallel_size" in config:
        raise _refused("tensor_parallel_size is none of its keys", "draft_tensor_parallel_size")
    for key in config:
        if key not in KEYS or not KEYS[key].holds(version):
            raise _refused(f"{key} is no key of version {version}", "")
    _check_method(config, version)
    k = _count(config, "num_speculative_tokens")
    if k > modules > 1 and k % modules:
        raise _refused(f"num_speculative_tokens {k}", f"a multiple of the {modules} it predicts")
    draft_tp = config.get("draft_tensor_parallel_size", tp)
    if draft_tp not in {1, tp}:
        raise _refused(f"draft_tensor_parallel_size {draft_tp}", f"1 or the target's {tp}")
    if config.get("method") == "draft_model" and vocabs and vocabs[0] != vocabs[1]:
        raise _refused(
            f"method 'draft_model' with a vocabulary of {vocabs[1]:,}",
            f"the target's {vocabs[0]:,}",
        )
    if SCHEDULE in config:
        check_schedule(config[SCHEDULE], k)
    if "disable_by_batch_size" in config and _count(config, "disable_by_batch_size") < 2:
        raise _refused("disable_by_batch_size 1", "2 or more")
    _check_lookup(config)
    _check_synthetic(config, k)


def unlisted_target(config: Mapping[str, Json], family: str, *, version: str) -> Iterator[str]:
    """What to look at where eagle3 is for targets of named types alone, and the family of the
    target's card is like none of them. The type itself stands in the checkpoint.
    """
    known = next((span.word.split() for span in TARGETS if span.holds(version)), None)
    if config.get("method") not in {"eagle3", "dflash"} or known is None or not family:
        return
    plain = re.sub("[^a-z0-9]", "", family)
    if not any(word.replace("_", "") in plain for word in known):
        yield (
            f"vllm@{version} takes {config['method']} for targets of model_type "
            f"{', '.join(known)} alone: see that config.json has one of them"
        )


def _refused(what: str, expected: str) -> Refused:
    return Refused(f"{FLAG}: {what}", expected=expected)


def _count(config: Mapping[str, Json], key: str) -> int:
    """A whole number above 0."""
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _refused(f"{key} is {value!r}", "a whole number above 0")
    return value


def _check_method(config: Mapping[str, Json], version: str) -> None:
    method = str(config.get("method"))
    if method not in METHODS or not METHODS[method].holds(version):
        raise _refused(f"method '{method}' is none of version {version}", "")
    alone = {"ngram", "suffix", "mtp", "dspark"}  # looked up, or in the target's own checkpoint
    if "model" not in config and method not in alone:
        raise _refused(f"method '{method}' without model", "the drafter's checkpoint")
    name = str(config.get("model", "")).lower()
    mark = next((word for word in DETECTED if word in name), None)
    if mark and method in {"draft_model", "medusa", "mlp_speculator"}:
        raise _refused(
            f"method '{method}' of '{config['model']}', which it takes for {mark.strip('-')} by "
            "its name",
            "another name",
        )


def _check_lookup(config: Mapping[str, Json]) -> None:
    """Sizes of the n-grams that are looked up."""
    sizes = [_count(config, f"prompt_lookup_{end}") for end in ("min", "max") if _has(config, end)]
    if len(sizes) == 2 and sizes[0] > sizes[1]:
        raise _refused(f"prompt_lookup_min {sizes[0]}", f"at most prompt_lookup_max {sizes[1]}")


def _has(config: Mapping[str, Json], end: str) -> bool:
    return f"prompt_lookup_{end}" in config


def check_schedule(schedule: Json, k: int) -> None:
    """Inclusive ranges [first, last, k] from batch 1 on, in order, none over another; no k beyond
    num_speculative_tokens, to which it would silently be cut.
    """
    if not isinstance(schedule, Sequence) or isinstance(schedule, str) or not schedule:
        raise _refused(f"{SCHEDULE} is empty", "a list of [first, last, k]")
    before = 0
    for entry in schedule:
        if not isinstance(entry, Sequence) or len(entry) != 3:
            raise _refused(f"{SCHEDULE} has {entry!r}", "[first, last, k]")
        first, last, tokens = (n if isinstance(n, int) else -1 for n in entry)
        if min(first, last) < 1 or first > last:
            raise _refused(f"{SCHEDULE}: batches {first} to {last}", "from 1 on, first <= last")
        if not before and first != 1:
            raise _refused(f"{SCHEDULE} begins at batch {first}", "1")
        if first <= before:
            raise _refused(f"{SCHEDULE}: batch {first} after {before}", "ranges in order")
        if not 0 <= tokens <= k:
            raise _refused(f"{SCHEDULE}: k {tokens}", f"0 to num_speculative_tokens, {k}")
        before = last


def _check_synthetic(config: Mapping[str, Json], k: int) -> None:
    """Acceptance that is pretended: rates of whole prefixes, or their mean length."""
    rates, length = config.get(RATES), config.get(LENGTH)
    if config.get("rejection_sample_method") != "synthetic":
        if rates is not None or length is not None:
            raise _refused("synthetic acceptance", "rejection_sample_method 'synthetic' beside it")
        return
    if (rates is None) == (length is None):
        raise _refused("rejection_sample_method 'synthetic'", f"one of {RATES}, {LENGTH}")
    if isinstance(length, int | float):
        if not 1 <= length <= k + 1:
            raise _refused(f"{LENGTH} {length:g}", f"1 to {k + 1}")
        return
    shares = [r if isinstance(r, int | float) else -1.0 for r in rates or ()]  # type: ignore[union-attr]
    if len(shares) != k:
        raise _refused(f"{len(shares)} {RATES}", f"{k}, one for each position")
    if not all(0 <= share <= 1 for share in shares):
        raise _refused(f"{RATES} {shares}", "shares from 0 to 1")
    if any(later > share for share, later in pairwise(shares)):
        raise _refused(f"{RATES} rise", "shares of rounds that keep so many positions or more")
