"""Scales and Relief weights of the features."""

import numpy as np
import pytest

from anystream.graph.metric import DECAY, Metric, relief_weights


def test_scales_are_inverse_standard_deviations_of_the_values_that_are_not_missing():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) * [1.0, 50.0] + 1e6
    X[::7, 1] = np.nan
    labels = np.zeros(200, np.int32)
    metric = Metric.empty(2).learn_batch(X, labels, weighted=False, threads=1)
    np.testing.assert_allclose(1.0 / metric.scale(weighted=False), np.nanstd(X, axis=0), rtol=1e-9)


def test_earlier_batches_decay():
    X, labels = np.random.default_rng(0).normal(size=(200, 2)), np.zeros(200, np.int32)
    metric = Metric.empty(2).learn_batch(X, labels, weighted=False, threads=1)
    later = metric.learn_batch(3.0 * X, labels, weighted=False, threads=1)
    assert later.count[0] == pytest.approx(200 * (1.0 + DECAY))


def test_a_constant_feature_has_scale_1():
    constant = Metric.empty(1).learn_batch(np.ones((5, 1)), np.zeros(5, np.int32), weighted=False, threads=1)
    assert constant.scale(weighted=True).tolist() == [1.0]


def test_merged_metrics_of_parts_equal_the_metric_of_the_whole():
    random = np.random.default_rng(0)
    X, labels = random.normal([0.0, 10.0, -5.0], 1.0, (100, 3)), np.zeros(100, np.int32)
    parts = [
        Metric.empty(3).learn_batch(X[part], labels[part], weighted=False, threads=1)
        for part in (slice(30), slice(30, 100))
    ]
    whole = parts[0].merge(parts[1])
    np.testing.assert_allclose(1.0 / whole.scale(weighted=False), X.std(axis=0), rtol=1e-9)


def test_relief_compares_nearest_hits_and_misses():
    # On a line: hits are 1 away, misses 10; the second feature is constant.
    X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    labels = np.array([0, 0, 1, 1], np.int32)
    assert relief_weights(X, labels, 1).tolist() == [9.0, 0.0]  # misses: 10.5, 9.5, 9.5, 10.5 on average
    doubled = np.concatenate([X, X[:1]])  # a duplicate of a record is a neighbour, the record itself is not
    assert np.isfinite(relief_weights(doubled, np.append(labels, np.int32(0)), 1)).all()
    assert not relief_weights(X, np.zeros(4, np.int32), 1).any()
