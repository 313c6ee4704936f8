"""The lock file: JSON in, a Lock out, and back; the same lock is always the same bytes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from specplan.catalogue.schema import adapter
from specplan.domain.lock import Lock
from specplan.errors import InputError, Where
from specplan.visible import visible

NAME = "specplan.lock"
MAX_BYTES = 20_000_000
_REMEDY = "delete it and write it anew with specplan check --lock"


def read_lock(path: Path) -> Lock:
    """The lock in a file; whatever is wrong with it is one InputError."""
    where = Where(visible(str(path)))
    try:
        if not path.is_file():
            raise InputError("not a regular file", where=where, hint=_REMEDY)
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be read: {reason}", where=where) from error
    if len(raw) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES} bytes", where=where, hint=_REMEDY)
    try:
        lock: Lock = adapter(Lock).validate_json(raw)
    except ValidationError as error:
        raise InputError(_wrong(error), where=where, hint=_REMEDY) from None
    return lock


def lock_text(lock: Lock) -> str:
    """The lock as sorted JSON, a figure a line."""
    plain = json.dumps(asdict(lock), indent=1, sort_keys=True, allow_nan=False)
    return plain + "\n"


def _wrong(error: ValidationError) -> str:
    """What pydantic says first, without what the file holds."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    said = visible(f"{place}: {first['msg']}" if place else first["msg"], 120)
    return f"not a lock: {said}"
