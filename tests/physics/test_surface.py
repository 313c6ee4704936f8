"""The surface kernel against a plain-Python search, with ties built on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.errors import UsageError
from specplan.physics import surface as surface_module
from specplan.physics.surface import LIMIT, MAX_K, Surface, best_k_surface, empty_surface

TIE = 1e-9


def search(tokens, gain, k):
    """The definition, one cell at a time: k, speedup and margin as nested lists."""
    rows = []
    for point in gain.tolist():
        row = []
        for alpha in tokens.tolist():
            speedups = [e * g for e, g in zip(alpha, point, strict=True)]
            top = max(speedups)
            within = [i for i, speedup in enumerate(speedups) if speedup >= top * (1 - TIE)]
            others = sorted(speedups)[:-1]
            margin = top / others[-1] - 1 if others and len(within) == 1 else 0.0
            row.append((int(k[within[0]]), speedups[within[0]], margin))
        rows.append(row)
    return rows


def assert_is_the_search(surface, tokens, gain, k):
    found = [
        list(zip(*rows, strict=True))
        for rows in zip(*(array.tolist() for array in surface), strict=True)
    ]
    assert found == search(tokens, gain, k)  # every bit: both do the same operations


# Factors around 1 that tie, nearly tie, chain and differ, in units of the tolerance.
near_one = st.sampled_from([-2.5, -1.5, -1.0, -0.6, 0.0, 0.6, 1.0, 1.5, 2.5]).map(
    lambda steps: 1 + steps * TIE
)
plain = st.floats(1e-3, 1e3)


@st.composite
def problems(draw):
    k = draw(st.lists(st.integers(0, MAX_K), min_size=1, max_size=17, unique=True).map(sorted))
    points, alphas = draw(st.integers(1, 7)), draw(st.integers(1, 7))

    def table(rows, entry):
        entries = st.lists(entry, min_size=rows * len(k), max_size=rows * len(k))
        return np.array(draw(entries)).reshape(rows, len(k))

    tokens, gain = table(alphas, plain), table(points, plain)
    if draw(st.booleans()):  # all candidates of a cell equal but for a few tolerances
        tokens = np.ones_like(tokens) * tokens[:, :1]
        gain = gain[:, :1] * table(points, near_one)
    elif draw(st.booleans()):  # the same, and hidden in the product
        tokens = np.ones((alphas, 1)) * tokens[:1]
        gain = table(points, near_one) / tokens[:1]
    return tokens, gain, np.array(k)


@given(problem=problems(), wide=st.integers(1, 8), cells=st.integers(1, 64))
@settings(max_examples=300, deadline=None)
def test_equals_a_plain_search_whatever_the_blocks(problem, wide, cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surface_module, "_POINTS", wide)
        patch.setattr(surface_module, "_CELLS", cells)
        assert_is_the_search(best_k_surface(*problem), *problem)


@pytest.mark.parametrize(
    ("steps", "k", "speedup", "tied"),
    [
        ((0, 0, 0), 0, 0, True),
        ((0, 0.8, 0), 0, 0, True),
        ((0, 0.8, 1.6), 1, 0.8, True),  # a chain: the first is not within TIE of the last
        ((0, 1.6, 0.8), 1, 1.6, True),
        ((1.6, 0.8, 0), 0, 1.6, True),
        ((0, 1.6, 3.2), 2, 3.2, False),
        ((3.2, 0, 1.6), 0, 3.2, False),
    ],
)
def test_ties_go_to_the_smallest_k_near_the_top_even_in_chains(steps, k, speedup, tied):
    gain = np.array([[1 + step * TIE for step in steps]])
    surface = best_k_surface(np.ones((1, 3)), gain, np.arange(3))
    assert surface.k.item() == k
    assert surface.speedup.item() == 1 + speedup * TIE
    assert (surface.margin.item() == 0) is tied
    if not tied:
        assert surface.margin.item() == pytest.approx(1.6 * TIE, rel=1e-6)


def test_more_cells_than_a_block_equal_the_whole_product_at_once():
    rng = np.random.default_rng(7)
    points, alphas = surface_module._POINTS + 3, 11
    assert points * alphas > surface_module._CELLS
    tokens, gain = rng.uniform(1, 5, (alphas, 5)), rng.uniform(0.1, 1, (points, 5))
    k = np.array([0, 2, 4, 8, 16])
    product = gain[:, np.newaxis, :] * tokens
    ordered = np.sort(product)
    surface = best_k_surface(tokens, gain, k)
    np.testing.assert_array_equal(surface.k, k[np.argmax(product, axis=-1)])
    np.testing.assert_array_equal(surface.speedup, ordered[..., -1])
    np.testing.assert_array_equal(surface.margin, ordered[..., -1] / ordered[..., -2] - 1)
    assert surface.margin.min() > TIE  # no tie was drawn, so the comparison is fair


def test_golden_pair_at_2048_tokens():
    """Cells of the reference table of the ideal roofline on an H100 (2 decimals, k 1 2 4 6 8)."""

    def step_s(params, kv_bytes, batch, width):
        compute_s = 2 * params * batch * width / 989e12
        return max(compute_s, (2 * params + batch * kv_bytes * 2048) / 3.35e12)

    k = np.array([1, 2, 4, 6, 8])
    gain = np.array(
        [
            [
                step_s(7.50e9, 131072, batch, 1)
                / (n * step_s(1.24e9, 32768, batch, 1) + step_s(7.50e9, 131072, batch, n + 1))
                for n in k
            ]
            for batch in (1, 16, 64, 256)
        ]
    )
    tokens = np.array([[sum(alpha**i for i in range(n + 1)) for n in k] for alpha in (0.6, 0.8)])
    surface = best_k_surface(tokens, gain, k)
    assert surface.k.tolist() == [[2, 4]] * 4
    assert surface.speedup.round(2).tolist() == [
        [1.47, 2.02],
        [1.43, 1.94],
        [1.38, 1.82],
        [1.33, 1.73],
    ]


def test_a_lone_candidate_has_margin_zero():
    surface = best_k_surface(np.array([[2.0], [3.0]]), np.array([[0.5]]), np.array([4]))
    assert surface.k.tolist() == [[4, 4]]
    assert surface.speedup.tolist() == [[1.0, 1.5]]
    assert surface.margin.tolist() == [[0.0, 0.0]]


def test_margin_is_finite_at_the_limits():
    tokens = np.array([[LIMIT, 1 / LIMIT], [1.0, 1.0]])
    surface = best_k_surface(tokens, tokens.copy(), np.array([0, 1]))
    assert np.isfinite(surface.margin).all()
    assert (surface.speedup > 0).all()
    assert surface.margin[0, 0] == pytest.approx(1e300)


@pytest.mark.parametrize("order", ["C", "F"])
def test_out_of_any_memory_order_is_filled_and_returned(order):
    tokens, gain = np.array([[1.0, 1.9], [1.0, 1.1]]), np.array([[1.0, 0.8]] * 3)
    out = Surface(*(np.zeros((3, 2), dtype, order) for dtype in (np.uint8, float, float)))
    assert best_k_surface(tokens, gain, np.array([0, 3]), out=out) is out
    assert_is_the_search(out, tokens, gain, np.array([0, 3]))


def test_empty_surface_is_shaped_points_by_alphas():
    assert [(array.shape, array.dtype) for array in empty_surface(3, 2)] == [
        ((3, 2), np.uint8),
        ((3, 2), np.float64),
        ((3, 2), np.float64),
    ]


@pytest.mark.parametrize(("points", "alphas"), [(0, 2), (2, 0), (0, 0)])
def test_no_points_or_no_alphas_give_an_empty_surface(points, alphas):
    surface = best_k_surface(np.ones((alphas, 2)), np.ones((points, 2)), np.arange(2))
    assert [array.shape for array in surface] == [(points, alphas)] * 3


@pytest.mark.parametrize("k", [[], [1, 1], [2, 1], [-1, 0], [0, MAX_K + 1], [[0, 1]]])
def test_candidates_that_do_not_ascend_within_a_byte_are_refused(k):
    with pytest.raises(UsageError, match="k is not a list of candidates; expected ascending"):
        best_k_surface(np.ones((1, 2)), np.ones((1, 2)), np.array(k, np.int64))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, LIMIT * 10, 0.1 / LIMIT])
@pytest.mark.parametrize("name", ["tokens", "gain"])
def test_figures_that_could_give_no_finite_margin_are_refused(name, bad):
    arrays = {"tokens": np.ones((2, 2)), "gain": np.ones((3, 2))}
    arrays[name][1, 1] = bad
    with pytest.raises(UsageError, match=rf"{name} runs from .*; expected 1e-75 to 1e\+75"):
        best_k_surface(**arrays, k=np.arange(2))


def test_shapes_that_do_not_fit_are_refused():
    k = np.arange(2)
    with pytest.raises(UsageError, match=r"gain has shape \(3, 4\); expected \(any, 2\)"):
        best_k_surface(np.ones((1, 2)), np.ones((3, 4)), k)
    with pytest.raises(UsageError, match=r"tokens has shape \(2,\)"):
        best_k_surface(np.ones(2), np.ones((3, 2)), k)
    with pytest.raises(UsageError, match=r"out has the wrong shape; expected \(3, 1\)"):
        best_k_surface(np.ones((1, 2)), np.ones((3, 2)), k, out=empty_surface(1, 3))
