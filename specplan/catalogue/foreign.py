"""Files that somebody takes for a model card and that hold a model in others' words."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Final

from specplan.catalogue.compose import MAX_BYTES
from specplan.catalogue.folders import first_bytes, shown_path
from specplan.errors import InputError, Where
from specplan.visible import visible

CONFIG: Final = "config.json"
_TELLING: Final = re.compile(rb'"(?:model_type|architectures)"\s*:')
_OURS: Final = re.compile(rb'"schema"\s*:')


def refuse_config(name: str) -> None:
    """Refuses a config.json, or a folder that holds one, where a card is expected."""
    path = Path(name)
    if not _is_config(path):
        return
    shown = visible(shown_path(path), 200)
    hint = f"specplan models import {shlex.quote(shown)}"
    what = "looks like a config.json"
    if path.is_dir():
        what = f"is a folder with a {CONFIG}"
    raise InputError(what, where=Where(shown), expected="a model card", hint=hint)


def _is_config(path: Path) -> bool:
    with suppress(OSError, ValueError, InputError):  # what cannot be looked at is refused later
        config = path / CONFIG if path.is_dir() else path
        if config.suffix == ".json" and config.is_file():
            text = first_bytes(config, MAX_BYTES)
            return bool(_TELLING.search(text)) and not _OURS.search(text)
    return False
