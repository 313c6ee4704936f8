"""What SGLang says of its own options, under the names of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from specplan.dialects.figures import first, scalar
from specplan.domain.answer import Scalar
from specplan.domain.capture import Found, Noted, Told

OPTIONS: Final[dict[str, str]] = {
    "model_path": "target",
    "speculative_draft_model_path": "draft",
    "tp_size": "tp",
    "dp_size": "dp",
    "speculative_eagle_topk": "topk",
    "speculative_num_draft_tokens": "draft_tokens",
    "speculative_num_steps": "draft_steps",
    "mem_fraction_static": "memory_fraction",
    "max_running_requests": "max_batch",
    "context_length": "max_context",
    "dtype": "dtype",
    "kv_cache_dtype": "kv_dtype",
    "quantization": "quantization",
    "cuda_graph_max_bs": "graphs_up_to",
    "version": "version",
}
ALGORITHM: Final = "speculative_algorithm"
OTHERS: Final = ("decode_log_interval", "enable_dp_attention", "max_total_num_tokens")

TREE: Final = (
    "a tree: draft tokens are its nodes with the root, k the drafts from root to leaf, and rates "
    "over nodes are no acceptance of a chain"
)


def said(values: Mapping[str, object], line: int) -> Iterator[Found]:
    """The deployment behind the options, by their names in `ServerArgs`."""
    facts: dict[str, Scalar] = {}
    for theirs, ours in OPTIONS.items():
        value = scalar(values.get(theirs))
        if value is not None and value != "auto":
            facts[ours] = value
    method = values.get(ALGORITHM)
    if isinstance(method, str) and method.lower() != "none":
        facts["method"] = method.lower()
    k = longest_draft(values)
    if k is not None:
        facts["k"] = k
    if facts:
        yield Told(facts=facts, line=line)
    if is_tree(values):
        yield Noted(warning=TREE, line=line)


def is_tree(values: Mapping[str, object]) -> bool:
    """Whether drafts branch."""
    return (first(values, "speculative_eagle_topk") or 1) > 1


def rate_of(tau: float | None, options: Mapping[str, object]) -> float | None:
    """Accepted / drafted, which follows from tokens a round where drafts are chains."""
    k = longest_draft(options)
    return (tau - 1) / k if tau is not None and k and not is_tree(options) else None


def longest_draft(values: Mapping[str, object]) -> int | None:
    """k: the nodes without the root in a chain, the steps in a tree."""
    nodes = first(values, "speculative_num_draft_tokens")
    steps = first(values, "speculative_num_steps")
    if is_tree(values):
        return int(steps) if steps else None
    if nodes and nodes >= 2:
        return int(nodes) - 1
    return int(steps) if steps else None
