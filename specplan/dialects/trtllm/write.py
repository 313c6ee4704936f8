"""A plan in TensorRT-LLM's words: the YAML of its PyTorch backend.

Read from tensorrt_llm/llmapi/llm_args.py and _torch/speculative/interface.py of several commits and
from release notes; `rules` says which release turned the schedule round.
"""

from __future__ import annotations

from dataclasses import replace

from specplan.dialects.spans import Span, Ways, age, word_for
from specplan.dialects.text import flags_text, json_text, shell_text, yaml_text
from specplan.dialects.trtllm.rules import LOWER, LOWER_CANDIDATES, UPPER, WITH_DRAFTER, check
from specplan.domain.card import Dtype
from specplan.domain.deployment import Deployment, File, Json, Step, Written
from specplan.errors import Refused

EXAMPLE = "1.3.0rc24"
NEWEST = "1.3.0rc27"
WAYS: Ways = {
    "eagle3": (Span("Eagle", "1.0", "1.2"), Span("Eagle3", "1.3.0rc0")),
    "mtp": (Span("MTP", "1.0"),),
    "ngram": (Span("NGram", "1.0"),),
    "model": (Span("DraftTarget", "1.0", "1.2"), Span("Draft_Target", "1.3.0rc0")),
    "block": (Span("PARD", "1.3.0rc7"),),  # release notes of v1.3.0rc7: #11438
    "suffix": (Span("SA", "1.3.0rc8"),),  # a suffix automaton
    "dflash": (Span("DFlash", "1.3.0rc23"),),
    "dspark": (Span("DSpark", "1.3.0rc27"),),
}
SCHEDULED = (
    # Stage 1 (#8194): drafters that are models of their own, and lookups
    ("NGram", (LOWER, LOWER_CANDIDATES)),
    ("DraftTarget", (LOWER,)),
    ("Draft_Target", (LOWER_CANDIDATES, Span("", "1.3.0rc23"))),
    ("Eagle3", (UPPER,)),  # #10860
    # #12262 (2026-07-04), first surely in rc23 (2026-07-22): all that run inside the target's pass
    ("MTP", (Span("", "1.3.0rc23"),)),
    ("PARD", (Span("", "1.3.0rc23"),)),
    ("DFlash", (Span("", "1.3.0rc23"),)),
    ("SA", (Span("", "1.3.0rc23"),)),
)
LIMITED = {"NGram": Span("", "1.2")}
"""Drafters outside the target's pass, which read max_concurrency; those inside it do so through
their schedule, where they have one.
"""
PLAIN_LENGTH = Span("", "1.3.0rc23")  # MTP takes max_draft_len; num_nextn_predict_layers before
CONFIG_FLAG = Span("", "1.3.0rc8")  # --config; --extra_llm_api_options before
FORCED = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"
FRACTIONS = Span("", "1.3.0rc18")  # #13569 (2026-05), whole numbers alone before
FILE = "trtllm.yaml"
KV_DTYPES = {Dtype.FP8: "fp8", Dtype.NVFP4: "nvfp4"}


def write(deployment: Deployment) -> Written:
    """The configuration that serves the plan, and the command that reads it."""
    if age(deployment.version) < age("1.0"):
        raise Refused(f"{deployment.at} is older than its PyTorch backend", expected="1.0 or later")
    if deployment.tree:
        raise Refused(
            "trees are not written: which releases run them on the PyTorch backend was not read",
            expected="-k",
        )
    lost = deployment.unsaid_cache(KV_DTYPES)
    if 1 < deployment.attention_dp != deployment.tp:
        lost.append(
            f"attention-dp {deployment.attention_dp}: attention is data-parallel among all "
            f"{deployment.tp} GPUs or none"
        )
    notes: list[str] = []
    config: dict[str, Json] = {}
    environment: tuple[tuple[str, str], ...] = ()
    kind = word_for(deployment, WAYS)
    if deployment.speculates:
        deployment, limited = _scheduled(deployment, kind, lost, notes)
        if deployment.speculates:
            config = _config(deployment, kind, limited=limited)
            check(config, version=deployment.version)
            environment = _pretended(deployment, lost, notes)
            if kind == "MTP" and deployment.draft:
                lost.append("the drafter's path: MTP drafts with layers of the target's checkpoint")
            if kind in WITH_DRAFTER and deployment.draft_tp != deployment.tp:
                lost.append(
                    f"draft-tp {deployment.draft_tp}: the drafter is divided as the target is"
                )
    return _written(deployment, config, environment, lost, notes)


