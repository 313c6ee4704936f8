"""The grammar of axes: texts to values. The same for flags, plans and Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from specplan.cli.acceptance import Curves, acceptances, no_curves
from specplan.domain.acceptance import Acceptance
from specplan.domain.card import Dtype
from specplan.domain.scenario import Part
from specplan.errors import SpecplanError, UsageError, Where, unknown
from specplan.units import parse_axis, parse_number
from specplan.visible import visible

CHOSEN = ("best", "gate")
LARGEST_K = 64
MOST_WEIGHT = 1e9
_LIMITS = {"batch": 1e6, "context": 1e8, "GPUs": 1024}
_MIX_KEYS = ("batch", "context", "alpha", "acceptance", "weight")
MIX_FORM = "WEIGHT,KEY=VALUE,... such as 3,alpha=0.8,context=2k"


def names(texts: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas."""
    found = [part.strip() for text in texts for part in text.split(",")]
    if not all(found):
        raise UsageError("an empty name in a list", expected="names separated by commas")
    return tuple(found)


def whole_axis(texts: Sequence[str]) -> tuple[int, ...]:
    """Numbers of GPUs."""
    return tuple(int(v) for v in _axis(texts, "GPUs", whole=True))


def batches(texts: Sequence[str]) -> tuple[float, ...]:
    """Numbers of sequences."""
    return _axis(texts, "batch", whole=True)


def contexts(texts: Sequence[str]) -> tuple[float, ...]:
    """Numbers of tokens; 8k is 8192."""
    return _axis(texts, "context", tokens=True)


def _axis(
    texts: Sequence[str], name: str, *, whole: bool = False, tokens: bool = False
) -> tuple[float, ...]:
    values = [v for text in texts for v in parse_axis(text, whole=whole, tokens=tokens)]
    limit = _LIMITS[name]
    for value in values:
        if not 1 <= value <= limit:
            what = f"{value:g}" if name == "GPUs" else f"{name} {value:g}"
            raise UsageError(f"{what} is out of range", expected=f"1 to {limit:,.0f}")
    return tuple(dict.fromkeys(map(count, values)))


def count(value: float) -> float:
    """The number, as an integer where it is one: counts look like counts."""
    return int(value) if float(value).is_integer() else value


def lengths(texts: Sequence[str]) -> tuple[int, ...]:
    """Draft lengths; () for `best` and `gate`, where the question chooses."""
    if len(texts) == 1 and texts[0] in CHOSEN:
        return ()
    try:
        values = [v for text in texts for v in parse_axis(text, whole=True)]
    except SpecplanError as error:
        word = visible(",".join(texts), 60)
        raise UsageError(
            f"k '{word}' is no number or range",
            expected="4, 1,16, 1:8 or 1:256:x2, or best, gate",
            hint=error.hint,
        ) from None
    for value in values:
        if not 0 <= value <= LARGEST_K:
            raise UsageError(f"k {value:g} is out of range", expected=f"0 to {LARGEST_K}")
    return tuple(dict.fromkeys(int(v) for v in values))


def dtypes(texts: Sequence[str]) -> tuple[Dtype, ...]:
    """Storage types."""
    known = [str(d) for d in Dtype]
    for name in names(texts):
        if name not in known:
            raise unknown("dtype", name, known)
    return tuple(dict.fromkeys(Dtype(name) for name in names(texts)))


def mix_part(text: str) -> dict[str, str]:
    """One --mix option as keys and texts."""
    weight, *pairs = (item.strip() for item in text.split(","))
    found = {"weight": weight}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or key not in _MIX_KEYS:
            raise UsageError(
                f"'{visible(pair, 60)}' is no part of a mix",
                where=Where("--mix"),
                expected=MIX_FORM,
            )
        if key in found or {key, *found} >= {"alpha", "acceptance"}:
            raise UsageError(f"{key} is said twice", where=Where("--mix"), expected=MIX_FORM)
        found[key] = value
    return found


def mix_text(keys: Mapping[str, str]) -> str:
    """The option that `mix_part` reads as these keys."""
    pairs = (f"{key}={text}" for key, text in keys.items() if key != "weight")
    return ",".join((keys["weight"], *pairs))


def part(
    keys: Mapping[str, str], base: Mapping[str, Sequence[str]], curves: Curves = no_curves
) -> Part:
    """One workload of a mix; what it leaves out is that of the common workload."""
    weight = parse_number(keys["weight"])
    if not 0 < weight <= MOST_WEIGHT:
        expected = f"more than 0, at most {MOST_WEIGHT:g}"
        raise UsageError(f"weight {weight:g} is no share", expected=expected, hint=MIX_FORM)
    read = partial(acceptances, curves=curves)
    acceptance: Acceptance = _one("acceptance", read, part_text(keys, "acceptance"), base)
    if acceptance.sd:
        raise UsageError(f"a part of a mix takes one alpha, not {acceptance}", expected=MIX_FORM)
    return Part(
        weight=weight,
        batch=_one("batch", batches, part_text(keys, "batch"), base),
        context=_one("context", contexts, part_text(keys, "context"), base),
        acceptance=acceptance,
    )


def part_text(keys: Mapping[str, str], name: str) -> str | None:
    """What a part of a mix says of an axis."""
    return keys.get(name, keys.get("alpha") if name == "acceptance" else None)


def _one(name: str, parse, text: str | None, base: Mapping[str, Sequence[str]]):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    texts = (text,) if text is not None else base.get(name)
    if texts is None:
        raise UsageError(f"a part of the mix has no {name}", expected=MIX_FORM)
    values = parse(texts)
    if len(values) != 1:
        raise UsageError(f"a part of a mix has one {name}, not {len(values)}", expected=MIX_FORM)
    return values[0]
