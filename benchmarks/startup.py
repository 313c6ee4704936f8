"""What specplan's own code adds to the start of a command, as ratios of CPU time.

    python benchmarks/startup.py

`specplan --help` stands against a typer program with the same commands, options and help texts
whose functions do nothing, written out from ours for the purpose; a default sweep stands against
the import of the libraries that it needs. The programs take turns, so a slow minute hits all.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from specplan.cli.app import app

RUNS = 15
LIBRARIES = "import numpy, typer, rich.table, pydantic, yaml"
HEAD = """\
from typing import Annotated
import typer
app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@app.callback()
def top() -> None:
    "Capacity planner and roofline calculator for speculative decoding."
"""


def empty_program() -> str:
    """A program with the commands and options of ours and nothing behind them."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(_commands("app", group)) + "app(prog_name='specplan')\n"


def _commands(parent: str, group: Any) -> Iterator[str]:  # noqa: ANN401 - typer's own classes
    for name, command in group.commands.items():
        variable = f"{parent}_{name.replace('-', '_')}"
        if hasattr(command, "commands"):
            yield f"{variable} = typer.Typer(rich_markup_mode=None, help={command.help!r})\n"
            yield f"{parent}.add_typer({variable}, name={name!r})\n"
            yield from _commands(variable, command)
        else:
            parameters = "".join(f"    {_parameter(p)},\n" for p in command.params)
            yield f"@{parent}.command({name!r}, epilog={command.epilog!r})\n"
            yield f"def {variable}(\n    *,\n{parameters}) -> None:\n    {command.help!r}\n"


def _parameter(parameter: Any) -> str:  # noqa: ANN401
    flag = getattr(parameter, "is_flag", False)
    kind = "bool" if flag else type(parameter.default).__name__
    if parameter.multiple or parameter.nargs == -1:
        kind = "list[str]"
    elif parameter.default is None:
        kind = "str | None"
    described = f"help={parameter.help!r}, metavar={parameter.metavar!r}"
    if parameter.param_type_name == "argument":
        declared = f"typer.Argument({described})"
    else:
        declared = f"typer.Option({', '.join(map(repr, parameter.opts))}, {described})"
    default = "" if parameter.required else f" = {parameter.default!r}"
    return f"{parameter.name}: Annotated[{kind}, {declared}]{default}"


def cpu_ms(command: list[str]) -> float:
    """User and system milliseconds of one run; a run that fails ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return 1000 * used_s


def medians(programs: dict[str, list[str]]) -> dict[str, float]:
    """The median of each program's runs, after one that is not counted and compiles."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for run in range(RUNS + 1):
        for name, arguments in programs.items():
            used = cpu_ms([sys.executable, *arguments])
            if run:
                times[name].append(used)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        # Imported, not run as a script: so it is compiled once, as ours is.
        Path(folder, "empty_program.py").write_text(empty_program(), encoding="utf-8")
        os.environ["PYTHONPATH"] = os.pathsep.join((folder, str(Path(__file__).parents[1])))
        found = medians(
            {
                "python -c pass": ["-c", "pass"],
                "specplan --version": ["-m", "specplan", "--version"],
                "empty typer program --help": ["-c", "import empty_program", "--help"],
                "specplan --help": ["-m", "specplan", "--help"],
                "empty typer program sweep": ["-c", "import empty_program", "sweep"],
                LIBRARIES: ["-c", LIBRARIES],
                "specplan sweep": ["-m", "specplan", "sweep", "-q"],
            }
        )
    print(
        f"Python {platform.python_version()}, typer {typer.__version__}; CPU time, median of {RUNS}"
    )
    for name, value in found.items():
        print(f"{name:50}{value:7.0f} ms")
    for ours, theirs in (
        ("specplan --help", "empty typer program --help"),
        ("specplan sweep", LIBRARIES),
    ):
        print(f"{found[ours] / found[theirs]:6.2f}x  {ours} over {theirs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