def _written(
    deployment: Deployment,
    config: dict[str, Json],
    environment: tuple[tuple[str, str], ...],
    lost: list[str],
    notes: list[str],
) -> Written:
    target = deployment.needed(
        "the target", "--target-path", deployment.target_name, deployment.target
    )
    whole = {**_served(deployment), **({"speculative_config": config} if config else {})}
    file = File(FILE, yaml_text(whole, environment)) if whole else None
    reads = "--config" if CONFIG_FLAG.holds(deployment.version) else "--extra_llm_api_options"
    program = ("trtllm-serve", target)
    flags: list[tuple[str, str | None]] = [(reads, FILE)] if file else []
    texts = {
        "yaml": file.text if file else "{}\n",
        "shell": shell_text(program, flags, environment, file),
        "flags": flags_text(flags, environment),
        "json": json_text(whole) + "\n",
    }
    return Written(
        done=deployment,
        program=program,
        flags=tuple(flags),
        environment=environment,
        config=config,
        file=file,
        texts=texts,
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _served(deployment: Deployment) -> dict[str, Json]:
    """The keys that are not about speculation: GPUs and cache."""
    keys: dict[str, Json] = {}
    if deployment.tp > 1:
        keys["tensor_parallel_size"] = deployment.tp
    if deployment.attention_dp > 1:
        keys["enable_attention_dp"] = True
    if deployment.ep > 1:
        keys["moe_expert_parallel_size"] = deployment.ep
    if deployment.kv_dtype in KV_DTYPES:
        keys["kv_cache_config"] = {"dtype": KV_DTYPES[deployment.kv_dtype]}
    return keys


def _scheduled(
    deployment: Deployment, kind: str, lost: list[str], notes: list[str]
) -> tuple[Deployment, bool]:
    """With its schedule where this version reads one for the drafter, or a limit that is all of it
    (True); else with one k.
    """
    steps = deployment.schedule
    if not steps:
        return deployment, False
    version = deployment.version
    if not any(span.holds(version) for span in dict(SCHEDULED).get(kind, ())):
        why = f"{deployment.at} has no draft_len_schedule for {kind}"
        if deployment.cutoff is not None and kind in LIMITED and LIMITED[kind].holds(version):
            notes.append(f"{why}: max_concurrency says the same")
            return deployment, True
        lost.append(f"k by batch: {why}")
        return deployment.fixed(), False
    if steps[0].k < deployment.k:
        lost.append("k that grows with the batch: draft_len_schedule begins with the longest")
        deployment = _falling(deployment)
        steps = deployment.schedule
    if steps and UPPER.holds(version) and steps[-1].k:
        notes.append(
            f"above batch {steps[-1].last_batch:,}, the largest that was planned for, nothing is "
            "drafted"
        )
    return deployment, False


def _falling(deployment: Deployment) -> Deployment:
    """With no k longer than that of the first range, if that is as long as the one k for all; else
    with that one.
    """
    first, one = deployment.schedule[0].k, deployment.instead
    if one is None or first < max(one.k, 1):
        return deployment.fixed()
    steps: list[Step] = []
    for step in deployment.schedule:
        k = min(step.k, first)
        begins = steps.pop().first_batch if steps and steps[-1].k == k else step.first_batch
        steps.append(Step(begins, step.last_batch, k))
    kept = None if deployment.acceptance is None else deployment.acceptance[:first]
    schedule = tuple(steps) if len(steps) > 1 else ()  # one k for all needs none
    return replace(deployment, k=first, schedule=schedule, acceptance=kept)


def _config(deployment: Deployment, kind: str, *, limited: bool) -> dict[str, Json]:
    config: dict[str, Json] = {"decoding_type": kind}
    older = kind == "MTP" and not PLAIN_LENGTH.holds(deployment.version)
    config["num_nextn_predict_layers" if older else "max_draft_len"] = deployment.k
    if kind in WITH_DRAFTER:
        config["speculative_model"] = deployment.head
    if limited:
        config["max_concurrency"] = deployment.cutoff
    elif deployment.schedule:
        config["draft_len_schedule"] = _schedule(deployment)
    return config


def _schedule(deployment: Deployment) -> dict[str, Json]:
    """Last batches, beyond which nothing is drafted; in older versions first ones."""
    steps = deployment.schedule
    if not UPPER.holds(deployment.version):
        return {str(step.first_batch): step.k for step in steps}
    drafting = steps[:-1] if not steps[-1].k else steps
    return {str(step.last_batch): step.k for step in drafting}


def _pretended(
    deployment: Deployment, lost: list[str], notes: list[str]
) -> tuple[tuple[str, str], ...]:
    """The variable that has it accept as many draft tokens, the bonus not counted."""
    if deployment.tokens is None:
        return ()
    accepted = deployment.tokens - 1
    text = f"{accepted:.6g}"
    at = f", as k = {deployment.k} does" if deployment.schedule else ""
    lost.append(
        f"acceptance by position: every round accepts {accepted:.4g} draft tokens on average{at}"
    )
    if not FRACTIONS.holds(deployment.version):
        text = str(round(accepted))
        lost.append(f"{accepted:.2f} accepted tokens: {deployment.at} takes whole numbers")
    if text == "0":
        raise Refused(
            f"{deployment.at} takes whole numbers, and {accepted:.2f} accepted tokens are none",
            hint="leave out --synthetic",
        )
    notes.append("the output is not the target's; the drafter runs and costs what it does")
    return ((FORCED, text),)
