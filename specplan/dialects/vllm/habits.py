"""vLLM's habits around speculation, by version."""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.habits import Habits

_WAYS = {
    "ngram": "ngram",
    "ngram_gpu": "ngram",
    "suffix": "suffix",
    "draft_model": "model",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "medusa": "medusa",
    "mlp_speculator": "mlp-speculator",
    "mtp": "mtp",
    "deepseek_mtp": "mtp",
    "dflash": "dflash",
    "dspark": "dspark",
}
# "speculative_draft_tensor_parallel_size ... cannot be other value than 1 or target model
# tensor_parallel_size": vllm/config/speculative.py; in V0 (issue 10483) than 1 for small drafters.
_FIRST = Habits(
    since="0",
    title="vLLM",
    ways=_WAYS,
    draft_tp="1 or the target's",
    off="start it without --speculative-config",
    set_k='"num_speculative_tokens": %(k)d',
    set_gate='"disable_by_batch_size": %(past)d',
    set_chain='leave "speculative_token_tree" out',
    set_draft_tp='"draft_tensor_parallel_size": %(n)d',
    set_running="--max-num-seqs %(n)d",
    set_graphs='"max_cudagraph_capture_size": %(n)d in --compilation-config',
)
# disable_by_batch_size stops at that many requests, not above; it is in 0.15.1 and gone in
# 0.17.1; the schedule by batch size came in 0.24.
_UNGATED = replace(
    _FIRST,
    since="0.17",
    set_gate="this version has no flag for that: 0.24 and later schedule k by batch",
)
# 0.24.0 overrides cudagraph_mode to PIECEWISE for any schedule, later releases do so on model
# runner V1; VLLM_USE_V2_MODEL_RUNNER=1 keeps full graphs (quoted in issue 48494); figures: issue
# 49548.
_FALL = (
    "takes CUDA graphs down to piecewise ones: 16 % slower for one stream, and a k = 0 tail fell "
    "from 232 to 24-157 tok/s at 8 streams (vllm#49548)"
)
_GATED = replace(
    _FIRST,
    since="0.24",
    set_gate='"num_speculative_tokens_per_batch_size", with k = 0 above batch %(n)d',
    schedule_price=f"any schedule {_FALL}",
    set_full_graphs="take a later release with model runner V2, or end the schedule in k = 1",
)
_KEPT = replace(
    _GATED,
    since="0.25",
    schedule_price=f"on model runner V1 any schedule {_FALL}",
    set_full_graphs=(
        "set VLLM_USE_V2_MODEL_RUNNER=1, which keeps full graphs, or end the schedule in k = 1"
    ),
)
# From 0.30 on model runner V2 runs most drafters unasked and keeps full graphs: see runner.py.
_WHOLE = replace(_KEPT, since="0.30", schedule_price="", set_full_graphs="")
HABITS = (_FIRST, _UNGATED, _GATED, _KEPT, _WHOLE)
