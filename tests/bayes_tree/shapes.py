"""Functions that the tests of tree constructions share."""

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from anystream import _native

METHODS = ["em_top_down", "goldberger", "virtual_sampling", "hilbert", "z_curve", "str_packing", "guttman"]
MIN_FANOUT = {"guttman": 3}
READS_KERNEL_VARIANCE = {"goldberger", "virtual_sampling"}


def build_shape(method, points, fanout=7, **options):
    """Return the shape of the tree of `points`: the arrays first_entry and entry."""
    if method in READS_KERNEL_VARIANCE:
        options.setdefault("kernel_variance", np.full(points.shape[1], 0.05))
    return _native.build_shape(method, np.ascontiguousarray(points, np.float64), fanout=fanout, **options)


def assert_same(shape, expected):
    """Assert that two shapes are equal."""
    assert_array_equal(shape[0], expected[0])
    assert_array_equal(shape[1], expected[1])


def assert_is_tree(shape, n, fanout):
    """Assert that a shape holds n records once each and that no node exceeds the fanout."""
    first_entry, entry = shape
    assert first_entry.dtype == entry.dtype == np.int32
    if n == 1:
        assert first_entry.tolist() == [0]
        assert entry.tolist() == []
        return
    sizes = np.diff(first_entry)
    assert first_entry[0] == 0
    assert first_entry[-1] == len(entry)
    assert sizes.min() >= 2
    assert sizes.max() <= fanout
    assert_array_equal(np.sort(~entry[entry < 0]), np.arange(n))
    # Breadth first: the children are numbered as they appear, each after its parent.
    children = entry[entry >= 0]
    assert_array_equal(children, np.arange(1, len(sizes)))
    assert np.all(np.repeat(np.arange(len(sizes)), sizes)[entry >= 0] < children)


def clustered(n, d, clusters, seed, spread=0.1):
    """Return n points around the given number of random centres."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(clusters, d))[rng.integers(clusters, size=n)] + spread * rng.normal(size=(n, d))


@st.composite
def point_sets(draw, max_points=150, max_dimensions=12):
    """Draw points of all kinds: scattered, clustered, on a grid with many ties, constant in some dimensions."""
    n = draw(st.integers(1, max_points))
    d = draw(st.integers(1, max_dimensions))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["scattered", "clustered", "grid", "equal", "geometric"]))
    if kind == "clustered":
        points = clustered(n, d, 1 + n // 10, int(rng.integers(2**32)))
    elif kind == "grid":
        points = rng.integers(0, 3, size=(n, d)).astype(float)
    elif kind == "equal":
        points = np.broadcast_to(rng.normal(size=d), (n, d)).copy()
        points[0] += draw(st.sampled_from([0.0, 1.0]))
    elif kind == "geometric":
        points = rng.choice([-1.0, 1.0], size=(n, d)) * 2.0 ** -np.arange(n)[:, None]
    else:
        points = rng.normal(size=(n, d))
    points[:, : draw(st.integers(0, d))] *= draw(st.sampled_from([0.0, 1e-12, 1.0, 1e6]))
    return points
