"""Values that a record lacks are integrated out, also where a linear metric mixes the features."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, make_classification

from anystream import BayesTreeClassifier, anytime_curve, load
from anystream.streams import load_dataset
from bayes_tree.plain import plain
from reference.bayes_tree import posterior
from reference.metric import apply, complement_basis

METRICS = [None, "whiten", "quantile", "diagonal", "quantile+whiten"]


def correlated(seed, n, d, n_classes):
    """Return records whose features are mixed, and their class numbers."""
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, n - n_classes)]).astype(np.int32)
    centres = random.normal(size=(n_classes, d))
    return (centres[y] + 0.5 * random.normal(size=(n, d))) @ random.normal(size=(d, d)), y


def with_holes(X, share, seed=0):
    Q = X.copy()
    Q[np.random.default_rng(seed).random(Q.shape) < share] = np.nan
    return Q


def linear_map(metric):
    """Return the matrix A of y = A (curve(x) - shift)."""
    return metric.matrix.reshape(len(metric.shift), -1).T


@given(seed=st.integers(0, 10**6), d=st.integers(2, 5), n_classes=st.integers(2, 3))
def test_exhausted_kernels_of_a_whitened_space_are_integrated_over_what_is_missing(seed, d, n_classes):
    X, y = correlated(seed, 40, d, n_classes)
    model = plain(metric="whiten", decision="mixture").fit(X, y)
    A, shift = linear_map(model.metric_), model.metric_.shift
    mapped = (X - shift) @ A.T
    width = 0.05 * mapped.var(axis=0).mean()  # f0.05: of the mean variance of the dimensions
    back = np.linalg.inv(A)
    spread = back @ (width * np.eye(d)) @ back.T  # of a kernel, in the space of the features
    for q in with_holes(X[:6], 0.4, seed):
        known = np.flatnonzero(~np.isnan(q))
        if len(known) in (0, d):
            continue
        kernel = multivariate_normal(np.zeros(len(known)), spread[np.ix_(known, known)], allow_singular=True)
        scores = [
            np.logaddexp.reduce(np.atleast_1d(kernel.logpdf((q - X[y == c])[:, known]))) for c in range(n_classes)
        ]
        query = model.query(q).refine()
        assert query.exhausted
        np.testing.assert_allclose(query.proba, posterior(scores), rtol=2e-3, atol=1e-5)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 5), name=st.sampled_from(["whiten", "quantile+whiten"]))
def test_entries_are_projected_to_what_is_known(seed, d, name):
    X, y = correlated(seed, 60, d, 2)
    model = plain(metric=name, covariance="diagonal").fit(X, y)
    arrays = model.forest_.arrays()
    shift, scale = arrays["shift"], arrays["scale"]
    directions = model.metric_.matrix.reshape(d, d)
    for q in with_holes(X[:6], 0.4, seed):
        missing = np.flatnonzero(np.isnan(q))
        if len(missing) in (0, d):
            continue
        P = complement_basis(directions[missing] / scale, missing)
        np.testing.assert_allclose(P @ P.T, np.eye(len(P)), atol=1e-9)
        np.testing.assert_allclose(P @ (directions[missing] / scale).T, 0, atol=1e-9 * np.abs(directions).max())
        z = (apply(q[np.newaxis], model.metric_)[0] - shift) / scale
        for c, _, log2_value in model.query(q).frontier:
            own = (apply(X[y == c], model.metric_) - shift) / scale
            variance = np.maximum(own.var(axis=0), 0.05 * arrays["spread"])
            projected = np.square(P) @ variance
            apart = P @ (z - own.mean(axis=0))
            log_g = -0.5 * np.sum(apart**2 / projected + np.log(2 * np.pi * projected))
            assert log2_value == pytest.approx((np.log(len(own)) + log_g) / np.log(2), rel=1e-3, abs=1e-3)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 9), name=st.sampled_from(METRICS))
def test_the_root_model_is_integrated_over_what_is_missing(seed, d, name):
    X, y = correlated(seed, 80, d, 3)
    model = plain(metric=name, root_model=1.0).fit(X, y)
    arrays = model.forest_.arrays()
    shift, scale = arrays["root_model_shift"], arrays["root_model_scale"]
    means, log2_norm = arrays["root_model_mean"].reshape(3, d), arrays["root_model_log2_norm"]
    for q in with_holes(X[:4], 0.4, seed):
        missing = np.isnan(q)
        if missing.all() or not missing.any():
            continue
        mapped = q if name is None else apply(q[np.newaxis], model.metric_)[0]
        # In the space of the root model: x = origin + A u, where u are the (curved, shifted) features.
        A = np.eye(d) if name is None or "whiten" not in name else linear_map(model.metric_)
        A = A / scale[:, np.newaxis]
        origin = (np.where(np.isnan(mapped), 0.0, mapped) - shift) / scale
        scores = []
        for c in range(3):
            W = factor_of(arrays["root_model_values"], c, d)
            covariance = np.linalg.inv(W.T @ W)
            prior = log2_norm[c] * np.log(2) - np.linalg.slogdet(W)[1] + 0.5 * d * np.log(2 * np.pi)
            back = np.linalg.inv(A)
            mean = (back @ (means[c] - origin))[~missing]  # of the features, relative to the record
            spread = (back @ covariance @ back.T)[np.ix_(~missing, ~missing)]
            scores.append(prior + multivariate_normal.logpdf(np.zeros(len(mean)), mean, spread, allow_singular=True))
        np.testing.assert_allclose(model.query(q).proba, posterior(scores), rtol=2e-2, atol=1e-4)


def factor_of(values, c, d):
    """Return the matrix W of a class from the panels of the root models."""
    panels = -(-d // 8)
    floats = 64 * panels * (panels + 1) // 2
    own, W, at = values[c * floats : (c + 1) * floats].astype(float), np.zeros((8 * panels, 8 * panels)), 0
    for p in range(panels):
        columns = 8 * (p + 1)
        W[8 * p : 8 * p + 8, :columns] = own[at : at + 8 * columns].reshape(columns, 8).T
        at += 8 * columns
    return W[:d, :d]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("changes", [{}, {"decision": "nearest"}, {"refine_for": "certificate"}], ids=str)
def test_a_record_without_any_value_has_exactly_the_priors(tmp_path, name, changes):
    X, y = load_iris(return_X_y=True)
    X, y = X[:130], y[:130]
    model = BayesTreeClassifier(metric=name, root_model=1.0, **changes).fit(X, y)
    nothing, priors = np.full((1, 4), np.nan), np.bincount(y) / len(y)
    model.save(tmp_path / "model.safetensors")
    parts = [BayesTreeClassifier(metric=name, root_model=1.0, **changes).fit(X[i::2], y[i::2]) for i in range(2)]
    for twin in (model, load(tmp_path / "model.safetensors"), parts[0].merge([parts[1]])):
        for budget in (0, 1, 50, None):
            answer = twin.classify(nothing, budget=budget)
            assert np.array_equal(answer.proba[0], priors)
            assert answer.certified[0]
        assert all(np.array_equal(proba[0], priors) for proba in twin.staged_predict_proba(nothing, stages=[0, 3, 40]))
        query = twin.query(nothing[0]).refine(5)
        assert np.array_equal(query.proba, priors)
        assert np.array_equal(twin.query(state=query.state).proba, priors)
        assert np.array_equal(list(twin.predict_proba_one({}).values()), priors)


@pytest.mark.parametrize("name", METRICS)
def test_incomplete_records_are_classified_alike_by_batches_queries_files_and_resumed_queries(tmp_path, name):
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier(metric=name, root_model=0.3).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    twins = [pickle.loads(pickle.dumps(model)), load(tmp_path / "model.safetensors", mmap=True)]
    Q, stages = with_holes(X[::7], 0.4), [0, 1, 3, 9, 200]
    for steps, staged in zip(stages, model.staged_predict_proba(Q, stages=stages), strict=True):
        assert np.array_equal(model.predict_proba(Q, budget=steps), staged)
        for twin in twins:
            assert np.array_equal(twin.predict_proba(Q, budget=steps), staged)
        for q, proba in zip(Q, staged, strict=True):
            early = model.query(q).refine(min(steps, 2))
            resumed = twins[0].query(state=early.state).refine(steps - early.steps)
            assert np.array_equal(resumed.proba, proba)
            assert resumed.record.shape == (4,)
    model.partial_fit(X[::3] + 0.01, y[::3])
    assert model.score(with_holes(X, 0.25), y) > 0.85


def test_a_feature_that_came_later_may_be_missing_under_a_linear_metric():
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier(metric="whiten").fit(X, y)
    for x, label in zip(X[::5], y[::5].tolist(), strict=True):
        model.learn_one(dict(enumerate(x)) | {"new": 3.0}, label)
    Q = np.column_stack([with_holes(X, 0.2), np.full(len(X), np.nan)])
    assert model.score(Q, y) > 0.88


@pytest.mark.parametrize("bandwidth", ["f0.05", "haerdle"])
def test_a_certificate_for_an_incomplete_record_of_a_whitened_space_needs_all_steps(bandwidth):
    X, y = load_iris(return_X_y=True)
    Q = with_holes(X[::10], 0.4)
    Q = Q[np.isnan(Q).any(axis=1)]
    model = BayesTreeClassifier(metric="whiten", root_model=None, bandwidth=bandwidth, refine_for="certificate")
    model.fit(X, y)
    certified = model.classify(Q, budget=10**6)
    assert certified.certified.all()
    exhausted = model.set_params(refine_for="accuracy", decision="mixture").classify(Q, budget=10**6)
    assert np.array_equal(certified.proba, exhausted.proba)


def test_a_damaged_projection_is_rejected():
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier(metric="whiten", root_model=None).fit(X, y)
    state = model.query([5.0, np.nan, 3.0, np.nan]).state
    at = state.index(np.array([8], dtype=np.uint64).tobytes())  # 2 x 4 values
    damaged = state[: at + 8] + np.array([np.inf]).tobytes() + state[at + 16 :]
    with pytest.raises(ValueError, match="projection"):
        model.query(state=damaged)


def shares_below(X, y, Q, labels, shares):
    """Return by how many points the default is below no metric, for each share of missing cells, and confidences."""
    models = [BayesTreeClassifier(**changes).fit(X, y) for changes in ({}, {"metric": None, "root_model": None})]
    below, confidence = {}, []
    for share in shares:
        holes = with_holes(Q, share)
        default, trees = (100 * model.score(holes, labels) for model in models)
        below[share] = trees - default
        confidence.append(models[0].predict_proba(holes).max(axis=1).mean())
    return models[0].recipe_.metric, below, np.array(confidence)


def forty_features():
    return make_classification(
        4000,
        40,
        n_informative=12,
        n_redundant=18,
        n_classes=5,
        n_clusters_per_class=2,
        class_sep=2.0,
        random_state=3,
    )


@pytest.mark.slow
def test_missing_cells_of_forty_features_cost_no_more_than_without_a_metric():
    X, y = forty_features()
    metric, below, confidence = shares_below(X[:3000], y[:3000], X[3000:], y[3000:], [0.0, 0.2, 0.5, 0.8])
    assert metric is not None
    assert max(below.values()) <= 1, below
    assert (np.diff(confidence) <= 1e-3).all(), confidence
    assert confidence[-1] < 0.95, confidence


@pytest.mark.data
@pytest.mark.skipif(
    not (Path(os.environ.get("ANYSTREAM_DATA", "/nowhere")) / "uci_letter.npz").exists(),
    reason="the data sets are missing; set ANYSTREAM_DATA to their folder",
)
@pytest.mark.parametrize("name", ["pendigits", "letter", "spambase", "segment", "optdigits"])
def test_missing_cells_cost_no_more_than_without_a_metric(name):
    data = load_dataset(name).shuffled(seed=1)
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    queries = min(1500, len(X) // 4)
    shares = [0.0, 0.1, 0.2, 0.5, 0.8]
    _, below, confidence = shares_below(X[queries:], y[queries:], X[:queries], y[:queries], shares)
    assert max(below.values()) <= 1, below
    assert (np.diff(confidence) <= 2e-3).all(), confidence
    assert confidence[-1] < confidence[0] - 0.05, confidence


def test_the_curve_of_incomplete_records_does_not_fall():
    X, y = forty_features()
    model = BayesTreeClassifier().fit(X[:3000], y[:3000])
    curve = anytime_curve(model, with_holes(X[3000:], 0.3), y[3000:], stages=[0, 4, 8, 20, 100])
    assert (curve.accuracy[1:] >= curve.accuracy[0] - 0.02).all(), curve.accuracy
