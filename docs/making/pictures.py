"""The pictures of the docs: each is what one command draws."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import specplan
from specplan.domain.picture import Bars, Picture
from specplan.render import renderer
from specplan.render.look import Look

from making.pages import DOCS, ROOT

HOME = DOCS / "pictures"
LOG = re.compile(r"^```log\n# server\.log\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Drawn(NamedTuple):
    """A picture: what draws it, and the page whose server.log that reads."""

    command: str
    log_of: str = ""


PICTURES = {
    "sweep": Drawn("sweep -t llama-3-8b -d llama-3.2-1b -g h100 -b 1,64,256 -a 0.6,0.8"),
    "best-k": Drawn("best-k -t llama-3-8b -d llama-3.2-1b -g h100 -b 16 -a 0.8"),
    "gate": Drawn("gate -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.5 -c 256 -e vllm"),
    "compare": Drawn(
        "compare -t llama-3.1-8b -g h100 -e vllm -b 16 -d eagle3,llama-3.2-1b,ngram,mtp-glm-5"
        " -a eagle3=eagle3-llama-3.1-8b/gsm8k -a llama-3.2-1b=unconditional:.75,.58,.46"
        " -a ngram=burst:.2@3.1 -a 0.7"
    ),
    "memory": Drawn("memory -t llama-3-8b -d llama-3.2-1b -g h100 -a 0.8 -k 4"),
    "roofline": Drawn(
        "explain -t llama-3.1-8b -d eagle3-llama-3.1-8b -g h100 -a 0.7 -k 3 -e vllm@0.10"
    ),
    "acceptance": Drawn("acceptance server.log", "how-to/logs.md"),
    "accuracy": Drawn("accuracy"),
    "capacity": Drawn(
        "capacity -t llama-3.1-8b -d eagle3 -g h100 -e vllm -a 0.7 --trace azure-conv-2023"
        " --rate 100/s --slo ttft_p99=1s,tpot_p95=15ms"
    ),
    "simulate": Drawn(
        "simulate -t llama-3.1-8b -d eagle3 -g h100 -e vllm -a 0.7 -k gate --rate 26/s"
        " --isl 1200 --osl 210 --duration 5min --slo ttft_p99=1s,tpot_p95=40ms"
    ),
}
"""Name in docs/pictures/ -> the command that draws it."""
ROUND = {
    "target": "llama-3-8b",
    "draft": "llama-3.2-1b",
    "hardware": "h100",
    "batch": 16,
    "acceptance": 0.8,
    "k": 4,
}
NAMES = ("round", *PICTURES)


def make(names: Sequence[str] = ()) -> None:
    """Draws those of the names, or all."""
    HOME.mkdir(exist_ok=True)
    for name in names or NAMES:
        draw(name, HOME / f"{name}.svg")


def draw(name: str, to: Path) -> None:
    """Draws one into a file."""
    if name == "round":
        draw_round(to)
        return
    drawn = PICTURES[name]
    with tempfile.TemporaryDirectory() as folder:
        if drawn.log_of:
            log = LOG.search((DOCS / drawn.log_of).read_text(encoding="utf-8"))
            if log is None:
                raise ValueError(f"{drawn.log_of} has no server.log")
            (Path(folder) / "server.log").write_text(log[1], encoding="utf-8")
        line = [sys.executable, "-m", "specplan", *shlex.split(drawn.command), "-q", "-o"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([*line, str(to)], cwd=folder, env=environment, check=True)  # noqa: S603


def draw_round(to: Path) -> None:
    """What `specplan explain` draws of a round, without the roofline beside it."""
    answer = specplan.explain(specplan.scenario(**ROUND))
    if answer.view.picture is None:
        raise ValueError("explain has no picture")
    bars = next(panel for panel in answer.view.picture().panels if isinstance(panel, Bars))
    view = replace(answer.view, picture=lambda: Picture(panels=(bars,)))
    with to.open("w", encoding="utf-8", newline="\n") as out:
        renderer("svg")(replace(answer, view=view), out, Look())


def texts(path: Path) -> list[str]:
    """All texts of a picture, in order: what must not change unseen."""
    return [" ".join(e.itertext()) for e in ET.parse(path).iter() if e.tag.endswith("}text")]  # noqa: S314
