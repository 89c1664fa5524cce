"""Every named distance equals its definition, with and without early abandoning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbors_cases import make_vectors, squared_distances
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from anystream.neighbors import AnytimeNeighborsClassifier
from reference.neighbors_distances import dtw, edit, gower, rotation


def nearest_of(model, x):
    return model.query(x).refine().nearest[0]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), search=st.sampled_from(["ordered", "inverted"]))
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "correlation", "mahalanobis"])
def test_vector_distances_equal_scipys(metric, seed, k, search):
    X, y, Q = make_vectors(seed)
    y[:3] = range(3)
    model = AnytimeNeighborsClassifier(metric=metric, k=k, search=search, ordering="random").fit(X, y)
    named = {"manhattan": "cityblock"}.get(metric, metric)
    more = {"VI": np.linalg.inv(np.cov(X, rowvar=False))} if metric == "mahalanobis" else {}
    plain = cdist(Q, X, named, **more)
    for x, row in zip(Q, plain, strict=True):
        found = model.query(x).refine().nearest
        assert_allclose([distance for _, distance in found], np.sort(row)[:k], rtol=1e-7, atol=1e-12)
        assert [serial for serial, _ in found] == np.argsort(row, kind="stable")[:k].tolist()


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), whole=st.booleans(), search=st.sampled_from(["ordered", "inverted"]))
@pytest.mark.parametrize("k", [1, 3])
def test_exhausted_results_equal_scikit_learns(k, seed, whole, search):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(k, 80)), int(rng.integers(1, 6))
    draw = (lambda size: rng.integers(0, 4, size).astype(float)) if whole else (lambda size: rng.normal(size=size))
    X, y, Q = draw((n, d)), rng.integers(0, 3, n), draw((20, d))
    ours = AnytimeNeighborsClassifier(k=k, search=search, ordering="simple_rank").fit(X, y)
    theirs = KNeighborsClassifier(k, algorithm="brute").fit(X, y)
    plain = squared_distances(Q, X)
    lowest = np.argsort(plain, axis=1, kind="stable")[:, :k]  # ties in distance by the lowest index
    votes = np.array([np.bincount(y[row], minlength=3) for row in lowest])[:, np.unique(y)]
    assert_allclose(ours.predict_proba(Q, budget=10**6), votes / k)
    clear = np.sort(plain, axis=1)[:, k - 1] < np.append(np.sort(plain, axis=1), np.full((20, 1), np.inf), axis=1)[:, k]
    assert np.array_equal(ours.predict(Q, budget=10**6)[clear], theirs.predict(Q)[clear])


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), band=st.sampled_from([0, 1, 3, 0.2, 1.0]))
def test_time_warping_equals_the_reference(seed, band):
    X, y, Q = make_vectors(seed, n=12, d=15)
    model = AnytimeNeighborsClassifier(metric="dtw", metric_params={"band": band}, ordering="random").fit(X, y)
    n_points = band if isinstance(band, int) else int(np.ceil(band * 15))
    for x in Q[:3]:
        plain = [dtw(x, e, n_points) for e in X]
        serial, distance = nearest_of(model, x)
        assert serial == int(np.argmin(plain))
        assert_allclose(distance, min(plain), rtol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 17), search=st.sampled_from(["ordered", "inverted"]))
def test_rotation_equals_the_reference(seed, d, search):
    X, y, Q = make_vectors(seed, n=12, d=d)
    model = AnytimeNeighborsClassifier(metric="rotation", ordering="random", search=search).fit(X, y)
    for x in Q[:3]:
        plain = [rotation(x, e) for e in X]
        serial, distance = nearest_of(model, x)
        assert_allclose(plain[serial], min(plain), rtol=1e-9)
        assert_allclose(distance, min(plain), rtol=1e-9)


@settings(max_examples=100)
@given(
    texts=st.lists(st.text("abcé\U0001f600", max_size=90), min_size=1, max_size=12),
    x=st.text("abcdé", max_size=90),
    search=st.sampled_from(["ordered", "inverted"]),
)
def test_edit_distance_equals_the_reference(texts, x, search):
    model = AnytimeNeighborsClassifier(metric="edit", ordering="random", search=search).fit(texts, range(len(texts)))
    plain = [edit(x, text) for text in texts]
    assert nearest_of(model, x) == (int(np.argmin(plain)), min(plain))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), search=st.sampled_from(["ordered", "inverted"]))
def test_gower_equals_the_reference(seed, search):
    X, y, Q = make_vectors(seed)
    categorical = [3, 1]
    X[:, categorical] = np.round(X[:, categorical])
    Q[:, categorical] = np.round(Q[:, categorical])
    model = AnytimeNeighborsClassifier(
        metric="gower", metric_params={"categorical": categorical}, ordering="random", search=search
    ).fit(X, y)
    for x in Q:
        plain = [gower(x, e, np.ptp(X, axis=0), categorical) for e in X]
        serial, distance = nearest_of(model, x)
        assert_allclose(plain[serial], min(plain), rtol=1e-9)
        assert_allclose(distance, min(plain), rtol=1e-9)


def test_hamming_is_the_share_of_unequal_features():
    model = AnytimeNeighborsClassifier(metric="hamming").fit([[1, 2, 3, 4], [9, 9, 9, 9]], [0, 1])
    assert model.query([1, 2, 0, 0]).refine().nearest == [(0, 0.5)]


def test_scaling_is_learned_from_the_training_data_and_again_from_all_data_of_merged_models():
    X, y, Q = make_vectors(3)
    X[:, 0] *= 1e4
    Q[:, 0] *= 1e4
    for scaling, shift, unit in (
        ("minmax", X.min(axis=0), np.ptp(X, axis=0)),
        ("standard", X.mean(axis=0), X.std(axis=0)),
    ):
        model = AnytimeNeighborsClassifier(scaling=scaling).fit(X, y)
        plain = cdist((Q - shift) / unit, (X - shift) / unit)
        assert [nearest_of(model, x)[0] for x in Q] == plain.argmin(axis=1).tolist()
        halves = [
            AnytimeNeighborsClassifier(scaling=scaling).fit(X[part], y[part]) for part in (slice(0, 15), slice(15, 30))
        ]
        whole = AnytimeNeighborsClassifier.merge(halves)
        assert [nearest_of(whole, x)[0] for x in Q] == plain.argmin(axis=1).tolist()
