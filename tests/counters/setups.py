"""The worlds that fixtures are made of, and what their makers share."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from counters.fixture import Fixture, figures
from counters.world import (
    Request,
    Truth,
    World,
    found,
    iid,
    mixed,
    positions,
    simulate,
    truth,
)

SIMULATED = "simulated: "


@cache
def plain() -> World:
    """k = 3, alpha 0.7, four at a time: 30 s on one engine."""
    return simulate(iid(0.7), k=3, requests=40, tokens=180, batch=4, seed=1)


@cache
def small() -> World:
    """k = 4, falling survival, six requests."""
    return simulate(positions((0.8, 0.7, 0.6, 0.5)), k=4, requests=6, tokens=90, batch=3, seed=2)


@cache
def two_engines() -> World:
    """k = 2 on two engines, requests that differ."""
    return simulate(mixed(), k=2, requests=20, tokens=180, batch=4, engines=2, seed=3)


@cache
def idle() -> World:
    """Two waves a minute apart."""
    return simulate(iid(0.6), k=3, requests=10, tokens=120, batch=4, waves=2, gap_s=60, seed=4)


@cache
def ngram() -> World:
    """N-gram drafts of up to 5, found in four steps of ten."""
    return simulate(iid(0.85), k=5, requests=12, tokens=180, batch=4, length=found(0.4), seed=5)


@cache
def dynamic() -> World:
    """3 drafts for one or two running requests, 1 for three or four, none above."""
    return simulate(
        iid(0.75),
        k=3,
        requests=30,
        tokens=120,
        batch=6,
        schedule=((1, 2, 3), (3, 4, 1), (5, 6, 0)),
        seed=6,
    )


def page(name: str, format_: str, text: str, told: Truth, versions: str, **rest: object) -> Fixture:
    engine = format_.split("-", maxsplit=1)[0]
    return Fixture(
        file=name,
        format=format_,
        engine=engine,
        versions=versions,
        content=text.encode(),
        **{"how": SIMULATED + "its truth", **figures(told), **rest},  # type: ignore[arg-type]
    )


def of_one(world: World, request: Request) -> Truth:
    return truth(World(world.k, 1, request.rounds, (request,), world.seed, request.last))


def jsonl(world: World, one: Callable[[Request], object]) -> str:
    return "".join(f"{json.dumps(one(request))}\n" for request in world.requests)


def added(world: World, until: float) -> Truth:
    """The truth of a world and of its beginning again."""
    whole, part = truth(world), truth(world, until=until)
    return Truth(
        k=world.k,
        steps=whole.steps + part.steps,
        drafts=whole.drafts + part.drafts,
        drafted_tokens=whole.drafted_tokens + part.drafted_tokens,
        accepted_tokens=whole.accepted_tokens + part.accepted_tokens,
        rejections=whole.rejections + part.rejections,
        agreed_tokens=whole.agreed_tokens + part.agreed_tokens,
        accepted_at=tuple(map(sum, zip(whole.accepted_at, part.accepted_at, strict=True))),
        drafted_at=tuple(map(sum, zip(whole.drafted_at, part.drafted_at, strict=True))),
        tested_at=tuple(map(sum, zip(whole.tested_at, part.tested_at, strict=True))),
    )
