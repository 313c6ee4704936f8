"""What was seen of a deployment: measured figures and settings, from flags or from a capture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specplan.cli import grammar
from specplan.cli.acceptance import acceptances
from specplan.cli.figures import Figures
from specplan.cli.mixes import flag_of
from specplan.cli.paces import runs_seen
from specplan.cli.planned import planned
from specplan.cli.ran import counted_in, k_said
from specplan.cli.tiers import tiers
from specplan.cli.told import k_of, way_of
from specplan.domain.acceptance import Acceptance, Alpha, Conditional, Unconditional
from specplan.domain.answer import Scalar
from specplan.domain.capture import Capture
from specplan.domain.habits import Habits
from specplan.domain.heads import WAYS
from specplan.domain.observed import LOOKUPS, Kept, Observed
from specplan.domain.scenario import Scenario, Setup
from specplan.errors import UsageError, Where, placed
from specplan.physics.survival import survival, tokens_of

if TYPE_CHECKING:
    from specplan.cli.diagnosed import Asked

UNKNOWN = Alpha(0.0)  # stands for a curve, which is not looked up
NORMAL = 1.96  # standard deviations on either side of 95 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What ran: engine, its version and habits, the k in use, and what was accepted."""

    engine: str
    version: str | None
    k: int | None
    model: Acceptance | None
    habits: Habits


def observed(asked: Asked, point: Point, figures: Figures, scenario: Scenario | None) -> Observed:
    """Everything seen, flags above the capture. With a scenario, at its point."""
    capture, told = asked.capture, asked.capture.told if asked.capture else {}
    setup = scenario.setups[0] if scenario else None
    model = scenario.acceptance[0] if scenario else point.model
    context = _context(asked, scenario)
    typed = _said(asked, "batch", grammar.batches) if _not_seen(asked) else None
    run = runs_seen(capture, asked.plain, figures, typed)
    seen_batch = capture.batch if capture and typed is None else None
    graphs = _graphs(told) if figures.graphs_up_to is None else figures.graphs_up_to
    tree = _tree(figures, told, point.k)
    return Observed(
        engine=point.engine,
        version=point.version,
        way=setup.draft.kind if setup else _way(asked, point),
        k=point.k,
        kept=_kept(asked, point, model, context or 0.0),
        before=_before(asked, figures, point),
        batch=run.batch,
        planned=_planned(asked, point, context or 0.0),
        batch_low=seen_batch.low if seen_batch else None,
        batch_high=seen_batch.high if seen_batch else None,
        loads=run.loads,
        plain_batch=run.plain_batch,
        plain_loads=run.plain_loads,
        both=run.both,
        waiting=capture.waiting.mean if capture and capture.waiting else None,
        prompts_per_s=_prompts(capture),
        context=context,
        spec=run.spec,
        plain=run.plain,
        plain_eager=figures.plain_eager,
        speedup=figures.seen_speedup,
        topk=tree[0],
        draft_tokens=tree[1],
        max_batch=figures.max_batch or _int(told, "max_batch"),
        graphs=graphs,
        graph_rows=graphs if point.habits.graphs_in == "rows" or graphs == 0 else None,
        schedule=tiers(figures.schedule or str(told.get("schedule", ""))),
        dataset=figures.dataset or str(told.get("dataset", "")),
        same_prompt=figures.same_prompt,
        tp=setup.tp if setup else _whole(asked, "tp"),
        draft_tp=setup.draft_tp if setup else _whole(asked, "draft_tp"),
        trained=figures.trained_context,
        n_predict=figures.modules or _modules(setup),
        traps=capture.traps if capture else (),
        contradictions=capture.contradictions if capture else (),
    )


def _prompts(capture: Capture | None) -> float | None:
    """Tokens of prompts a second, where the capture says it."""
    prompts = capture.prompt_tokens_per_s if capture else None
    return prompts.mean if prompts else None


def _not_seen(asked: Asked) -> bool:
    """Whether the batch is what somebody says, not what a capture does."""
    return "batch" in asked.flags or asked.capture is None or asked.capture.batch is None


def _context(asked: Asked, scenario: Scenario | None) -> float | None:
    """Tokens of a sequence at its longest, if anybody said how long they are."""
    context = _said(asked, "context", grammar.contexts)
    if scenario and (context is not None or "isl" in scenario.inputs):
        return scenario.context[0] + scenario.growth
    return context


def _modules(setup: Setup | None) -> int | None:
    """Modules of an MTP drafter, by its card."""
    drafts = setup.draft.model.drafts if setup and setup.draft.model else None
    return drafts.modules if drafts and drafts.kind == "mtp" else None


