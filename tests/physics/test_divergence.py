"""Where greedy outputs part, by hand and against a plain loop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specplan.physics.divergence import Divergence, Stage, first_difference

TOKENS = st.lists(st.integers(0, 2), max_size=30)


@pytest.mark.parametrize(
    ("plain", "spec", "found"),
    [
        ([1, 2, 3], [1, 2, 3], (4, False)),
        ([1, 2, 3], [1, 5, 3], (2, True)),
        ([1, 2, 3], [1, 2], (3, True)),
        ([], [7], (1, True)),
        ([], [], (1, False)),
    ],
)
def test_the_first_difference(plain, spec, found):
    assert first_difference(plain, spec) == found
    assert first_difference(spec, plain) == found


@given(TOKENS, TOKENS)
def test_it_is_that_of_a_loop(plain, spec):
    left, right = [*plain, "end"], [*spec, "end"]
    places = [i for i, (a, b) in enumerate(zip(left, right, strict=False), 1) if a != b]
    wanted = (places[0], True) if places else (len(left), False)
    assert first_difference(plain, spec) == wanted


def test_outputs_side_by_side():
    found = Divergence.of([([1] * 20, [1] * 20), ([1, 2], [1, 3]), ([4], [5]), ([1] * 6, [1] * 5)])
    assert (found.prompts, found.identical, found.diverged) == (4, 1, 3)
    assert found.positions == (1, 2, 6)
    assert found.compared == 21 + 2 + 1 + 6
    assert found.stages == (
        Stage(1, 1, 4, 1),
        Stage(2, 4, 1 + 3 + 3, 1),
        Stage(5, 16, 12 + 2, 1),
        Stage(17, 64, 5, 0),
    )


@given(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=8))
def test_stages_add_up(pairs):
    found = Divergence.of(pairs)
    assert sum(stage.compared for stage in found.stages) == found.compared
    assert sum(stage.diverged for stage in found.stages) == found.diverged
    assert all(stage.compared > 0 for stage in found.stages)
    assert found.identical + found.diverged == found.prompts == len(pairs)
    follows = zip(found.stages, found.stages[1:], strict=False)
    assert all(later.first == stage.last + 1 for stage, later in follows)
