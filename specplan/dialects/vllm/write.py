"""A plan in vLLM's words: --speculative-config, and the flags of its first engine before that.

Read from the released packages 0.6.6, 0.8.5, 0.9.2, 0.10.2, 0.11.2, 0.14.1, 0.15.1, 0.17.1, 0.20.2,
0.22.1, 0.24.0, 0.26.0 and 0.33.0; a span begins with the first of them that has it.
"""

from __future__ import annotations

from specplan.dialects.spans import Span, Ways, age, word_for
from specplan.dialects.text import flags_text, json_text, shell_text, yaml_text
from specplan.dialects.vllm.first import LOOKUP, V0, first_flags
from specplan.dialects.vllm.rules import RATES, SCHEDULE, check
from specplan.domain.card import Dtype
from specplan.domain.deployment import Deployment, Json, Written
from specplan.errors import Refused

EXAMPLE = "0.33"
WAYS: Ways = {
    "ngram": (Span(LOOKUP, *V0), Span("ngram", "0.8.5")),
    "suffix": (Span("suffix", "0.11.2"),),
    # V1 raised NotImplementedError from 0.10.2 to 0.14.1; before, the first engine ran them
    "model": (
        Span("", *V0),
        Span("draft_model", "0.8.5", "0.9.2"),
        Span("draft_model", "0.15.1"),
    ),
    "eagle": (Span("", *V0), Span("eagle", "0.8.5")),
    "eagle3": (Span("eagle3", "0.9.2"),),
    "mtp": (Span("mtp", "0.11.2"),),  # before, a method for each model: deepseek_mtp, ...
    "medusa": (Span("", *V0), Span("medusa", "0.8.5", "0.26", "gone by 0.33")),
    "mlp-speculator": (Span("", *V0), Span("mlp_speculator", "0.8.5", "0.26", "gone by 0.33")),
    "dflash": (Span("dflash", "0.20.2"),),
    "dspark": (Span("dspark", "0.26"),),
    "block": (Span("parallel_drafting", "0.17.1"),),
}
"""Methods; for the first engine (V0), which told drafters apart by their checkpoints, none."""
SCHEDULED = Span("", "0.24")  # num_speculative_tokens_per_batch_size; absent in 0.23.0
ALWAYS_PIECEWISE = Span("", "0.24", "0.24")
SYNTHETIC = Span("", "0.20.2")  # synthetic_acceptance_rates; absent in 0.17.1
BY_FIRST_ENGINE = Span("", "0.8.5", "0.9.2")  # what its V1 did not have, V0 still ran
READ_BY_V0 = ("model", "mlp-speculator")
ALONE = ("ngram", "suffix", "mtp")  # looked up, or in the target's own checkpoint
SCHEDULED_IN_V1 = ("ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash")
KV_DTYPES = {Dtype.FP8: "fp8"}


def write(deployment: Deployment) -> Written:
    """The command that serves the plan, and its speculative config."""
    version = age(deployment.version)
    if age("0.8") <= version < age("0.8.5"):
        raise Refused(
            f"{deployment.at}: whether it takes flags or --speculative-config was not read",
            expected="0.7 and older, or 0.8.5 and later",
        )
    if deployment.tree:
        raise Refused(
            f"{deployment.engine} verifies chains: a tree is not written",
            expected="-k",
            hint="speculative_token_tree was an experiment of 0.9.2 to 0.20.2",
        )
    if version < age("0.8"):
        return _of_first_engine(deployment)
    word = word_for(deployment, WAYS)
    lost = deployment.unsaid_cache(KV_DTYPES)
    notes: list[str] = []
    deployment = _scheduled(deployment, lost)
    config: dict[str, Json] = {}
    if deployment.speculates:
        config = _config(deployment, word, notes)
        check(
            config,
            version=deployment.version,
            tp=deployment.tp,
            modules=deployment.modules,
            vocabs=deployment.vocabs,
        )
        notes += _of_schedule(deployment, str(config["method"]))
    flags = [*_served(deployment)]
    if config:
        flags.append(("--speculative-config", json_text(config)))
    return _written(deployment, flags, config, lost, notes)


