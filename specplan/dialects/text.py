"""An engine's words as text: a shell line, its flags, JSON, YAML."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from specplan.domain.deployment import File, Json

Flags = Sequence[tuple[str, str | None]]

# Plain in YAML 1.1 and 1.2 alike: no number, no word for true or null, no mark that means something
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}
_END = "END"


def json_text(value: Json) -> str:
    """One line of JSON."""
    return json.dumps(value, allow_nan=False)


def shell_text(
    program: Sequence[str],
    flags: Flags,
    environment: Sequence[tuple[str, str]] = (),
    file: File | None = None,
) -> str:
    """A command that can be pasted: the file that it reads as a here-document before it, variables,
    and a line for each flag.
    """
    lines = [f"{name}={shlex.quote(value)}" for name, value in environment]
    lines.append(shlex.join(program))
    lines += [f"  {_flag(name, value)}" for name, value in flags]
    command = " \\\n".join(lines) + "\n"
    if file is None:
        return command
    here = f"cat > {shlex.quote(file.name)} <<'{_END}'\n{file.text}{_END}\n"
    return here + command


def flags_text(flags: Flags, environment: Sequence[tuple[str, str]] = ()) -> str:
    """The flags alone in one line, variables before them."""
    said = [_assigned(environment)] if environment else []
    return " ".join([*said, *(_flag(name, value) for name, value in flags)]) + "\n"


def _assigned(environment: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in environment)


def _flag(name: str, value: str | None) -> str:
    return name if value is None else f"{name} {shlex.quote(value)}"


def yaml_text(mapping: Mapping[str, Json], environment: Sequence[tuple[str, str]] = ()) -> str:
    """Block YAML of mappings within mappings, other values in one line; variables, which it has no
    place for, in a comment before it.
    """
    said = f"# start the server with {_assigned(environment)}\n" if environment else ""
    return said + "".join(f"{line}\n" for line in _yaml(mapping, ""))


def _yaml(mapping: Mapping[str, Json], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value and not _numbered(value):
            yield f"{indent}{key}:"
            yield from _yaml(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _numbered(mapping: Mapping[str, Json]) -> bool:
    """Whether the keys are numbers, which stay numbers and in one line."""
    return all(str(key).isdigit() for key in mapping)


def _scalar(value: Json) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_scalar(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    # YAML has no pairs of escapes for one character, as JSON does
    return json.dumps(value, allow_nan=False, ensure_ascii=False)
