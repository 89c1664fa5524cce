"""Gaussians from the moments of the vertices."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from anystream.graph.moments import Moments


def test_the_gaussians_equal_those_of_naive_bayes():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 4000).astype(np.int32)
    X = random.normal(size=(4000, 3)) * (1.0 + y[:, np.newaxis]) + 100.0
    moments = Moments.from_points(X, y, 2, X.mean(axis=0))
    peer = GaussianNB(var_smoothing=0.0).fit(X, y)
    log_joint = moments.log_joint(X[:50])
    log_proba = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
    np.testing.assert_allclose(log_proba, peer.predict_log_proba(X[:50]), rtol=2e-2, atol=2e-3)


def test_the_sum_of_the_moments_of_two_parts_equals_the_moments_of_the_whole():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 4000).astype(np.int32)
    X = random.normal(size=(4000, 3)) * (1.0 + y[:, np.newaxis]) + 100.0
    whole = Moments.from_points(X, y, 2, X.mean(axis=0))
    parts = [Moments.from_points(X[part], y[part], 2, whole.origin) for part in (slice(999), slice(999, None))]
    for found, expected in zip((parts[0] + parts[1]).gaussians(), whole.gaussians(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_class_without_vertices_has_probability_0():
    moments = Moments.from_points(np.array([[0.0], [1.0]]), np.zeros(2, np.int32), 2, np.zeros(1))
    assert moments.log_joint(np.array([[0.5]])).tolist()[0][1] == -np.inf


def test_further_classes_change_no_number_of_the_others():
    random = np.random.default_rng(2)
    y = random.integers(0, 3, 500).astype(np.int32)
    X = random.normal(size=(500, 4))
    X[random.random(X.shape) < 0.1] = np.nan
    few, many = (Moments.from_points(X, y, n, np.zeros(4)) for n in (3, 7))
    for name in ("records", "count", "total", "squares"):
        np.testing.assert_array_equal(getattr(few.with_classes(7), name), getattr(many, name))
