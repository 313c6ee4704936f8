"""Files of counters watched while they are read: a bar on a terminal's stderr where there are many
bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from specplan.cli.captures import Moved
from specplan.cli.progress import reading
from specplan.cli.show import coloured

if TYPE_CHECKING:
    from specplan.cli.options import Out

LONG_FILES = 32 * 2**20  # bytes from which on, some seconds, a terminal gets a progress bar


@contextmanager
def watching(files: Iterable[str], out: Out) -> Iterator[Moved | None]:
    """Who is told of bytes read; nobody where the files are short."""
    paths = [path for path in map(Path, files) if path.is_file()]
    size = sum(path.stat().st_size for path in paths)
    if size < LONG_FILES or out.quiet or not sys.stderr.isatty():
        yield None
        return
    with reading(size, colour=coloured(out.color, terminal=True)) as advance:
        yield advance
