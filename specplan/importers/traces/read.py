"""A file of traffic, whatever its format: told by its content and its header, never by its name."""

from __future__ import annotations

import json
from pathlib import Path

from specplan.domain.clients import Clients
from specplan.domain.traffic import Trace
from specplan.errors import InputError
from specplan.importers.traces.columns import Columns
from specplan.importers.traces.lines import Lines
from specplan.importers.traces.mooncake import WANTED as REQUESTS
from specplan.importers.traces.mooncake import is_mooncake, read_mooncake
from specplan.importers.traces.servegen import is_window, read_client, read_folder
from specplan.importers.traces.tabular import first_line, read_table
from specplan.opening import is_folder

FORMATS = "Azure, BurstGPT, Vidur, Mooncake, ServeGen, or any table with --columns"


def read_trace(path: Path, columns: Columns | None = None) -> Trace | Clients:
    """The requests in a file (gzip or not), or the clients in ServeGen's files or their folder.

    `columns` are those of a table; without, its header must be of a known format. Anything else is
    one InputError with its place.
    """
    if is_folder(path):
        return read_folder(path)
    lines = Lines(path)
    first, rest = first_line(lines)
    if columns is not None:
        return read_table(lines, rest, first, columns)
    if first.lstrip()[0] in "{[":
        if not _is_request(first):
            raise InputError(
                "holds no requests",
                where=lines.where(),
                expected=REQUESTS,
                hint="a distribution of lengths is given as --isl, --osl or --lengths",
            )
        return read_mooncake(lines, first, rest)
    if is_window(first):
        return read_client(lines, first, rest)
    return read_table(lines, rest, first, None)


def _is_request(line: str) -> bool:
    try:
        return is_mooncake(json.loads(line))
    except (ValueError, RecursionError):
        return False
