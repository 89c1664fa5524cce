"""The scan of rounded blocks finds the neighbours that plain float64 arithmetic finds."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from anystream import _native
from reference.neighbors_scan import distances, nearest

NORMS = ["euclidean", "manhattan", "chebyshev", "mixed"]


def make_store(rows, norm="euclidean", categorical=0):
    store = _native.BlockStore(rows.shape[1], norm, categorical)
    store.assign(np.ascontiguousarray(rows))
    return store


@st.composite
def cases(draw):
    d = draw(st.sampled_from([1, 2, 3, 15, 16, 17, 33, 50]))
    n = draw(st.integers(1, 60))
    kind = draw(st.sampled_from(["whole", "floats", "far", "close", "missing", "holes", "codes"]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, (n + 1, d)).astype(float)
    if kind == "floats":
        values = draw(arrays(np.float64, (n + 1, d), elements=st.floats(-1e6, 1e6), fill=st.just(0.5)))
    elif kind == "far":
        values = 1e9 + rng.normal(size=(n + 1, d))
    elif kind == "close":  # differences below the precision of the blocks
        values = values.astype(float) * 1e-9 + rng.normal(size=d) * 1e3
    elif kind == "missing":
        values[rng.random(values.shape) < 0.3] = np.nan
    elif kind == "holes":  # the majority of values is missing, and the rest needs more digits than a block holds
        values = rng.normal(size=values.shape) * 10.0 ** rng.integers(-2, 3, d)
        values[rng.random(values.shape) < 0.6] = np.nan
    elif kind == "codes":  # categories that are equal in a block's precision
        values = rng.choice([1000.0, 1001.0, 1002.0, 1e50, 2e50, -1e50], size=values.shape)
    return values[0], values[1:], draw(st.integers(1, 5)), draw(st.sampled_from(NORMS))


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_scan_equals_plain_distances(case):
    x, rows, k, norm = case
    categorical = rows.shape[1] // 2 if norm == "mixed" else 0
    plain = distances(x, rows, norm, categorical)
    position, distance = make_store(rows, norm, categorical).nearest(x, k)
    assert_allclose(distance, np.sort(plain)[:k], rtol=1e-12)
    assert_allclose(plain[position], distance, rtol=1e-12)
    if np.array_equal(rows, np.round(rows)) and np.abs(rows).max() < 1e6 and norm != "mixed":  # ties are exact
        assert_array_equal(position, nearest(plain, k))


@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_the_neighbours_of_all_pairs_equal_those_of_one_query_each(case):
    _, rows, k, norm = case
    store = make_store(rows, norm)
    position = np.empty((len(rows), k), np.int64)
    distance = np.empty((len(rows), k))
    store.all_nearest(k, 2, position, distance)
    for i, row in enumerate(rows):
        found, away = store.nearest(row, min(k + 1, len(rows)))
        keep = found != i
        expected = list(zip(away[keep], found[keep], strict=True))[:k]
        got = [(a, p) for a, p in zip(distance[i], position[i], strict=True) if p >= 0]
        assert len(got) == min(k, len(rows) - 1)
        if i in found:  # else more than k + 1 vectors are as near as the vector itself
            assert got == expected


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.sampled_from([1, 5, 20]), steps=st.integers(1, 80))
def test_appending_and_removing_equals_assigning(seed, d, steps):
    rng = np.random.default_rng(seed)
    store = _native.BlockStore(d)
    rows: list[np.ndarray] = []
    for _ in range(steps):
        if rows and rng.random() < 0.4:
            i = int(rng.integers(len(rows)))
            rows[i] = rows[-1]
            rows.pop()
            store.swap_remove(i)
        else:
            rows.append(rng.normal(size=d) * 10.0 ** rng.integers(-3, 30))
            store.append(rows[-1])
    assert len(store) == len(rows)
    assume(rows)
    x = rng.normal(size=d)
    position, distance = store.nearest(x, 3)
    plain = distances(x, np.array(rows), "euclidean")
    assert_allclose(distance, np.sort(plain)[:3], rtol=1e-12)
    assert_allclose(plain[position], distance, rtol=1e-12)


def test_huge_and_tiny_values_keep_their_order():
    rows = np.array([[1e99, 0.0], [-1e99, 0.0], [1e-99, 1e-99], [0.0, 0.0]])
    store = make_store(rows)
    assert store.nearest(np.array([1e-99, 0.0]), 2)[0].tolist() == [2, 3]
    assert store.nearest(np.array([9e98, 5.0]), 1)[0].tolist() == [0]


def test_a_scan_can_be_limited_to_a_range_of_positions():
    rows = np.arange(100.0).reshape(-1, 1)
    store = make_store(rows)
    assert store.nearest(np.array([3.2]), 2, 20, 70)[0].tolist() == [20, 21]
    assert store.nearest(np.array([99.0]), 1, 5, 38)[0].tolist() == [37]
    assert store.nearest(np.array([99.0]), 1, 7, 7)[0].size == 0


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_every_isa_level_gives_the_same_neighbours(level):
    script = (
        "import numpy as np\nfrom anystream import _native\n"
        "rng = np.random.default_rng(0)\nrows = rng.normal(size=(500, 37))\nrows[::7, 3] = np.nan\n"
        "for norm in ('euclidean', 'manhattan', 'chebyshev', 'mixed'):\n"
        "    store = _native.BlockStore(37, norm, 5 if norm == 'mixed' else 0)\n    store.assign(rows)\n"
        "    for x in rows[:20]:\n        p, d = store.nearest(x + 0.1, 5)\n"
        "        print(p.tolist(), d.tobytes().hex())\n"
    )
    outputs = []
    for chosen in (level, ""):
        environment = os.environ | {"ANYSTREAM_ISA": chosen}
        run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        if "at most" in run.stderr:
            pytest.skip(f"this machine has no {level}")
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]


def test_wrong_shapes_are_errors():
    store = make_store(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="number of features is 3, expected 2"):
        store.nearest(np.zeros(3), 1)
    with pytest.raises(IndexError, match="vector 3 of 3"):
        store.swap_remove(3)
