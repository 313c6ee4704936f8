"""SciPy's opinion beside ours: a table by hand, agreement, and a kind word without it."""

from __future__ import annotations

import sys
from array import array

import numpy as np
import pytest

from specplan.errors import Refused
from specplan.physics.twosample.opinion import Opinion, _table, second_opinion


def drawn(p: list[float], size: int, seed: int) -> list[array[int]]:
    """Outputs of one to three tokens, the first by p."""
    rng = np.random.default_rng(seed)
    firsts = rng.choice(len(p), size=size, p=p)
    return [array("i", [int(t)] * (1 + int(rng.integers(3)))) for t in firsts]


def test_rare_first_tokens_are_one_column():
    plain = [array("i", [t]) for t in (0,) * 20 + (1,) * 19 + (2,)]
    spec = [array("i", [t]) for t in (0,) * 30 + (1,) * 8 + (3, 4)]
    assert _table((plain, spec)) == [[20, 19, 1], [30, 8, 2]]
    assert _table((plain[:20], spec[:20])) is None


def test_it_agrees_with_what_was_planted():
    pytest.importorskip("scipy", reason="the extra stats is not installed")
    same = [(drawn([0.5, 0.3, 0.2], 400, i), drawn([0.5, 0.3, 0.2], 400, 50 + i)) for i in range(5)]
    other = [
        (drawn([0.5, 0.3, 0.2], 400, i), drawn([0.3, 0.3, 0.4], 400, 50 + i)) for i in range(5)
    ]
    assert second_opinion(same).first_tokens_p > 0.001
    assert second_opinion(other).first_tokens_p < 1e-9
    assert second_opinion(other).lengths_p > 0.001


def test_too_few_outputs_have_none():
    pytest.importorskip("scipy", reason="the extra stats is not installed")
    one = [array("i", [1])]
    assert second_opinion([(one, one)]) == Opinion(None, None)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(Refused, match=r"not installed; pip install 'specplan\[stats\]'"):
        second_opinion([])