def _kept(asked: Asked, point: Point, model: Acceptance | None, context: float) -> Kept | None:
    """What was accepted: the capture's figures, unless a flag says otherwise."""
    if asked.kept is not None:
        return kept_by(asked.kept)
    return None if model is None or point.k is None else kept_of(model, point.k, context)


def kept_by(capture: Capture) -> Kept | None:
    """What a capture says was kept."""
    if capture.tokens_per_round is None:
        return None
    return Kept(
        tau=capture.tokens_per_round,
        k=k_of(capture),
        low=capture.tokens_per_round_low,
        high=capture.tokens_per_round_high,
        per_position=capture.per_position,
        rounds=capture.effective_rounds,
        alpha=capture.alpha,
        said=capture.source,
    )


def kept_of(model: Acceptance, k: int, context: float) -> Kept:
    """What a model of acceptance says is kept at k."""
    tau = float(tokens_of(model, (k,), context)[0])
    low = high = None
    rates: tuple[float, ...] = ()
    if isinstance(model, Alpha) and model.sd:
        ends = (model.alpha - NORMAL * model.sd, model.alpha + NORMAL * model.sd)
        low, high = (float(tokens_of(Alpha(min(max(end, 0.0), 1.0)), (k,))[0]) for end in ends)
    if isinstance(model, Conditional | Unconditional):
        rates = tuple(survival(model, min(k, len(model.rates)), context).tolist())
    return Kept(tau=tau, k=k, low=low, high=high, per_position=rates, said=str(model))


def _before(asked: Asked, figures: Figures, point: Point) -> Kept | None:
    """What was kept earlier: of the first of two captures, or of --before."""
    if figures.before is None:
        return kept_by(asked.before) if asked.before else None
    file = counted_in((figures.before,), "--before")
    if file is not None:
        return kept_by(file.capture)
    with placed(Where("--before")):
        models = acceptances((figures.before,))
        if len(models) != 1:
            raise UsageError(f"{len(models)} acceptances", expected="one, such as length:3.53@5")
        (model,) = models
        k = k_said(model) or point.k
        if k is None:
            raise UsageError("an acceptance without its k", expected="length:3.53@5, or -k 5")
    return kept_of(model, k, 0.0)


def _planned(asked: Asked, point: Point, context: float) -> Kept | None:
    """What the plan expects to be kept, where a capture says what was."""
    own = planned(asked.plan).get("acceptance") if asked.plan else None
    if own is None or asked.capture is None or point.k is None:
        return None
    with placed(own.where):
        models = acceptances(own.texts, curves=lambda _: UNKNOWN)
    if len(models) != 1 or models[0] is UNKNOWN:
        return None
    return kept_of(models[0], point.k, context)


def _way(asked: Asked, point: Point) -> str:
    """How it drafts where no card says: as -d was typed, or the engine's own word."""
    text = asked.text("draft")
    if text is not None:
        kind = text.partition(":")[0].lower()
        return kind if kind in {*LOOKUPS, *WAYS} else "model"
    return way_of(asked.capture, point.habits) if asked.capture else ""


def _said(asked: Asked, name: str, parse: object) -> float | None:
    """The one value of an axis, if somebody gave one."""
    text = asked.text(name)
    if text is None or not callable(parse):
        return None
    with placed(Where(flag_of(name))):
        values = parse((text,))
        if len(values) != 1:
            raise UsageError(
                f"diagnose is about one point, not {len(values)} of {name}", hint="give one"
            )
    return float(values[0])


def _whole(asked: Asked, name: str) -> int | None:
    value = _said(asked, name, grammar.whole_axis)
    return None if value is None else int(value)


def _int(told: Mapping[str, Scalar], name: str) -> int | None:
    value = told.get(name)
    return int(value) if isinstance(value, int | float) and value >= 1 else None


def _tree(
    figures: Figures, told: Mapping[str, Scalar], k: int | None
) -> tuple[int | None, int | None]:
    """Children of a node, and tokens verified; refuses half of a tree."""
    topk = figures.topk or _int(told, "topk")
    nodes = figures.draft_tokens or _int(told, "draft_tokens")
    if figures.topk and figures.topk > 1 and nodes is None:
        raise UsageError(
            "how many tokens does the tree verify?",
            where=Where("--draft-tokens"),
            expected="the number with the root, such as 16",
        )
    if figures.draft_tokens and topk is None and k and figures.draft_tokens != k + 1:
        raise UsageError(
            f"{figures.draft_tokens} tokens of k = {k} are a tree: how many children has a node?",
            where=Where("--topk"),
            expected=f"a number above 1; a chain verifies {k + 1}",
        )
    return topk, nodes


def _graphs(told: Mapping[str, Scalar]) -> int | None:
    """The width of CUDA graphs, 0 where they are off."""
    return 0 if told.get("eager") is True else _int(told, "graphs_up_to")
