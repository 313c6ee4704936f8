"""Names as they are typed: versions, lists without repeats, and where an error about one stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from specplan.cli.planned import Given
from specplan.domain.version import VERSION_PATTERN
from specplan.errors import SpecplanError, UsageError, Where, placed
from specplan.visible import visible

V = TypeVar("V")


def versioned(text: str) -> tuple[str, str | None]:
    """The engine and the version in vllm@0.27; no version in vllm. Tags of releases and of builds
    are versions too: v0.27, b11434.
    """
    name, at, version = text.partition("@")
    version = re.sub(r"^[vb](?=[0-9])", "", version)
    if at and not re.fullmatch(VERSION_PATTERN, version):
        raise UsageError(f"'{visible(version, 60)}' is no version", expected="such as vllm@0.27")
    return name, version if at else None


def by_itself(given: Given, parse: Callable[[Sequence[str]], tuple[V, ...]]) -> tuple[V, ...]:
    """What `parse` says of the first text that it refuses, or of all of them together."""
    for text, where in given.each():
        with placed(where):
            parse((text,))
    return parse(given.texts)


@contextmanager
def naming(where: Where) -> Iterator[None]:
    """Gives errors about a whole file, which have no line, the place that names the file."""
    try:
        yield
    except SpecplanError as error:
        if error.where not in {None, where} and not error.where.line:
            error.what, error.where = f"{error.where}: {error.what}", where
        raise


def distinct(named: Iterable[V]) -> list[V]:
    """Each once, in order: a card may have been named by its name and by an alias."""
    found: list[V] = []
    for item in named:
        if item not in found:
            found.append(item)
    return found
