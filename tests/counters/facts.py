"""What a print of each format still tells of the truth, and what no reader can win back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tells:
    """Of one format: figures that are exact in it, that are rounded in it, and that are lost.

    `exact` follow from the print without loss; `rounded` maps a figure to the half unit of the
    last digit printed (of one line: pooling many lines is better); `lost` are not in it.
    """

    exact: tuple[str, ...]
    rounded: dict[str, float]
    lost: tuple[str, ...]


COUNTS = ("drafts", "drafted_tokens", "accepted_tokens")
ALL = (*COUNTS, "tokens_per_round", "acceptance_rate", "per_position", "k")
TWO_COUNTS = Tells(
    exact=("drafted_tokens", "accepted_tokens", "acceptance_rate"),
    rounded={},
    lost=("drafts", "tokens_per_round", "per_position", "k"),
)

TELLS: dict[str, Tells] = {
    # drafts is drafted / k where every draft is k long
    "vllm-v1-log": Tells(
        exact=(*COUNTS, "acceptance_rate", "k"),
        rounded={"tokens_per_round": 0.005, "per_position": 0.0005},
        lost=("tokens_per_step",),
    ),
    # else it is accepted / (mean - 1), as well as the mean is known
    "vllm-v1-log/short": Tells(
        exact=("drafted_tokens", "accepted_tokens", "acceptance_rate", "k"),
        rounded={"drafts": 0.5, "tokens_per_round": 0.005, "per_position": 0.0005},
        lost=("tokens_per_step", "tested_at"),
    ),
    "vllm-v1-log/2025-04": TWO_COUNTS,
    # emitted = drafts + accepted, drafts = drafted / k; the printed rate is of another count
    "vllm-v0-log": Tells(
        exact=(*COUNTS, "tokens_per_round", "acceptance_rate", "k"),
        rounded={},
        lost=("per_position",),
    ),
    "vllm-metrics": Tells(exact=ALL, rounded={}, lost=("tokens_per_step",)),
    # drafts = emitted / efficiency - drafted, since efficiency's denominator is drafted + drafts
    "vllm-v0-metrics": Tells(
        exact=(*COUNTS, "tokens_per_round", "acceptance_rate", "k"),
        rounded={},
        lost=("per_position",),
    ),
    "vllm-v0-metrics/overcounting": Tells(exact=(), rounded={}, lost=ALL),
    "vllm-bench": Tells(exact=ALL, rounded={}, lost=()),
    "vllm-bench-console": Tells(
        exact=(*COUNTS, "tokens_per_round", "acceptance_rate", "k"),
        rounded={"per_position": 0.00005},
        lost=(),
    ),
    "vllm-request": Tells(exact=ALL, rounded={}, lost=()),
    # k is length / rate - 1, or (length - 1) / rate since 0.5.13
    "sglang-log": Tells(
        exact=("k",),
        rounded={"tokens_per_round": 0.005, "acceptance_rate": 0.005},
        lost=(*COUNTS, "per_position"),
    ),
    "sglang-log/0.5.2": Tells(
        exact=(),
        rounded={"tokens_per_round": 0.005},
        lost=(*COUNTS, "acceptance_rate", "per_position", "k"),
    ),
    # of one window; two scrapes give tokens over verify calls, high by the prompts' tokens
    "sglang-metrics": Tells(
        exact=("tokens_per_round", "acceptance_rate", "k"),
        rounded={},
        lost=(*COUNTS, "per_position"),
    ),
    "sglang-server-info": Tells(
        exact=("tokens_per_round", "acceptance_rate", "k"),
        rounded={},
        lost=(*COUNTS, "per_position"),
    ),
    "sglang-bench": Tells(
        exact=("tokens_per_round",),
        rounded={},
        lost=(*COUNTS, "acceptance_rate", "per_position", "k"),
    ),
    # 1 + accepted / verify calls, not the length that is printed
    "sglang-request": Tells(exact=ALL, rounded={}, lost=()),
    "trtllm-iterations": Tells(
        exact=(*COUNTS, "tokens_per_round", "acceptance_rate"),
        rounded={},
        lost=("per_position", "k"),
    ),
    # an iteration that accepted nothing does not tell how many requests drafted
    "trtllm-iterations/uncounted": TWO_COUNTS,
    # totals of iterations, positions of finished requests: equal once all have finished. Drafts
    # by position do not say how many of those that reached it had drafted there
    "trtllm-metrics": Tells(exact=ALL, rounded={}, lost=("tested_at",)),
    "trtllm-request": Tells(exact=ALL, rounded={}, lost=()),
    "trtllm-request/counts": TWO_COUNTS,
    # drafts of the statistics line; positions where they are printed
    "llamacpp-log": Tells(
        exact=(*COUNTS, "tokens_per_round", "acceptance_rate", "k"),
        rounded={"per_position": 0.0005},
        lost=(),
    ),
    # accepted / (mean - 1) of each request
    "llamacpp-log/c": Tells(
        exact=("drafted_tokens", "accepted_tokens", "acceptance_rate"),
        rounded={"drafts": 0.5, "tokens_per_round": 0.005},
        lost=("per_position", "k"),
    ),
    "llamacpp-log/bare": TWO_COUNTS,
    # predicted_n - draft_n_accepted counts the prompt's token and plain steps as rounds
    "llamacpp-timings": Tells(
        exact=("drafted_tokens", "accepted_tokens", "acceptance_rate"),
        rounded={"drafts": 1.0, "tokens_per_round": 0.1},
        lost=("per_position", "k"),
    ),
    # six digits: exact below a million
    "llamacpp-metrics": Tells(exact=ALL, rounded={}, lost=()),
    "aiperf": Tells(exact=ALL, rounded={}, lost=()),
    "guidellm": Tells(exact=ALL, rounded={}, lost=()),
}
"""By format id, with a generation or a case behind a slash where it tells less."""
