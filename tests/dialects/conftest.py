"""Deployments to write."""

from __future__ import annotations

from typing import Any

import pytest

from specplan.domain.deployment import Deployment, OneK, Step


def deployment(engine: str, version: str, **more: Any) -> Deployment:
    """An EAGLE-3 head of three tokens on one GPU, but for what is given."""
    usual: dict[str, Any] = {
        "target_name": "t",
        "target": "org/target",
        "draft_name": "d",
        "draft": "org/head",
        "way": "eagle3",
        "draws": "head",
        "k": 3,
    }
    return Deployment(engine=engine, version=version, **(usual | more))


def scheduled(
    engine: str, version: str, steps: list[tuple[int, int, int]], **more: Any
) -> Deployment:
    """The same with k by batch; one k for all is that of the first range that drafts."""
    longest = max(k for _, _, k in steps)
    one = next((k for _, _, k in steps if k), 0)
    return deployment(
        engine,
        version,
        k=longest,
        schedule=tuple(Step(*step) for step in steps),
        instead=OneK(one, 0.05, 7),
        **more,
    )


@pytest.fixture
def make():
    return deployment


@pytest.fixture
def gated():
    return scheduled
