"""The grammar of -a: an axis of alphas, or one of the models of acceptance as KIND:FIGURES.

    0.7   0.6,0.8   0.5:0.95:0.05   0.7+-0.05         alphas, of which one may be uncertain
    conditional:.68,.57      per position, given that all before it were kept
    unconditional:.8,.6,.5   per position, of all rounds: what engines print
    decay:.82,.95            the first rate, and the ratio of each to the one before
    length:2.9@4             tokens per round at a draft length; 1.9@1,2.6@2 for several
    burst:.2@3.1             share of rounds that fire, tokens kept when one does
    context:.8@2k,.6@32k     a model at each of some contexts
    mixture:.8@0.7,.5@0.3    a model for each share of the requests
    mtp-glm-5.2/coding       a curve of the catalogue
    server.log, acc.json     what an engine counted, or the JSON of `specplan acceptance`

Parts of a context or a mixture that hold commas themselves are set apart by semicolons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specplan.domain.acceptance import (
    Acceptance,
    Alpha,
    Burst,
    Conditional,
    Decay,
    Lengths,
    Unconditional,
)
from specplan.domain.acceptance_parts import ByContext, Mixture
from specplan.errors import SpecplanError, UsageError, unknown
from specplan.units import parse_axis, parse_number
from specplan.visible import visible

UNCERTAIN = "+-"
MOST_CONTEXT = 1e8
FORMS = "0.7, 0.6,0.8, 0.5:0.95:0.05, 0.7+-0.05, KIND:FIGURES, a curve or a log"
APART = "repeat -a for each kind of acceptance"
Curves = Callable[[str], Acceptance]
"""What a name stands for: a curve, or the counters in a file."""

COUNTERS = (
    *(".log", ".txt", ".out", ".err", ".json", ".jsonl", ".ndjson", ".prom", ".metrics", ".gz"),
)
"""Ends of names of files that hold counters; other names are such files with a folder before."""
PARTED = ("context:", "mixture:")
"""Kinds made of models, each of which has to be certain."""
_FOLDERS = ("./", "../", "/")
_CARDS = (".yaml", ".yml")


def is_capture(text: str) -> bool:
    """Whether a name is that of a file of counters, judged by the name alone."""
    name = text.strip().lower()
    if any(suffix in name for suffix in _CARDS):
        return False
    return name.endswith(COUNTERS) or name.startswith(_FOLDERS)


def no_curves(text: str) -> Acceptance:
    """Where no catalogue is at hand."""
    raise UsageError(f"'{visible(text, 60)}' is no acceptance", expected=FORMS)


def acceptances(texts: Sequence[str], curves: Curves = no_curves) -> tuple[Acceptance, ...]:
    """The models of all texts, each once; `curves` looks up names."""
    return tuple(dict.fromkeys(model for text in texts for model in _models(text, curves)))


def each_model(text: str) -> list[str]:
    """The text of each model: a list of alphas or of curves apart, one with figures whole."""
    kind, colon, _ = text.strip().partition(":")
    whole = colon and kind in KINDS
    return [text.strip()] if whole else [item.strip() for item in text.split(",")]


def _models(text: str, curves: Curves) -> list[Acceptance]:
    kind, colon, rest = text.strip().partition(":")
    if colon and kind in KINDS:
        return [_model(kind, rest, curves)]
    if any(map(is_capture, text.split(","))):
        return _files(text, curves)
    if UNCERTAIN in text and not text.strip()[:1].isalpha():
        return [_uncertain(item) for item in text.split(",")]
    if text.strip()[:1].isalpha():
        if colon and kind.replace("-", "").isalpha() and "/" not in kind:
            raise unknown("acceptance", kind, KINDS)
        names = [item.strip() for item in text.split(",")]
        if any(not name[:1].isalpha() for name in names):
            raise UsageError(f"'{visible(text, 60)}' mixes curves and alphas", hint=APART)
        return [curves(name) for name in names]
    try:
        values = parse_axis(text)
    except SpecplanError as error:
        if any(letter.isalpha() for letter in text.replace("k", "").replace("e", "")):
            error.expected, error.hint = FORMS, APART if "," in text else ""
        raise
    if ":" not in text and len(values) > 1 and list(values) == sorted(values, reverse=True):
        raise _falling(text)
    return [Alpha(v) for v in values]


def _files(text: str, curves: Curves) -> list[Acceptance]:
    names = [item.strip() for item in text.split(",")]
    if not all(map(is_capture, names)):
        raise UsageError(f"'{visible(text, 60)}' mixes files and other models", hint=APART)
    return [curves(name) for name in names]


def _falling(text: str) -> UsageError:
    """The refusal of what nobody can tell from alphas: two lists are confused everywhere."""
    plain = visible(text, 60)
    return UsageError(
        f"a falling list, {plain}, looks like rates per position",
        expected="alphas that rise, one for each workload",
        hint=f"given all before it: conditional:{plain}; of all rounds, as engines print: "
        f"unconditional:{plain}",
    )


def _uncertain(item: str) -> Acceptance:
    value, sign, spread = item.partition(UNCERTAIN)
    return Alpha(parse_number(value.strip()), parse_number(spread.strip()) if sign else 0.0)


def _model(kind: str, text: str, curves: Curves) -> Acceptance:
    """One model, its errors telling the form of its kind."""
    make, form = KINDS[kind]
    try:
        return make(text, curves)
    except SpecplanError as error:
        if not error.expected:
            error.expected = form
        raise


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(parse_number(item.strip()) for item in text.split(","))


def _two(text: str, sign: str, form: str) -> tuple[str, str]:
    first, found, second = text.rpartition(sign)
    if not found or not first or not second:
        raise UsageError(f"'{visible(text, 60)}' lacks a part", expected=form)
    return first.strip(), second.strip()


def _decay(text: str, _: Curves) -> Acceptance:
    values = _numbers(text)
    if len(values) != 2:
        raise UsageError(f"a decay of {len(values)} figures", expected="decay:.82,.95")
    return Decay(*values)


def _lengths(text: str, _: Curves) -> Acceptance:
    points = []
    for item in text.split(","):
        tau, k = _two(item, "@", "length:2.9@4")
        length = parse_number(k)
        if length != int(length):
            raise UsageError(f"k {length:g} is no whole number", expected="length:2.9@4")
        points.append((int(length), parse_number(tau)))
    return Lengths(tuple(sorted(points)))


def _burst(text: str, _: Curves) -> Acceptance:
    fire, burst = _two(text, "@", "burst:.2@3.1")
    return Burst(parse_number(fire), parse_number(burst))


def _parts(text: str, form: str, curves: Curves) -> list[tuple[str, Acceptance]]:
    """What follows the last @ of each part, and the model before it; one may stand in brackets."""
    found = []
    told = f"{form}; parts that hold commas are set apart by ;"
    for item in _split(text):
        said, at = _two(item, "@", told)
        inner = said[1:-1] if said.startswith("(") and said.endswith(")") else said
        models = _models(inner, curves)
        if len(models) != 1:
            raise UsageError(f"'{visible(said, 60)}' is {len(models)} models", expected=told)
        found.append((at, models[0]))
    return found


def _split(text: str) -> list[str]:
    """The parts between semicolons, or commas where there is none; brackets hold theirs."""
    depth, outer = 0, []
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter in ",;" and depth == 0:
            outer.append((place, letter))
    sign = ";" if any(letter == ";" for _, letter in outer) else ","
    ends = [place for place, letter in outer if letter == sign]
    starts = [0, *(place + 1 for place in ends)]
    return [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True)]


def _by_context(text: str, curves: Curves) -> Acceptance:
    parts = []
    for at, model in _parts(text, "context:.8@2k,.6@32k", curves):
        (context,) = parse_axis(at, tokens=True) if ":" not in at and "," not in at else (-1.0,)
        if not 1 <= context <= MOST_CONTEXT:
            expected = f"tokens such as 2k, at most {MOST_CONTEXT:,.0f}"
            raise UsageError(f"'{visible(at, 60)}' is no context", expected=expected)
        parts.append((context, model))
    return ByContext(tuple(sorted(parts, key=lambda part: part[0])))


def _mixture(text: str, curves: Curves) -> Acceptance:
    parts = _parts(text, "mixture:.8@0.7,.5@0.3", curves)
    return Mixture(tuple((parse_number(at), model) for at, model in parts))


KINDS: dict[str, tuple[Callable[[str, Curves], Acceptance], str]] = {
    "conditional": (lambda text, _: Conditional(_numbers(text)), "conditional:.68,.57"),
    "unconditional": (lambda text, _: Unconditional(_numbers(text)), "unconditional:.8,.6,.5"),
    "decay": (_decay, "decay:.82,.95"),
    "length": (_lengths, "length:2.9@4"),
    "burst": (_burst, "burst:.2@3.1"),
    "context": (_by_context, "context:.8@2k,.6@32k"),
    "mixture": (_mixture, "mixture:.8@0.7,.5@0.3"),
}
"""What may stand before a colon: how its figures are read, and their form."""
