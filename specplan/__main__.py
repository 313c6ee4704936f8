"""The program: `specplan` and `python -m specplan`."""

from __future__ import annotations

import sys

from specplan.cli.run import run


def main() -> None:
    """Answers the command line and exits with its code."""
    raise SystemExit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
