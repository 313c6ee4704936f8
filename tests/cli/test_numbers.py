"""No option takes what is no number, is not finite, or is larger than can be meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from typed import answered, commands

COMMANDS = commands()
NUMERIC = {"N", "X", "AXIS"}  # how help pages call a number
BAD = {
    "nan": "nan",
    "inf": "inf",
    "minus inf": "-inf",
    "1e400": "1e400",
    "underscore": "1_0",
    "long": "9" * 5000,
    "empty": "",
    "hex": "0x10",
    "arabic digits": "\u0664",
    "spaced": "1 6",
    "negative": "-3",
}
GIVEN = {  # enough for each command to answer, were it not for the bad number
    "-t": "llama-3-8b",
    "-d": "free",
    "-g": "h100",
    "-a": "0.8",
    "--isl": "100",
    "--osl": "10",
    "--accepted": "6",
    "--drafted": "8",
    "-k": "4",
}
TOGETHER = {
    "--isl": "--osl",
    "--osl": "--isl",
    "--accepted": "--drafted",
    "--drafted": "--accepted",
}


def numeric(name: str) -> list[str]:
    """The options of a command that take a number, by their first spelling."""
    parameters: list[Any] = COMMANDS[name].params
    return [p.opts[0] for p in parameters if p.metavar in NUMERIC and not p.hidden]


def line_with(name: str, option: str, value: str) -> list[str]:
    """A command line that is right but for one number."""
    spellings = {o for p in COMMANDS[name].params for o in p.opts}
    given = {o: GIVEN[o] for o in ("-t", "-d", "-g", "-a") if o in spellings}
    if "accepted" in option or "drafted" in option:
        del given["-a"]
        given["-k"] = "4"
    if option in {"--attention-dp", "--ep"}:
        given |= {"--tp": "2", "-t": "gpt-oss-20b"}  # whose GPUs they divide, for its experts
    if option in TOGETHER:
        given[TOGETHER[option]] = GIVEN[TOGETHER[option]]
    given[option] = value
    return [*name.split(), *(word for pair in given.items() for word in pair)]


# Every bad number where an option has a reader of its own, some of them elsewhere.
READERS = {"--tp", "-c", "-a", "-k", "--need", "--k-max"}
SOME = ("nan", "1e400", "underscore", "long")


def bad_for(name: str, option: str) -> Iterable[str]:
    if name == "best-k" and option in READERS:
        return BAD
    return SOME if name in {"best-k", "exactness"} else SOME[:2]


CASES = [
    pytest.param(name, option, BAD[bad], id=f"{name} {option} {bad}")
    for name in COMMANDS
    for option in numeric(name)
    for bad in bad_for(name, option)
]


def test_there_are_cases_for_each_reader():
    assert set(numeric("best-k")) >= READERS
    assert len(CASES) > 150


@pytest.mark.parametrize(("name", "option", "value"), CASES)
def test_a_bad_number_is_refused_in_one_line(capsys, name, option, value):
    said = answered(capsys, line_with(name, option, value))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("specplan: ")
    assert said.err.count("\n") == 1
    assert len(said.err) < 400
    assert "nan" not in said.err.replace(repr(value), "")


@pytest.mark.parametrize("name", ["best-k", "exactness"])
def test_without_the_bad_number_the_same_line_answers(capsys, name):
    good = {"-a": "0.8", "--vocabulary": "5", "--trials": "2000", "--seed": "3", "--k-max": "8"}
    for option in numeric(name):
        value = good.get(option) or GIVEN.get(option) or "2"
        assert answered(capsys, line_with(name, option, value)).code == 0, option


BEST = "best-k -t llama-3-8b -d free -g h100"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (f"{BEST} -a 0.8 --need 0", "need is 0; expected a finite speedup above 0"),
        (f"{BEST} -a 0.8 --need -1", "need is -1; expected a finite speedup above 0"),
        (f"{BEST} -a 0.8 --k-max 0", "--k-max: 0 is out of range; expected 1 to 64"),
        (f"{BEST} -a 0.8 --k-max 65", "--k-max: 65 is out of range; expected 1 to 64"),
        (f"{BEST} -a 0.8 --k-max 1.5", "--k-max: '1.5' is out of reach; expected a whole number"),
        (f"{BEST} -k 4 --accepted 5 --drafted 4", "5 accepted of 4 drafted cannot be; "),
        (f"{BEST} -k 4 --accepted 0 --drafted 0", "0 drafted tokens are no round of k = 4; "),
        (f"{BEST} -k 4 --accepted 5", "--accepted and --drafted go together"),
        (f"{BEST} --accepted 5 --drafted 8", "--k: counters need the draft length in use; "),
        (f"{BEST} -a 1.01", "--acceptance: alpha 1.01 is no probability; expected 0..1"),
        (f"{BEST} -a 72", "--acceptance: alpha 72 is no probability; expected 0..1; 72 % is 0.72"),
        (f"{BEST} -a 0.7+-0.6", "--acceptance: an alpha cannot be uncertain by 0.6; "),
        (f"{BEST} -a 0.7+-nan", "--acceptance: 'nan' is not a number; "),
        (f"{BEST} -a 0.8 -d ratio:nan", "--draft: ratio:nan is no cost ratio; "),
        (f"{BEST} -a 0.8 -d ratio:1_0", "--draft: ratio:1_0 is no cost ratio; "),
        (f"{BEST} -a 0.8 -d ratio:", "--draft: ratio: is no cost ratio; "),
        (f"{BEST} -a 0.8 --mix nan,alpha=0.5", "--mix: 'nan' is not a number; "),
        (f"{BEST} -a 0.8 --mix 0,alpha=0.5", "--mix: weight 0 is no share; "),
        (f"{BEST} -a 0.8 --mix 1,batch=inf", "--mix: 'inf' is not a number; "),
        ("sweep -b 1:1e9", "--batch: '1:1e9' has more than 100,000 values; "),
        ("sweep -b 0", "--batch: batch 0 is out of range; expected 1 to 1,000,000"),
        ("sweep -b 1:8:0", "--batch: the range '1:8:0' does not rise; "),
        ("sweep -b 1:8:x1", "--batch: the range '1:8:x1' never reaches its end; "),
        ("sweep -c 0", "--context: context 0 is out of range; expected 1 to 100,000,000"),
        ("sweep --isl 10 --osl 0", "--osl: context 0 is out of range; "),
        ("sweep --tp 0", "--tp: 0 is out of range; expected 1 to 1,024"),
        ("sweep -k 65", "--k: k 65 is out of range; expected 0 to 64"),
        ("sweep -k gated", "--k: k 'gated' is no number or range; "),
        ("sweep -a 0:1:1e-9", "--acceptance: '0:1:1e-9' has more than 100,000 values; "),
        (
            "sweep -b 1:100000 -c 1:1000",
            "1,000,000,000 points are more than one answer holds; expected at most 10,000,000; ",
        ),
        ("exactness --trials 0", "trials is 0; expected 1 to 1000000000"),
        ("exactness --trials 9", "9 trials cannot tell a wrong rule from a right one; "),
        ("exactness --trials 1e30", "--trials: '1e30' is out of reach; "),
        ("exactness --seed -1", "seed is -1; expected 0 or more"),
        ("exactness --vocabulary 0", "vocabulary is 0; expected 1 to 1000000"),
        ("exactness --alpha 1.1", "alpha is 1.1; expected a number from 0 to 1"),
        ("exactness --p 0.5,nan --q 1,0", "--p: 'nan' is not a number; "),
        ("exactness --p 0.5,0.6 --q 1,0", "p sums to 1.1; "),
    ],
)
def test_a_number_out_of_range_is_refused_in_one_line(capsys, typed, message):
    said = answered(capsys, typed.split())
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f"specplan: {message}")
