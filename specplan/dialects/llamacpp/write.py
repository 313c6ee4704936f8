"""A plan in llama.cpp's words: the flags of llama-server, by build.

Read from common/arg.cpp and common/speculative.cpp of b9093, b9113, b9246, b10603, b10630, b10760
and b11434. Of the builds before #22397 (2026-04-28) the flags are those of 2025's.
"""

from __future__ import annotations

from specplan.dialects.llamacpp.rules import SYNTHETIC, check, most_slots
from specplan.dialects.spans import Span, Ways, word_for
from specplan.dialects.text import flags_text, shell_text
from specplan.domain.deployment import Deployment, Unloadable, Written
from specplan.domain.version import ordered
from specplan.errors import Refused

EXAMPLE = "b11434"
NEWEST = "11434"
WAYS: Ways = {
    "model": (
        Span("-md", "1", "8000"),
        Span("draft", "9093", "9113"),
        Span("draft-simple", "9246"),
    ),
    "eagle3": (Span("draft-eagle3", "9246"),),
    "mtp": (Span("draft-mtp", "9246"),),
    "dflash": (Span("draft-dflash", "10603"),),
    "dspark": (Span("draft-dspark", "10603"),),
    "ngram": (Span("ngram_simple", "9093", "9093"), Span("ngram-simple", "9113")),
}
LATEST_OF_OLD, RENAMED = 8000, 9093
IN_TARGET = "draft-mtp"  # lies in the target's own file


def write(deployment: Deployment) -> Written:
    """The command that serves the plan."""
    build = ordered(deployment.version)[0]
    if LATEST_OF_OLD < build < RENAMED:
        raise Refused(
            f"which flags b{build} takes was not read",
            expected=f"a build up to b{LATEST_OF_OLD}, or from b{RENAMED} on",
        )
    if deployment.tree:
        raise Refused(f"{deployment.engine}'s server verifies chains", expected="-k")
    kind = word_for(deployment, WAYS)
    _refuse_unloadable(deployment, kind)
    lost = deployment.unsaid_cache({})
    notes: list[str] = []
    if deployment.schedule:
        lost.append(f"k by batch: {deployment.engine} drafts as much at every load")
        deployment = deployment.fixed()
    flags = _served(deployment, build, lost, notes)
    if deployment.speculates:
        if kind == IN_TARGET and deployment.draft:
            lost.append(f"the drafter's path: {kind} drafts with layers in the target's own file")
        spoken = _speculation(deployment, kind, build, notes)
        check(dict(spoken), build=build)
        flags += spoken
    program = ("llama-server", *_target(deployment))
    return Written(
        done=deployment,
        program=program,
        flags=tuple(flags),
        texts={"shell": shell_text(program, flags), "flags": flags_text(flags)},
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _served(
    deployment: Deployment, build: int, lost: list[str], notes: list[str]
) -> list[tuple[str, str | None]]:
    """Slots for the batch planned, and a cache for all of them: -c is divided among the slots. How
    GPUs share a model is not said in numbers of them.
    """
    if deployment.tp > 1:
        lost.append(
            f"tp {deployment.tp}: it uses the GPUs that it sees, by layers unless --split-mode says"
        )
    more = {"ep": deployment.ep, "attention-dp": deployment.attention_dp}
    lost += [f"{name} {n}: it has no words for it" for name, n in more.items() if n > 1]
    most = most_slots(build)
    slots = min(deployment.batch, most)
    if slots < deployment.batch:
        lost.append(f"batch {deployment.batch:,}: b{build} serves at most {most} requests at once")
    if slots == 1:
        return []
    if not deployment.context:
        notes.append(f"each of the {slots} slots gets 1/{slots} of the context that -c says")
        return [("--parallel", str(slots))]
    return [("--parallel", str(slots)), ("-c", str(slots * deployment.context))]


def _is_gguf(name: str | None) -> bool:
    """Whether it can be loaded: a .gguf file, or a repository of such files."""
    return name is not None and (name.endswith(".gguf") or "gguf" in name.lower())


def _refuse_unloadable(deployment: Deployment, kind: str) -> None:
    """Asks for all files that no card names at once."""
    names: dict[str, str] = {}
    if not _is_gguf(deployment.target):
        names["--target-path"] = deployment.target_name
    drafts = deployment.speculates and kind != IN_TARGET and not kind.startswith("ngram")
    if drafts and not _is_gguf(deployment.draft):
        names["--draft-path"] = deployment.draft_name
    if names:
        many = len(names) > 1
        files = {"--target-path": "TARGET.gguf", "--draft-path": "DRAFT.gguf"}
        raise Unloadable(
            f"the card{'s' if many else ''} of {' and '.join(names.values())} "
            f"name{'' if many else 's'} no .gguf file that {deployment.engine} could load",
            {option: f"PATH/TO/{name}.gguf" for option, name in names.items()},
            expected=" and ".join(f"{option} {files[option]}" for option in names),
            hint="a .gguf file, or ORG/NAME-GGUF",
        )


def _target(deployment: Deployment) -> tuple[str, str]:
    """The target's file, or its repository."""
    found = str(deployment.target)
    return ("-m" if found.endswith(".gguf") else "-hf", found)


def _drafter(deployment: Deployment) -> str:
    return str(deployment.draft)


def _speculation(
    deployment: Deployment, kind: str, build: int, notes: list[str]
) -> list[tuple[str, str | None]]:
    k = str(deployment.k)
    if kind == "-md":
        notes.append("--draft-p-min 0 has it draft k tokens however unsure it is, as planned")
        if deployment.acceptance is not None:
            raise _no_synthetic(build)
        return [("-md", _drafter(deployment)), ("--draft-max", k), ("--draft-p-min", "0")]
    flags: list[tuple[str, str | None]] = [("--spec-type", kind)]
    if kind.startswith("ngram"):
        flags.append(("--spec-ngram-simple-size-m", k))
    else:
        if kind != IN_TARGET:
            name = _drafter(deployment)
            where = "--spec-draft-model" if name.endswith(".gguf") else "--spec-draft-hf"
            flags.append((where, name))
        flags.append(("--spec-draft-n-max", k))
    if deployment.acceptance is not None:
        if build < SYNTHETIC:
            raise _no_synthetic(build)
        rates = ",".join(f"{share:.6g}" for share in deployment.acceptance)
        flags.append(("--spec-synth-rates", rates))
        notes.append("the output is not the target's; the drafter runs and costs what it does")
    return flags


def _no_synthetic(build: int) -> Refused:
    return Refused(
        f"b{build} cannot pretend an acceptance",
        expected=f"b{SYNTHETIC} or later",
        hint="leave out --synthetic",
    )
