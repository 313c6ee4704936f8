"""Makes what the docs have that nobody types.

python docs/generate.py ledger      docs/ledger.md, from `specplan accuracy`
python docs/generate.py pictures    docs/pictures/*.svg, each by its command (NAME ... for some)
python docs/generate.py reference   docs/reference/ and docs/project/, as every build of the site
python docs/generate.py links SITE  nothing: exits 1 if links of the built site lead nowhere
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from making import ledger, linked, pictures, reference  # noqa: E402 - they are found from here
from making.pages import lay  # noqa: E402


def main(what: str, *names: str) -> None:
    """Makes one kind of them, or looks at all."""
    if what == "ledger":
        lay({"ledger.md": ledger.page()}, HERE)
    elif what == "pictures":
        pictures.make(names)
    elif what == "reference":
        reference.make()
    elif what == "links" and names:
        sys.exit("\n".join(linked.broken(Path(names[0]))) or None)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
