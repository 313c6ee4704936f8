"""What the shell offers for a value: closed sets, and card names from file names alone.

Runs at every Tab, so nothing here reads YAML or loads arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module

import typer

from specplan.errors import SpecplanError

COMPARE_SORTS = ("speedup", "tpot", "throughput", "cost", "memory", "tokens")
OBJECTIVES = ("latency", "throughput", "cost")
BUGS = (
    "resample-from-target",
    "inverted-ratio",
    "one-sided-temperature",
    "bonus-from-draft",
    "stale-draft",
    "raw-target",
    "raw-draft",
    "stale-penalties",
)
RULES = ("token", "block", "match", "greedy", "typical:", "relaxed:", "threshold:")
SETTINGS = (
    *("temperature=", "top-k=", "top-p=", "min-p=", "order="),
    *("repetition-penalty=", "presence-penalty=", "frequency-penalty=", "greedy", "none"),
)
MEASURED = ("gemm", "attention", "experts", "step", "tpot", "round")
COLOURS = ("auto", "always", "never")
CHOSEN_K = ("best", "gate")
SIMULATED_K = ("none", "gate")
GATES = ("batch", "queue:")
FORMS = ("shell", "flags", "json", "yaml")
SHAPES = ("chain", "eagle", "medusa", "sequoia")
STATUSES = ("available", "announced")
HEADS = ("eagle", "eagle3", "mtp", "medusa", "mlp-speculator", "block")
KINDS = ("dense", "moe", "mla", "sliding", "hybrid", "drafter", *HEADS)
TYPED = ("free", "none", "ratio:", "ngram", "suffix", "lookahead", "skip:")
ACCEPTANCES = (*("conditional", "unconditional", "decay", "length", "burst", "context", "mixture"),)
WAYS = (*HEADS, "dflash", "dspark")
CURVE_KINDS = ("model", *HEADS, "ngram", "suffix", "lookahead", "skip", "dflash", "dspark")
CURVE_SORTS = ("name", "kind", "task", "target", "tokens", "k")
HARDWARE_SORTS = (
    *("vendor", "name", "memory", "bandwidth", "rate", "fp8", "ridge", "year", "tdp", "price"),
)
MODEL_SORTS = ("name", "family", "params", "active", "kv", "context", "layers")

Completer = Callable[[str], list[str]]


def among(*words: str) -> Completer:
    """Completes one of the words."""
    return lambda incomplete: _listed(incomplete, words)


def settings(incomplete: str) -> list[str]:
    """Keys of sampling settings; after `order=` whose order."""
    typed, key, _ = incomplete.rpartition("order=")
    if key:
        return [f"{typed}{key}{name}" for name in ("vllm", "sglang", "llamacpp", "transformers")]
    return _listed(incomplete, SETTINGS)


def attribute(module: str, name: str, *more: str) -> Completer:
    """Completes a word of a closed set that lives in `module`, or one of `more`."""
    return lambda incomplete: _listed(
        incomplete, (*more, *map(str, getattr(import_module(module), name)))
    )


def hardware(ctx: typer.Context, incomplete: str) -> list[str]:
    """Accelerators."""
    return _listed(incomplete, _cards("hardware", ctx))


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """Models."""
    return _listed(incomplete, _cards("models", ctx))


def engines(ctx: typer.Context, incomplete: str) -> list[str]:
    """Engines."""
    return _listed(incomplete, _cards("engines", ctx))


def curves(ctx: typer.Context, incomplete: str) -> list[str]:
    """Cards of acceptance curves."""
    return _listed(incomplete, _cards("curves", ctx))


def drafts(ctx: typer.Context, incomplete: str) -> list[str]:
    """Kinds of drafter, and models."""
    return _listed(incomplete, (*TYPED, *WAYS, *_cards("models", ctx)))


def drafts_or_all(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same, and all of them."""
    return [*_listed(incomplete, ("all",)), *drafts(ctx, incomplete)]


def hardware_or_all(ctx: typer.Context, incomplete: str) -> list[str]:
    """Accelerators, and all of them."""
    return [*_listed(incomplete, ("all",)), *hardware(ctx, incomplete)]


def acceptances(ctx: typer.Context, incomplete: str) -> list[str]:
    """Models of acceptance, up to their figures, and the packaged curves."""
    from specplan.catalogue.index import Index

    del ctx
    cards = Index("curves").cards.values()
    named = [
        f"{card.name}/{one}" for card in cards for one in str(card.row.get("series", "")).split()
    ]
    return _listed(incomplete, (*(f"{kind}:" for kind in ACCEPTANCES), *named))


def recorded(incomplete: str) -> list[str]:
    """The recordings that ship with specplan; where none fits, the shell offers files."""
    from specplan.catalogue.folders import recordings

    return _listed(incomplete, recordings())


def column(kind: str, name: str) -> Completer:
    """Completes a word of those that stand in a column of the packaged cards' index."""

    def words(incomplete: str) -> list[str]:
        from specplan.catalogue.index import Index

        rows = (card.row.get(name) for card in Index(kind).cards.values())
        found = {word for row in rows if row for word in str(row).split()}
        return _listed(incomplete, sorted(found - {"-"}))

    return words


def _cards(kind: str, ctx: typer.Context) -> list[str]:
    """Names of packaged cards and, if all of them can be read, those in the user's folders."""
    from specplan.catalogue.folders import entries, user_folders

    extra = ctx.params.get("catalogue") or ()
    with suppress(SpecplanError, OSError):
        return list(entries(kind, user_folders(extra)))
    with suppress(SpecplanError, OSError):
        return list(entries(kind, ()))
    return []


def _listed(incomplete: str, words: Iterable[str]) -> list[str]:
    """The words behind the commas already typed."""
    typed, comma, _ = incomplete.rpartition(",")
    return [typed + comma + word for word in words]
