"""Readers fed by hand: lines one by one, documents one by one, and what they found sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.parser import text_string_to_metric_families

from specplan.dialects.documents import Exposition, Sample
from specplan.dialects.reading import DocumentReader, LineReader
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Span, Told


def lines(reader: LineReader, text: str) -> list[Found]:
    """All that a reader finds in a text, lines without a mark left out as the stream does."""
    return list(_lines(reader, text))


def _lines(reader: LineReader, text: str) -> Iterator[Found]:
    trail = 0
    marks = [*reader.marks, *getattr(reader, "starts", ()), *getattr(reader, "opening", ())]
    for place, line in enumerate(text.splitlines(), 1):
        marked = any(mark in line for mark in marks)
        trail = getattr(reader, "trail", 0) if marked else trail - 1
        if marked or trail > 0:
            yield from reader.read(line, place)
    yield from reader.finish()


def documents(reader: DocumentReader, *of: object) -> list[Found]:
    """All that a reader finds in a series, each of which it claims."""
    found: list[Found] = []
    for place, document in enumerate(of, 1):
        assert reader.claims(document)
        found += reader.read(document, place)
    return found + list(reader.finish())


def page(text: str) -> Exposition:
    """A scrape, as the stream makes one."""
    return Exposition(
        tuple(
            Sample(sample.name, dict(sample.labels), float(sample.value))
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        )
    )


def spans(found: Iterable[Found]) -> list[Span]:
    """The spans among what was found."""
    return [one for one in found if isinstance(one, Span)]


def counted(found: Iterable[Found]) -> list[Span]:
    """The spans that count rounds."""
    return [one for one in spans(found) if one.drafts is not None]


def facts(found: Iterable[Found]) -> dict[str, Scalar]:
    """All that was told, the last word of each name."""
    return {k: v for one in found if isinstance(one, Told) for k, v in one.facts.items()}


def traps(found: Iterable[Found]) -> list[str]:
    """The traps that were named, in order."""
    return [one.trap for one in found if isinstance(one, Noted) and one.trap]


def warnings(found: Iterable[Found]) -> list[str]:
    """The warnings in words, in order."""
    return [one.warning for one in found if isinstance(one, Noted) and one.warning]
