"""The levels and their samples equal a plain reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream.subspace import LocustClassifier
from reference.locust import Levels


def stream(seed, n, d, classes, missing=0.0, categorical=()):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    y[n // 3 : n // 2] = 0  # a run of one class
    X = random.normal(size=(n, d)) + y[:, None] * random.normal(size=d)
    X[:, 0] = X[:, 0] > 0  # a binary feature
    if d > 1:
        X[: 2 * n // 3, 1] = 3.0  # a constant one, for a while
    for j in categorical:
        X[:, j] = (y + random.integers(0, 3, n)) % 7
    X[random.random(X.shape) < missing] = np.nan
    return X, y


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n": st.integers(2, 300),
        "d": st.integers(1, 7),
        "classes": st.integers(1, 4),
        "level_size": st.sampled_from([8, 30, 64, 100]),
        "n_levels": st.integers(1, 4),
        "n_ranges": st.integers(2, 8),
        "floor": st.integers(0, 3),
        "support": st.integers(1, 30),
        "delay": st.sampled_from([0, 20, 64]),
        "missing": st.sampled_from([0.0, 0.2]),
        "categorical": st.booleans(),
    }
)


@settings(max_examples=25)
@given(case=CASES)
def test_probabilities_equal_those_of_the_reference(case):
    categorical = [case["d"] - 1] if case["categorical"] and case["d"] > 2 else []
    X, y = stream(case["seed"], case["n"], case["d"], case["classes"], case["missing"], categorical)
    X = X.astype(np.float32).astype(np.float64)
    model = LocustClassifier(
        n_levels=case["n_levels"],
        level_size=case["level_size"],
        stride=3,
        n_ranges=case["n_ranges"],
        support=case["support"],
        class_floor=case["floor"],
        label_delay=case["delay"],
        categorical=categorical,
        random_state=case["seed"],
    )
    model.partial_fit(X, y, classes=range(case["classes"]))
    plain = Levels(
        case["d"],
        case["classes"],
        n_levels=case["n_levels"],
        level_size=case["level_size"],
        stride=3,
        n_ranges=case["n_ranges"],
        floor=case["floor"],
        delay=case["delay"],
        seed=case["seed"],
        categorical=categorical,
        support=case["support"],
    )
    for x, c in zip(X, y, strict=True):
        plain.learn(x, c)
    assert model.model_.level_sizes == [len(level.y) for level in plain.levels]
    np.testing.assert_allclose(model.model_.level_weights, plain.weights()[0], rtol=1e-9)
    for x in X[:3]:
        query = model.query(x)
        for samples in (0, 1, 5):
            query.refine(samples - query.steps)
            expected = plain.proba(x, query.steps)
            np.testing.assert_allclose(query.proba, expected, rtol=1e-9, atol=1e-12)


def levels_of(model):
    """Return the classes of the points of each level."""
    arrays = model.model_.arrays()
    sizes = arrays["level_state"].reshape(-1, 4)[:4, 0]
    return np.split(arrays["point_class"][: sizes.sum()], np.cumsum(sizes)[:-1])


def test_a_run_of_one_class_leaves_the_others_their_floor_in_the_first_level_and_their_share_in_the_others():
    X = np.arange(40_000.0)[:, None]
    y = np.arange(40_000) % 4
    y[30_000:] = 0  # a cycle, then a run, after which class 0 is 44 % of the stream
    first, *longer = levels_of(LocustClassifier(level_size=64, class_floor=2).fit(X, y))
    assert np.bincount(first).tolist() == [58, 2, 2, 2]
    for labels in longer:
        assert np.bincount(labels) == pytest.approx([28, 12, 12, 12], abs=3)


def test_a_long_level_holds_the_classes_by_their_share_of_the_stream():
    X = np.arange(40_000.0)[:, None]
    y = (np.arange(40_000) % 10 == 0).astype(int)
    assert np.bincount(levels_of(LocustClassifier(level_size=64, stride=3).fit(X, y))[3])[0] in (57, 58)


def test_old_points_are_stored_sparsely_and_new_ones_densely():
    n = 20_000
    model = LocustClassifier(level_size=256).fit(np.arange(float(n))[:, None], np.arange(n) % 2)
    arrays = model.model_.arrays()
    ages = n - arrays["arrival"].reshape(-1, 256)[:4].min(axis=1)
    assert ages.tolist() == sorted(ages.tolist())
    assert ages[0] <= 260
    assert ages[3] > 256 * 50


def test_a_point_votes_as_soon_as_it_is_learned():
    model = LocustClassifier(n_levels=1, label_delay=0)
    model.partial_fit(np.zeros((50, 3)), ["old"] * 50, classes=["old", "new"])
    model.partial_fit(np.full((8, 3), 9.0), ["new"] * 8)
    assert model.predict([[9.0, 9.0, 9.0]])[0] == "new"


@pytest.mark.parametrize("budget", [1, 7, 30])
def test_the_result_of_a_record_does_not_depend_on_its_batch(budget):
    X, y = stream(3, 600, 5, 3)
    model = LocustClassifier(level_size=64).fit(X, y)
    together = model.predict_proba(X[:50], budget=budget)
    alone = np.vstack([model.predict_proba(x[None], budget=budget) for x in X[:50]])
    assert np.array_equal(together, alone)


def test_learning_by_rows_equals_learning_at_once():
    X, y = stream(4, 700, 5, 3)
    at_once = LocustClassifier(level_size=64, label_delay=100, calibrate=False).fit(X, y)
    by_rows = LocustClassifier(level_size=64, label_delay=100)
    for x, c in zip(X, y, strict=True):
        by_rows.partial_fit(x[None], [c], classes=[0, 1, 2])
    assert np.array_equal(at_once.predict_proba(X), by_rows.predict_proba(X))


def state_of(model):
    return {name: values.tobytes() for name, values in model.model_.arrays().items()}


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(300, 6000),
    delay=st.sampled_from([0, 100, 1000, 5000]),
    stride=st.sampled_from([2, 3, 4]),
    n_levels=st.integers(1, 5),
)
def test_levels_that_learn_side_by_side_equal_those_that_learn_in_small_batches(seed, n, delay, stride, n_levels):
    X, y = stream(seed, n, 5, 3, missing=0.02)
    parameters = {"level_size": 64, "label_delay": delay, "stride": stride, "n_levels": n_levels, "calibrate": False}
    in_small_batches = LocustClassifier(n_jobs=1, **parameters)
    for first in range(0, n, 37):
        in_small_batches.partial_fit(X[first : first + 37], y[first : first + 37], classes=[0, 1, 2])
    for n_jobs in (1, 2):
        model = LocustClassifier(n_jobs=n_jobs, **parameters).partial_fit(X, y, classes=[0, 1, 2])
        assert state_of(model) == state_of(in_small_batches)
        assert np.array_equal(model.predict_proba(X[:20]), in_small_batches.predict_proba(X[:20]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n", [3, 6000])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_changes_nothing(n_jobs, n, value):
    X, y = stream(5, 6000, 5, 3)
    model = LocustClassifier(n_jobs=n_jobs, calibrate=False).partial_fit(X, y, classes=[0, 1, 2])
    before = state_of(model)
    X[n - 1, 4] = value
    with pytest.raises(ValueError, match="infinite value"):
        model.model_.learn(X[:n], y[:n].astype(np.int32), 3, threads=n_jobs)
    assert state_of(model) == before
