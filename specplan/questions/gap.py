"""What was seen of a deployment against what is predicted for it, and what would explain the rest.

A round as it was seen is tau B over tokens a second: it holds whatever ran between two rounds. Of
the difference to the predicted round it is not known whether plain steps would have it as well;
both ends are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specplan.domain.matched import Load
from specplan.domain.scenario import Scenario
from specplan.physics.prefill import prefill
from specplan.rules.deployed import Deployed


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTimes:
    """Seconds of a plain step and of a round, as predicted, and of the round drafts, verification,
    the host's wait and launches one by one; and of a round as it was seen.
    """

    plain_s: float
    round_s: float
    draft_s: float
    verify_s: float
    host_s: float
    eager_s: float
    seen_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLoad:
    """Tokens a second around one batch, seen where that was told, and predicted."""

    batch: float
    seen_tokens_per_s: float | None
    predicted_tokens_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """`relative` is seen over predicted tokens a second, minus one; `unlike` whether that is more
    than predictions scatter.

    `missing_s` is what the prediction lacks; `prompts_s` what prompts add to a round, where their
    lengths are known; `prompts_tokens_per_s` the prompt tokens a second that would explain all of
    it, None where a round is shorter than predicted, `prompts_seen_tokens_per_s` those that were
    read; `plain_missing_s` what a plain step lacked,
    where one was measured. `speedup_as_predicted` takes plain steps as
    predicted, `speedup_as_slow` adds to each what a round lacks. `at_loads` is where it lies.
    """

    relative: float
    missing_s: float
    prompts_s: float | None
    prompts_tokens_per_s: float | None
    prompts_seen_tokens_per_s: float | None
    plain_missing_s: float | None
    speedup_as_predicted: float
    speedup_as_slow: float | None
    unlike: bool
    at_loads: tuple[AtLoad, ...]


def round_times(d: Deployed) -> RoundTimes | None:
    """The times of a deployment that was predicted."""
    found = d.model
    if found is None:
        return None
    return RoundTimes(
        plain_s=found.plain_step_s,
        round_s=found.round_s,
        draft_s=found.draft_s,
        verify_s=found.verify_s,
        host_s=found.host_s,
        eager_s=found.eager_s,
        seen_s=d.seen.round_s,
    )


def gap_of(d: Deployed, scenario: Scenario, loads: Sequence[Load]) -> Gap | None:
    """The gap of a deployment whose tokens a second, batch and acceptance were seen."""
    found, seen, ratio = d.model, d.seen, d.seen_over_predicted
    if found is None or seen.kept is None or seen.round_s is None or ratio is None:
        return None
    missing_s, tau = seen.round_s - found.round_s, seen.kept.tau
    plain_s = found.plain_step_s
    token_s, prompt, output = _prompts(scenario, found.context)
    return Gap(
        relative=ratio - 1,
        missing_s=missing_s,
        prompts_s=found.batch * prompt * token_s * tau / output if output else None,
        prompts_tokens_per_s=missing_s / token_s / seen.round_s if missing_s > 0 else None,
        prompts_seen_tokens_per_s=seen.prompts_per_s,
        plain_missing_s=seen.plain_step_s - plain_s if seen.plain_step_s else None,
        speedup_as_predicted=tau * plain_s / seen.round_s,
        speedup_as_slow=tau * (plain_s + missing_s) / seen.round_s
        if plain_s + missing_s > 0
        else None,
        unlike=d.unlike,
        at_loads=tuple(_at_load(load, seen.loads) for load in loads),
    )


def _at_load(predicted: Load, seen: Sequence[Load]) -> AtLoad:
    """One load, with what was seen at its batch."""
    rate = next((load.tokens_per_s for load in seen if load.batch == predicted.batch), None)
    return AtLoad(
        batch=predicted.batch,
        seen_tokens_per_s=rate,
        predicted_tokens_per_s=predicted.tokens_per_s or 0.0,
    )


def _prompts(scenario: Scenario, context: float) -> tuple[float, float, float]:
    """Seconds a prompt token, and the tokens of a prompt and of an output, 0 where unknown: B
    prompts run for every B outputs.
    """
    prompt = max(context - scenario.growth, 1.0)
    each = prefill(scenario.setups[0], prompt)
    return each.target_s_per_token + each.draft_s_per_token, prompt, 2 * scenario.growth
