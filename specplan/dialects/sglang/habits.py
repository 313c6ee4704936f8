"""SGLang's habits around speculation, by version."""

from __future__ import annotations

from dataclasses import replace

from specplan.domain.habits import Habits

# "Max running requests is reset to 48 for speculative decoding": server_args.py, later
# arg_groups/speculative_hook.py, where max_running_requests is None.
_FIRST = Habits(
    since="0",
    title="SGLang",
    ways={
        "eagle": "eagle",
        "eagle3": "eagle3",
        "nextn": "mtp",
        "standalone": "model",
        "ngram": "ngram",
        "dflash": "dflash",
        "dspark": "dspark",
    },
    running_cap=48,
    draft_tp="the target's",
    graphs_in="sequences",
    off="start it without --speculative-algorithm",
    set_k=(
        "--speculative-num-steps %(k)d --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens %(nodes)d"
    ),
    set_gate="this version has no flag for that: serve loads above batch %(n)d without",
    set_chain="--speculative-eagle-topk 1",
    set_draft_tp="it runs drafters on the target's GPUs: use fewer of them",
    set_running="--max-running-requests %(n)d",
    set_graphs="--cuda-graph-max-bs %(n)d",
)
# 0.5.23 has --speculative-adaptive-config; the releases between 0.5.13 and it were not read.
_ADAPTIVE = replace(
    _FIRST,
    since="0.5.23",
    set_gate=(
        "--speculative-adaptive with candidate_steps [0] above batch %(n)d in "
        "--speculative-adaptive-config"
    ),
)
HABITS = (_FIRST, _ADAPTIVE)
