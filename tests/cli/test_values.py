"""Times as they are typed."""

from __future__ import annotations

import pytest

from specplan.cli.values import duration
from specplan.errors import SpecplanError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("8.8ms", 0.0088), ("90 s", 90), ("5min", 300), ("1.5 h", 5400), ("1d", 86400)],
)
def test_times_have_units_up_to_days(text, seconds):
    assert duration("--bins")(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("60", "--bins: '60' has no unit; expected a time such as 8.8ms or 0.3 s"),
        ("0h", "--bins: '0h' is not above 0"),
        ("1e307d", "--bins: '1e307d' is beyond any number"),
        ("5 weeks", "--bins: '5 weeks' has an unknown unit 'weeks'"),
        ("min", "--bins: '' is not a number"),
    ],
)
def test_what_is_no_time_is_refused(text, said):
    with pytest.raises(SpecplanError) as refused:
        duration("--bins")(text)
    assert str(refused.value).startswith(said)
