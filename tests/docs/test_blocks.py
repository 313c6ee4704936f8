"""Every console block of the README and docs prints what it says.

A line `$ specplan ...` is run; the lines under it are its output, whole, `...` standing for any
number of lines. `(exit N)` at the end of a command says that it does not exit with 0.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s+# exit (\d+)$")


def commands(page: Path) -> list[list[tuple[str, str]]]:
    """For each console block its commands with their expected output."""
    found = []
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language != "console":
            continue
        parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
        assert not parts[0].strip(), f"{page.name}: a console block begins with a command"
        found.append([tuple(part.split("\n", 1)) for part in parts[1:]])
    return found


BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, block in enumerate(commands(page), 1)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_block_prints_what_it_says(block, tmp_path):
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
    }
    environment.pop("GITHUB_ACTIONS", None)
    for line, expected in block:
        wanted = EXIT.search(line)
        done = subprocess.run(
            EXIT.sub("", line),
            shell=True,
            executable="/bin/bash",
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        code = int(wanted.group(1)) if wanted else 0
        assert done.returncode == code, done.stderr
        printed = done.stdout + (done.stderr if code else "")
        pattern = r"(?:.*\n)*?".join(map(re.escape, re.split(r"^\.\.\.\n", expected, flags=re.M)))
        assert re.fullmatch(pattern, printed), f"$ {line}\n{printed}"


def test_there_are_blocks():
    assert len(BLOCKS) >= 5
