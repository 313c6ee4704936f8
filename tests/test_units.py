"""Quantities, axes and numbers for people: tables of spellings, and round trips."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

import jsonschema
import pytest
from annotated_types import Ge, Le
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from specplan.errors import InputError
from specplan.units import (
    MAX_AXIS_VALUES,
    Unit,
    likely_slip,
    parse_axis,
    parse_number,
    parse_quantity,
    people,
    significant,
)

UNITS = ("B", "B/s", "FLOP/s", "s", "W", "1/s", "tokens", "USD/h")

SPELLINGS = [
    ("3.35 TB/s", "B/s", 3.35e12),
    ("3.35TB/s", "B/s", 3.35e12),
    ("3350 GB/s", "B/s", 3.35e12),
    ("3.35e12", "B/s", 3.35e12),
    ("3.35E+12 B/s", "B/s", 3.35e12),
    ("0.00335 PB/s", "B/s", 3.35e12),
    ("1.5 TiB/s", "B/s", 1.5 * 2**40),
    ("3EB/s", "B/s", 3e18),
    ("989 TFLOP/s", "FLOP/s", 989e12),
    ("1.979 PFLOP/s", "FLOP/s", 1.979e15),
    ("1979 TOP/s", "FLOP/s", 1.979e15),
    ("80 GB", "B", 80e9),
    ("80 GiB", "B", 85899345920.0),
    ("80GiB", "B", 85899345920.0),
    ("81559 MiB", "B", 85520809984.0),
    ("64 kB", "B", 64000.0),
    ("64 KiB", "B", 65536.0),
    ("30ms", "s", 0.03),
    ("2 s", "s", 2.0),
    (".5us", "s", 5e-7),
    ("40 ns", "s", 4e-8),
    ("700 W", "W", 700.0),
    ("1.4 kW", "W", 1400.0),
    ("50/s", "1/s", 50.0),
    ("3.8 USD/h", "USD/h", 3.8),
    ("8k", "tokens", 8192.0),
    ("1M", "tokens", 1048576.0),
    ("2048 tokens", "tokens", 2048.0),
    ("0", "B", 0.0),
    ("5.", "B", 5.0),
]

REFUSED = [
    ("80 GIB", "B", "did you mean '80 GiB'?"),
    ("80 Gib", "B", "b means bits; for bytes write '80 GiB'"),
    ("80 gb", "B", "did you mean '80 GB'?"),
    ("140gb", "B", "did you mean '140 GB'?"),
    ("80gib", "B", "did you mean '80 GiB'?"),
    ("80 gbps", "B/s", "b means bits; for bytes write '80 GB/s'"),
    ("80 Gb", "B", "b means bits; for bytes write '80 GB'"),
    ("80 Gbit", "B", "b means bits; for bytes write '80 GB'"),
    ("64 KB", "B", "did you mean '64 kB'?"),
    ("80 GBytes", "B", "did you mean '80 GB'?"),
    ("80 GB/s", "B", "did you mean '80 GB'?"),
    ("80 GiGB", "B", "a quantity such as 80 GiB or 80 GB"),
    ("3.35 TB", "B/s", "did you mean '3.35 TB/s'?"),
    ("3.35 TBps", "B/s", "did you mean '3.35 TB/s'?"),
    ("3.35 TB/sec", "B/s", "did you mean '3.35 TB/s'?"),
    ("26.8 Tbps", "B/s", "b means bits; for bytes write '26.8 TB/s'"),
    ("989 TFLOPS", "FLOP/s", "did you mean '989 TFLOP/s'?"),
    ("989 TFLOPs", "FLOP/s", "did you mean '989 TFLOP/s'?"),
    ("989 TFLOP", "FLOP/s", "did you mean '989 TFLOP/s'?"),
    ("1979 TOPS", "FLOP/s", "did you mean '1979 TOP/s'?"),
    ("1 TiFLOP/s", "FLOP/s", "a quantity such as 989 TFLOP/s"),
    ("30 sec", "s", "did you mean '30 s'?"),
    ("30 \u00b5s", "s", "did you mean '30 us'?"),
    ("30 m", "s", "a quantity such as 30ms or 2 s"),
    ("2 ks", "s", "a quantity such as 30ms or 2 s"),
    ("700 watts", "W", "did you mean '700 W'?"),
    ("700 mW", "W", "a quantity such as 700 W"),
    ("50 Hz", "1/s", "a quantity such as 50/s"),
    ("3.8 USD/hr", "USD/h", "did you mean '3.8 USD/h'?"),
    ("$3.8/h", "USD/h", "a quantity such as 3.8 USD/h"),
    ("1,000 GB", "B", "write digits without , or _"),
    ("1_000 GB", "B", "write digits without , or _"),
    ("-5 GB", "B", "is not a quantity"),
    ("+5 GB", "B", "is not a quantity"),
    ("inf", "B", "is not a quantity"),
    ("nan", "B", "is not a quantity"),
    ("0x10", "B", "is not a quantity"),
    ("\uff18\uff10 GB", "B", "is not a quantity"),
    ("80 GB\n", "B", "is not a quantity"),
    ("GB", "B", "is not a quantity"),
    ("", "B", "is not a quantity"),
    ("1e9999", "B", "is not a quantity"),
    ("1e999", "B", "is too large; expected a finite number"),
    ("1e307 EB/s", "B/s", "is too large; expected a finite number"),
    ("9" * 65, "B", "is longer than 64 characters"),
    ("\x1b[31m80 GB", "B", r"'\x1b[31m80 GB' is not a quantity"),
]


@dataclass(frozen=True, slots=True)
class Device:
    """A card with one measured figure."""

    bandwidth_bytes_per_s: Annotated[float, Unit("B/s"), Ge(1e9), Le(1e14)]
    memory_bytes: Annotated[float, Unit("B"), Ge(1e9), Le(1e13)] | None = None


SCHEMA = TypeAdapter(Device).json_schema()


def schema_takes(value: object) -> bool:
    """Whether the generated schema of `Device` takes the value as a bandwidth."""
    card = {"bandwidth_bytes_per_s": value}
    return not list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(card))


@pytest.mark.parametrize(("text", "unit", "si"), SPELLINGS)
def test_a_spelling_has_its_exact_si_value(text: str, unit: str, si: float) -> None:
    assert parse_quantity(text, unit) == si


@pytest.mark.parametrize(("text", "unit", "says"), REFUSED)
def test_a_wrong_spelling_is_refused_in_one_line(text: str, unit: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_quantity(text, unit)
    message = str(refused.value)
    assert says in message
    assert message.isprintable()
    assert refused.value.where is None
    assert refused.value.exit_code == 2


def test_decimal_and_binary_prefixes_stay_apart() -> None:
    assert parse_quantity("80 GiB", "B") / parse_quantity("80 GB", "B") == 1.073741824


def test_the_text_of_64_characters_is_read_and_of_65_is_not() -> None:
    assert parse_quantity("1." + "0" * 59 + " GB", "B") == 1e9
    with pytest.raises(InputError, match="longer than 64"):
        parse_quantity("1." + "0" * 60 + " GB", "B")


@given(st.text(max_size=80), st.sampled_from(UNITS))
def test_any_text_is_a_finite_quantity_or_one_printable_line(text: str, unit: str) -> None:
    try:
        value = parse_quantity(text, unit)
    except InputError as refused:
        assert str(refused).isprintable()  # noqa: PT017
    else:
        assert math.isfinite(value)


def test_an_unknown_unit_is_a_mistake_in_the_program() -> None:
    with pytest.raises(ValueError, match="no unit 'Hz'"):
        Unit("Hz")


@pytest.mark.parametrize("unit", UNITS)
def test_each_unit_of_the_closed_list_can_mark_a_field(unit: str) -> None:
    schema = TypeAdapter(Annotated[float, Unit(unit), Ge(0.0)]).json_schema()
    number, text = schema["anyOf"]
    assert number == {"type": "number", "minimum": 0.0}
    examples = text["description"].removeprefix("such as ").split(" or ")
    for example in examples:
        assert re.search(text["pattern"], example)
        assert parse_quantity(example, unit) > 0


def test_the_schema_keeps_the_bounds_and_admits_quantities() -> None:
    number, text = SCHEMA["properties"]["bandwidth_bytes_per_s"]["anyOf"]
    assert number == {"type": "number", "minimum": 1e9, "maximum": 1e14}
    assert text["type"] == "string"
    assert text["maxLength"] == 64
    arms = SCHEMA["properties"]["memory_bytes"]["anyOf"]
    assert [arm["type"] for arm in arms] == ["number", "string", "null"]
    json.dumps(SCHEMA, allow_nan=False)


def test_validation_itself_stays_that_of_a_bounded_number() -> None:
    device = TypeAdapter(Device)
    assert device.validate_python({"bandwidth_bytes_per_s": 3.35e12}) == Device(3.35e12)
    for outside in (3.35, 1e15):
        with pytest.raises(ValueError, match="equal to"):
            device.validate_python({"bandwidth_bytes_per_s": outside})


@pytest.mark.parametrize("number", [3.35, 1e15, True, None])
def test_the_schema_refuses_numbers_outside_the_band(number: object) -> None:
    assert schema_takes(3.35e12)
    assert not schema_takes(number)


@pytest.mark.parametrize(("text", "unit"), [(text, unit) for text, unit, _ in SPELLINGS])
def test_the_schema_takes_what_the_parser_takes(text: str, unit: str) -> None:
    pattern = TypeAdapter(Annotated[float, Unit(unit)]).json_schema()["anyOf"][1]["pattern"]
    assert re.search(pattern, text)


@pytest.mark.parametrize("text", [text for text, unit, _ in REFUSED if unit == "B/s"])
def test_the_schema_refuses_the_spellings_the_parser_refuses(text: str) -> None:
    assert schema_takes(text) == ("1e307" in text)  # a pattern cannot see a size


@pytest.mark.parametrize(
    ("value", "unit", "band", "says"),
    [
        (3.35, "B/s", (1e9, 1e14), "3.35 looks like TB/s; write 3.35 TB/s"),
        (3.35, "B/s", (1e6, 1e14), "3.35 looks like GB/s; write 3.35 GB/s"),
        (3350, "B/s", (1e9, 1e14), "3350 looks like GB/s; write 3350 GB/s"),
        (80, "B", (1e9, 1e13), "80 looks like GiB or GB; write the unit"),
        (81559, "B", (1e9, 1e13), "81559 looks like MiB or MB; write the unit"),
        (500, "B", (1e5, 1e6), "500 looks like KiB or kB; write the unit"),
        (989, "FLOP/s", (1e12, 1e17), "989 looks like TFLOP/s; write 989 TFLOP/s"),
        (30, "s", (1e-6, 1.0), "30 looks like ms; write 30 ms"),
        (30, "s", (0.0, 1.0), "30 looks like ms; write 30 ms"),
        (0.7, "W", (50.0, 2000.0), "0.7 looks like kW; write 0.7 kW"),
        (3.35e12, "B/s", (1e9, 1e14), ""),
        (1e30, "B/s", (1e9, 1e14), ""),
        (1e-5, "B/s", (1e9, 1e14), ""),
        (-3.35, "B/s", (1e9, 1e14), ""),
        (math.inf, "s", (0.0, 1.0), ""),
        (1e9, "s", (0.0, 1.0), ""),
        (math.nan, "s", (0.0, 1.0), ""),
        (0.01, "USD/h", (0.1, 100.0), ""),
    ],
)
def test_likely_slip_names_the_prefix_left_out(
    value: float, unit: str, band: tuple[float, float], says: str
) -> None:
    assert likely_slip(value, unit, *band) == says


@given(st.floats(min_value=0.01, max_value=1e7), st.sampled_from(["B/s", "FLOP/s", "s", "W"]))
def test_the_spelling_that_a_slip_proposes_lies_in_the_band(value: float, unit: str) -> None:
    low, high = {"s": (1e-6, 1e-1), "W": (30.0, 3000.0)}.get(unit, (1e9, 1e14))
    says = likely_slip(value, unit, low, high)
    if says:
        proposed = says.partition("; write ")[2]
        assert low * (1 - 1e-15) <= parse_quantity(proposed, unit) <= high * (1 + 1e-15)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.7", 0.7), ("3.35e12", 3.35e12), (".5e3", 500.0), ("-1", -1.0), ("+2", 2.0), ("7.", 7.0)],
)
def test_parse_number(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1_0", "1,5", "inf", "-inf", "nan", "0x10", "1e999", "1e", "\u0663", "8k", "1" * 65],
)
def test_parse_number_refuses(text: str) -> None:
    with pytest.raises(InputError):
        parse_number(text)


def test_minus_zero_is_zero() -> None:
    assert math.copysign(1.0, parse_number("-0")) == 1.0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("7", (7.0,)),
        ("1,16", (1.0, 16.0)),
        (" 1 , 16 ", (1.0, 16.0)),
        ("1:8", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),
        ("4:4", (4.0,)),
        ("0.5:0.95:0.05", (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)),
        ("0:0.3:0.1", (0.0, 0.1, 0.2, 0.3)),
        ("1:256:x2", (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)),
        ("1:2:x1.1", (1, 1.1, 1.21, 1.331, 1.4641, 1.61051, 1.771561, 1.9487171, 2)),
        ("1:10:4", (1.0, 5.0, 9.0, 10.0)),
        ("1:100:x3", (1.0, 3.0, 9.0, 27.0, 81.0, 100.0)),
        ("1:2:8", (1.0, 2.0)),
        ("1,4:6,64:256:x2", (1.0, 4.0, 5.0, 6.0, 64.0, 128.0, 256.0)),
        ("4,1,4,1:5", (4.0, 1.0, 2.0, 3.0, 5.0)),
        ("-1:1", (-1.0, 0.0, 1.0)),
    ],
)
def test_an_axis_has_exactly_these_values(text: str, values: tuple[float, ...]) -> None:
    assert parse_axis(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8k", (8192.0,)),
        ("2k,4096", (2048.0, 4096.0)),
        ("1M", (1048576.0,)),
        ("1.5k", (1536.0,)),
        ("1k:8k:x2", (1024.0, 2048.0, 4096.0, 8192.0)),
        ("1k:4k:1k", (1024.0, 2048.0, 3072.0, 4096.0)),
    ],
)
def test_an_axis_of_tokens_counts_k_in_powers_of_two(text: str, values: tuple[float, ...]) -> None:
    assert parse_axis(text, tokens=True, whole=True) == values


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has an empty item"),
        ("1,,2", "has an empty item"),
        ("1,2,", "has an empty item"),
        ("1:", "has an empty item"),
        ("1::2", "has an empty item"),
        ("8:1", "the range '8:1' falls; write the lower end first"),
        ("1:8:0", "the range '1:8:0' does not rise; expected a step above 0"),
        ("1:8:-1", "expected a step above 0"),
        ("1:8:x1", "expected a first value above 0 and a factor above 1"),
        ("1:8:x0.5", "expected a first value above 0 and a factor above 1"),
        ("0:8:x2", "expected a first value above 0 and a factor above 1"),
        ("-8:8:x2", "expected a first value above 0 and a factor above 1"),
        ("abc", "'abc' is not a number; expected a number, a list 1,16, or a range 1:8, 0.5"),
        ("1-8", "'1-8' is not a number"),
        ("1:8:2:3", "'2:3' is not a number"),
        ("1:8:2x", "'2x' is not a number"),
        ("x2", "'x2' is not a number"),
        ("inf", "'inf' is not a number"),
        ("1:inf", "'inf' is not a number"),
        ("1_0", "'1_0' is not a number"),
        ("8k", "'8k' is not a number"),
        ("1e999", "is too large; expected a finite number"),
        ("1" * 70, "is not a number"),
        ("\x1b[2J", r"'\x1b[2J' is not a number"),
    ],
)
def test_an_axis_that_is_none_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_axis(text)
    assert says in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_token_axis_says_how_k_is_written() -> None:
    assert parse_axis("8K,8k,1M", tokens=True) == (8192.0, 1048576.0)
    with pytest.raises(InputError, match=r"'8kb' is not a number; .*with 8k for 8192"):
        parse_axis("8kb", tokens=True)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("70%", "write 0.7"),
        ("0.7 %", "write 0.007"),
        ("1-16", "write 1:16"),
        ("1..16", "write 1:16"),
        ("0.5 to 0.9", "write 0.5:0.9"),
        ("0.7+/-0.1", "write 0.7+-0.1"),
        ("0.7\u00b10.1", "write 0.7+-0.1"),
        ("many", ""),
    ],
)
def test_what_looks_like_a_number_says_what_it_stands_for(text: str, meant: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_axis(text)
    assert refused.value.hint == meant


@pytest.mark.parametrize("text", ["1.5", "1:4:0.5", "1:8:x1.5", "1e-3"])
def test_a_whole_axis_refuses_fractions(text: str) -> None:
    with pytest.raises(InputError, match="is a fraction; expected a whole number"):
        parse_axis(text, whole=True)
    assert parse_axis("8.0,1e1", whole=True) == (8.0, 10.0)


@pytest.mark.parametrize(
    "text",
    [
        "1:100001",
        "1:100000.5",
        "1:1e300",
        "1e-300:1:1e-300",
        "1:2:x1.0000000000000000000000000000000000000000000000001",
        "1:60000,0.5:60000.5",
    ],
)
def test_an_axis_too_long_is_refused_before_it_is_built(text: str) -> None:
    with pytest.raises(InputError, match="has more than 100,000 values"):
        parse_axis(text)


def test_an_axis_may_have_100_000_values() -> None:
    assert len(parse_axis("1:100000")) == MAX_AXIS_VALUES


@given(
    st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 400), st.sampled_from([1, 10, 1000])
)
def test_a_range_is_the_nearest_floats_of_exact_decimals(
    first: int, width: int, step: int, scale: int
) -> None:
    def text(n: int) -> str:
        return f"{n // scale}.{n % scale:03d}" if scale == 1000 else f"{n}e-{len(str(scale)) - 1}"

    expected = [float(Fraction(n, scale)) for n in range(first, first + width, step)]
    expected.append(float(Fraction(first + width, scale)))
    spelt = f"{text(first)}:{text(first + width)}:{text(step)}"
    assert list(parse_axis(spelt)) == expected


@given(st.integers(1, 500), st.integers(0, 10**6), st.integers(2, 9))
def test_a_geometric_range_rises_by_its_factor_and_holds_both_ends(
    first: int, width: int, factor: int
) -> None:
    values = parse_axis(f"{first}:{first + width}:x{factor}")
    assert (values[0], values[-1]) == (first, first + width)
    steps = list(pairwise(values))
    assert all(after == before * factor for before, after in steps[:-1])
    assert all(before < after <= before * factor for before, after in steps[-1:])


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (-999.6, 3, "-1,000"),
        (99.96, 3, "100"),
        (9.996, 3, "10.0"),
        (1.2, 3, "1.20"),
        (0.5, 3, "0.500"),
        (1.739, 3, "1.74"),
        (1.7, 4, "1.700"),
        (226, 3, "226"),
        (1234567, 3, "1,230,000"),
        (0.000123456, 3, "0.000123"),
        (1e-9, 3, "0.00000000100"),
        (1e-12, 3, "0.00000000000100"),
        (9.876e-13, 3, "9.88e-13"),
        (-1e-300, 4, "-1.000e-300"),
        (0.0999, 2, "0.10"),
        (0, 3, "0"),
        (-0.0, 3, "0"),
        (7.5, 1, "8"),
        (math.inf, 3, "Infinity"),
    ],
)
def test_significant(value: float, digits: int, shown: str) -> None:
    assert significant(value, digits) == shown


@given(st.floats(min_value=1e-12, max_value=1e15), st.integers(1, 6))
def test_significant_is_within_half_a_digit_and_never_scientific(value: float, digits: int) -> None:
    shown = significant(value, digits)
    assert re.fullmatch(r"[0-9,]+(\.[0-9]+)?", shown)
    half = Fraction(10) ** (1 - digits) / 2
    assert abs(Fraction(shown.replace(",", "")) - Fraction(value)) <= half * Fraction(value)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (81559 * 2**20, "B", "79.6 GiB"),
        (80 * 2**30, "B", "80 GiB"),
        (80e9, "B", "74.5 GiB"),
        (100 * 2**30, "B", "100 GiB"),
        (1020 * 2**30, "B", "1,020 GiB"),
        (1023.9 * 2**30, "B", "1 TiB"),
        (131072, "B", "128 KiB"),
        (512, "B", "512 B"),
        (-5.1 * 2**30, "B", "-5.1 GiB"),
        (0, "B", "0 B"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (999.6e9, "B/s", "1 TB/s"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (1.979e15, "FLOP/s", "1.98 PFLOP/s"),
        (0.00624, "s", "6.24 ms"),
        (0.00071, "s", "0.71 ms"),
        (0.00005, "s", "50 us"),
        (1.2, "s", "1.2 s"),
        (0.9996, "s", "1 s"),
        (150.0, "s", "150 s"),
        (4e-8, "s", "40 ns"),
        (0.0, "s", "0 s"),
        (700, "W", "700 W"),
        (1400, "W", "1.4 kW"),
        (50, "1/s", "50/s"),
        (3.8, "USD/h", "3.8 USD/h"),
        (8192, "tokens", "8,192"),
        (1048576, "tokens", "1,048,576"),
        (3.36, "tokens", "3.36"),
    ],
)
def test_people(value: float, unit: str, shown: str) -> None:
    assert people(value, unit) == shown


@given(
    st.floats(min_value=1e-9, max_value=1e20),
    st.sampled_from([unit for unit in UNITS if unit != "tokens"]),
)
def test_what_people_read_is_what_they_may_write_but_for_rounding(value: float, unit: str) -> None:
    written = people(value, unit).replace(",", "")
    assert parse_quantity(written, unit) == pytest.approx(value, rel=0.005000001)


@given(st.integers(0, 2**40))
def test_whole_tokens_are_written_out(value: int) -> None:
    assert parse_quantity(people(value, "tokens").replace(",", ""), "tokens") == value
