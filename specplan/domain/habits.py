"""What an engine of one version does with speculation unasked, and its words for changing that.

The facts lie in specplan/dialects, one table an engine; rules ask for facts, never for a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """Habits from version `since` on. `set_*` and `off` complete a sentence that begins with a
    verb; they may name %(k)d, %(nodes)d (k + 1), %(n)d and %(past)d (n + 1). `ways` are the
    engine's words for ways to draft, in lower case, and ours.

    `running_cap` is how many requests run together where nobody says; `draft_tp` what it takes of
    a drafter's tp; `graphs_in` what the width of its CUDA graphs counts; `schedule_price` what a
    schedule by load costs besides, with its source.
    """

    since: str = "0"
    title: str
    ways: Mapping[str, str] = field(default_factory=dict)
    running_cap: int | None = None
    draft_tp: Literal["any", "1 or the target's", "the target's"] = "any"
    graphs_in: Literal["rows", "sequences"] = "rows"
    schedule_price: str = ""
    set_full_graphs: str = ""
    off: str = "turn speculation off"
    set_k: str = "set k to %(k)d"
    set_gate: str = "speculate up to batch %(n)d only"
    set_chain: str = "draft a chain, not a tree"
    set_draft_tp: str = "run the drafter on %(n)d GPU"
    set_running: str = "let %(n)d requests run together"
    set_graphs: str = "capture CUDA graphs up to %(n)d"

    def told(self, words: str, *, k: int = 0, n: float = 0) -> str:
        """These words with their figures."""
        return words % {"k": k, "nodes": k + 1, "n": n, "past": n + 1}
