"""Metrics are learned from training data, applied to every record alike, and kept with the model."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import load_digits, load_iris

from anystream import BayesTreeClassifier, _native, load
from anystream.bayes_tree.metric import Metric, learn_metric
from anystream.bayes_tree.selection import CANDIDATES
from bayes_tree.plain import plain
from reference import metric as reference

NAMES = [name for name in CANDIDATES if name is not None]


def labelled(seed, n=60, d=3, missing=False):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(2), random.integers(0, 2, n - 2)]).astype(np.int32)
    X = random.normal(size=(n, d)) * random.uniform(0.1, 50, d) + y[:, None]
    X[:, 0] = np.exp(X[:, 0] / np.abs(X[:, 0]).max() * 4)
    if missing:
        X[random.random(X.shape) < 0.15] = np.nan
    return np.ascontiguousarray(X), y


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    d=st.integers(1, 5),
    name=st.sampled_from(NAMES),
    nan=st.booleans(),
)
def test_native_metrics_equal_the_reference_row_by_row(seed, n, d, name, nan):
    X, y = labelled(seed, n, d, missing=nan)
    metric = learn_metric(name, X, y, seed=0)
    Q = np.vstack([X, labelled(seed + 1, 8, d, missing=nan)[0] * 3])
    mapped = metric.apply(Q)
    np.testing.assert_allclose(mapped, reference.apply(Q, metric), rtol=1e-9, atol=1e-9)
    assert np.array_equal(mapped[3:4], metric.apply(Q[3:4]), equal_nan=True)
    if "whiten" in name:
        assert np.isfinite(mapped).all()
    else:
        assert np.array_equal(np.isnan(mapped), np.isnan(Q))


@given(seed=st.integers(0, 10**6))
def test_quantiles_become_normal_and_keep_the_order(seed):
    X, y = labelled(seed, 400, 2)
    mapped = learn_metric("quantile", X, y, seed=0).apply(X)
    for before, after in zip(X.T, mapped.T, strict=True):
        ordered = after[np.argsort(before)]
        assert (np.diff(ordered) >= 0).all()
        assert np.corrcoef(ordered, norm.ppf((np.arange(400) + 0.5) / 400))[0, 1] > 0.995
        assert after.std() == pytest.approx(1)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 5))
def test_whitening_makes_the_classes_nearly_round(seed, d):
    X, y = labelled(seed, 300, d)
    mapped = learn_metric("whiten", X, y, seed=0).apply(X)
    within = sum(np.cov(mapped[y == c].T, bias=True).reshape(d, d) * (y == c).mean() for c in (0, 1))
    assert np.abs(np.diag(within) - 1).max() < 0.15
    assert np.abs(within - np.diag(np.diag(within))).max(initial=0.0) < 0.25


@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), n=st.integers(3, 30))
def test_the_gradient_of_the_weights_is_that_of_their_objective(seed, d, n):
    random = np.random.default_rng(seed)
    Z, y = random.normal(size=(n, d)), random.integers(0, 2, n).astype(np.int32)
    weight, gradient, step = random.uniform(0.2, 1.5, d), np.empty(d), 1e-5
    value = _native.neighbour_gradient(Z, y, weight, 1 + seed % 2, gradient)
    assert value == pytest.approx(reference.neighbour_objective(Z, y, weight), rel=1e-4, abs=1e-5)
    for k in range(d):
        up, down = (weight * np.exp(sign * step * (np.arange(d) == k)) for sign in (1, -1))
        slope = reference.neighbour_objective(Z, y, up) - reference.neighbour_objective(Z, y, down)
        assert gradient[k] == pytest.approx(slope / (2 * step), rel=1e-2, abs=1e-3)


def test_the_learned_diagonal_finds_the_feature_that_matters():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 6))
    y = (X[:, 2] > 0).astype(np.int32)
    metric = learn_metric("diagonal", X, y, seed=0)
    assert metric.factor.argmax() == 2
    assert metric.factor[2] > 3 * np.delete(metric.factor, 2).max()
    noisy = plain().fit(X[:200], y[:200]).score(X[200:], y[200:])
    learned = plain(metric="diagonal").fit(X[:200], y[:200])
    assert learned.score(X[200:], y[200:]) > noisy + 0.02


@pytest.mark.parametrize("name", NAMES)
def test_models_in_a_metric_keep_their_answers_in_files_and_pickles(tmp_path, name):
    X, y = load_iris(return_X_y=True)
    X[3, 1] = np.nan
    model = BayesTreeClassifier(metric=name).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    for twin in (
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "model.safetensors"),
        load(tmp_path / "model.safetensors", mmap=True),
    ):
        assert np.array_equal(twin.predict_proba(X, budget=7), model.predict_proba(X, budget=7))
    proba = model.predict_proba(X[:5], budget=7)
    for row, expected in zip(X[:5], proba, strict=True):
        assert np.array_equal(model.query(row).refine(7).proba, expected)
    model.budget = 7
    record = dict(enumerate(X[0]))
    assert list(model.predict_proba_one(record).values()) == pytest.approx(proba[0])
    model.partial_fit(X[::3], y[::3])
    assert model.score(X, y) > 0.9


def test_a_new_feature_is_taken_as_it_is():
    X, y = load_iris(return_X_y=True)
    for name in NAMES:
        model = BayesTreeClassifier(metric=name).fit(X, y)
        model.learn_one(dict(enumerate(X[0])) | {"new": 3.0}, 0)
        assert model.predict_one(dict(enumerate(X[0]))) == 0
        metric = learn_metric(name, X, y.astype(np.int32), seed=0)
        wider = metric.widened(6).apply(np.column_stack([X, X[:, :2]]))
        np.testing.assert_allclose(wider[:, :4], metric.apply(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(wider[:, 4:], X[:, :2], rtol=1e-9)


def test_auto_chooses_by_the_held_out_answers_and_says_what():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 8))
    y = (np.abs(X[:, 2]) > 0.7).astype(int)
    model = BayesTreeClassifier(metric="auto").fit(X[:300], y[:300])
    assert model.plan_.metric in ("diagonal", "quantile+diagonal")
    assert model.score(X[300:], y[300:]) > plain().fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert BayesTreeClassifier(metric="auto", n_jobs=1).fit(X[:300], y[:300]).plan_ == model.plan_


def test_auto_works_with_few_objects_of_a_class():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], np.where(y[:200] == 3, "rare", "often")
    rare = np.flatnonzero(y == "rare")[1:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    model = BayesTreeClassifier(metric="auto").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_constant_and_empty_features_are_harmless():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.full(len(X), 5.0), np.full(len(X), np.nan)])
    for name in NAMES:
        model = BayesTreeClassifier(metric=name, root_model=None).fit(X, y)
        assert model.score(X, y) > 0.9
        assert np.isfinite(model.predict_proba(np.nan_to_num(X + 1))).all()


def test_a_metric_needs_fit():
    with pytest.raises(ValueError, match="metric='whiten' is learned by fit; call fit before partial_fit"):
        BayesTreeClassifier(metric="whiten").partial_fit([[0.0, 1.0]], [0])


@given(seed=st.integers(0, 10**6), d=st.integers(1, 5), name=st.sampled_from(NAMES), nan=st.booleans())
def test_a_metric_can_be_undone(seed, d, name, nan):
    X, y = labelled(seed, 40, d, missing=nan)
    metric = learn_metric(name, X, y, seed=0).widened(d + seed % 2)
    X = np.column_stack([X, np.arange(40.0)])[:, : d + seed % 2].copy()
    back = metric.undo(metric.apply(X))
    known = ~np.isnan(X)
    np.testing.assert_allclose(back[known], X[known], rtol=1e-6, atol=1e-6 * np.nanmax(np.abs(X)))
    assert np.isfinite(back[~known]).all() if "whiten" in name else np.isnan(back[~known]).all()


@pytest.mark.parametrize("metrics", [("whiten", "whiten"), (None, "quantile"), ("quantile+diagonal", None)])
def test_parts_with_metrics_of_their_own_merge_in_the_space_of_the_first(metrics):
    X, y = load_iris(return_X_y=True)
    names = np.array(["b", "a", "c"])[y]
    first, second = (plain(metric=name, decision="mixture") for name in metrics)
    first.fit(X[::2], names[::2])
    second.fit(X[1::2][y[1::2] != 1], names[1::2][y[1::2] != 1])  # a class less
    merged = BayesTreeClassifier.merge([first, second])
    assert merged._metric == first._metric
    again = first.clone().fit(X[::2], names[::2]).partial_fit(X[1::2][y[1::2] != 1], names[1::2][y[1::2] != 1])
    inserted = again.predict_proba(X, budget=10**6)
    assert np.abs(merged.predict_proba(X, budget=10**6) - inserted).mean() < 0.02  # but for the scale of the kernels
    assert merged.score(X, names) > 0.9


def test_what_is_given_is_not_chosen():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    given = BayesTreeClassifier(bandwidth="f0.2", decision="nearest").fit(X, y)
    assert (given.plan_.bandwidth, given.plan_.decision) == ("f0.2", "nearest")
    free = BayesTreeClassifier().fit(X, y)
    before = free.predict_proba(X, budget=50)
    assert not np.array_equal(free.set_params(decision="nearest").predict_proba(X, budget=50), before)


@pytest.mark.parametrize("name", ["euclid", "diagonal+whiten", "diagonal+quantile", "whiten+whiten", 3])
def test_unknown_metrics_are_refused(name):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="metric is"):
        BayesTreeClassifier(metric=name).fit(X, y)


def test_a_metric_equals_its_twin_only():
    X, y = labelled(0)
    assert learn_metric("whiten", X, y, 0) == learn_metric("whiten", X, y, 0)
    assert learn_metric("whiten", X, y, 0) != learn_metric("quantile", X, y, 0)
    assert Metric(np.zeros(2)) != None  # noqa: E711  # __eq__ itself is tested


@pytest.mark.parametrize("name", NAMES)
def test_every_call_of_a_forest_maps_raw_records_by_the_metric_it_is_given(name):
    X, y = labelled(5, n=200)
    metric = learn_metric(name, X, y, 0, 1)
    forest = _native.BayesForest.build(_native.BayesForestSettings(7, "factor", 0.05, "max"), metric.apply(X, 1), y, 2)
    settings, stages = _native.BayesQuerySettings("global_best", "ensemble", 0), np.array([0, 9])
    raw, mapped = X[:40], metric.apply(X[:40], 1)

    def answers(records, native):
        proba, steps, certified = np.empty((40, 2)), np.empty(40, np.int64), np.empty(40, np.uint8)
        forest.answer(settings, records, 9, -1, None, 2, proba, steps, certified, native)
        staged, labels = np.empty((40, 2, 2)), np.empty((40, 2), np.int32)
        forest.answer_in_stages(settings, records, stages, 2, staged.reshape(-1), native)
        forest.label_in_stages(settings, records, stages, 2, labels, native)
        queries = [forest.query(settings, record, native) for record in records]
        one = [forest.proba_one(settings, record, 9, native) for record in records]
        first = [forest.label_one(settings, record, 9, native) for record in records]
        return proba, steps, staged, labels, [query.proba() for query in queries], one, first

    for given_raw, given_mapped in zip(answers(raw, metric.native), answers(mapped, None), strict=True):
        np.testing.assert_array_equal(given_raw, given_mapped)
