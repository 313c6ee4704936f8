"""Prints the nth fenced block of a language in a Markdown file: blocks.py FILE LANGUAGE N."""

from __future__ import annotations

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [body for name, body in FENCE.findall(text) if name == language]


if __name__ == "__main__":
    path, language, number = sys.argv[1:]
    sys.stdout.write(blocks(Path(path).read_text(encoding="utf-8"), language)[int(number) - 1])
