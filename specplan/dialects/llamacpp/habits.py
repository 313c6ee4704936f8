"""llama.cpp's habits around speculation, by build."""

from __future__ import annotations

from specplan.domain.habits import Habits

HABITS = (
    Habits(
        title="llama.cpp",
        ways={
            "draft-simple": "model",
            "draft-eagle3": "eagle3",
            "draft-dflash": "dflash",
            "draft-dspark": "dspark",
            "draft-mtp": "mtp",
            "ngram-cache": "ngram",
            "ngram-simple": "ngram",
            "ngram-map-k": "ngram",
            "ngram-map-k4v": "ngram",
            "ngram-mod": "ngram",
        },
        off="--spec-type none",
        set_k="--spec-draft-n-max %(k)d (--draft-max in old builds)",
        set_gate="no flag does that: serve loads above batch %(n)d without",
        set_running="--parallel %(n)d",
    ),
)
