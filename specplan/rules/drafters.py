"""Whether a drafter's card holds together, and fits a target: one comparison for cards and plans.

A drafter's `vocab` is that of the head it uses. Its own head may know fewer tokens than the target
(EAGLE-3 maps them); a head that it borrows, a draft model and heads side by side know the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from specplan.domain.model import Model
from specplan.errors import SpecplanError
from specplan.rules import Finding, KeyPath, Rule
from specplan.rules.shapes import SHAPELESS

_MOST_SHOWN = 3
_LONGER = 2  # times the context of the target: heads may be trained past it, scaled

UNTARGETED = Rule(
    id="SC032",
    level="warning",
    title="drafter of a target that is not there",
    what="`drafts.targets` names a model that no card has, whose card cannot be read or that only "
    "drafts itself; or it is there and names none.",
    why="Nothing can be compared with it, and who looks for its drafters never finds this one.",
    remedy="Write the name of a model's card, or check its card in the same run.",
)
MISFIT = Rule(
    id="SC034",
    level="warning",
    title="drafter of another width",
    what="States, embedding or head that a drafter takes from its target have another width there.",
    why="Engines refuse the pair, or load shapes that do not multiply: it is of another target.",
    remedy="Correct `targets`, or hidden and fuse_width: as wide as the hidden states it joins.",
)
TONGUES = Rule(
    id="SC035",
    level="warning",
    title="drafter of another vocabulary",
    what="A drafter knows tokens that its target does not, or borrows a head of another size.",
    why="Engines want one vocabulary; only a head of its own may know fewer tokens.",
    remedy="Correct `targets` or `vocab`: of the padded table, as the checkpoint stores it.",
)
SHORTER = Rule(
    id="SC036",
    level="note",
    title="drafter trained on shorter contexts",
    what="The trained context of a drafter is shorter than its target's.",
    why="Engines draft beyond it all the same, and fewer tokens are accepted there.",
    remedy="Measure acceptance at the contexts that are served.",
)
LONGER = Rule(
    id="SC043",
    level="warning",
    title="drafter trained on longer contexts",
    what="The trained context of a head is more than twice its target's.",
    why="A head learns from the hidden states of its target, and it has none beyond its own.",
    remedy="Correct trained_context of one of them: configs copy positions of other models.",
)
DRAFTER_RULES = (UNTARGETED, SHAPELESS, MISFIT, TONGUES, SHORTER, LONGER)


def untargeted(number: int, name: str, error: SpecplanError) -> Finding:
    """SC032: what stood in the way of the target of that number."""
    said = "; ".join(filter(None, (error.what, error.hint)))
    path = ("drafts", "targets", number)
    return Finding(UNTARGETED.id, UNTARGETED.level, f"target {name}: {said}", path)


def no_target(number: int, draft: Model, target: Model) -> Iterator[Finding]:
    """SC032: the target of that number is a head, or the drafter itself."""
    path = ("drafts", "targets", number)
    if target.name == draft.name:
        message = f"target {target.name} is this card itself"
    elif target.drafts and target.drafts.kind != "model":
        message = f"target {target.name} drafts for a target itself ({target.drafts.kind})"
    else:
        return
    yield Finding(UNTARGETED.id, UNTARGETED.level, message, path)


def targetless() -> Finding:
    """SC032: targets were written and are none."""
    message = "`targets` names none: write the model that it was trained for, or leave the key out"
    return Finding(UNTARGETED.id, UNTARGETED.level, message, ("drafts", "targets"))


def unfit(draft: Model, target: Model) -> Iterator[Finding]:
    """SC034 and SC035: what a drafter takes from a target and would not find there so."""
    yield from _widths(draft, target)
    yield from _vocabularies(draft, target)


def shorter(draft: Model, target: Model) -> Iterator[Finding]:
    """SC036: the drafter was trained on shorter contexts than the target."""
    trained, whole = draft.trained_context, target.trained_context
    if trained is not None and whole is not None and trained < whole:
        message = (
            f"trained on {trained:,} tokens and {target.name} on {whole:,}: acceptance falls beyond"
        )
        yield Finding(SHORTER.id, SHORTER.level, message, ("trained_context",))


def longer(draft: Model, target: Model) -> Iterator[Finding]:
    """SC043: a head was trained on contexts that its target cannot have shown it."""
    trained, whole = draft.trained_context, target.trained_context
    if trained is None or whole is None or draft.drafts is None or draft.drafts.kind == "model":
        return
    if trained > _LONGER * whole:
        message = (
            f"trained on {trained:,} tokens and {target.name} on {whole:,}: "
            "more than twice what its target knows"
        )
        yield Finding(LONGER.id, LONGER.level, message, ("trained_context",))


def made_for_others(draft: Model, target: Model) -> str:
    """A sentence where the drafter names its targets and this is none of them, else nothing. Any
    model of the family drafts for any other that is larger.
    """
    if draft.drafts is None or (draft.drafts.kind == "model" and draft.family == target.family):
        return ""
    named = draft.drafts.targets
    if not named or {target.name, *target.aliases} & set(named):
        return ""
    more = len(named) - _MOST_SHOWN
    shown = " and ".join(named[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"{draft.name} was made for {shown}, not for {target.name}"


def _widths(draft: Model, target: Model) -> Iterator[Finding]:
    """SC034: hidden states first; where they fit, the embedding and head that are borrowed."""
    whole, own = target.architecture, draft.architecture
    heads = draft.medusa or draft.speculator
    if whole is None:
        return
    if own is None:
        if heads and heads.hidden != whole.hidden:
            key = "medusa" if draft.medusa else "speculator"
            yield _joins(draft, target, heads.hidden, whole.hidden, (key, "hidden"))
        return
    joined = own.fuse_width or own.hidden
    if own.fuse and joined != whole.hidden:
        key = "fuse_width" if own.fuse_width else "hidden"
        yield _joins(draft, target, joined, whole.hidden, ("architecture", key))
    elif own.hidden != whole.hidden:
        borrowed = (
            (own.borrowed_head, "head", "borrowed_head"),
            (
                own.fuse > 0 and own.tied_embeddings,
                "embedding",
                "tied_embeddings",
            ),
        )
        for borrows, part, key in borrowed:
            if borrows:
                message = (
                    f"{draft.name} is {own.hidden:,} wide and borrows the {part} of "
                    f"{target.name}, which is {whole.hidden:,}"
                )
                yield Finding(MISFIT.id, MISFIT.level, message, ("architecture", key))


def _joins(draft: Model, target: Model, joined: int, there: int, path: KeyPath) -> Finding:
    message = (
        f"{draft.name} joins hidden states {joined:,} wide and those of {target.name} are "
        f"{there:,}: it was made for another target"
    )
    return Finding(MISFIT.id, MISFIT.level, message, path)


def _vocabularies(draft: Model, target: Model) -> Iterator[Finding]:
    """SC035: more tokens than the target's, or other ones where they must be the same."""
    shape, whole = draft.shape, target.architecture
    if shape is None or whole is None or shape.vocab == whole.vocab:
        return
    own = draft.architecture
    if own is not None and own.fuse and not own.borrowed_head and own.vocab < whole.vocab:
        return
    message = (
        f"{draft.name} drafts from {shape.vocab:,} tokens and {target.name} has "
        f"{whole.vocab:,}: engines want one vocabulary"
    )
    key = "architecture" if own else "medusa" if draft.medusa else "speculator"
    yield Finding(TONGUES.id, TONGUES.level, message, (key, "vocab"))
