"""What SGLang prints while it starts: its options, and where memory went."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specplan.dialects.figures import written, written_whole
from specplan.dialects.sglang.deployment import ALGORITHM, OPTIONS, OTHERS
from specplan.domain.answer import Scalar
from specplan.domain.capture import Told

BATCH: Final = "Decode batch"
GIB: Final = 2.0**30  # what SGLang calls a GB

_OPTION: Final = re.compile(
    rf"\b({'|'.join((*OPTIONS, ALGORITHM, *OTHERS))})"
    r"=('[^']*'|\"[^\"]*\"|[-+.\w]+)"
)
_WORDS: Final = {"None": None, "True": True, "False": False}
_WEIGHTS: Final = re.compile(r"Load weight end\..*? mem usage=([\d.]+) GB")
_CACHE: Final = re.compile(
    r"KV Cache.*?#tokens: (\d+), (?:K size: ([\d.]+) GB, V size: ([\d.]+) GB|KV size: ([\d.]+) GB)"
)
_GRAPHS: Final = re.compile(
    r"Capture (draft )?(?:extend )?cuda graph end\..*? mem usage=([\d.]+) GB"
)
_POOL: Final = re.compile(r"\b(max_total_num_tokens|max_running_requests|context_len)=(\d+)")
_POOL_NAMES: Final = {
    "max_total_num_tokens": "pool_tokens",
    "max_running_requests": "max_batch",
    "context_len": "max_context",
}


def server_args(line: str) -> dict[str, object]:
    """The options in a line `server_args=ServerArgs(...)`; empty where it is none."""
    at = line.find("server_args=")
    if at < 0:
        return {}
    return {match[1]: _value(match[2]) for match in _OPTION.finditer(line, at)}


def memory(line: str, ranks: str, parts: dict[str, int], place: int) -> Iterator[Told]:
    """What a line says of memory. Of each kind the first is the target's, the second the
    drafter's, which `parts` keeps count of; other ranks than the first say the same again.
    """
    if re.search(r"\b[TP]P0*[1-9]", ranks):
        return
    facts = _facts(line, parts)
    if facts:
        yield Told(facts=facts, line=place)


def _facts(line: str, parts: dict[str, int]) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    if match := _WEIGHTS.search(line):
        facts[f"{_whose('weights', parts)}weights_bytes"] = _bytes(match[1])
    elif match := _CACHE.search(line):
        whose = _whose("cache", parts)
        facts[f"{whose}pool_tokens"] = written_whole(match[1])
        facts[f"{whose}pool_bytes"] = sum(_bytes(size) or 0.0 for size in match.groups()[1:])
    elif match := _GRAPHS.search(line):
        facts[f"{'draft_' if match[1] else ''}graph_bytes"] = _bytes(match[2])
    elif "max_total_num_tokens=" in line:
        facts = {_POOL_NAMES[m[1]]: written_whole(m[2]) for m in _POOL.finditer(line)}
    return {name: value for name, value in facts.items() if value is not None}


def _whose(kind: str, parts: dict[str, int]) -> str:
    parts[kind] = parts.get(kind, 0) + 1
    return "" if parts[kind] == 1 else "draft_"


def _bytes(gib: str | None) -> float | None:
    value = written(gib)
    return None if value is None else float(round(value * GIB))


def _value(word: str) -> object:
    if word in _WORDS:
        return _WORDS[word]
    if word[0] in "'\"":
        return word[1:-1]
    number = written_whole(word)
    return number if number is not None else written(word) if written(word) is not None else word
