"""An acceptance as a mapping of YAML or Python, in the words of the grammar of -a."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from specplan.errors import UsageError, did_you_mean
from specplan.visible import visible

FORMS = (
    "0.7, a curve's name, or one of {conditional: [...]}, {unconditional: [...]}, "
    '{decay: [first, ratio]}, {length: 2.9, at_k: 3}, {lengths: {"1": 1.8, "2": 2.4}}, '
    "{fire: 0.2, burst: 3.1}, {context: {2k: 0.8}}, {mixture: [{share: 0.7, alpha: 0.8}]}"
)


def acceptance_text(value: object) -> str:
    """The text of a number, a text or a mapping; a bare list is refused, for nobody can tell what
    its figures are.
    """
    if isinstance(value, Mapping):
        return _mapping({str(key): item for key, item in value.items()})
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, Sequence):
        raise UsageError(
            "acceptance is a bare list",
            expected="one acceptance",
            hint="per position given all before it: {conditional: [...]}; share of rounds that "
            "reach it: {unconditional: [...]}; for several alphas use alpha: [...]",
        )
    raise UsageError(f"{visible(str(value), 60)} is no acceptance", expected=FORMS)


def _mapping(said: Mapping[str, object]) -> str:
    keys = frozenset(said)
    if keys in _FORMS:
        return _FORMS[keys](said)
    strange = next((key for key in said if key not in KEYS), "")
    what = f"unknown key '{visible(strange, 60)}' in acceptance" if strange else "acceptance says "
    guess = did_you_mean(strange, sorted(KEYS)) if strange else ""
    if not strange:
        what += " and ".join(said) if said else "nothing"
    raise UsageError(what, expected="" if guess else FORMS, hint=guess)


def _listed(key: str, count: int = 0) -> Callable[[Mapping[str, object]], str]:
    def text(said: Mapping[str, object]) -> str:
        value = said[key]
        values = value if isinstance(value, list | tuple) else [value]
        if count and len(values) != count:
            raise UsageError(f"{key} has {len(values)} figures", expected=f"{count}")
        return f"{key}:{','.join(_number(key, item) for item in values)}"

    return text


def _number(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{key}: {visible(repr(value), 60)} is no number", expected="a number")
    return repr(value)


def _lengths(said: Mapping[str, object]) -> str:
    table = said["lengths"]
    if not isinstance(table, Mapping):
        raise UsageError("lengths is no mapping", expected='tokens by k: {"1": 1.8, "2": 2.4}')
    return "length:" + ",".join(f"{_number('lengths', tau)}@{k}" for k, tau in table.items())


def _by_context(said: Mapping[str, object]) -> str:
    table = said["context"]
    if not isinstance(table, Mapping):
        raise UsageError("context is no mapping", expected="acceptance by tokens: {2k: 0.8}")
    return "context:" + ";".join(f"{_inner(of)}@{at}" for at, of in table.items())


def _inner(value: object) -> str:
    """The text of a part; one that has parts itself in brackets."""
    text = acceptance_text(value)
    return f"({text})" if text.startswith(("context:", "mixture:")) else text


def _mixture(said: Mapping[str, object]) -> str:
    parts = said["mixture"]
    if not isinstance(parts, list | tuple) or not all(isinstance(p, Mapping) for p in parts):
        raise UsageError("mixture is no list", expected="[{share: 0.7, alpha: 0.8}, ...]")
    texts = []
    for part in parts:
        rest = {key: value for key, value in part.items() if key != "share"}
        if "share" not in part:
            raise UsageError("a part of a mixture without share", expected="{share: 0.7, ...}")
        texts.append(f"{_inner(rest)}@{_number('share', part['share'])}")
    return "mixture:" + ";".join(texts)


_FORMS: Mapping[frozenset[str], Callable[[Mapping[str, object]], str]] = {
    frozenset({"alpha"}): lambda said: _number("alpha", said["alpha"]),
    frozenset({"curve"}): lambda said: str(said["curve"]),
    frozenset({"conditional"}): _listed("conditional"),
    frozenset({"unconditional"}): _listed("unconditional"),
    frozenset({"decay"}): _listed("decay", 2),
    frozenset({"length", "at_k"}): lambda said: (
        f"length:{_number('length', said['length'])}@{_number('at_k', said['at_k'])}"
    ),
    frozenset({"lengths"}): _lengths,
    frozenset({"fire", "burst"}): lambda said: (
        f"burst:{_number('fire', said['fire'])}@{_number('burst', said['burst'])}"
    ),
    frozenset({"context"}): _by_context,
    frozenset({"mixture"}): _mixture,
}
KEYS: frozenset[str] = frozenset().union(*_FORMS)
"""All keys of such a mapping."""