def _written(
    deployment: Deployment,
    flags: list[tuple[str, str | None]],
    config: dict[str, Json],
    lost: list[str],
    notes: list[str],
) -> Written:
    target = deployment.needed(
        "the target", "--target-path", deployment.target_name, deployment.target
    )
    program = ("vllm", "serve", target)
    # --config reads a mapping of flags; what is JSON on the command line is JSON in a string there.
    keys = {name.removeprefix("--"): True if value is None else value for name, value in flags}
    whole: dict[str, Json] = {"model": target, **keys}
    texts = {
        "shell": shell_text(program, flags),
        "flags": flags_text(flags),
        "yaml": yaml_text(whole),
    }
    if config:
        texts["json"] = json_text(config) + "\n"
    return Written(
        done=deployment,
        program=program,
        flags=tuple(flags),
        config=config,
        texts=texts,
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _served(deployment: Deployment) -> list[tuple[str, str | None]]:
    """The flags that are not about speculation: GPUs and cache."""
    groups = deployment.attention_dp
    flags: list[tuple[str, str | None]] = []
    if deployment.tp // groups > 1:
        flags.append(("--tensor-parallel-size", str(deployment.tp // groups)))
    if groups > 1:
        flags.append(("--data-parallel-size", str(groups)))
    if deployment.ep > 1:
        flags.append(("--enable-expert-parallel", None))
    if deployment.kv_dtype in KV_DTYPES:
        flags.append(("--kv-cache-dtype", KV_DTYPES[deployment.kv_dtype]))
    return flags


def _scheduled(deployment: Deployment, lost: list[str]) -> Deployment:
    """With its schedule where this version reads one, or a cutoff that is all of it; else one k."""
    if not deployment.schedule:
        return deployment
    version = deployment.version
    if SCHEDULED.holds(version):
        if deployment.attention_dp == 1:
            return deployment
        lost.append("k by batch: it is switched off where data-parallel groups are more than one")
        return deployment.fixed()
    by_v0 = deployment.way in READ_BY_V0 and BY_FIRST_ENGINE.holds(version)
    if by_v0 or age(version) < age("0.8"):
        if deployment.cutoff is not None:
            return deployment
        lost.append(f"k by batch: {deployment.at} stops drafting above a batch, and no more")
    else:
        lost.append(
            f"k by batch: {deployment.at} has no schedule (from 0.24 on), and its "
            "disable_by_batch_size, accepted until 0.15.1, is read by the first engine (V0) alone"
        )
    return deployment.fixed()


def _config(deployment: Deployment, word: str, notes: list[str]) -> dict[str, Json]:
    method = word
    if word == "parallel_drafting":  # P-EAGLE drafts on hidden states, PARD is a model
        method = "eagle3" if deployment.draws == "head" else "draft_model"
    config: dict[str, Json] = {"method": method}
    if deployment.way not in ALONE:
        config["model"] = deployment.head
    config["num_speculative_tokens"] = deployment.k
    if deployment.schedule and not SCHEDULED.holds(deployment.version):
        config["disable_by_batch_size"] = deployment.cutoff
    elif deployment.schedule:
        config[SCHEDULE] = [[s.first_batch, s.last_batch, s.k] for s in deployment.schedule]
    if deployment.draws != "lookup" and deployment.draft_tp != deployment.tp:
        config["draft_tensor_parallel_size"] = deployment.draft_tp
    if word == "parallel_drafting":
        config["parallel_drafting"] = True
    if deployment.acceptance is not None:
        config |= _pretended(deployment, notes)
    if method == "ngram":
        notes.append("prompts are looked up by 5 tokens unless prompt_lookup_max and _min say else")
    if method == "suffix":
        notes.append(
            "suffix decoding needs the package arctic-inference; k is the longest draft, most are "
            "shorter"
        )
    return config


def _pretended(deployment: Deployment, notes: list[str]) -> dict[str, Json]:
    """Acceptance as the plan has it, whatever the drafter proposes."""
    if not SYNTHETIC.holds(deployment.version):
        raise Refused(
            f"{deployment.at} cannot pretend an acceptance",
            expected=f"version {SYNTHETIC.since} or later",
            hint="leave out --synthetic",
        )
    notes.append(
        "the output is not the target's; the drafter runs and costs what it does, but may be of "
        'random weights: add "draft_load_config": {"load_format": "dummy"}'
    )
    rates = [round(share, 6) for share in deployment.acceptance or ()]
    return {"rejection_sample_method": "synthetic", RATES: rates}


def _of_schedule(deployment: Deployment, method: str) -> list[str]:
    """What a schedule costs beside what it is for."""
    if not deployment.schedule or not SCHEDULED.holds(deployment.version):
        return []
    notes = [
        "k is looked up by the requests scheduled in a step, those in prefill included; beyond the "
        "last range its k goes on"
    ]
    piecewise = "a schedule has CUDA graphs captured in pieces (PIECEWISE)"
    if ALWAYS_PIECEWISE.holds(deployment.version):
        notes.append(f"{piecewise}, which costs a step of its own price")
    else:
        notes.append(f"on Model Runner V1 {piecewise}; VLLM_USE_V2_MODEL_RUNNER=1 keeps them whole")
        if method not in SCHEDULED_IN_V1:
            notes.append(f"Model Runner V1 ignores the schedule with {method}")
    if any(not step.k for step in deployment.schedule):
        notes.append(
            "k = 0 keeps the drafter in memory and its graphs; vllm-project/vllm#49548 saw 8 "
            "requests fall from 232 to 24-157 tok/s where such a tail began, on Model Runner V1: "
            "measure it, or let the tail be 1"
        )
    return notes


def _of_first_engine(deployment: Deployment) -> Written:
    """The flags of V0."""
    word = word_for(deployment, WAYS)
    lost = deployment.unsaid_cache(KV_DTYPES)
    notes: list[str] = []
    if deployment.acceptance is not None and deployment.speculates:
        _pretended(deployment, notes)
    deployment = _scheduled(deployment, lost)
    flags = _served(deployment)
    if deployment.speculates:
        flags += first_flags(deployment, word)
        if word == LOOKUP:
            notes.append("prompts are looked up by up to 5 tokens: another number is as good")
    return _written(deployment, flags, {}, lost, notes)
