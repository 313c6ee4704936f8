"""What an engine's card takes from the engine that it follows."""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.engine import Engine, Kernels


def following(card: Engine, base: Engine) -> Engine:
    """The card with all that it does not state taken from the engine that it follows."""
    own = [_filled(kernels, base.on(kernels.gpus[0])) for kernels in card.kernels]
    stated = {gpu for kernels in card.kernels for gpu in kernels.gpus}
    lent = [
        replace(kernels, gpus=others, basis="assumed")
        for kernels in base.kernels
        if (others := tuple(gpu for gpu in kernels.gpus if gpu not in stated))
    ]
    return replace(
        card,
        stand_in=card.stand_in or base.stand_in,
        rereads_kv=base.rereads_kv if card.rereads_kv is None else card.rereads_kv,
        pads_lookup=base.pads_lookup if card.pads_lookup is None else card.pads_lookup,
        expert_overlap=base.expert_overlap if card.expert_overlap is None else card.expert_overlap,
        small=card.small or base.small,
        passes=card.passes or (None if card.steps else base.passes),
        steps=card.steps or (None if card.passes else base.steps),
        kernels=tuple(sorted((*own, *lent), key=lambda one: one.gpus)),
        releases=card.releases or base.releases,
    )


def _filled(own: Kernels, lent: Kernels | None) -> Kernels:
    """An engine's kernels on one accelerator, gaps filled from those of another engine."""
    if lent is None:
        return own
    return replace(
        own,
        gemm={**lent.gemm, **own.gemm},
        attention={**lent.attention, **own.attention},
        latent=own.latent or lent.latent,
        experts={**lent.experts, **own.experts},
        allreduce=own.allreduce or lent.allreduce,
    )
