"""One hypothesis profile for all tests: the same examples on every run, no deadline."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program has it; before numpy is loaded

from hypothesis import HealthCheck, settings

settings.register_profile(
    "specplan",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("specplan")
