"""Bayes trees with a window hold their last records, and nothing of those that left."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import BayesTreeClassifier, load
from bayes_tree.plain import plain
from bayes_tree.structure import children_and_roots, records_below
from reference.bayes_tree import kernel_density_posterior


@st.composite
def streams(draw):
    """Draw records and labels, a window, and parameters of the trees."""
    n, d, n_classes = draw(st.integers(1, 150)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = random.integers(n_classes, size=n)
    X = random.normal(size=(n, d)) + y[:, None]
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):  # drifts
        X += np.linspace(0, 50, n)[:, None]
    if draw(st.booleans()):
        X[: n // 2, 0] = 3.25
    return X, y, draw(st.integers(1, 60)), draw(st.sampled_from([3, 7])), draw(st.integers(1, n))


def learned(X, y, window, *, start=1, **parameters):
    """Return trees that learned the first records at once and the others one by one."""
    model = plain(window=window, **parameters).partial_fit(X[:start], y[:start], classes=range(int(y.max()) + 1))
    for x, label in zip(X[start:], y[start:], strict=True):
        model.learn_one(dict(enumerate(x)), int(label))
    return model


def held(model):
    """Return the records of the trees and their class numbers, by their places."""
    arrays = model.forest_.arrays()
    return arrays["points"].reshape(-1, model.n_features_in_), arrays["point_class"]


def state(model):
    return {name: array.tobytes() for name, array in model.forest_.arrays().items()}


@given(stream=streams(), missing=st.booleans())
def test_the_trees_hold_the_last_records_and_their_moments(stream, missing):
    X, y, window, fanout, start = stream
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X) if missing else X
    model = learned(X, y, window, start=start, fanout=fanout)
    records, numbers = held(model)
    last = slice(max(0, len(X) - window), None)
    places = np.arange(len(X))[last] % window
    assert np.array_equal(records[places], X[last], equal_nan=True)
    assert np.array_equal(numbers[places], y[last])

    arrays, d = model.forest_.arrays(), X.shape[1]
    for c in range(model.forest_.classes):
        own = X[last][y[last] == c]
        assert arrays["class_count"][c] == len(own)
        observed = (~np.isnan(own)).sum(axis=0)
        np.testing.assert_array_equal(arrays["class_observed"].reshape(-1, d)[c], observed)
        for j in np.flatnonzero(observed):
            values = own[~np.isnan(own[:, j]), j]
            np.testing.assert_allclose(arrays["class_mean"].reshape(-1, d)[c, j], values.mean(), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(
                arrays["class_scatter"].reshape(-1, d)[c, j],
                ((values - values.mean()) ** 2).sum(),
                rtol=1e-9,
                atol=1e-9,
            )


@given(stream=streams())
def test_every_node_sums_up_exactly_the_records_below_it(stream):
    X, y, window, fanout, start = stream
    model = learned(X, y, window, start=start, fanout=fanout)
    arrays, (records, numbers), d = model.forest_.arrays(), held(model), X.shape[1]
    z = (records - arrays["shift"]) / arrays["scale"]
    children, roots = children_and_roots(model.forest_)
    assert all(2 <= len(entries) <= fanout for entries in children)
    below_roots = [records_below(children, root) for root in roots if root != np.iinfo(np.int32).min]
    assert sorted(record for below in below_roots for record in below) == list(range(len(records)))
    assert sum(len({numbers[record] for record in below}) == 1 for below in below_roots) == len(below_roots)
    for node in range(len(children)):
        own = z[records_below(children, node)]
        assert arrays["node_count"][node] == len(own)
        np.testing.assert_allclose(arrays["node_mean"].reshape(-1, d)[node], own.mean(axis=0), rtol=1e-9, atol=1e-9)
        scatter = ((own - own.mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(arrays["node_scatter"].reshape(-1, d)[node], scatter, rtol=1e-9, atol=1e-9)
        box = arrays["node_box"].reshape(-1, 2, d)[node]
        np.testing.assert_array_equal(box, [own.astype(np.float32).min(axis=0), own.astype(np.float32).max(axis=0)])


@given(stream=streams(), shift=st.floats(-1, 1))
def test_an_exhausted_query_has_the_density_of_exactly_the_window(stream, shift):
    X, y, window, fanout, start = stream
    model = learned(X, y, window, start=start, fanout=fanout, bandwidth="f0.5", decision="mixture")
    last = slice(-window, None)
    queries = X[last][:5] + shift
    expected = kernel_density_posterior(X[last], y[last], int(y.max()) + 1, queries, alpha=0.5)
    np.testing.assert_allclose(model.predict_proba(queries, budget=10**6), expected, atol=1e-4)


@pytest.mark.parametrize("bandwidth", ["haerdle", "langley"])
def test_widths_by_class_are_those_of_a_model_of_the_window(bandwidth):
    random = np.random.default_rng(3)
    y = random.integers(3, size=1500)
    X = random.normal(size=(1500, 3)) * np.linspace(5, 1, 1500)[:, None] + y[:, None]
    model = learned(X, y, 400, bandwidth=bandwidth, decision="mixture")
    twin = plain(bandwidth=bandwidth, decision="mixture").fit(X[-400:], y[-400:])
    proba = model.predict_proba(X[:100], budget=10**6)
    np.testing.assert_allclose(proba, twin.predict_proba(X[:100], budget=10**6), atol=1e-5)


@given(stream=streams(), cut=st.integers(0, 149))
def test_a_model_saved_in_between_learns_the_same_bits(stream, cut, tmp_path_factory):
    X, y, window, fanout, start = stream
    cut = min(max(cut, start), len(X))
    model = learned(X[:cut], y[:cut], window, start=start, fanout=fanout)
    model.partial_fit(X[:1], y[:1], classes=range(int(y.max()) + 1))
    path = tmp_path_factory.mktemp("window") / "model.safetensors"
    model.save(path)
    twins = [model, pickle.loads(pickle.dumps(model)), load(path), model.snapshot()]
    for twin in twins:
        for x, label in zip(X[cut:], y[cut:], strict=True):
            twin.learn_one(dict(enumerate(x)), int(label))
    assert all(state(twin) == state(model) for twin in twins)


@given(stream=streams())
def test_batches_and_single_records_give_the_same_trees(stream):
    X, y, window, fanout, _ = stream
    classes = range(int(y.max()) + 1)
    at_once = plain(window=window, fanout=fanout).partial_fit(X, y, classes=classes)
    assert state(at_once) == state(learned(X, y, window, fanout=fanout))


def test_memory_stays_bounded_while_records_stream_through():
    random = np.random.default_rng(0)
    model = plain(window=1500)
    sizes = []
    for i in range(40):
        X = random.normal(size=(1500, 4)) + i  # drifts
        model.partial_fit(X, random.integers(3, size=1500))
        sizes.append(model.memory_bytes_)
    assert model.forest_.records == 1500
    assert max(sizes[10:]) <= 1.1 * max(sizes[:10])
    assert max(sizes) < 3 * plain().partial_fit(X, random.integers(3, size=1500)).memory_bytes_


def test_an_outlier_leaves_nothing_behind():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(9000, 2)), random.integers(2, size=9000)
    X[1000] = 1e9
    model = learned(X, y, 3000)
    arrays = model.forest_.arrays()
    np.testing.assert_allclose(arrays["scatter"], ((X[-3000:] - X[-3000:].mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(arrays["spread"] * arrays["scale"] ** 2 < 2, [True, True])


def test_covariances_follow_the_records_of_the_window():
    random = np.random.default_rng(2)
    before, after = np.array([[1, 0.9], [0.9, 1]]), np.array([[1, -0.9], [-0.9, 1]])
    X = np.vstack([random.multivariate_normal([0, 0], each, size=3000) for each in (before, after)])
    y = random.integers(2, size=6000)
    X[y == 1] += 100
    model = learned(X, y, 2000)
    ahead = model.predict_proba([[1.5, -1.5]], budget=0)
    twin = plain().fit(X[-2000:], y[-2000:])
    assert model.forest_.arrays()["covariance_values"].size > 0
    for query in ([1.5, -1.5], [1.5, 1.5]):
        mine, own = (np.log(each.predict_proba([query], budget=0)[0, 0]) for each in (model, twin))
        assert mine == pytest.approx(own, abs=0.1)
    assert ahead[0, 0] > 0.99


def test_fit_uses_the_last_records_and_knows_all_classes():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    model = plain(window=10).fit(X, y)
    assert sorted(held(model)[0].ravel()) == list(range(10, 20))
    assert model.classes_.tolist() == [0, 1]
    assert model.predict([[0.0]]).tolist() == [1]
    model.partial_fit([[0.0]] * 10, [0] * 10)
    assert model.predict([[15.0]]).tolist() == [0]


def test_fit_with_a_window_chooses_by_its_records():
    random = np.random.default_rng(0)
    y = random.integers(3, size=900)
    X = random.normal(size=(900, 4)) + 2 * y[:, None]
    model = BayesTreeClassifier(window=600).fit(X, y)
    for i in range(700):
        model.learn_one(dict(enumerate(X[i])), int(y[i]))
    assert model.forest_.records == 600
    assert model.score(X, y) > 0.85


def test_merged_windows_hold_the_newest_records_of_all():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    parts = [learned(X[:17], y[:17], 10), learned(X[17:], y[17:], 10)]
    whole = BayesTreeClassifier.merge(parts)
    assert sorted(held(whole)[0].ravel()) == [12, 13, 14, 15, 16, 35, 36, 37, 38, 39]
    for i in range(5):
        whole.learn_one({0: 100.0 + i}, 0)
    assert sorted(held(whole)[0].ravel()) == [15, 16, 37, 38, 39, 100, 101, 102, 103, 104]
    kept = BayesTreeClassifier.merge([plain(window=30).fit(X[:5], y[:5]), plain().fit(X[5:20], y[5:20])])
    assert sorted(held(kept)[0].ravel()) == list(range(20))


def test_a_damaged_count_of_learned_records_is_an_error():
    model = learned(np.arange(30.0)[:, None], np.arange(30) % 2, 10)
    for damage in (9, 2**40):
        twin = pickle.loads(pickle.dumps(model))
        state = list(twin.forest_.__getstate__())
        state[-1] = {name: np.array(array) for name, array in state[-1].items()}
        state[-1]["learned"][1] = damage
        with pytest.raises(ValueError, match="moments"):
            type(twin.forest_).__new__(type(twin.forest_)).__setstate__(tuple(state))


@pytest.mark.parametrize("window", [0, -1, 2.5, "many"])
def test_an_invalid_window_is_named(window):
    with pytest.raises(ValueError, match=r"window is"):
        plain(window=window).fit([[0.0], [1.0]], [0, 1])
