"""A plan in SGLang's words: its algorithms with their numbers, and the file that adapts them.

Read from the released packages 0.4.10, 0.5.2, 0.5.6.post2, 0.5.9, 0.5.10.post1, 0.5.13 and 0.5.23.
"""

from __future__ import annotations

from specplan.dialects.sglang.rules import (
    ADAPTING,
    ADAPTIVE,
    DP,
    DP_HEAD,
    NODES,
    STEPPING,
    STEPS,
    TOPK,
    WITH_DP_HEAD,
    ZERO_STEPS,
    check,
)
from specplan.dialects.spans import Span, Ways, word_for
from specplan.dialects.text import flags_text, json_text, shell_text, yaml_text
from specplan.domain.card import Dtype
from specplan.domain.deployment import Deployment, File, Json, Written
from specplan.errors import Refused

EXAMPLE = "0.5.23"
NEWEST = "0.5.23"
WAYS: Ways = {
    "eagle": (Span("EAGLE", "0.4.10"),),
    "eagle3": (Span("EAGLE3", "0.4.10"),),
    "mtp": (Span("NEXTN", "0.4.10"),),
    "model": (Span("STANDALONE", "0.5.2"),),
    "ngram": (Span("NGRAM", "0.5.6"),),
    "dflash": (Span("DFLASH", "0.5.13"),),
    "dspark": (Span("DSPARK", "0.5.23"),),
}
CAP = 48
"""Requests that run at once while it speculates, where --max-running-requests does not say."""
FILE = "speculative-adaptive.json"
BARE_VARIABLES = Span("", "0.4.10", "0.5.2")  # SIMULATE_ACC_LEN without SGLANG_ before it
TOKEN_MODE = Span("", "0.5.23")  # SGLANG_SIMULATE_ACC_TOKEN_MODE; absent in 0.5.13
PRETENDING = {
    "EAGLE": Span("", "0.4.10"),
    "EAGLE3": Span("", "0.4.10"),
    "NEXTN": Span("", "0.4.10"),
    "STANDALONE": Span("", "0.5.2"),
    "DFLASH": Span("", "0.5.23"),  # dflash_worker of 0.5.13 does not read it
    "DSPARK": Span("", "0.5.23"),
}
"""Algorithms that read SIMULATE_ACC_LEN."""
LOAD_FORMAT = Span("", "0.5.6")  # --speculative-draft-load-format; absent in 0.5.2
DECODE_GRAPHS = Span("--cuda-graph-bs-decode", "0.5.23")  # --cuda-graph-bs in 0.5.13
KV_DTYPES = {Dtype.FP8: "fp8_e4m3"}


def write(deployment: Deployment) -> Written:
    """The command that serves the plan, and the file of its schedule."""
    lost = deployment.unsaid_cache(KV_DTYPES)
    notes: list[str] = []
    algorithm = word_for(deployment, WAYS)
    deployment = _scheduled(deployment, algorithm, lost)
    flags = _served(deployment)
    adaptive: dict[str, Json] | None = None
    environment: tuple[tuple[str, str], ...] = ()
    if deployment.speculates:
        flags += _speculation(deployment, algorithm)
        if deployment.schedule:
            adaptive = _adaptive(deployment, notes)
            flags += [("--speculative-adaptive", None), ("--speculative-adaptive-config", FILE)]
        check(dict(flags), adaptive, version=deployment.version)
        flags += _cap(deployment, notes)
        environment = _pretended(deployment, algorithm, lost, notes)
        if deployment.draft_tp != deployment.tp and deployment.draws != "lookup":
            lost.append(f"draft-tp {deployment.draft_tp}: the drafter is divided as the target is")
    file = File(FILE, json_text(adaptive) + "\n") if adaptive is not None else None
    return _written(deployment, flags, environment, file, adaptive, lost, notes)


