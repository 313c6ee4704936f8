"""The fenced blocks of a Markdown page: those a newcomer types (`sh`) and sessions (`console`).

    python .ci/blocks.py README.md sh 2       prints the second `sh` block
    python .ci/blocks.py README.md refresh    runs every console block and rewrites its output

In a console block a line `$ command` is run by bash; the lines under it are all that it prints,
`...` standing for any number of lines. `# exit 1` at the end of a command is its exit code; what
it then says on stderr counts as output. A yaml block whose first line is `# a/path.yaml` is a file
that the console blocks below it find; so are csv and log blocks, of which that line is no part.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s+# exit (\d+)$")
FILE = re.compile(r"# ([\w./-]+\.(?:yaml|csv|log))\n")
HOLDING = ("yaml", "csv", "log")  # languages of blocks that may be files
GAP = "...\n"


class Command(NamedTuple):
    """A command of a console block and what the page says that it prints."""

    line: str
    printed: str


class Done(NamedTuple):
    """What a command printed and how it ended, against the exit code that its line announces."""

    printed: str
    code: int
    announced: int
    stderr: str


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [body for name, body in FENCE.findall(text) if name == language]


def commands(block: str) -> list[Command]:
    """The commands of a console block."""
    before, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if before.strip():
        raise ValueError(f"a console block begins with a command, not with {before[:40]!r}")
    return [Command(*(part.split("\n", 1))) for part in parts]


def sessions(text: str) -> list[tuple[dict[str, str], str]]:
    """The console blocks of a page, each with the files that the page has written above it."""
    files: dict[str, str] = {}
    found = []
    for language, body in FENCE.findall(text):
        named = FILE.match(body)
        if language in HOLDING and named:
            files[named.group(1)] = body if language == "yaml" else body[named.end() :]
        elif language == "console":
            found.append((dict(files), body))
    return found


def lay_out(files: dict[str, str], folder: Path) -> None:
    """Writes a page's files into a folder."""
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")


def run(line: str, folder: Path) -> Done:
    """Runs a command in a folder, with this Python's programs first on the path."""
    wanted = EXIT.search(line)
    announced = int(wanted.group(1)) if wanted else 0
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
    }
    environment.pop("GITHUB_ACTIONS", None)
    done = subprocess.run(
        ["bash", "-c", EXIT.sub("", line)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    printed = done.stdout + (done.stderr if announced else "")
    return Done(printed, done.returncode, announced, done.stderr)


def matches(command: Command, printed: str) -> bool:
    """Whether the page tells the truth."""
    pieces = re.split(r"^\.\.\.\n", command.printed, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, pieces)), printed) is not None


def refreshed(block: str, folder: Path) -> str:
    """A console block with today's output; commands whose page elides lines are kept."""
    told = []
    for command in commands(block):
        printed = run(command.line, folder).printed
        kept = GAP in command.printed and matches(command, printed)
        told.append(f"$ {command.line}\n{command.printed if kept else printed}")
    return "".join(told)


def refresh(page: Path) -> None:
    """Rewrites the console blocks of a page in place."""
    text = page.read_text(encoding="utf-8")
    for files, body in sessions(text):
        with tempfile.TemporaryDirectory() as folder:
            lay_out(files, Path(folder))
            told = refreshed(body, Path(folder))
        text = text.replace(f"```console\n{body}```", f"```console\n{told}```", 1)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    path, task, *number = sys.argv[1:]
    if task == "refresh":
        refresh(Path(path))
    else:
        found = blocks(Path(path).read_text(encoding="utf-8"), task)
        sys.stdout.write(found[int(number[0]) - 1])
