"""Constructions equal their references, and EMTopDown gives the tightest nodes."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from bayes_tree.shapes import METHODS, assert_is_tree, assert_same, build_shape, clustered, point_sets
from reference.guttman import guttman
from reference.hilbert import hilbert_key, z_key
from reference.mixture_reduction import NotConvergedError, goldberger, virtual_sampling
from reference.packing import hilbert, str_packing, z_curve
from reference.tree_shape import records_below

PACKINGS = {"hilbert": hilbert, "z_curve": z_curve, "str_packing": str_packing}
REDUCTIONS = {"goldberger": goldberger, "virtual_sampling": virtual_sampling}


@pytest.mark.parametrize("key", [hilbert_key, z_key])
@pytest.mark.parametrize(("bits", "d"), [(1, 1), (4, 1), (3, 2), (5, 2), (2, 3), (3, 3), (2, 4), (1, 6)])
def test_the_reference_curves_visit_every_cell_once(key, bits, d):
    grid = itertools.product(range(2**bits), repeat=d)
    assert sorted(key(cell, bits) for cell in grid) == list(range(2 ** (bits * d)))


@pytest.mark.parametrize(("bits", "d"), [(4, 1), (3, 2), (5, 2), (2, 3), (3, 3), (2, 4), (1, 6)])
def test_the_reference_hilbert_curve_moves_one_cell_in_one_dimension(bits, d):
    path = sorted(itertools.product(range(2**bits), repeat=d), key=lambda cell: hilbert_key(cell, bits))
    assert_array_equal(np.abs(np.diff(path, axis=0)).sum(axis=1), 1)


@pytest.mark.parametrize("method", PACKINGS)
@given(points=point_sets(), fanout=st.integers(2, 9))
def test_packing_equals_the_reference(method, points, fanout):
    assert_same(build_shape(method, points, fanout), PACKINGS[method](points, fanout))


@given(points=point_sets(max_points=80), fanout=st.integers(3, 8))
def test_guttman_equals_the_reference(points, fanout):
    assert_same(build_shape("guttman", points, fanout), guttman(points, fanout))


@pytest.mark.parametrize("method", REDUCTIONS)
@given(n=st.integers(1, 60), d=st.integers(1, 4), fanout=st.integers(2, 7), seed=st.integers(0, 10_000))
@example(n=52, d=4, fanout=3, seed=5)  # a single node chooses its group by the records below it
@settings(max_examples=40)
def test_mixture_reduction_equals_the_reference(method, n, d, fanout, seed):
    rng = np.random.default_rng(seed)
    points = clustered(n, d, 1 + n // 8, seed, spread=0.3)
    kernel_variance = rng.uniform(0.01, 0.2, size=d)
    options = {"tolerance": 0.0} if method == "virtual_sampling" else {}
    shape = build_shape(method, points, fanout, kernel_variance=kernel_variance, **options)
    try:
        expected = REDUCTIONS[method](points, fanout, kernel_variance)
    except NotConvergedError:
        reject()
    assert_same(shape, expected)


def average_variance(points, shape):
    nodes = range(len(shape[0]) - 1)
    return np.mean([points[records_below(*shape, k)].var(axis=0).mean() for k in nodes])


@pytest.mark.parametrize("seed", range(3))
def test_em_nodes_are_much_tighter_than_packed_and_inserted_ones(seed):
    points = clustered(1000, 8, 40, seed)
    variance = {m: average_variance(points, build_shape(m, points)) for m in METHODS}
    packed = min(variance["z_curve"], variance["hilbert"], variance["str_packing"])
    assert variance["em_top_down"] < 0.5 * packed
    assert variance["em_top_down"] < 0.5 * variance["guttman"]
    assert max(variance["goldberger"], variance["virtual_sampling"]) < packed


def test_many_groups_are_compared_only_with_near_ones_and_stay_tight():
    points = clustered(4000, 4, 400, seed=8, spread=0.02)  # 800 groups of 5: more than are compared at once
    shapes = {m: build_shape(m, points) for m in ("goldberger", "virtual_sampling", "z_curve")}
    for shape in shapes.values():
        assert_is_tree(shape, 4000, 7)
    variance = {m: average_variance(points, shape) for m, shape in shapes.items()}
    assert variance["goldberger"] < variance["z_curve"]
    assert variance["virtual_sampling"] < variance["z_curve"]
