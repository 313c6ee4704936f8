"""What was running while nothing was drafted: a run without speculation, to compare with.

A plain step is a round of one token. Each span weighs as many tokens as it generated, so that the
means of such a run are weighted as those of one that speculates: by rounds.
"""

from __future__ import annotations

import math

from specplan.domain.capture import AtLoad, Seen, Span
from specplan.physics.counters.loads import Loads
from specplan.physics.counters.seen import Watched


class Plain:
    """Sums over spans without drafts; `tokens` are relative where spans do not say how long they
    are, all alike.
    """

    def __init__(self) -> None:
        self._loads = Loads()
        self._watched = {"running": Watched(), "tokens_per_s": Watched()}

    def add(self, span: Span) -> None:
        """Adds a span in which nothing was drafted."""
        flow = span.tokens_per_s
        tokens = 1.0
        if flow is not None and math.isfinite(flow):
            tokens = span.tokens or flow * (span.duration_s or 1.0)
        if tokens <= 0:
            return
        for name, watched in self._watched.items():
            watched.add(getattr(span, name), tokens)
        self._loads.add(span, tokens, 0.0)

    def seen(self, name: str) -> Seen | None:
        """The mean of `running` or `tokens_per_s`, and its ends."""
        return self._watched[name].seen()

    def loads(self) -> tuple[AtLoad, ...]:
        """Tokens a second at each load."""
        return self._loads.seen()
