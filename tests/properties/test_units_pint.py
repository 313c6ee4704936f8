"""Every prefix, decimal and binary, against pint, which knows nothing of our tables."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.units import parse_quantity

DECIMAL = ("", "k", "M", "G", "T", "P", "E")
BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")
WRITTEN = [
    *((prefix + "B", "B") for prefix in DECIMAL + BINARY),
    *((prefix + "B/s", "B/s") for prefix in DECIMAL + BINARY),
    *((prefix + "FLOP/s", "FLOP/s") for prefix in DECIMAL),
    *((prefix + "OP/s", "FLOP/s") for prefix in DECIMAL),
    *((prefix + "s", "s") for prefix in ("", "m", "u", "n")),
    *((prefix + "W", "W") for prefix in ("", "k")),
]
# The only units pint lacks; their prefixes are its own.
OURS = ("FLOP = [operation]", "OP = FLOP")


@cache
def registry() -> pint.UnitRegistry[Decimal]:
    """A pint registry in exact decimals that knows operations as well."""
    units: pint.UnitRegistry[Decimal] = pint.UnitRegistry(non_int_type=Decimal)
    for definition in OURS:
        units.define(definition)
    return units


def by_pint(number: str, spelling: str, unit: str) -> float:
    """The SI value as pint converts it, in enough decimals to be exact, rounded once."""
    with localcontext(prec=120):
        quantity = registry().Quantity(Decimal(number), spelling)
        return float(quantity.to(unit).magnitude)


@pytest.mark.parametrize(("spelling", "unit"), WRITTEN)
def test_every_prefix_agrees_with_pint(spelling: str, unit: str) -> None:
    assert parse_quantity(f"3.35 {spelling}", unit) == by_pint("3.35", spelling, unit)


@settings(deadline=None)
@given(
    st.decimals(min_value=0, max_value=10**9, allow_nan=False, places=9),
    st.integers(-12, 12),
    st.sampled_from(WRITTEN),
    st.sampled_from(["", " "]),
)
def test_any_number_with_any_prefix_agrees_with_pint(
    mantissa: Decimal, exponent: int, written: tuple[str, str], gap: str
) -> None:
    spelling, unit = written
    number = f"{mantissa:f}e{exponent}"
    assert parse_quantity(number + gap + spelling, unit) == by_pint(number, spelling, unit)
