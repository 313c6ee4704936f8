"""The program: `specplan` and `python -m specplan`."""

from __future__ import annotations

import sys


def main() -> None:
    """Answer the command line and exit with its code; the version needs no imports."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from specplan import __version__

        print(f"specplan {__version__}")
        raise SystemExit(0)
    from specplan.cli.run import run

    raise SystemExit(run(arguments))


if __name__ == "__main__":
    main()
