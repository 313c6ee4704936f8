"""What people see of `exactness`: the checks, and with settings or another rule what those do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specplan.domain.answer import Facts, Lines, Rows, Section, View
from specplan.domain.sampling import Sampling
from specplan.domain.verification import TOKEN
from specplan.physics.sides import Case, Sides
from specplan.units import significant

if TYPE_CHECKING:
    from specplan.questions.exactness import Exactness

FEW = 8  # positions whose acceptance stands one by one
WIDTH = 78


def view(value: Exactness, sides: Sides) -> View:
    """The checks; below them, where anything but the plain rule was asked for, every case."""
    plain = Sampling() == sides.target.sampling == sides.draft.sampling
    short = plain and sides.positions == 1 and value.verification == str(TOKEN)
    checks = Rows(columns=("check", "measured", "expected", "limit", "passed"))
    sections: tuple[Section, ...] = (checks, Lines(tuple(_legend(value))))
    if not short:
        sections = (
            Lines(
                (f"By formula, {_where(sides.positions)}: drafts kept, TV from what was asked.",)
            ),
            Facts(tuple((one.case, _case(one)) for one in value.cases)),
            Facts(tuple(_facts(value))),
            *sections,
        )
    return View(title=_title(value), caption=tuple(_caption(value, sides)), sections=sections)


def _where(positions: int) -> str:
    return "at one position" if positions == 1 else f"least to most of {positions} positions"


def _title(value: Exactness) -> str:
    failed = sum(not check.passed for check in value.checks)
    if value.exact:
        return "The rule is exact"
    if value.plant is None and (value.relaxed or not value.cases[0].exact):
        apart = significant(max(value.cases[0].total_variation), 2)
        most = "up to " if len(value.cases[0].total_variation) > 1 else ""
        return (
            f"{'Relaxed, not' if value.relaxed else 'Not'} exact: TV {most}{apart} from the target"
        )
    return f"Not exact: {failed} check{'s fail' if failed != 1 else ' fails'}"


def _caption(value: Exactness, sides: Sides) -> Iterator[str]:
    planted = f", planted bug {value.plant}" if value.plant else ""
    vocabulary = sides.target.raw.shape[1]
    yield f"{value.trials:,} trials a check, seed {value.seed}, vocabulary {vocabulary}{planted}"
    if value.sampling != value.draft_sampling:
        yield from _wrapped(f"target {value.sampling}")
        yield from _wrapped(f"drafter {value.draft_sampling}")
    elif sides.target.sampling != Sampling():
        yield from _wrapped(f"both sides {value.sampling}")
    if value.verification != str(TOKEN):
        yield f"verification {value.verification}"


def _wrapped(settings: str) -> list[str]:
    """Between settings, as all of them do not fit a line."""
    text = settings.replace(",", ", ")
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _facts(value: Exactness) -> Iterator[tuple[str, str]]:
    own, rounds = value.cases[0], value.rounds
    if 1 < len(own.acceptance) <= FEW:
        yield "acceptance by position", " ".join(f"{one:.3f}" for one in own.acceptance)
    exact = next((c for c in value.cases if c.case == "the exact rule, token by token"), None)
    if exact and value.relaxed:
        gained = [a - b for a, b in zip(own.acceptance, exact.acceptance, strict=True)]
        yield "against the exact rule", f"acceptance {_each(gained, sign='+')}"
    tokens = f"{rounds.tokens:.3f}"
    if value.verification != str(TOKEN):
        tokens += f" (token by token {rounds.token_by_token:.3f})"
    yield f"tokens a round, k={rounds.k}", f"{tokens}, reference chains"
    if rounds.total_variation:
        apart = significant(rounds.total_variation, 2)
        yield f"TV of {rounds.k + 1} tokens", f"{apart}, reference chains"


def _case(one: Case) -> str:
    kept = f"kept {_each(one.acceptance)}"
    if not any(one.total_variation):
        return f"{kept}, {'exact' if one.exact else 'TV 0'}"
    return f"{kept}, TV {_each(one.total_variation)}"


def _each(values: Sequence[float], sign: str = "") -> str:
    """The least and the most, or the one that all print as."""
    ends = [f"{value:{sign}.3f}" for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def _legend(value: Exactness) -> Iterator[str]:
    yield "limit: of the deviation; for TV the largest value, for the p-value the smallest."
    yield f"A correct rule fails a check once in {1 / value.false_alarm_per_check:,.0f}."
