from __future__ import annotations

import pytest

from specplan.cli.tiers import tiers
from specplan.domain.observed import Tier
from specplan.errors import UsageError


@pytest.mark.parametrize("text", ["[[1,4,2],[5,512,0]]", "1-4:2,5-512:0", " 1-4:2 , 5-512:0"])
def test_both_spellings_say_the_same(text: str) -> None:
    assert tiers(text) == (Tier(1, 4, 2), Tier(5, 512, 0))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "no schedule"),
        ("1-4:2 and so on", "no schedule"),
        ("[[1,4.9,2]]", "no schedule"),
        ("[[true,4,2]]", "no schedule"),
        ("[[1,4]]", "no schedule"),
        ("[[4,1,2]]", "no schedule"),
        ("[[2,3,1]]", "batch 1 has no tier"),
        ("[]", "batch 1 has no tier"),
        ("[[1,4,2],[3,8,1]]", "batch 3 is in two tiers"),
        ("1-4:2,4-8:1", "batch 4 is in two tiers"),
    ],
)
def test_what_no_engine_takes_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        tiers(text)
