"""How many threads numpy's linear algebra uses, which is settled when numpy is loaded."""

from __future__ import annotations

import os
from typing import Final

_NAMES: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def one_thread() -> None:
    """One, unless somebody said another number: thousands of small systems of equations are solved
    faster by one thread than by several that wait for each other (on two busy cores in a third of
    the time), and the last digits do not depend on the machine's cores.
    """
    for name in _NAMES:
        os.environ.setdefault(name, os.environ.get("OMP_NUM_THREADS", "1"))
