"""What an engine's capture tells of its deployment, in the grammar of the options.

A name that a log holds is looked up among the cards by hub name and alias; one that names none is
said and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from specplan.catalogue.store import Catalogue
from specplan.cli.planned import Given
from specplan.domain.acceptance import Lengths, Unconditional
from specplan.domain.capture import Capture
from specplan.domain.habits import Habits
from specplan.domain.observed import LOOKUPS
from specplan.domain.version import VERSION_PATTERN
from specplan.errors import SpecplanError, UnknownName, UsageError, Where
from specplan.questions.captured import kept_at
from specplan.visible import visible

NUMBERS = ("tp", "draft_tp")
WEIGHTS = {  # engines' words for how weights are stored, where the word alone says it
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "w8a8_fp8": "fp8",
    "w8a8_int8": "int8",
    "awq": "int4",
    "awq_marlin": "int4",
    "modelopt_fp4": "nvfp4",
    "mxfp4": "mxfp4",
}
_HUB = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(slots=True)
class Told:
    """Axes by name, and notes on where they come from, or why they are not there."""

    axes: dict[str, Given] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def told_by(
    capture: Capture, habits: Habits, catalogue: Catalogue, typed: Mapping[str, object]
) -> Told:
    """What the capture says of every axis that was not `typed`."""
    told, where = Told(), Where(visible(capture.source, 200))
    deployed = {
        **dict(_names(capture, habits, catalogue, told, typed)),
        **dict(_numbers(capture)),
        **dict(_stored(capture, told, typed)),
    }
    for name, text in {**deployed, **dict(_load(capture, typed))}.items():
        if name not in typed:
            told.axes[name] = Given((text,), where.name, where)
    used = [f"{name} {text}" for name, text in deployed.items() if name in told.axes]
    if used:
        told.notes.append(f"{where.name} says {', '.join(used)}")
    return told


def _numbers(capture: Capture) -> Iterator[tuple[str, str]]:
    """Numbers of GPUs, and a cache of few bits."""
    for name in NUMBERS:
        value = capture.told.get(name)
        if isinstance(value, int) and value >= 1:
            yield name, str(value)
    if str(capture.told.get("kv_dtype", "")).startswith("fp8"):
        yield "kv_dtype", "fp8"


def _stored(capture: Capture, told: Told, typed: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """How the target's weights are stored, if not as its card has them."""
    word = str(capture.told.get("quantization") or "").lower()
    if word in WEIGHTS:
        yield "dtype", WEIGHTS[word]
    elif word and "dtype" not in typed:
        told.notes.append(
            f"the target is quantised by {visible(word, 40)}, which does not say to what: "
            "give --dtype"
        )


def _load(capture: Capture, typed: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The workload that was seen."""
    if capture.batch is not None:
        yield "batch", str(max(1, round(capture.batch.mean)))
    if capture.context is not None and not {"isl", "osl"} & set(typed):
        yield "context", str(max(1, round(capture.context.mean)))
    if acceptance := acceptance_of(capture):
        yield "acceptance", acceptance


def engine_of(capture: Capture) -> str:
    """The engine as it is typed, with the version that it calls itself; "" of a harness that does
    not say whose server it asked.
    """
    name: str = capture.origin.engine
    version = str(capture.told.get("version", ""))
    if name == "harness":
        name = str(capture.told.get("engine", ""))
    return f"{name}@{version}" if name and re.fullmatch(VERSION_PATTERN, version) else name


def k_of(capture: Capture) -> int | None:
    """The draft length in use."""
    told = capture.told.get("k")
    return told if isinstance(told, int) and told >= 1 else capture.k


def way_of(capture: Capture, habits: Habits) -> str:
    """How it drafts, as -d says it."""
    method = str(capture.told.get("method", "")).lower()
    return habits.ways.get(method, "")


def acceptance_of(capture: Capture) -> str:
    """What was accepted, in the grammar of -a; "" where the capture does not say."""
    model = kept_at(capture, k_of(capture))
    if isinstance(model, Unconditional):
        model = Unconditional(tuple(map(_short, model.rates)))
    elif isinstance(model, Lengths):
        model = Lengths(tuple((k, _short(tau)) for k, tau in model.points))
    return "" if model is None else str(model)


def _short(value: float) -> float:
    """Six digits: nobody counts more, and people read them."""
    return float(f"{value:.6g}")


def _names(
    capture: Capture,
    habits: Habits,
    catalogue: Catalogue,
    told: Told,
    typed: Mapping[str, object],
) -> Iterator[tuple[str, str]]:
    """Target, drafter and accelerator, as far as the capture names any that there are."""
    target = capture.told.get("target")
    if isinstance(target, str) and "target" not in typed:
        yield from _model("target", target, catalogue, told)
    gpu = capture.told.get("gpu")
    if isinstance(gpu, str) and "hardware" not in typed:
        yield from _accelerator(gpu, catalogue, told)
    draft, way = capture.told.get("draft"), way_of(capture, habits)
    if "draft" in typed:
        return
    if way in LOOKUPS:
        yield "draft", way
        return
    found = list(_model("draft", draft, catalogue, told)) if isinstance(draft, str) else []
    if found and draft != target:
        yield from found
    elif way and way != "model":
        yield "draft", way


def _model(option: str, name: str, catalogue: Catalogue, told: Told) -> Iterator[tuple[str, str]]:
    """The card of a model that an engine was started with: by its whole name or the last part."""
    tried = (name,) if _HUB.fullmatch(name) else (PurePosixPath(name).name or name,)
    for one in tried:
        with suppress(UnknownName, UsageError):
            yield option, catalogue.model(one).card.name
            return
    told.notes.append(f"the {option} '{visible(name, 60)}' of the log names no card")


def _accelerator(name: str, catalogue: Catalogue, told: Told) -> Iterator[tuple[str, str]]:
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
    for one in (slug, slug.removeprefix("nvidia-"), slug.removeprefix("amd-instinct-")):
        with suppress(SpecplanError):
            yield "hardware", catalogue.hardware(one).card.name
            return
    told.notes.append(f"the accelerator '{visible(name, 60)}' of the log names no card")
