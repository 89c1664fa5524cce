"""The constructions of a Bayes tree: every object once, the fanout kept, and each method what its paper says."""

import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from anystream import _native
from tests.reference import guttman, mixture_reduction, packing
from tests.reference.em_split import em_split
from tests.reference.hilbert import hilbert_key, z_key
from tests.reference.tree_shape import objects_below, root_clusters

METHODS = ["em_top_down", "goldberger", "virtual_sampling", "hilbert", "z_curve", "str_packing", "guttman"]
SMALLEST_FANOUT = {"guttman": 3}
READS_KERNEL_VARIANCE = {"goldberger", "virtual_sampling"}


def build(method, points, fanout=7, **options):
    if method in READS_KERNEL_VARIANCE:
        options.setdefault("kernel_variance", np.full(points.shape[1], 0.05))
    return _native.build_shape(method, np.ascontiguousarray(points, np.float64), fanout=fanout, **options)


def assert_same(shape, expected):
    assert_array_equal(shape[0], expected[0])
    assert_array_equal(shape[1], expected[1])


def assert_is_tree(shape, n, fanout):
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
    rng = np.random.default_rng(seed)
    return rng.normal(size=(clusters, d))[rng.integers(clusters, size=n)] + spread * rng.normal(size=(n, d))


@st.composite
def point_sets(draw, largest=150, most_dimensions=12):
    """Points of all kinds: scattered, clustered, on a grid with many equal ones, constant in some dimensions."""
    n = draw(st.integers(1, largest))
    d = draw(st.integers(1, most_dimensions))
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


@pytest.mark.parametrize("method", METHODS)
@given(points=point_sets(), fanout=st.integers(3, 20), seed=st.integers(0, 2**64 - 1))
def test_every_object_hangs_once_and_nodes_keep_the_fanout(method, points, fanout, seed):
    shape = build(method, points, fanout, seed=seed, sample_size=50)
    assert_is_tree(shape, len(points), fanout)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in SMALLEST_FANOUT])
@given(points=point_sets(largest=60))
def test_nodes_of_two_are_enough(method, points):
    assert_is_tree(build(method, points, 2, sample_size=20), len(points), 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 100])
@pytest.mark.parametrize("d", [1, 300])
@pytest.mark.parametrize("equal", [False, True])
def test_small_and_degenerate_sets_give_trees(method, n, d, equal):
    points = np.ones((n, d)) if equal else np.random.default_rng(n).normal(size=(n, d))
    shape = build(method, points)
    assert_is_tree(shape, n, 7)
    if 2 <= n <= 7:
        assert_array_equal(shape[1], ~np.arange(n))


@pytest.mark.parametrize("method", METHODS)
def test_the_shape_is_the_same_on_any_number_of_threads(method):
    n = 40_000 if method == "em_top_down" else 5_000
    points = clustered(n, 3, 50, seed=1)
    alone = build(method, points, seed=5, threads=1)
    assert_is_tree(alone, n, 7)
    assert_same(build(method, points, seed=5, threads=2), alone)
    assert_same(build(method, points, seed=5, threads=0), alone)


BUILD_AND_PRINT = """
import numpy as np
from anystream import _native
points = np.random.default_rng(0).normal(size=(600, 5))
for method in ("em_top_down", "goldberger", "virtual_sampling"):
    kernel_variance = None if method == "em_top_down" else np.full(5, 0.05)
    shape = _native.build_shape(method, points, fanout=12, sample_size=300, kernel_variance=kernel_variance)
    print(*(array.tolist() for array in shape))
"""


def test_the_shape_is_the_same_with_any_instructions():
    levels = ["baseline", "avx2", "avx512"]
    printed = {
        subprocess.run(
            [sys.executable, "-c", BUILD_AND_PRINT],
            env=os.environ | {"ANYSTREAM_ISA": level},
            capture_output=True,
            check=True,
        ).stdout
        for level in levels[: levels.index(_native.isa) + 1]
    }
    assert len(printed) == 1


def test_the_seed_chooses_the_sample_and_nothing_else():
    points = clustered(500, 4, 20, seed=2, spread=0.5)
    one, same, other = (build("em_top_down", points, seed=s, sample_size=100) for s in (1, 1, 2))
    assert_same(one, same)
    assert one[1].tolist() != other[1].tolist()
    assert_same(build("em_top_down", points, seed=1), build("em_top_down", points, seed=2))


