"""A capture as the acceptance that planning reads, and a capture out of our own JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast, get_args

from specplan.domain.acceptance import Acceptance, Alpha, Lengths, Unconditional
from specplan.domain.answer import Scalar
from specplan.domain.capture import AtLoad, Capture, Engine, Origin, Seen
from specplan.domain.traps import TRAPS
from specplan.errors import InputError, Refused, Where

if TYPE_CHECKING:
    from specplan.questions.acceptance import Counted

_DEVIATIONS = 1.96  # standard deviations from the middle of a 95 % interval to its ends
_LOUD = ("random-dataset", "lifetime", "counter-overcount", "repeated-prompt", "per-token-rate")
FEW = 100  # independent rounds from which on nothing is said of how many there are
_SEEN = ("batch", "waiting", "tokens_per_s", "prompt_tokens_per_s", "step_s", "context")
_POSITIONS = ("per_position", "per_position_low", "per_position_high")
_ORIGIN = ("format", "engine", "version_guess", "definitions")


def acceptance_of(capture: Capture | Counted, *, certain: bool = False) -> Acceptance:
    """What planning makes of a capture: its rates by position where it counts them, else alpha
    with its standard deviation (without, if it is to be taken for `certain`), else tokens per round
    at k.
    """
    found = (
        _by_position(capture)
        or _as_alpha(capture, certain=certain)
        or _as_length(capture, capture.k)
    )
    if found is not None:
        return found
    raise Refused(
        "no acceptance in it: the number of rounds is not printed",
        where=Where(capture.source),
        hint="with the k in use: specplan acceptance FILE -k K -o acc.json, then -a acc.json",
    )


def kept_at(capture: Capture, k: int | None) -> Acceptance | None:
    """What stands for a capture where the deployment that it is of is looked at: at its own k it
    gives the tokens per round that were seen, which alpha would only be near. None where it does
    not tell.
    """
    return _by_position(capture) or _as_length(capture, k) or _as_alpha(capture, certain=True)


def _by_position(capture: Capture | Counted) -> Acceptance | None:
    rates = capture.per_position
    return Unconditional(tuple(accumulate(rates, min))) if rates else None


def _as_alpha(capture: Capture | Counted, *, certain: bool) -> Acceptance | None:
    if capture.alpha is None:
        return None
    low, high = capture.alpha_low, capture.alpha_high
    if certain or low is None or high is None:
        return Alpha(capture.alpha)
    return Alpha(capture.alpha, min((high - low) / (2 * _DEVIATIONS), 0.5))


def _as_length(capture: Capture | Counted, k: int | None) -> Acceptance | None:
    tau = capture.tokens_per_round
    return Lengths(((k, min(max(tau, 1.0), k + 1.0)),)) if tau is not None and k else None


def beware(capture: Capture, name: str) -> Iterator[str]:
    """What a plan that rests on a capture should say of it."""
    for said in capture.contradictions:
        yield f"{name} contradicts itself: {said}"
    for trap in capture.traps:
        if trap in _LOUD:
            yield f"{name}: {TRAPS[trap]}"
    effective = capture.effective_rounds
    if effective is not None and effective < FEW:
        yield f"{name} holds {effective:.0f} independent rounds: its acceptance is rough"


def capture_of(document: Mapping[str, object], where: Where) -> Capture:
    """The capture in an answer of `acceptance -f json`."""
    said = document.get("answer")
    if not isinstance(said, dict):
        raise InputError("holds no capture", where=where, expected="specplan acceptance -f json")
    try:
        return _capture({str(key): value for key, value in said.items()})
    except (KeyError, TypeError, ValueError) as error:
        what = f"is no capture of ours: {error}"
        raise InputError(what, where=where, hint="make it again from its log") from error


def _capture(said: dict[str, Any]) -> Capture:
    engine = str(said["engine"])
    if engine not in get_args(Engine):
        raise ValueError(f"engine {engine!r}"[:80])
    plain = {field.name for field in fields(Capture)} - {"origin", "loads", *_SEEN, *_POSITIONS}
    found: dict[str, Any] = {name: _plain(name, said[name]) for name in plain if name in said}
    for name in _SEEN:
        found[name] = None if said.get(name) is None else Seen(**_numbers(said[name]))
    for name in _POSITIONS:
        found[name] = tuple(_share(value) for value in said.get(name, ()))
    return Capture(
        origin=Origin(
            format=str(said["format"]),
            engine=cast("Engine", engine),
            version_guess=str(said.get("version_guess", "")),
            definitions={str(k): str(v) for k, v in dict(said.get("definitions", {})).items()},
        ),
        loads=tuple(AtLoad(**_numbers(load)) for load in said.get("loads", ())),
        **found,
    )


_TEXTS = ("source", "alpha_basis", "sha256")
_LISTS = ("traps", "warnings", "contradictions")
_SHARES = ("acceptance_rate", "alpha", "alpha_low", "alpha_high")


def _plain(name: str, value: object) -> object:
    if name in _TEXTS:
        return str(value)
    if name in _LISTS:
        return tuple(map(str, cast("Iterable[object]", value)))
    if name == "told":
        return dict(cast("Mapping[str, Scalar]", value))
    if value is None:
        return None
    number = _number(value)
    if name in _SHARES and number > 1:
        raise ValueError(f"{name} is {number:g}")
    return int(number) if name in {"k", "spans", "lines", "unread"} else number


def _numbers(record: Mapping[str, object]) -> dict[str, Any]:
    return {str(k): None if value is None else _number(value) for k, value in record.items()}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise TypeError(f"{value!r} is no count"[:80])
    return value


def _share(value: object) -> float:
    share = _number(value)
    if share > 1:
        raise ValueError(f"{share:g} is no share")
    return float(share)
