"""Properties of every construction: each record once, the fanout kept, deterministic, stoppable."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from anystream import _native
from bayes_tree.shapes import METHODS, MIN_FANOUT, assert_is_tree, assert_same, build_shape, clustered, point_sets


@pytest.mark.parametrize("method", METHODS)
@given(points=point_sets(), fanout=st.integers(3, 20), seed=st.integers(0, 2**64 - 1))
def test_every_record_occurs_once_and_nodes_keep_the_fanout(method, points, fanout, seed):
    shape = build_shape(method, points, fanout, seed=seed, sample_size=50)
    assert_is_tree(shape, len(points), fanout)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in MIN_FANOUT])
@given(points=point_sets(max_points=60))
def test_a_fanout_of_two_gives_trees(method, points):
    assert_is_tree(build_shape(method, points, 2, sample_size=20), len(points), 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 100])
@pytest.mark.parametrize("d", [1, 300])
@pytest.mark.parametrize("equal", [False, True])
def test_small_and_degenerate_sets_give_trees(method, n, d, equal):
    points = np.ones((n, d)) if equal else np.random.default_rng(n).normal(size=(n, d))
    shape = build_shape(method, points)
    assert_is_tree(shape, n, 7)
    if 2 <= n <= 7:
        assert_array_equal(shape[1], ~np.arange(n))


@pytest.mark.parametrize("method", METHODS)
def test_the_shape_is_the_same_on_any_number_of_threads(method):
    n = 40_000 if method == "em_top_down" else 5_000
    points = clustered(n, 3, 50, seed=1)
    single = build_shape(method, points, seed=5, threads=1)
    assert_is_tree(single, n, 7)
    assert_same(build_shape(method, points, seed=5, threads=2), single)
    assert_same(build_shape(method, points, seed=5, threads=0), single)


BUILD_AND_PRINT = """
import numpy as np
from anystream import _native
points = np.random.default_rng(0).normal(size=(600, 5))
for method in ("em_top_down", "goldberger", "virtual_sampling"):
    kernel_variance = None if method == "em_top_down" else np.full(5, 0.05)
    shape = _native.build_shape(method, points, fanout=12, sample_size=300, kernel_variance=kernel_variance)
    print(*(array.tolist() for array in shape))
"""


def test_the_shape_is_the_same_on_every_isa_level():
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


@pytest.mark.parametrize("method", METHODS)
def test_progress_counts_every_record(method):
    progress = _native.Counter()
    build_shape(method, clustered(1000, 3, 10, seed=3), progress=progress)
    assert progress.value == 1000
    build_shape(method, np.zeros((1, 3)), progress=progress)
    assert progress.value == 1001


@pytest.mark.parametrize("method", METHODS)
def test_a_set_token_stops_the_construction(method):
    token = _native.StopToken()
    token.set()
    with pytest.raises(_native.BuildStopped, match="stopped"):
        build_shape(method, clustered(1000, 3, 10, seed=4), stop=token)


def test_another_thread_can_stop_a_running_construction():
    token, progress, raised = _native.StopToken(), _native.Counter(), []

    def work():
        try:
            build_shape("guttman", np.random.default_rng(0).normal(size=(500_000, 8)), stop=token, progress=progress)
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
def test_invalid_input_raises_an_error_with_its_value(change, message):
    options = {"method": "em_top_down", "points": np.zeros((3, 2)), "fanout": 7} | change
    with pytest.raises(ValueError, match=message):
        _native.build_shape(**options)