@pytest.mark.parametrize("method", METHODS)
def test_progress_counts_every_object(method):
    progress = _native.Counter()
    build(method, clustered(1000, 3, 10, seed=3), progress=progress)
    assert progress.value == 1000
    build(method, np.zeros((1, 3)), progress=progress)
    assert progress.value == 1001


@pytest.mark.parametrize("method", METHODS)
def test_a_set_token_stops_the_construction(method):
    token = _native.StopToken()
    token.set()
    with pytest.raises(_native.BuildStopped, match="stopped"):
        build(method, clustered(1000, 3, 10, seed=4), stop=token)


def test_another_thread_can_stop_a_construction_that_runs():
    token, progress, raised = _native.StopToken(), _native.Counter(), []

    def work():
        try:
            build("guttman", np.random.default_rng(0).normal(size=(500_000, 8)), stop=token, progress=progress)
        except _native.BuildStopped as stopped:
            raised.append(stopped)

    worker = threading.Thread(target=work)
    worker.start()
    while progress.value == 0 and worker.is_alive():
        time.sleep(0.001)
    token.set()
    worker.join()
    assert len(raised) == 1
    assert progress.value < 500_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "quad_tree"}, "method is 'quad_tree'; pass one of em_top_down, "),
        ({"points": np.zeros((0, 2))}, "no points"),
        ({"points": np.zeros((3, 0))}, "no points"),
        ({"points": np.array([[0.0, 1.0], [2.0, np.nan]])}, r"points\[1, 1\] is nan; pass finite"),
        ({"points": np.array([[0.0, -1e200]])}, r"points\[0, 1\] is -"),
        ({"fanout": 1}, "fanout is 1; pass at least 2"),
        ({"fanout": -3}, "fanout is -3; pass at least 2"),
        ({"sample_size": 1}, "sample_size is 1; pass at least 2"),
        ({"method": "guttman", "fanout": 2}, "pass at least 3"),
        ({"method": "goldberger"}, "kernel_variance is missing"),
        ({"method": "virtual_sampling"}, "kernel_variance is missing"),
        ({"kernel_variance": np.ones(3)}, "kernel_variance has 3 values, points have 2 dimensions"),
        ({"kernel_variance": np.array([1.0, 0.0])}, "kernel_variance holds 0.0"),
        ({"kernel_variance": np.array([1.0, np.inf])}, "kernel_variance holds inf"),
    ],
)
def test_bad_input_is_refused_with_its_value(change, message):
    options = {"method": "em_top_down", "points": np.zeros((3, 2)), "fanout": 7} | change
    with pytest.raises(ValueError, match=message):
        _native.build_shape(**options)


@pytest.mark.parametrize("key", [hilbert_key, z_key])
@pytest.mark.parametrize(("bits", "d"), [(1, 1), (4, 1), (3, 2), (5, 2), (2, 3), (3, 3), (2, 4), (1, 6)])
def test_reference_curve_visits_every_cell_once(key, bits, d):
    grid = itertools.product(range(2**bits), repeat=d)
    assert sorted(key(cell, bits) for cell in grid) == list(range(2 ** (bits * d)))


@pytest.mark.parametrize(("bits", "d"), [(4, 1), (3, 2), (5, 2), (2, 3), (3, 3), (2, 4), (1, 6)])
def test_reference_hilbert_curve_moves_one_step_in_one_dimension(bits, d):
    path = sorted(itertools.product(range(2**bits), repeat=d), key=lambda cell: hilbert_key(cell, bits))
    assert_array_equal(np.abs(np.diff(path, axis=0)).sum(axis=1), 1)


@pytest.mark.parametrize("method", ["hilbert", "z_curve", "str_packing"])
@given(points=point_sets(), fanout=st.integers(2, 9))
def test_packing_equals_reference(method, points, fanout):
    assert_same(build(method, points, fanout), getattr(packing, method)(points, fanout))


@given(points=point_sets(largest=80), fanout=st.integers(3, 8))
def test_guttman_equals_reference(points, fanout):
    assert_same(build("guttman", points, fanout), guttman.guttman(points, fanout))


