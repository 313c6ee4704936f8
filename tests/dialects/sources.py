"""What is read of a text or of bytes, for the tests of readers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from specplan.dialects.stream import Stream, read
from specplan.domain.capture import Found, Noted, Span, Told


class Read:
    """Everything that a source holds, sorted."""

    def __init__(self, *contents: str | bytes) -> None:
        with TemporaryDirectory() as folder:
            paths = []
            for number, content in enumerate(contents):
                path = Path(folder, f"source-{number}")
                path.write_bytes(content.encode() if isinstance(content, str) else content)
                paths.append(str(path))
            self.stream: Stream = read(paths[0], None, *paths[1:])
            self.items: list[Found] = list(self.stream)
        self.spans = [one for one in self.items if isinstance(one, Span)]
        self.traps = {one.trap for one in self.items if isinstance(one, Noted) and one.trap}
        self.warnings = [
            one.warning for one in self.items if isinstance(one, Noted) and one.warning
        ]
        self.told = {
            name: value
            for one in self.items
            if isinstance(one, Told)
            for name, value in one.facts.items()
        }
        self.formats = [origin.format for origin in self.stream.origins().values()]

    @property
    def span(self) -> Span:
        """The only span."""
        (span,) = self.spans
        return span

    def total(self, name: str) -> float:
        """A count summed over the spans that have it."""
        return sum(getattr(span, name) or 0 for span in self.spans)
