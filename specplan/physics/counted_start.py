"""What an engine measures when it starts, estimated from shapes: activations, logits, graphs.

The figures behind the estimates are named where they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from specplan.domain.accounting import GIB, Accounting, Profile, Served
from specplan.domain.architecture import Architecture
from specplan.domain.model import Model

LIBRARIES_BYTES = (0.13 * GIB, 0.55 * GIB)
"""What libraries take of one GPU, and of each of several (llm-d-planner, of vLLM)."""
GRAPH_LAYER_BYTES = 0.27e6
"""Of a captured size, for each layer: vLLM 0.9 reported 0.54 GiB for 67 sizes of 32 layers."""


class Estimate(NamedTuple):
    """Bytes of what an engine measures when it starts."""

    activations_bytes: float
    logits_bytes: float
    graphs_bytes: float


def estimated(served: Served, profile: Profile, accounting: Accounting) -> Estimate:
    """Bytes of what an engine runs before it sizes its pool: the widest layer's activations in 16
    bits with a few copies of the hidden state, `row_bytes` a word for every row of logits, graphs.

    For Llama-3.1-8B on an 80 GB H100 at vLLM's defaults that is 4.2 GiB with the libraries; the log
    of vllm-project/vllm#19996 leaves 4.3.
    """
    setup = served.setup
    run = [(setup.target, setup.tp)]
    if served.k and accounting.second_context and setup.draft.model:
        run.append((setup.draft.model, setup.draft_tp))
    activations = logits = graphs = 0.0
    for model, gpus in run:
        arch = model.architecture
        if arch:
            activations += 2.0 * profile.tokens * _widest(arch, gpus)
            graphs += GRAPH_LAYER_BYTES * profile.graphs * arch.layers
        logits += accounting.row_bytes * profile.rows * vocab(model)
    return Estimate(activations, logits, graphs)


def _widest(arch: Architecture, gpus: int) -> float:
    """Values of the widest layer for one token: hidden states, and what lies between matrices."""
    between = [0.0]
    for block in arch.blocks:
        if block.attention:
            between.append((block.attention.query_columns + block.attention.kv_columns) / gpus)
        if block.mlp:
            between.append(3.0 * block.mlp.width / gpus)
        if block.experts:
            experts = block.experts
            routed = experts.active * (arch.hidden + 3.0 * experts.width / gpus)
            between.append(routed + 3.0 * experts.shared_width / gpus)
    return 4.0 * arch.hidden + max(between)


def vocab(model: Model) -> float:
    """Values in a row of its logits; 0 where its card does not say."""
    return float(model.architecture.vocab) if model.architecture else 0.0
