"""What can be wrong with the other cards that an engine's card names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from specplan.domain.engine import Engine
from specplan.errors import SpecplanError, did_you_mean
from specplan.rules import Finding, KeyPath, Rule

STRANGER = Rule(
    id="SC013",
    level="warning",
    title="accelerator of no card",
    what="`gpus` or `stand_in` of an engine names an accelerator that no card has.",
    why="Kernels are found by the name of a hardware card, so that these would never be used.",
    remedy="Write the card's own name, no alias; or check the hardware card in the same run.",
)
UNFOLLOWED = Rule(
    id="SC014",
    level="error",
    title="engine that cannot be followed",
    what="`follows` of an engine names a card that is not there, cannot be read, or leads back.",
    why="What the card does not state comes from there; every plan that names it is refused.",
    remedy="Name an engine there is; or check its card in the same run.",
)


LACKING = Rule(
    id="SC015",
    level="error",
    title="engine that cannot time a pass",
    what="An engine that is no bound has no small operations, no kernels or no releases.",
    why="All three are in every pass, and nothing it follows has them: it prices nothing.",
    remedy="Write `follows: vllm` to take what the card does not state from vLLM, or state them.",
)


def strangers(
    card: Engine, names: Collection[str], answer: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """SC013: each accelerator that is none of the `names` of cards; `answer` are the cards that
    answer to each name or alias.
    """
    for path, gpu in _accelerators(card):
        if gpu not in names:
            meant = "".join(f"write {name}, as its card is named" for name in answer.get(gpu, ()))
            hint = meant or did_you_mean(gpu, answer)
            message = f"no hardware card is named '{gpu}'{hint and f'; {hint}'}"
            yield Finding(STRANGER.id, STRANGER.level, message, path)


def unfollowed(card: Engine, error: SpecplanError) -> Iterator[Finding]:
    """SC014: what stood in the way of the engine that the card follows."""
    said = "; ".join(filter(None, (error.what, error.hint)))
    message = f"{card.follows} cannot be followed: {said}"
    yield Finding(UNFOLLOWED.id, UNFOLLOWED.level, message, ("follows",))


def lacking(whole: Engine) -> Iterator[Finding]:
    """SC015: what an engine lacks with all that it takes from others."""
    needed: dict[str, object] = {} if whole.steps else {"releases": whole.releases}
    if not whole.fitted:
        needed = {"small": whole.small, "kernels": whole.kernels, **needed}
    names = [name for name, value in needed.items() if not value]
    if whole.kind != "bound" and names:
        message = f"no {' and no '.join(names)}, neither here nor in what it follows"
        yield Finding(LACKING.id, LACKING.level, message)


def named(card: Engine) -> Iterator[str]:
    """The accelerators that the card names."""
    yield from (gpu for _, gpu in _accelerators(card))


def _accelerators(card: Engine) -> Iterator[tuple[KeyPath, str]]:
    """Those that the card names, each with its place."""
    if card.stand_in:
        yield ("stand_in",), card.stand_in
    for number, kernels in enumerate(card.kernels):
        for place, gpu in enumerate(kernels.gpus):
            yield ("kernels", number, "gpus", place), gpu
