"""One server as a queue sees it: how fast it steps, what it holds, what it keeps of its drafts."""

from __future__ import annotations

from dataclasses import dataclass

from specplan.domain.acceptance import Acceptance
from specplan.serving.pace import Pace
from specplan.serving.policy import Policy
from specplan.serving.room import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """`gpus` accelerators that hold the target (and a drafter, where the policy drafts) once."""

    pace: Pace
    room: Room
    policy: Policy
    acceptance: Acceptance
    gpus: int
