"""Engines, their versions and how GPUs are split: columns for machines, and words for people that
tell setups apart by what differs between them, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from specplan.domain.answer import Column, Scalar
from specplan.domain.scenario import Serving, Setup

SERVING_COLUMNS = (
    Column("engine", "", "engine", "text", "whose habits price a pass"),
    Column("engine_version", "", "version", "text", "as asked for; absent for the newest known"),
    Column("attention_dp", "1", "attention-dp", "count", "attention groups among the GPUs of tp"),
    Column("ep", "1", "ep", "count", "ways to divide the experts by number"),
)
SERVED_BY = Column("served_by", "", "engine", "text", "engine and version as they are typed")

_WORDS: Mapping[str, Callable[[Serving], str]] = {
    "served_by": lambda serving: serving.served_by,
    "attention_dp": lambda serving: f"attention-dp {serving.attention_dp}",
    "ep": lambda serving: f"ep {serving.ep}",
}
SERVING_NAMES = tuple(_WORDS)
"""Names of the columns that people tell servings apart by."""


def serving_cells(serving: Serving) -> dict[str, Scalar]:
    """SERVING_COLUMNS and SERVED_BY of one setup."""
    names = (*(column.name for column in SERVING_COLUMNS), SERVED_BY.name)
    return {name: getattr(serving, name) for name in names}


def varied(setups: Iterable[Setup]) -> tuple[str, ...]:
    """Which of SERVING_NAMES take more than one value."""
    return _varied(setup.serving for setup in setups)


def telling(setups: Iterable[Setup]) -> Callable[[Serving], str]:
    """The words that tell a serving from the others': "vllm@0.10, ep 8"; none where all agree."""
    names = varied(setups)
    return lambda serving: _words(serving, names)


def told_once(said: Sequence[tuple[Serving, str]]) -> Iterator[tuple[str, str]]:
    """Each sentence once, after the words of the servings that it is about: only of what it depends
    on, none where all servings say the same.
    """
    names = _varied(serving for serving, _ in said)
    for name in names:
        fewer = tuple(n for n in names if n != name)
        told = {(_words(serving, fewer), sentence) for serving, sentence in said}
        if len(told) == len({words for words, _ in told}):
            names = fewer
    yield from dict.fromkeys((_words(serving, names), sentence) for serving, sentence in said)


def servings_caption(setups: Sequence[Setup]) -> str:
    """Everything that differs, to follow a place: " under vllm@0.10, sglang", ", ep 1, ep 8"."""
    names = varied(setups)
    words = dict.fromkeys(_WORDS[name](setup.serving) for name in names for setup in setups)
    start = " under " if SERVED_BY.name in names else ", "
    return start + ", ".join(words) if words else ""


def _varied(servings: Iterable[Serving]) -> tuple[str, ...]:
    distinct = set(servings)
    return tuple(name for name, words in _WORDS.items() if len(set(map(words, distinct))) > 1)


def _words(serving: Serving, names: Iterable[str]) -> str:
    return ", ".join(_WORDS[name](serving) for name in names)
