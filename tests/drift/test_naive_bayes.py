"""Naive Bayes from running moments equals naive Bayes from all records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anystream import _native
from anystream.drift import GaussianNaiveBayes
from anystream.streams import RandomRBF
from drift.models import labelled_records
from reference.drift_moments import naive_bayes_proba


@given(labelled_records(), st.sampled_from([0.1, 0.5, 2.0]))
def test_running_moments_equal_those_of_all_records(case, smoothing):
    records, labels, k, queries = case
    model = GaussianNaiveBayes(smoothing=smoothing).partial_fit(records, labels, classes=np.arange(k))
    expected = naive_bayes_proba(records, labels, k, smoothing, queries)
    assert_allclose(model.predict_proba(queries), expected, rtol=1e-6, atol=1e-9)


def test_naive_bayes_classifies_after_one_record():
    model = GaussianNaiveBayes().partial_fit([[1.0, 2.0]], ["only"])
    assert model.predict_proba([[1.0, 2.0], [1e50, 0.0]]).tolist() == [[1.0], [1.0]]


def test_merged_naive_bayes_equals_that_of_all_records():
    X, y = RandomRBF(seed=5, n_classes=3).take(90)
    X[::7, 1] = np.nan
    names = np.array(["c", "a", "b"])[y]
    parts = [GaussianNaiveBayes().fit(X[part], names[part]) for part in (y == 0, y == 1, y == 2, slice(30))]
    whole = GaussianNaiveBayes.merge(parts)
    order = np.concatenate([np.flatnonzero(y == k) for k in range(3)] + [np.arange(30)])
    expected = GaussianNaiveBayes().fit(X[order], names[order])
    columns = [list(whole.classes_).index(name) for name in expected.classes_]
    assert_allclose(whole.predict_proba(X)[:, columns], expected.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_values_too_large_for_any_density_give_the_priors():
    model = GaussianNaiveBayes().fit([[0.0], [1.0], [1.1]], [0, 1, 1])
    assert_allclose(model.predict_proba([[1e200]]), [[1 / 3, 2 / 3]])


def test_native_moments_reject_wrong_sizes_and_class_numbers():
    count, table = np.zeros(2), np.zeros((2, 3))
    records, out = np.zeros((1, 3)), np.zeros((1, 2))
    with pytest.raises(ValueError, match="class number 2 is not below 2"):
        _native.learn_moments(records, np.array([2], np.int32), count, table, table.copy(), table.copy())
    with pytest.raises(ValueError, match="size of mean is 3, expected 6"):
        _native.moments_proba(records, 0.5, count, table, np.zeros((1, 3)), table, out)
    with pytest.raises(ValueError, match="number of labels is 2, expected 1"):
        _native.learn_moments(records, np.zeros(2, np.int32), count, table, table.copy(), table.copy())
