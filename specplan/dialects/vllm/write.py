"""A plan in vLLM's words: --speculative-config, and the flags of its first engine before that.

Read from the released packages 0.6.6, 0.8.5, 0.9.2, 0.10.2, 0.11.2, 0.14.1, 0.15.1, 0.17.1, 0.20.2,
0.22.1, 0.24.0, 0.26.0, 0.28.0, 0.30.0 and 0.33.0; a span begins with the first of them that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from specplan.dialects.spans import Span, Ways, age, word_for
from specplan.dialects.text import flags_text, json_text, shell_text, yaml_text
from specplan.dialects.vllm import runner
from specplan.dialects.vllm.first import LOOKUP, V0, first_flags, stops_at
from specplan.dialects.vllm.rules import RATES, SCHEDULE, check, unlisted_target
from specplan.dialects.vllm.runner import SCHEDULED
from specplan.domain.card import Dtype
from specplan.domain.deployment import Deployment, Json, Written
from specplan.errors import Refused

EXAMPLE = "0.33"
NEWEST = "0.33"
PARALLEL = "parallel_drafting"
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
    "medusa": (Span("", *V0), Span("medusa", "0.8.5", "0.30", "gone by 0.33")),
    "mlp-speculator": (Span("", *V0), Span("mlp_speculator", "0.8.5", "0.30", "gone by 0.33")),
    "dflash": (Span("dflash", "0.20.2"),),
    "dspark": (Span("dspark", "0.26"),),
    "block": (Span(PARALLEL, "0.17.1"),),
}
"""Methods; for the first engine (V0), which told drafters apart by their checkpoints, none."""
SYNTHETIC = Span("", "0.20.2")  # synthetic_acceptance_rates; absent in 0.17.1
BY_FIRST_ENGINE = Span("", "0.8.5", "0.9.2")  # what its V1 did not have, V0 still ran
READ_BY_V0 = ("model", "mlp-speculator")
ALONE = ("ngram", "suffix", "mtp")  # looked up, or in the target's own checkpoint
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
    lost = _unsaid(deployment)
    notes: list[str] = []
    deployment = _scheduled(deployment, _method(deployment, word), lost)
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
        notes += _price(deployment, str(config["method"]))
        notes += unlisted_target(config, deployment.target_family, version=deployment.version)
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
        off_cost=runner.OFF_COSTS[0] if SCHEDULED.holds(deployment.version) else 0.0,
    )


def _unsaid(deployment: Deployment) -> list[str]:
    """What of GPUs and cache it has no words for."""
    lost = deployment.unsaid_cache(KV_DTYPES)
    if 1 < deployment.ep != deployment.tp:
        lost.append(f"ep {deployment.ep}: experts are divided among all {deployment.tp} GPUs")
    return lost


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


def _method(deployment: Deployment, word: str) -> str:
    """What stands after "method"."""
    if word == PARALLEL:  # P-EAGLE drafts on hidden states, PARD is a model
        return "eagle3" if deployment.draws == "head" else "draft_model"
    return word


def _scheduled(deployment: Deployment, method: str, lost: list[str]) -> Deployment:
    """With its schedule where this version reads one, or a cutoff that is all of it; else one k."""
    if not deployment.schedule:
        return deployment
    version = deployment.version
    if SCHEDULED.holds(version):
        parallel = deployment.way == "block"
        why = runner.dropped(version, method, parallel=parallel)
        if deployment.attention_dp > 1:
            why = runner.among_groups(version)
        if not why:
            return deployment
        lost.append(f"k by batch: {why}")
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
    method = _method(deployment, word)
    config: dict[str, Json] = {"method": method}
    if deployment.way not in ALONE:
        config["model"] = deployment.head
    elif method == "mtp" and deployment.draft:
        config["model"] = deployment.draft
    config["num_speculative_tokens"] = deployment.k
    if deployment.schedule and not SCHEDULED.holds(deployment.version):
        config["disable_by_batch_size"] = stops_at(deployment)
    elif deployment.schedule:
        config[SCHEDULE] = [[s.first_batch, s.last_batch, s.k] for s in deployment.schedule]
    if deployment.draws != "lookup" and deployment.draft_tp != deployment.tp:
        config["draft_tensor_parallel_size"] = deployment.draft_tp
    if word == PARALLEL:
        config[PARALLEL] = True
    if deployment.acceptance is not None:
        config |= _pretended(deployment, notes)
    notes += _of_drafter(deployment, method)
    return config


def _of_drafter(deployment: Deployment, method: str) -> Iterator[str]:
    """What to know of one way to draft."""
    if method == "ngram":
        yield ("prompts are looked up by 5 tokens unless prompt_lookup_max and _min say else")
    if method == "mtp" and deployment.k > deployment.modules:
        yield (
            f"k = {deployment.k} is beyond the {deployment.modules} that the checkpoint's MTP was "
            "trained for: layers run again, and such tokens are kept less often"
        )
    if method == "suffix":
        yield (
            "suffix decoding needs the package arctic-inference; k is the longest draft, most are "
            "shorter"
        )


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


def _price(deployment: Deployment, method: str) -> list[str]:
    """What a schedule costs beside what it is for."""
    if not deployment.schedule or not SCHEDULED.holds(deployment.version):
        return []
    parallel = deployment.way == "block"
    return runner.price(deployment.version, method, deployment.schedule, parallel=parallel)


def _of_first_engine(deployment: Deployment) -> Written:
    """The flags of V0."""
    word = word_for(deployment, WAYS)
    lost = _unsaid(deployment)
    notes: list[str] = []
    if deployment.acceptance is not None and deployment.speculates:
        _pretended(deployment, notes)
    deployment = _scheduled(deployment, word, lost)
    flags = _served(deployment)
    if deployment.speculates:
        flags += first_flags(deployment, word)
        if word == LOOKUP:
            notes.append("prompts are looked up by up to 5 tokens: another number is as good")
    return _written(deployment, flags, {}, lost, notes)
