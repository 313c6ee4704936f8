"""TensorRT-LLM's habits around speculation, by version."""

from __future__ import annotations

from specplan.domain.habits import Habits

HABITS = (
    Habits(
        title="TensorRT-LLM",
        ways={
            "mtp": "mtp",
            "eagle": "eagle3",  # an alias there: checkpoints of EAGLE 1 and 2 do not load
            "eagle3": "eagle3",
            "ngram": "ngram",
            "drafttarget": "model",
            "dflash": "dflash",
            "dspark": "dspark",
            "sa": "suffix",
            "medusa": "medusa",
        },
        graphs_in="sequences",
        off="leave speculative_config out",
        set_k="max_draft_len: %(k)d",
        set_gate="max_concurrency: %(n)d",
        set_chain="leave eagle_choices and use_dynamic_tree out",
        set_running="max_batch_size: %(n)d",
        set_graphs="cuda_graph_config: {max_batch_size: %(n)d}",
    ),
)
