"""What the rules of a deployment (SD) are asked about, and how they answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specplan.domain.habits import Habits
from specplan.domain.observed import Observed
from specplan.rules import Finding, Level, Rule
from specplan.units import significant

TIE = 0.005  # speedups nearer to 1 than this, as measured, neither pay nor lose
GAP = 0.25  # between prediction and what was seen, where no band is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What the cards say of the deployment at the k, batch, context and acceptance observed; SI.

    `round_cost` is in plain steps, `cost_at_one` that of k = 1; `band` is relative. `loses_from`
    and `pays_from` are the first batches, beyond the one observed or below it, at which the k in
    use begins to lose or to pay; `pays_to` the last up to which it pays from batch 1 on.
    `plain_experts` and `round_experts` are shares of all experts read, 0 of a dense target.
    `alone_round_s` is the round with the drafter on one GPU, `drafter_exchange_s` what its passes
    spend on all-reduces. `verify_s` is without the host's wait, `host_s`, and that for launches,
    `eager_s`. `best_k` is of chains: 0 beside a tree, for nobody saw one. Memory is of the fullest
    GPU; `spread_draft_bytes` on as many GPUs as the target. `prefill_token_s` is of one token of a
    prompt, both models.
    """

    k: int
    speedup: float
    low: float
    high: float
    best_k: int
    best_speedup: float
    band: float | None
    batch: float
    context: float
    tokens_per_s: float
    plain_tokens_per_s: float
    plain_step_s: float
    round_s: float
    draft_s: float
    verify_s: float
    host_s: float
    eager_s: float
    graph_rows: int | None
    cost_at_one: float
    pays_to: int
    loses_from: int | None
    pays_from: int | None
    plain_experts: float
    round_experts: float
    drafter_exchange_s: float
    alone_round_s: float
    trained: float | None
    chain_round_s: float | None
    largest: int
    largest_plain: int
    draft_bytes: float
    spread_draft_bytes: float
    draft_prefill_share: float
    prefill_token_s: float = 0.0
    bound: bool

    @property
    def round_cost(self) -> float:
        """A round in plain steps."""
        return self.round_s / self.plain_step_s

    @property
    def regret(self) -> float:
        """The share of speedup that k loses against the best."""
        return 1 - self.speedup / self.best_speedup


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A deployment: what was seen of it, the engine's habits, and what the cards predict, where
    they were named.
    """

    seen: Observed
    habits: Habits
    model: Predicted | None = None

    @property
    def speedup(self) -> float | None:
        """As measured, else as predicted."""
        if self.seen.measured is not None:
            return self.seen.measured
        return self.model.speedup if self.model else None

    @property
    def loses(self) -> bool:
        """Whether it is known to be slower than plain decoding."""
        speedup = self.speedup
        return speedup is not None and speedup < 1 - TIE

    @property
    def round_cost(self) -> float | None:
        """A round in plain steps, as measured, else as predicted."""
        if self.seen.round_cost is not None:
            return self.seen.round_cost
        return self.model.round_cost if self.model else None

    @property
    def plain_step_s(self) -> float | None:
        """A plain step, as measured, else as predicted."""
        if self.seen.plain_step_s is not None:
            return self.seen.plain_step_s
        return self.model.plain_step_s if self.model else None

    @property
    def seen_over_predicted(self) -> float | None:
        """Tokens a second seen over those predicted at the same batch; None where one of them is
        not known, or the prediction is a bound.
        """
        model, seen = self.model, self.seen
        if model is None or model.bound or not seen.rate or not seen.batch or seen.kept is None:
            return None
        return seen.rate / model.tokens_per_s

    @property
    def allowed(self) -> float:
        """How far what is seen may be off before the prediction is of something else."""
        return max(self.model.band or GAP, GAP) if self.model else GAP

    @property
    def unlike(self) -> bool:
        """Whether what was seen is too far off for the prediction to speak of it."""
        ratio = self.seen_over_predicted
        return ratio is not None and abs(ratio - 1) > self.allowed

    @property
    def astray(self) -> bool:
        """Whether the prediction is of something else than what was measured or seen: its best k
        is then no advice for it.
        """
        measured, model = self.seen.measured, self.model
        if measured is None or model is None:
            return self.unlike
        return self.unlike or abs(measured / model.speedup - 1) > self.allowed

    @property
    def over_plain(self) -> float | None:
        """The speedup, were plain steps as long as predicted and what was seen is of the batch that
        they are predicted at, as it is where nobody said which it was.
        """
        model, seen = self.model, self.seen
        if model is None or model.bound:
            return None
        if seen.rate:
            return seen.rate / model.plain_tokens_per_s
        return model.plain_step_s / seen.spec.tpot_s if seen.spec.tpot_s else None

    @property
    def unsure(self) -> bool:
        """Whether what was seen contradicts the prediction of whether it pays: less than plain
        decoding is predicted to yield, or more where it is predicted to lose, and by more than
        predictions scatter.
        """
        over, model = self.over_plain, self.model
        if over is None or model is None or self.seen.measured is not None:
            return False
        return over < 1 <= model.speedup or (self.unlike and over >= 1 > model.speedup)

    @property
    def trained(self) -> float | None:
        """Tokens up to which the drafter was trained."""
        if self.seen.trained is not None:
            return self.seen.trained
        return self.model.trained if self.model else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a rule found: the evidence, what follows from it in numbers, what to do, and the figure
    with the limit that it breaks, where there is one; a title where the rule's own does not fit.
    """

    evidence: str
    consequence: str
    remedy: str
    found: float | None = None
    limit: float | None = None
    level: Level | None = None
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRule(Rule):
    """A rule about a deployment; `look` is None where there is nothing to say."""

    look: Callable[[Deployed], Told | None]


@dataclass(frozen=True, slots=True)
class Symptom(Finding):
    """A finding about a deployment, in parts and as one message."""

    title: str = ""
    told: Told | None = None


def short(value: float, digits: int = 4) -> str:
    """A number as people write it: so many digits, and no zeros that only fill them up."""
    text = significant(value, digits)
    return text.rstrip("0").removesuffix(".") if "." in text else text


def times(value: float) -> str:
    """A speedup as people write it."""
    return f"{value:.2f}x"


def percent(value: float) -> str:
    """A share as people write it."""
    return f"{100 * value:.0f} %"
