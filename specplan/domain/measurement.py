"""What others measured, one figure at a time, and the constants that have not met a figure.

Five kinds of row say how long something took on a GPU (a matrix product, decode attention, a layer
of experts, a step, an output token of a server), a sixth by how much speculation was faster. What
a source left out and we filled in is named in `assumed`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal, TypeAlias

from annotated_types import Ge, Le, MaxLen, MinLen

from specplan.domain.card import Count, Dtype, Name, Pattern, Source, Strict, Text
from specplan.domain.engine import Decode, Engine, Gemm, Grouped, Kernels, Seconds
from specplan.domain.version import Version
from specplan.errors import Misfit, did_you_mean
from specplan.visible import visible

Kind: TypeAlias = Literal["gemm", "attention", "experts", "step", "tpot", "round"]

NEEDS: dict[str, tuple[str, ...]] = {
    "gemm": ("dtype", "rows", "n", "inner"),
    "attention": ("kv_dtype", "batch", "context", "heads", "kv_heads", "head_dim"),
    "experts": ("dtype", "gpus", "rows", "experts", "active", "hidden", "width"),
    "step": ("target", "gpus", "batch", "context"),
    "tpot": ("target", "gpus", "batch", "isl", "osl"),
    "round": ("target", "draft", "gpus", "batch", "context", "k", "tokens", "tau"),
}
"""The columns without which a row of a kind cannot be predicted."""

ORACLE = "oracle"
"""How rows call drafts replayed from the target's own output, which cost nothing."""
DRAFT_PATTERN = (
    r"^([a-z0-9][a-z0-9._-]{0,63}|ratio:(10(\.0{0,12})?|[0-9](\.[0-9]{0,12})?|\.[0-9]{1,12})"
    r"|skip:0?\.[0-9]{1,12}|lookahead:[1-9][0-9]{0,2}x[1-9][0-9]{0,2})$"
)
"""A card, a kind of drafter, or what a draft pass costs of a plain step."""
Fold = Annotated[str, MinLen(1), MaxLen(64)]
Gpus = Annotated[int, Ge(1), Le(1_024)]
Batch = Annotated[int, Ge(1), Le(1_000_000)]
Length = Annotated[int, Ge(1), Le(100_000_000)]
MOST_ROWS = 1_000_000
"""Rows of a pass, so that every row is timed at once: several times what any engine takes."""
ORDERED = (
    *(("kv_heads", "heads"), ("active", "experts"), ("tau", "tokens")),
    *(("active", "touched"), ("touched", "experts")),
)
"""Columns of which the first is at most the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Strict):
    """One measured figure: `value` in seconds, or as a ratio for a round's speedup.

    gemm: `rows` x `inner` by `inner` x `n`. attention: one query of each of `batch` sequences.
    experts: `rows` tokens through the slices of one of `gpus`, which reach `touched` experts (left
    out: as many as independent tokens). step, tpot, round: `gpus` hold the target, in
    `attention_dp` groups of `batch` sequences each; `tokens` of each are verified, the root
    included. `fold` names the group whose constants must not have met the row.
    """

    kind: Kind
    source: Text
    licence: Text | None = None
    url: Annotated[str, Pattern(r"^https://[^\s]+$"), MaxLen(300)] | None = None
    engine: Name
    version: Version | None = None
    gpu: Name
    gpus: Gpus | None = None
    attention_dp: Gpus | None = None
    ep: Gpus | None = None
    target: Name | None = None
    draft: Annotated[str, Pattern(DRAFT_PATTERN)] | None = None
    dtype: Dtype | None = None
    kv_dtype: Dtype | None = None
    batch: Batch | None = None
    tokens: Batch | None = None
    context: Length | None = None
    isl: Length | None = None
    osl: Length | None = None
    k: Annotated[int, Ge(0), Le(1024)] | None = None
    tau: Annotated[float, Ge(1), Le(1025)] | None = None
    rows: Annotated[int, Ge(1), Le(MOST_ROWS)] | None = None
    n: Count | None = None
    inner: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Annotated[int, Ge(1), Le(1_024)] | None = None
    experts: Count | None = None
    active: Count | None = None
    hidden: Count | None = None
    width: Count | None = None
    touched: Annotated[float, Ge(1), Le(1_000_000)] | None = None
    value: Annotated[float, Ge(1e-9), Le(1e5)]
    unit: Literal["s", "1"]
    fold: Fold | None = None
    assumed: Annotated[tuple[Name, ...], MaxLen(16)] = ()
    note: Text | None = None

    def __post_init__(self) -> None:
        """Refuses a row that could not be predicted."""
        missing = [name for name in NEEDS[self.kind] if getattr(self, name) is None]
        if missing:
            raise Misfit(
                f"{_a(self.kind)} row without {', '.join(missing)}",
                key=(missing[0],),
                expected=f"{', '.join(NEEDS[self.kind])} in every such row",
                hint="fill what the source left out and name it in assumed",
            )
        unit = "1" if self.kind == "round" else "s"
        if self.unit != unit:
            what = f"{_a(self.kind)} row in '{self.unit}'"
            raise Misfit(what, key=("unit",), expected=f"unit '{unit}'")
        for name in self.assumed:
            if name not in COLUMNS:
                raise Misfit(
                    f"assumed names no column '{visible(name, 60)}'",
                    key=("assumed",),
                    expected="names of columns, blanks between them",
                    hint=did_you_mean(name, COLUMNS),
                )
        self._possible()

    def _possible(self) -> None:
        """Refuses what nobody can have measured, and passes too wide to be timed."""
        for less, more in ORDERED:
            low, high = getattr(self, less), getattr(self, more)
            if low is not None and high is not None and low > high:
                raise Misfit(
                    f"{less} {low:g} of {high:,} {more}", key=(less,), expected=f"at most {more}"
                )
        if self.k == 0 and self.draft is not None:
            hint = "a plain step is a row of kind step"
            raise Misfit("k 0 with a draft", key=("k",), expected="at least 1", hint=hint)
        if self.kind == "round":
            self._possible_round()
        rows, says = float((self.batch or 1) * (self.tokens or 1)), "batch x tokens"
        if self.kind == "tpot" and self.isl and self.osl:
            rows, says = (self.batch or 1) * (1 + self.isl / self.osl), "batch x (1 + isl / osl)"
        if rows > MOST_ROWS:
            what = f"{rows:,.0f} rows in a pass"
            raise Misfit(what, key=("batch",), expected=f"{says} of at most {MOST_ROWS:,}")

    def _possible_round(self) -> None:
        """Refuses rounds that yield more than their drafts, or verify fewer than they drafted."""
        deepest = (self.k or 0) + 1
        if self.tau is not None and self.tau > deepest:
            what = f"tau {self.tau:g} after {self.k} drafts"
            raise Misfit(what, key=("tau",), expected=f"at most {deepest}, k + 1")
        if self.tokens is not None and self.tokens < deepest:
            what = f"{self.tokens} tokens verified after {self.k} drafts"
            raise Misfit(what, key=("tokens",), expected=f"at least {deepest}, k + 1")

    @property
    def doubtful(self) -> bool:
        """Whether the note says why the figure may not be what its columns describe."""
        return "doubt:" in (self.note or "")


COLUMNS = tuple(field.name for field in fields(Measurement))
"""The header of every file of measurements, in this order."""

WORDS = frozenset(
    (
        *("kind", "source", "licence", "url", "engine", "version", "gpu", "target", "draft"),
        *("dtype", "kv_dtype", "unit", "fold", "assumed", "note"),
    )
)
"""The columns that hold no numbers."""


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ae" else f"a {kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host(Strict):
    """Host time of plain steps, of each request in one, of rounds and of each draft pass."""

    host: Seconds
    host_per_sequence: Seconds = 0.0
    round_host: Seconds
    draft_host: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Strict):
    """Constants of an engine's kernels (or host) from every row but those of one fold."""

    engine: Name
    gpu: Name | None = None
    dtype: Dtype | None = None
    fold: Fold
    gemm: Gemm | None = None
    attention: Decode | None = None
    experts: Grouped | None = None
    host: Host | None = None

    def __post_init__(self) -> None:
        """Exactly one set of constants, and for kernels where they run."""
        given = [n for n in ("gemm", "attention", "experts", "host") if getattr(self, n)]
        if len(given) != 1:
            raise Misfit(
                f"a fit of {' and '.join(given) or 'nothing'}",
                expected="one of gemm, attention, experts, host",
            )
        if given != ["host"] and (self.gpu is None or self.dtype is None):
            raise Misfit(f"a fit of {given[0]} without gpu or dtype", expected="both")

    @property
    def what(self) -> str:
        """Which set it holds: gemm, attention, experts, host."""
        return next(n for n in ("gemm", "attention", "experts", "host") if getattr(self, n))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut(Strict):
    """For each fold of the measurements that engines were fitted to, the constants without it."""

    schema: Literal["held-out/1"]
    about: Text
    sources: Annotated[tuple[Source, ...], MinLen(1)]
    fits: tuple[Fit, ...] = ()

    def unseen(self, engine: Engine, row: Measurement) -> Engine | None:
        """The engine with kernels that have not met a kernel row; None where no fit left it out."""
        dtype = row.kv_dtype if row.kind == "attention" else row.dtype
        key = (row.engine, row.gpu, dtype, row.fold, row.kind)
        fit = next(
            (f for f in self.fits if (f.engine, f.gpu, f.dtype, f.fold, f.what) == key), None
        )
        kernels = engine.on(row.gpu)
        if fit is None or kernels is None or dtype is None:
            return None
        others = tuple(k for k in engine.kernels if k is not kernels)
        return replace(engine, kernels=(_with(kernels, fit, dtype), *others))

    def each_fold(self, engine: Engine, gpu: str) -> tuple[Engine, ...]:
        """The engine with all kernels that a fold of shapes was left out of, for each fold."""
        kernels = engine.on(gpu)
        ours = [f for f in self.fits if (f.engine, f.gpu) == (engine.name, gpu)]
        shaped = [f for f in ours if f.what in {"gemm", "attention"} and f.dtype]
        if kernels is None or not shaped:
            return ()
        others = tuple(k for k in engine.kernels if k is not kernels)
        found = []
        for fold in sorted({f.fold for f in shaped}):
            unseen = kernels
            for fit in shaped:
                if fit.fold == fold and fit.dtype:
                    unseen = _with(unseen, fit, fit.dtype)
            found.append(replace(engine, kernels=(unseen, *others)))
        return tuple(found)

    def host(self, engine: str, fold: str) -> Host | None:
        """Host constants of an engine that have not met the rounds of a fold."""
        return next((f.host for f in self.fits if (f.engine, f.fold) == (engine, fold)), None)


def _with(kernels: Kernels, fit: Fit, dtype: Dtype) -> Kernels:
    """Kernels in which a fit's constants stand in the place of those fitted to everything."""
    if fit.gemm:
        return replace(kernels, gemm={**kernels.gemm, dtype: fit.gemm})
    if fit.attention:
        return replace(kernels, attention={**kernels.attention, dtype: fit.attention})
    if fit.experts:
        return replace(kernels, experts={**kernels.experts, dtype: fit.experts})
    return kernels
