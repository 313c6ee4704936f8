"""Guard and share: report."""

from __future__ import annotations

from specplan.cli.demand import Demand
from specplan.cli.options import Axes, Candidates, Out, PlanFile, Usd, What

EXAMPLES = """\
specplan report -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8
specplan report chat.yaml -o report.html
specplan report chat.yaml -f markdown"""


def report(
    plan: PlanFile = None,
    *,
    usd_per_gpu_hour: Usd = None,
    what: What,
    load: Axes,
    candidates: Candidates,
    demand: Demand,
    out: Out,
) -> int:
    """One HTML page or a Markdown summary of a plan.

    The verdict, the best k and its margins, maps, roofline, memory, schedule, the engine's flags,
    GPUs for the traffic, and the source of every figure. Exit 1 where the plan does not hold.
    """
    from specplan.cli.threads import one_thread

    one_thread()
    from specplan.cli.reported import answered
    from specplan.cli.show import format_name, show

    form = format_name(out)
    return show(answered(plan, what, load, candidates, demand, usd_per_gpu_hour, form), out)
