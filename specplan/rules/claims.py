"""Whether a measured speedup is one: what SD041, SD042 and SD049 find."""

from __future__ import annotations

from specplan.domain.observed import Kept
from specplan.rules.deployed import Deployed, Told, short, times

ROUNDING = 0.02
BELOW_ONE = 0.995  # plain steps a round: less is told as 0.99


def incomparable(d: Deployed) -> bool:
    """Whether the measured speedup is of two runs that cannot be compared."""
    return d.seen.measured is not None and (d.seen.plain_eager or _beyond_tau(d) is not None)


def _most(kept: Kept, d: Deployed) -> float:
    """The largest speedup that what was kept allows, within its scatter."""
    most = max(kept.tau, kept.high or 0.0)
    if d.model and d.model.round_cost < 1:  # a plain step pays for what a round does not
        most /= d.model.round_cost
    return most


def _beyond_tau(d: Deployed) -> float | None:
    """The same, where the measured one is above it."""
    measured, kept = d.seen.measured, d.seen.kept
    if measured is None or kept is None:
        return None
    most = _most(kept, d)
    return most if measured > most * (1 + ROUNDING) else None


def impossible(d: Deployed) -> Told | None:
    """SD041: a speedup above the tokens of a round."""
    measured, kept, most = d.seen.measured, d.seen.kept, _beyond_tau(d)
    if measured is None or kept is None:
        return None
    if most is None:
        top = max((measured, *(one.speedup for one in d.seen.both)))
        return _barely(kept, top, d) if kept.tau / top < BELOW_ONE else None
    return Told(
        evidence=f"{times(measured)} measured at {kept.tau:.2f} tokens a round",
        consequence="a round takes no less than a plain step, so no speedup exceeds tau: the "
        f"run without was {times(measured / most)} slower than this one's own steps",
        remedy="run both on the same prompts, batch, graph mode and version, and compare again",
        found=measured,
        limit=most,
    )


def _barely(kept: Kept, measured: float, d: Deployed) -> Told:
    """A round shorter than a plain step, as far as the figures can be trusted."""
    cheap = d.model is not None and d.model.round_cost < 1
    loads = [one for one in d.seen.both if one.speedup == measured]
    at = f" at batch {short(loads[0].batch, 3)}" if loads else ""
    why = f"the scatter of acceptance, up to {max(kept.tau, kept.high or 0.0):.2f}, would explain"
    if cheap and d.model:
        why = f"a round is predicted to take {d.model.round_cost:.2f} plain steps, which explains"
    if measured > _most(kept, d) * (1 + ROUNDING):
        cheap, why = False, "no scatter explains"
    return Told(
        evidence=f"{times(measured)} measured{at} at {kept.tau:.2f} tokens a round",
        consequence=f"a round took {kept.tau / measured:.2f} plain steps, less than one; {why} it",
        remedy="make sure that both ran the same prompts, batch, graph mode and version; measure "
        "for longer",
        found=measured,
        limit=kept.tau,
        level="note" if cheap else "warning",
    )


def apart(d: Deployed) -> Told | None:
    """SD049: two runs that had no load in common."""
    seen = d.seen
    if not seen.apart or not seen.batch or not seen.plain_batch:
        return None
    consequence = "their tokens a second are not of one load: no speedup follows from them"
    if seen.measured is not None:
        consequence = (
            f"times per token are compared, {times(seen.measured)}, not tokens a second; they grow "
            "with the batch too"
        )
    return Told(
        evidence=f"{short(round(seen.batch, 1))} requests ran with speculation, "
        f"{short(round(seen.plain_batch, 1))} without",
        consequence=consequence,
        remedy="run both with as many requests at a time, or name a batch that both had (-b); of "
        "logs that hold several, those that both have are compared",
        found=seen.batch,
        limit=seen.plain_batch,
    )


def eager(d: Deployed) -> Told | None:
    """SD042: a speedup over a run without CUDA graphs."""
    seen, model = d.seen, d.model
    if not seen.plain_eager:
        return None
    claimed = seen.measured
    consequence = "the real baseline runs CUDA graphs, and is faster by every launch it saves"
    if model and seen.rate:
        fair = seen.rate / model.plain_tokens_per_s
        consequence = f"against the {model.plain_tokens_per_s:,.0f} tok/s predicted with graphs "
        consequence += f"it is {times(fair)}"
    return Told(
        evidence=f"{times(claimed)} over an eager run" if claimed else "the run without was eager",
        consequence=consequence,
        remedy="measure the baseline as it would be served: graphs on, overlap on",
        found=claimed,
    )
