"""Pictures of a capacity plan: what tokens cost against the traffic, how long they take against the
load of a replica.
"""

from __future__ import annotations

from collections.abc import Sequence

from specplan.domain.answer import Chart
from specplan.questions.capacity_row import Row
from specplan.questions.capacity_size import Asked


def charts(rows: Sequence[Row], asked: Asked) -> Chart | None:
    """None yet."""
    return None
