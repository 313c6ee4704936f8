"""Why a candidate is not compared: what does not fit its target, what nobody knows, what lacks."""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.contest import Candidate
from specplan.domain.drafter import Draws
from specplan.domain.model import Model
from specplan.domain.scenario import Setup
from specplan.errors import Refused
from specplan.physics.survival import fires
from specplan.questions.bills import MemoryBill
from specplan.rules.drafters import made_for_others, unfit
from specplan.units import people

UNKNOWN = "needs an acceptance"


def reason_against(candidate: Candidate, end: float) -> str:
    """What speaks against a candidate whose sequences reach `end` tokens, in one line, or nothing:
    what is wrong with the pair first, then what is not known of it.
    """
    setup = candidate.setup
    if candidate.reason or setup is None:
        return candidate.reason
    return next(_against(candidate, setup, end), "")


def _against(candidate: Candidate, setup: Setup, end: float) -> Iterator[str]:
    model = setup.draft.model
    if model is not None:
        wrong = [finding.message for finding in unfit(model, setup.target)]
        if wrong:
            yield "; ".join(wrong)
        other = made_for_others(model, setup.target)
        if other and not candidate.own and not _same_tokens(model, setup.target):
            yield f"{other}; with its own acceptance it is compared: -a {setup.draft.label}=0.5"
    yield from _rateless(setup)
    given = candidate.acceptance
    if not candidate.plain and (given is None or _is_no_lookups(candidate, setup)):
        yield _unknown(setup)
    acceptance = candidate.acceptance
    measured = candidate.own or (acceptance is not None and acceptance.by_context)
    if model is not None and not measured and _shorter(model, setup.target, end):
        yield (
            f"trained on {people(model.trained_context or 0, 'tokens')} tokens, and sequences "
            f"reach {people(end, 'tokens')}: acceptance falls beyond; with its own it is "
            f"compared: -a {setup.draft.label}=0.5"
        )


def _same_tokens(draft: Model, target: Model) -> bool:
    """Whether both count as many tokens, as far as their cards tell: heads with a vocabulary of
    their own do not.
    """
    own, whole = draft.architecture, target.architecture
    return own is not None and whole is not None and own.vocab == whole.vocab


def _is_no_lookups(candidate: Candidate, setup: Setup) -> bool:
    """Whether an acceptance that all share says nothing of how often a lookup finds anything."""
    given = candidate.acceptance
    return setup.draft.adapts and not candidate.own and given is not None and fires(given, 1) == 1


def _rateless(setup: Setup) -> Iterator[str]:
    """Weights that the accelerator cannot multiply."""
    stored = [setup.dtype] if setup.draft.model is None else [setup.dtype, setup.draft_dtype]
    for dtype in stored:
        try:
            setup.hardware.compute_dtype(dtype)
        except Refused as error:
            yield error.said


def _unknown(setup: Setup) -> str:
    """What to say of the acceptance that nobody gave."""
    label = setup.draft.label
    if setup.draft.draws is Draws.LOOKUP and setup.draft.adapts:
        return f"needs how often it finds drafts and what is kept: -a {label}=burst:.2@3.1"
    return f"{UNKNOWN}: -a {label}=0.7"


def _shorter(model: Model, target: Model, end: float) -> bool:
    """Whether a drafter was trained on less than is asked for; what is made of the target is as
    good there as the target.
    """
    trained = model.trained_context
    return trained is not None and trained < end and model.name != target.name


def too_large(bill: MemoryBill, batch: float, shortfall_bytes: float) -> str:
    """That a batch does not fit, what it lacks and how many sequences do fit."""
    needed = people(bill.usable_bytes + shortfall_bytes, "B")
    lacking = people(shortfall_bytes, "B")
    most = f"; {bill.largest_batch:,} would fit" if bill.largest_batch else ""
    return (
        f"batch {batch:,.0f} at {people(bill.context, 'tokens')} tokens needs {needed} a GPU, "
        f"{lacking} more than there is{most}"
    )
