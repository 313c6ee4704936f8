"""The program: `specplan` and `python -m specplan`."""

from __future__ import annotations

import os
import sys

# Our matrices are small: waiting for threads takes longer than what they save, and all of it on a
# busy machine. To be said before numpy is loaded, by whom it was not said already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from specplan.cli.run import run


def main() -> None:
    """Answers the command line and exits with its code."""
    raise SystemExit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
