"""Files of counters as captures: which files are one capture, and what each holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from specplan.dialects import scrapes, stream
from specplan.dialects.unpacking import STDIN, Bytes
from specplan.domain.capture import Capture, Origin, Told
from specplan.domain.scenario import Input
from specplan.errors import InputError, UsageError
from specplan.opening import exists, is_folder, place
from specplan.physics.counters.fold import Fold
from specplan.questions.acceptance import refuse_empty
from specplan.questions.captured import capture_of

MOST: Final = 2  # captures that are compared
Moved = Callable[[int], object]

_LOOKED: Final = 200  # lines of a file in which a scrape shows itself
_TOLD: Final = 200  # statements about the deployment that formats found later are told too
_SAMPLE = re.compile(rb"#|[A-Za-z_][A-Za-z0-9_:]*(\{[^\n]*\})?[ |]")


@dataclass(frozen=True, slots=True)
class Held:
    """A capture, and the files that it came from with their digests."""

    capture: Capture
    files: tuple[tuple[str, str], ...]

    def inputs(self, name: str) -> dict[str, Input]:
        """What an answer rests on: `name`, and numbers behind it from the second file on."""
        return {
            name if not number else f"{name}_{number + 1}": Input(
                value=file, origin=f"{place(Path(file))} (flag)", sha256=sha256 or None
            )
            for number, (file, sha256) in enumerate(self.files)
        }


def captures(
    sources: Sequence[str],
    *,
    k: int | None = None,
    together: bool = False,
    each: bool = False,
    moved: Moved | None = None,
) -> list[Held]:
    """The captures in files, `-` for standard input, by content; `k` is the draft length in use
    where nothing says it. Scrapes of a /metrics page are taken in pairs, earlier and later; with
    `together` all files are one capture, with `each` every file is one.
    """
    return [_held(group, k, moved) for group in grouped(sources, together=together, each=each)]


def grouped(sources: Sequence[str], *, together: bool, each: bool) -> list[tuple[str, ...]]:
    """Which files are one capture; refuses more than two captures."""
    _refuse_twice(sources)
    if together and each:
        raise UsageError("--together and --each exclude each other", hint="leave one out")
    if together:
        return [tuple(sources)]
    alone: list[tuple[str, ...]] = [(source,) for source in sources]
    scraped = not each and len(sources) > 1 and all(map(is_scrape, sources))
    if scraped and len(sources) in {2, 3}:
        return [tuple(sources)]
    if scraped and len(sources) == 2 * MOST:
        return [tuple(sources[:2]), tuple(sources[2:])]
    if len(alone) > MOST:
        pairs = "; scrapes go in pairs, two or four" if scraped else ""
        raise UsageError(
            f"{len(alone)} files, and two captures are compared{pairs}",
            hint="--together takes all of them for one capture, in the order given",
        )
    return alone


def _refuse_twice(sources: Sequence[str]) -> None:
    if not sources:
        raise UsageError("which file?", expected="a log, a /metrics page, a result; - is stdin")
    if list(sources).count(STDIN) > 1:
        raise UsageError("standard input can be one of the files, not several")
    seen: list[Path] = []
    for source in sources:
        path = Path(source)
        if source != STDIN and exists(path):
            if any(path.samefile(before) for before in seen):
                raise UsageError(f"{place(path)} is given twice", hint="name the other file")
            seen.append(path)


def is_scrape(source: str) -> bool:
    """Whether a file begins as a scrape of /metrics does: samples and comments alone, and one of
    them an engine's.
    """
    if source == STDIN:
        return False
    head = next(iter(Bytes(source).chunks()), b"")
    for line in head.split(b"\n")[:_LOOKED]:
        if scrapes.looks_so(line):
            return True
        if line.strip() and not _SAMPLE.match(line):
            return False
    return False


@dataclass(slots=True)
class _Reading:
    """What the files of one capture hold, by format."""

    k: int | None
    folds: dict[str, Fold] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    ours: list[Capture] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    lines: int = 0
    unread: int = 0
    warnings: list[str] = field(default_factory=list)

    def take(self, found: stream.Stream) -> None:
        """Everything in a stream."""
        for name, one in found.by_format():
            if name not in self.folds:
                self.folds[name] = Fold(self.k)
                self.folds[name].take_all(self.told)
            if isinstance(one, Told):
                if len(self.told) < _TOLD:
                    self.told.append(one)
                for fold in self.folds.values():
                    fold.take(one)
            else:
                self.folds[name].take(one)
        self.origins |= found.origins()
        self.lines, self.unread = self.lines + found.lines, self.unread + found.unread
        where = place(Path(found.source))
        self.ours += [capture_of(document, where) for document in found.ours]
        if found.ended_early:
            self.warnings.append(f"{where} ends in the middle of its gzip stream")
        if found.cut:
            self.warnings.append(f"{found.cut:,} lines of more than a megabyte were cut")

    def main(self) -> str:
        """The format of most rounds."""
        return max(self.folds, key=lambda name: _weight(self.folds[name]))

    def others(self, main: str) -> Iterator[str]:
        """What else was found and is in no figure."""
        for name, fold in self.folds.items():
            if name != main and any(_weight(fold)[:2]):
                yield f"{name} is in it too ({fold.spans:,} spans), not counted beside {main}"


def _weight(fold: Fold) -> tuple[float, float, int]:
    return fold.drafts + fold.weight, fold.drafted + fold.rate_weight, fold.spans


def _held(sources: tuple[str, ...], k: int | None, moved: Moved | None) -> Held:
    reading, files = _Reading(k), []
    for part in _parts(sources):
        found = stream.read(part[0], moved, *part[1:])
        reading.take(found)
        files += [(f, _digest(f, sha)) for f, sha in zip(part, found.digests, strict=True)]
        if not reading.folds and not reading.ours:
            raise found.nothing()
    return Held(_capture(reading, sources, files), tuple(files))


def _digest(source: str, sha256: str) -> str:
    return "" if source == STDIN else sha256


def _parts(sources: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Scrapes one after another are one series; other files each stand for themselves."""
    if len(sources) > 1 and all(map(is_scrape, sources)):
        return [sources]
    return [(source,) for source in sources]


def _capture(
    reading: _Reading, sources: tuple[str, ...], files: Sequence[tuple[str, str]]
) -> Capture:
    name = str(place(Path("standard input" if sources[0] == STDIN else sources[0])))
    if len(sources) > 1:
        name += f" and {len(sources) - 1} more"
    if reading.ours:
        if len(reading.ours) > 1 or any(any(_weight(f)[:2]) for f in reading.folds.values()):
            raise InputError("holds several captures", where=place(Path(sources[0])))
        return reading.ours[0]
    main = reading.main()
    capture = reading.folds[main].capture(
        name,
        reading.origins[main],
        lines=reading.lines,
        unread=reading.unread,
        sha256=files[0][1] if len(files) == 1 else "",
    )
    warnings = (*capture.warnings, *reading.warnings, *reading.others(main))
    return replace(capture, warnings=warnings)


def is_there(folder: Path | None, name: str) -> bool:
    """Whether a file is of that name, whatever its end: server.log.1."""
    path = Path(folder or "", name)
    return exists(path) and not is_folder(path)


def one_capture(source: str) -> Held:
    """The capture in a file that stands for an acceptance; refuses one of no drafts."""
    (held,) = captures((source,))
    refuse_empty(held.capture)
    return held
