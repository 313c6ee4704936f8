"""SD021-SD029: what the load does: batch, experts, trees, graphs, memory."""

from __future__ import annotations

from math import ceil

from specplan.rules.deployed import Deployed, DeploymentRule, Told, percent, short, times
from specplan.rules.drafting import broken
from specplan.units import people

BUSY = 8  # sequences from which a loss that nobody can predict may be the load's
MORE_EXPERTS = 1.3  # times those of a plain step
LOST = 0.1  # of the sequences that fit, from which the drafter's memory is worth a word
FULL = 0.95  # of a cap


def _at_load(d: Deployed) -> Told | None:
    batch, model = d.seen.batch, d.model
    if not d.loses or batch is None or broken(d):
        return None
    if model is None or (d.seen.measured is not None and model.speedup >= 1):
        if batch < BUSY:
            return None
        return Told(
            evidence=f"batch {batch:,.0f}",
            consequence="wide verification stops being free as the batch grows; smaller ones may "
            "pay",
            remedy="measure batch 1 and a few between, and gate: "
            + d.habits.told(d.habits.set_gate, n=max(1, batch // 2)),
            found=batch,
            level="note",
        )
    if model.pays_to < 1 or batch <= model.pays_to:
        return None
    return Told(
        evidence=f"batch {batch:,.0f}; {'the tree' if d.seen.tree else f'k = {model.k}'} pays up "
        f"to batch {model.pays_to:,}",
        consequence=f"{times(d.speedup or model.speedup)} here, and less with every sequence more",
        remedy=d.habits.told(d.habits.set_gate, n=model.pays_to),
        found=batch,
        limit=float(model.pays_to),
    )


def _experts(d: Deployed) -> Told | None:
    model = d.model
    if model is None or not d.loses or not model.plain_experts or broken(d):
        return None
    wider = model.round_experts / model.plain_experts
    if wider < MORE_EXPERTS:
        return None
    again = f"; it pays from batch {model.pays_from:,}" if model.pays_from else ""
    return Told(
        evidence=f"a plain step reads {percent(model.plain_experts)} of the experts at batch "
        f"{model.batch:,.0f}, a verification {percent(model.round_experts)}",
        consequence=f"verification reads {wider:.1f} times the expert weights{again}",
        remedy="shorter k at small batch, none where it loses; sparse models may win again once "
        "all experts are read anyway: specplan gate lists every crossing",
        found=wider,
        limit=MORE_EXPERTS,
    )


def _tree(d: Deployed) -> Told | None:
    seen, model = d.seen, d.model
    batch = seen.batch or 1.0
    if not seen.tree or not (batch > 1 or d.loses):
        return None
    nodes = seen.draft_tokens
    chain = "a chain verifies k + 1 tokens a sequence"
    if seen.k:
        chain = f"a chain of {seen.k} verifies {seen.k + 1:,} a sequence"
        chain += f", {nodes} here" if nodes else ""
    if model and model.chain_round_s and seen.kept:
        least = seen.kept.tau * model.chain_round_s / model.round_s
        chain += (
            f": rounds of {people(model.chain_round_s, 's')}, not {people(model.round_s, 's')}, "
            f"so it is faster from {least:.2f} tokens a round on"
        )
    size = f" of {nodes} tokens x batch {batch:,.0f} = {nodes * batch:,.0f} rows" if nodes else ""
    return Told(
        evidence=f"a tree (topk {seen.topk}){size or f', batch {batch:,.0f}'}"
        + (" a pass" if nodes else ""),
        consequence=chain,
        remedy=d.habits.set_chain + "; trees pay at batch 1, where rows are free",
        found=nodes * batch if nodes else None,
        level="error" if d.loses else "warning",
    )


def _graphs(d: Deployed) -> Told | None:
    seen, model, width = d.seen, d.model, d.seen.verified
    in_rows = d.habits.graphs_in == "rows" or seen.graphs == 0
    if seen.batch is None or (in_rows and width is None):
        return None
    most = seen.graphs
    if most is None and in_rows and model:  # engines that count sequences widen them by themselves
        most = model.graph_rows
    needed = seen.batch * (width or 1) if in_rows else seen.batch
    if most is None or needed <= most:
        return None
    slower = "every kernel of the pass is launched one by one"
    if model and model.eager_s:
        slower += f", {people(model.eager_s, 's')} a round"
    elif model:
        slower += ", predicted to be hidden behind the kernels"
    what = f"{short(seen.batch)} sequences x {width} tokens = {needed:,.0f} rows"
    if not in_rows:
        what = f"{needed:,.0f} sequences"
    return Told(
        evidence=f"{what} against CUDA graphs up to {most:,}" if most else "CUDA graphs are off",
        consequence=slower,
        remedy=d.habits.told(d.habits.set_graphs, n=ceil(needed)) if most else "leave graphs on",
        found=needed,
        limit=float(most),
        level="error" if d.loses else "warning",
        title="" if most else "no CUDA graphs",
    )


def _capped(d: Deployed) -> Told | None:
    cap, seen = d.habits.running_cap, d.seen
    running = seen.batch_high or seen.batch
    if cap is None or running is None or seen.max_batch not in {None, cap}:
        return None
    waits = bool(seen.waiting)
    if not (running > cap or (waits and running >= FULL * cap)):
        return None
    queue = f", {seen.waiting:,.0f} waiting" if seen.waiting else ""
    return Told(
        evidence=f"{running:,.0f} requests{queue}; {d.habits.title} lets {cap} run with "
        "speculation unless told otherwise",
        consequence="throughput is that of batch "
        f"{cap}: the rest waits, which a run without speculation does not",
        remedy=d.habits.told(d.habits.set_running, n=max(running, cap + (seen.waiting or 0))),
        found=running,
        limit=float(cap),
    )


def _memory(d: Deployed) -> Told | None:
    model = d.model
    if model is None:
        return None
    lost = model.largest_plain - model.largest
    evidence = f"drafter {people(model.draft_bytes, 'B')} a GPU"
    words = f"{model.largest_plain:,} -> {model.largest:,} sequences at full context"
    if model.batch > model.largest:
        return Told(
            evidence=f"batch {model.batch:,.0f}, {evidence}",
            consequence=f"{words}: it does not fit",
            remedy="lower the batch or context, store KV smaller, or use more GPUs (specplan "
            "memory)",
            found=model.batch,
            limit=float(model.largest),
            level="error",
        )
    if not model.largest_plain or lost < LOST * model.largest_plain:
        return None
    return Told(
        evidence=evidence,
        consequence=f"{words}, {percent(lost / model.largest_plain)} fewer",
        remedy="weigh it at capacity: specplan memory compares each arm at its own largest batch",
        found=float(lost),
    )


LOADING_RULES = (
    DeploymentRule(
        id="SD021",
        level="error",
        title="loses at this load",
        what="A batch beyond the last at which the k in use pays.",
        why="Rows of verification are free only while the pass is memory-bound.",
        remedy="Gate speculation by load.",
        look=_at_load,
    ),
    DeploymentRule(
        id="SD022",
        level="error",
        title="experts at small batch",
        what="A sparse target whose verification reads many more experts than a plain step.",
        why="The weights read are no longer shared by the round's tokens.",
        remedy="Shorter k at small batch; look for the larger batches at which it pays again.",
        look=_experts,
    ),
    DeploymentRule(
        id="SD023",
        level="warning",
        title="tree at batch",
        what="A tree of drafts verified for several sequences.",
        why="Its nodes multiply the rows of a pass; a chain keeps most of the tokens.",
        remedy="Draft a chain at batches above 1.",
        look=_tree,
    ),
    DeploymentRule(
        id="SD024",
        level="warning",
        title="wider than the CUDA graphs",
        what="Batch times k + 1 beyond what graphs were captured for.",
        why="The pass runs eager: launches take longer than the kernels.",
        remedy="Capture graphs up to the width, or lower batch or k.",
        look=_graphs,
    ),
    DeploymentRule(
        id="SD025",
        level="warning",
        title="requests capped by speculation",
        what="A limit on running requests that an engine sets by itself when it speculates.",
        why="Throughput stays behind a run without speculation for no reason of its own.",
        remedy="Say how many requests may run.",
        look=_capped,
    ),
    DeploymentRule(
        id="SD026",
        level="note",
        title="memory of the drafter",
        what="Sequences that no longer fit beside the drafter.",
        why="What the drafter holds, the target's cache cannot.",
        remedy="A smaller drafter or dtype; specplan memory tells what is where.",
        look=_memory,
    ),
)
