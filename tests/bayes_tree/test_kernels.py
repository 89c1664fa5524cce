"""The kernels equal plain NumPy, and give the same bits on every ISA level of the machine."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anystream import _native


@given(seed=st.integers(0, 10**6), d=st.integers(1, 70), lanes=st.sampled_from([4, 8, 16, 24]), own=st.booleans())
def test_densities_are_those_of_gaussians(seed, d, lanes, own):
    random = np.random.default_rng(seed)
    x, mean = random.normal(size=d).astype(np.float32), random.normal(size=(d, lanes)).astype(np.float32)
    precision = random.uniform(0.1, 10, size=(d, lanes) if own else d).astype(np.float32)
    norm, count = random.normal(size=(2, lanes if own else 1)).astype(np.float32)
    density, value = np.empty((2, lanes), np.float32)
    _native.bayes_densities(x, mean.reshape(-1), precision.reshape(-1), norm, count, density, value)
    apart = (x[:, None].astype(float) - mean) * (precision if own else precision[:, None])
    expected = norm - 0.5 * np.log2(np.e) * (apart**2).sum(axis=0)
    np.testing.assert_allclose(density, expected, rtol=2e-5, atol=2e-5)
    if own:
        np.testing.assert_allclose(value, expected + count, rtol=2e-5, atol=2e-5)


def test_densities_are_finite_however_far_the_query_lies():
    x, mean = np.full(3, 1e15, np.float32), np.zeros((3, 8), np.float32)
    density, value = np.empty((2, 8), np.float32)
    norm = np.zeros(8, np.float32)
    _native.bayes_densities(x, mean.reshape(-1), np.full(24, 1e6, np.float32), norm, norm, density, value)
    assert (density == np.float32(-1e30)).all()
    assert np.isfinite(value).all()


@given(
    values=st.lists(st.floats(-3000, 3000, width=32), min_size=1, max_size=40),
    origin=st.integers(-3000, 3000),
)
def test_powers_of_two_are_those_of_numpy_and_vanish_far_below(values, origin):
    log2 = np.array(values, np.float32)
    out = np.empty(len(log2))
    _native.powers_of_two(log2, float(origin), out)
    apart = log2.astype(float) - origin
    here = np.abs(apart) < 999
    np.testing.assert_allclose(out[here], np.exp2(apart[here]), rtol=1e-4)
    assert (out[apart < -1001] == 0).all()


TOO_HIGH, OUTSIDE, KERNEL, ENTRY = 1, 2, 4, 8
NO_KEY, GONE = np.iinfo(np.int64).min, np.float32(-2e30)
log2_values = st.floats(-2000, 499, width=32)


@given(
    values=st.lists(log2_values | st.floats(501, 900, width=32), max_size=40),
    origin=st.integers(-50, 0),
    padding=st.floats(-9, 9, width=32),
)
def test_sums_of_powers_leave_out_the_lanes_behind_the_last(values, origin, padding):
    padded = np.array([*values, *[padding] * (-len(values) % 8)], np.float32)
    total, flags = _native.bayes_sum_powers(padded, float(origin), len(values))
    apart = padded[: len(values)].astype(float) - origin
    assert flags == (TOO_HIGH if (apart > 500).any() else 0)
    if not flags:
        np.testing.assert_allclose(total, np.exp2(apart[apart >= -999]).sum(), rtol=1e-4)


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 20),
    lanes=st.sampled_from([4, 8, 16, 24]),
    count=st.integers(1, 24),
    origin=st.integers(-600, 5),
)
def test_the_sum_of_a_leaf_is_that_of_the_densities_of_its_records(seed, d, lanes, count, origin):
    random = np.random.default_rng(seed)
    count = min(count, lanes)
    x, mean = random.normal(size=d).astype(np.float32), random.normal(size=(d, lanes)).astype(np.float32)
    precision = random.uniform(0.1, 5, size=d).astype(np.float32)
    out = np.empty(lanes, np.float32)
    total, flags = _native.bayes_leaf_sum(x, mean.reshape(-1), precision, -0.5, count, float(origin), out)
    apart = (x[:, None].astype(float) - mean) * precision[:, None]
    expected = -0.5 - 0.5 * np.log2(np.e) * (apart**2).sum(axis=0)
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-5)
    above = expected[:count] - origin
    assume(np.abs(above - 500).min() > 1)  # which side of the limit does not depend on rounding
    assert flags == (TOO_HIGH if (above > 500).any() else 0)
    if not flags:
        np.testing.assert_allclose(total, np.exp2(above[above >= -999]).sum(), rtol=5e-3)


@given(
    keys=st.lists(st.sampled_from([-np.inf, -3.0, 0.0, 7.5]) | st.floats(-1e300, 1e300), min_size=1, max_size=32),
    data=st.data(),
)
def test_the_highest_classes_come_first_and_those_without_anything_to_refine_never(keys, data):
    count = data.draw(st.integers(0, len(keys)))
    chosen = _native.bayes_highest_classes(np.array(keys), count)
    refinable = [c for c in range(len(keys)) if keys[c] > -np.inf]
    assert chosen.tolist() == sorted(refinable, key=lambda c: (-keys[c], c))[:count]


@given(
    density=st.lists(
        st.sampled_from([-0.0, 0.0, -1.5, 2.5, -1e30]) | st.floats(-2000, 499, width=32), min_size=8, max_size=8
    ),
    values=st.lists(log2_values, min_size=8, max_size=8),
    children=st.lists(st.integers(-3, 5) | st.integers(0, 2**31 - 1), min_size=8, max_size=8),
    count=st.integers(0, 8),
    nodes=st.sampled_from([1, 6, 2**31 - 1]),
    by_density=st.booleans(),
    step=st.integers(-1000, 1000),
)
def test_a_group_holds_the_children_that_are_nodes(density, values, children, count, nodes, by_density, step):
    density, values, children = (
        np.array(density, np.float32),
        np.array(values, np.float32),
        np.array(children, np.int32),
    )
    total, flags, key, value, log2_value, node = _native.bayes_fill_group(
        density, values, children, count, 0.0, nodes, by_density, step
    )
    np.testing.assert_allclose(total, np.exp2(values[:count][values[:count] >= -999].astype(float)).sum(), rtol=1e-4)
    here = children[:count]
    expected = OUTSIDE * (here >= nodes).any() | KERNEL * (here < 0).any() | ENTRY * (here >= 0).any()
    assert flags == expected
    entries = [lane for lane in range(count) if children[lane] >= 0]
    for lane in set(range(8)) - set(entries):
        assert (key[lane], value[lane], log2_value[lane]) == (NO_KEY, 0.0, GONE)
    np.testing.assert_array_equal(log2_value[entries], values[entries])
    np.testing.assert_array_equal(node, children)
    powers = np.where(values >= -999, np.exp2(values.astype(float)), 0.0)
    np.testing.assert_allclose(value[entries], powers[entries], rtol=1e-4)

    def priority(lane):  # the sign of a zero counts, as its bits do
        rank = (float(density[lane]), not np.signbit(density[lane]))
        return (rank, -int(children[lane])) if by_density else (step, rank)

    for one in entries:
        for other in entries:
            assert (key[one] < key[other]) == (priority(one) < priority(other))


@given(
    keys=st.lists(st.sampled_from([NO_KEY, -5, 0, 7]) | st.integers(-(2**63), 2**63 - 1), min_size=8, max_size=8),
    nodes=st.lists(st.integers(0, 3) | st.integers(0, 2**31 - 1), min_size=8, max_size=8, unique=True),
)
def test_keys_are_taken_from_the_highest_on_and_equal_ones_by_their_nodes(keys, nodes):
    taken = _native.bayes_take_keys(np.array(keys, np.int64), np.array(nodes, np.int32))
    entries = [lane for lane in range(8) if keys[lane] != NO_KEY]
    assert taken.tolist() == sorted(entries, key=lambda lane: (-keys[lane], nodes[lane]))


@given(seed=st.integers(0, 10**6), d=st.integers(1, 40), n=st.integers(1, 20))
def test_exponents_of_a_box_are_those_of_its_corners_and_the_mean_of_its_records(seed, d, n):
    random = np.random.default_rng(seed)
    x, precision = random.normal(size=d), random.uniform(0.1, 10, size=d).astype(np.float32)
    records = random.normal(scale=random.choice([0.1, 3]), size=(n, d)).astype(np.float32).astype(float)
    low, high = records.min(axis=0).astype(np.float32), records.max(axis=0).astype(np.float32)
    mean = records.mean(axis=0)
    scatter = ((records - mean) ** 2).sum(axis=0)
    found = _native.bayes_box_exponents(x, precision, low, high, mean, scatter, 1 / n)
    square = precision.astype(float) ** 2
    near, far = np.clip(x, low, high) - x, np.maximum(np.abs(x - low), np.abs(x - high))
    exponents = ((x - records) ** 2 * square).sum(axis=1)
    reach = np.maximum(np.abs(low), np.abs(high)).astype(float)
    expected = [(near**2 * square).sum(), exponents.mean(), (far**2 * square).sum(), (reach**2 * square).sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


LEVELS = ["baseline", "avx2", "avx512"]
SCRIPT = """
import numpy as np, hashlib
from anystream import BayesTreeClassifier, _native
random = np.random.default_rng(0)
X = random.normal(size=(300, 21)); y = (X[:, 0] + X[:, 1] > 0) + 0
X[::7, 3] = np.nan
model = BayesTreeClassifier(n_jobs=1).fit(X, y)
proba = b"".join(model.predict_proba(X, budget=b).tobytes() for b in (0, 3, 50))
model.set_params(refine_for="certificate")
proba += b"".join(model.predict_proba(X, budget=b).tobytes() for b in (3, 500))
model = BayesTreeClassifier(metric=None, first_look=True, n_jobs=1).fit(X, y)
proba += b"".join(model.predict_proba(X[:n], budget=b).tobytes() for b in (0, 1) for n in (3, 300))
print(_native.isa, hashlib.sha256(proba).hexdigest())
"""


def run_at(level):
    environment = {**os.environ, "ANYSTREAM_ISA": level}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)


def test_all_levels_of_this_machine_give_the_same_bits():
    outcomes = {}
    for level in LEVELS:
        run = run_at(level)
        if run.returncode != 0:
            assert "this machine offers at most" in run.stderr
            continue
        used, digest = run.stdout.split()
        assert used == level
        outcomes[level] = digest
    assert "baseline" in outcomes
    assert len(set(outcomes.values())) == 1


@pytest.mark.parametrize("level", ["sse9", "AVX2"])
def test_an_unknown_level_raises_an_error(level):
    run = run_at(level)
    assert run.returncode != 0
    assert f"ANYSTREAM_ISA={level} is not a level; use baseline, avx2 or avx512" in run.stderr