@pytest.mark.parametrize("method", ["goldberger", "virtual_sampling"])
@given(n=st.integers(1, 60), d=st.integers(1, 4), fanout=st.integers(2, 7), seed=st.integers(0, 10_000))
@example(n=52, d=4, fanout=3, seed=5)  # a lone node chooses its group by the objects below it
@settings(max_examples=40)
def test_mixture_reduction_equals_reference(method, n, d, fanout, seed):
    rng = np.random.default_rng(seed)
    points = clustered(n, d, 1 + n // 8, seed, spread=0.3)
    kernel_variance = rng.uniform(0.01, 0.2, size=d)
    shape = build(method, points, fanout, kernel_variance=kernel_variance)
    assert_same(shape, getattr(mixture_reduction, method)(points, fanout, kernel_variance))


def partition(labels):
    return sorted(np.flatnonzero(labels == c).tolist() for c in np.unique(labels))


@given(n=st.integers(30, 300), d=st.integers(1, 6), fanout=st.integers(2, 12), seed=st.integers(0, 10_000))
def test_one_em_split_equals_reference(n, d, fanout, seed):
    points = clustered(n, d, 5, seed, spread=0.2)
    expected = em_split(points, fanout)
    assume(len(np.unique(expected)) > 1)
    assert sorted(root_clusters(*build("em_top_down", points, fanout))) == partition(expected)


def test_em_finds_well_separated_clusters_at_the_root():
    rng = np.random.default_rng(6)
    centres = 20.0 * np.stack(np.meshgrid([0, 1, 2], [0, 1]), axis=-1).reshape(6, 2)
    labels = np.repeat(np.arange(6), 50)
    points = centres[labels] + rng.normal(size=(300, 2))
    clusters = root_clusters(*build("em_top_down", points, 6))
    assert sorted(clusters) == partition(labels)
    assert partition(em_split(points, 6)) == partition(labels)


def test_em_fitted_on_a_sample_assigns_all_objects():
    rng = np.random.default_rng(7)
    labels = rng.integers(4, size=5000)
    points = 30.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[labels] + rng.normal(size=(5000, 2))
    clusters = root_clusters(*build("em_top_down", points, 4, sample_size=200, seed=9))
    assert sorted(clusters) == partition(labels)


def test_one_far_object_among_equal_ones_hangs_at_the_root():
    points = np.zeros((5000, 3))
    points[1234] = 4.0
    first_entry, entry = build("em_top_down", points, sample_size=10)
    assert ~1234 in entry[: first_entry[1]]
    assert len(entry[: first_entry[1]]) == 2


def test_equal_objects_are_cut_evenly():
    first_entry, entry = build("em_top_down", np.full((343, 2), 0.3))
    sizes = [len(objects) for objects in root_clusters(first_entry, entry)]
    assert sizes == [49] * 7
    assert len(first_entry) - 1 == 1 + 7 + 49


def average_variance(points, shape):
    nodes = range(len(shape[0]) - 1)
    return np.mean([points[objects_below(*shape, k)].var(axis=0).mean() for k in nodes])


@pytest.mark.parametrize("seed", range(3))
def test_em_nodes_are_much_tighter_than_packed_and_inserted_ones(seed):
    points = clustered(1000, 8, 40, seed)
    variance = {m: average_variance(points, build(m, points)) for m in METHODS}
    packed = min(variance["z_curve"], variance["hilbert"], variance["str_packing"])
    assert variance["em_top_down"] < 0.5 * packed
    assert variance["em_top_down"] < 0.5 * variance["guttman"]
    assert max(variance["goldberger"], variance["virtual_sampling"]) < packed


def test_many_groups_are_compared_with_near_ones_and_still_tight():
    points = clustered(4000, 4, 400, seed=8, spread=0.02)  # 800 groups of 5: more than are compared at once
    shapes = {m: build(m, points) for m in ("goldberger", "virtual_sampling", "z_curve")}
    for shape in shapes.values():
        assert_is_tree(shape, 4000, 7)
    variance = {m: average_variance(points, shape) for m, shape in shapes.items()}
    assert variance["goldberger"] < variance["z_curve"]
    assert variance["virtual_sampling"] < variance["z_curve"]