def _written(
    deployment: Deployment,
    flags: list[tuple[str, str | None]],
    environment: tuple[tuple[str, str], ...],
    file: File | None,
    adaptive: dict[str, Json] | None,
    lost: list[str],
    notes: list[str],
) -> Written:
    target = _target(deployment)
    program = ("python", "-m", "sglang.launch_server", "--model-path", target)
    keys = {name.removeprefix("--"): True if value is None else value for name, value in flags}
    texts = {
        "shell": shell_text(program, flags, environment, file),
        "flags": flags_text(flags, environment),
        "yaml": yaml_text({"model-path": target, **keys}, environment),
    }
    if file is not None:
        texts["json"] = file.text
    return Written(
        done=deployment,
        program=program,
        flags=tuple(flags),
        environment=environment,
        config=adaptive or {},
        file=file,
        texts=texts,
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _target(deployment: Deployment) -> str:
    return deployment.needed(
        "the target", "--target-path", deployment.target_name, deployment.target
    )


def _served(deployment: Deployment) -> list[tuple[str, str | None]]:
    """The flags that are not about speculation: GPUs and cache."""
    flags: list[tuple[str, str | None]] = []
    if deployment.tp > 1:
        flags.append(("--tp-size", str(deployment.tp)))
    if deployment.attention_dp > 1:
        flags += [("--dp-size", str(deployment.attention_dp)), (DP, None)]
    if deployment.ep > 1:
        flags.append(("--ep-size", str(deployment.ep)))
    if deployment.kv_dtype in KV_DTYPES:
        flags.append(("--kv-cache-dtype", KV_DTYPES[deployment.kv_dtype]))
    return flags


def _scheduled(deployment: Deployment, algorithm: str, lost: list[str]) -> Deployment:
    """With its schedule where an adaptive config can say it, else with one k."""
    if not deployment.schedule:
        return deployment
    stops = any(not step.k for step in deployment.schedule)
    if not ADAPTIVE.holds(deployment.version):
        why = f"{deployment.at} has no k by batch (--speculative-adaptive-config, 0.5.13 on)"
    elif algorithm not in ADAPTING:
        why = f"k by batch is for EAGLE, EAGLE3 and NEXTN, not for {algorithm}"
    elif deployment.attention_dp > 1:
        why = f"k by batch is switched off beside {DP}"
    elif stops and not ZERO_STEPS.holds(deployment.version):
        why = f"{deployment.at} cannot stop drafting at a batch (candidate_steps of 0: 0.5.23 on)"
    else:
        return deployment
    lost.append(f"k by batch: {why}")
    return deployment.fixed()


def _speculation(deployment: Deployment, algorithm: str) -> list[tuple[str, str | None]]:
    """The algorithm, its drafter and its numbers; num-draft-tokens counts the known token."""
    flags: list[tuple[str, str | None]] = [("--speculative-algorithm", algorithm)]
    if deployment.attention_dp > 1 and algorithm in WITH_DP_HEAD:
        flags.append((DP_HEAD, None))
    if algorithm == "NEXTN":  # loaded as a drafter of its own; 0.5.23 finds it for some targets
        flags.append(("--speculative-draft-model-path", deployment.draft or _target(deployment)))
    elif algorithm != "NGRAM":
        flags.append(("--speculative-draft-model-path", deployment.head))
    tree, k = deployment.tree, deployment.k
    if tree and algorithm not in STEPPING:
        raise Refused(f"{algorithm} drafts no tree of EAGLE's", expected="-k")
    if algorithm in STEPPING:
        numbers = (tree.steps, tree.topk, tree.nodes) if tree else (k, 1, k + 1)
        return flags + [
            (name, str(n)) for name, n in zip((STEPS, TOPK, NODES), numbers, strict=True)
        ]
    if algorithm == "DSPARK":
        return [*flags, ("--speculative-dspark-block-size", str(k))]
    flags.append((NODES, str(k + 1)))
    if algorithm == "NGRAM":  # a chain, as it is planned; its own is a tree of breadth 10
        flags.append(("--speculative-ngram-max-bfs-breadth", "1"))
    return flags


def _adaptive(deployment: Deployment, notes: list[str]) -> dict[str, Json]:
    """The schedule: from each batch on, one number of steps to choose from."""
    graphs = DECODE_GRAPHS.word if DECODE_GRAPHS.holds(deployment.version) else "--cuda-graph-bs"
    ends = " ".join(str(step.last_batch) for step in deployment.schedule)
    notes.append(
        "a batch is padded to the next captured graph before its k is looked up: with "
        f"{ends} among {graphs} each gets its own"
    )
    if any(not step.k for step in deployment.schedule):
        notes.append("k = 0 keeps the drafter and its cache in memory")
    return {str(s.first_batch): {"candidate_steps": [s.k]} for s in deployment.schedule}


def _cap(deployment: Deployment, notes: list[str]) -> list[tuple[str, str | None]]:
    """The limit of requests, which speculation lowers without asking."""
    last = deployment.schedule[-1].last_batch if deployment.schedule else 0
    if max(deployment.batch, last) > CAP:
        return [("--max-running-requests", str(max(deployment.batch, last)))]
    notes.append(
        f"while it speculates at most {CAP} requests run at once, unless --max-running-requests "
        "says more"
    )
    return []


def _at_longest(deployment: Deployment) -> str:
    return f", as k = {deployment.k} does" if deployment.schedule else ""


def _pretended(
    deployment: Deployment, algorithm: str, lost: list[str], notes: list[str]
) -> tuple[tuple[str, str], ...]:
    """Variables that have it accept as many tokens as the plan does on average."""
    tokens = deployment.tokens
    if tokens is None:
        return ()
    span = PRETENDING.get(algorithm)
    if span is None or not span.holds(deployment.version):
        raise Refused(
            f"{deployment.at} cannot pretend an acceptance with {algorithm}",
            expected=span.says if span else "",
            hint="leave out --synthetic",
        )
    lost.append(
        f"acceptance by position: every round accepts {tokens:.4g} tokens on average, the bonus "
        f"included{_at_longest(deployment)}"
    )
    random = ", but may be of random weights: --speculative-draft-load-format dummy"
    notes.append(
        "the output is not the target's; the drafter runs and costs what it does"
        + (random if LOAD_FORMAT.holds(deployment.version) else "")
    )
    prefix = "" if BARE_VARIABLES.holds(deployment.version) else "SGLANG_"
    variables = [
        (f"{prefix}SIMULATE_ACC_LEN", f"{tokens:.6g}"),
        (f"{prefix}SIMULATE_ACC_METHOD", "match-expected"),
    ]
    if TOKEN_MODE.holds(deployment.version):
        variables.append(("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token"))
    return tuple(variables)
