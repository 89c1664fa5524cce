"""OnlineTree2 splits by information gain, forgets where the concept changed, and stays small."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anystream.drift import OnlineTree2
from anystream.drift.best_split import best_split
from drift.models import labelled_records
from reference.drift_tree import highest_gain, total_entropy


@given(labelled_records(max_records=20), st.integers(1, 4))
def test_the_best_split_has_the_highest_information_gain(case, min_records):
    records, labels, _, _ = case
    expected = highest_gain(records, labels, min_records)
    assume(expected is not None)
    found = best_split(records, labels, min_records)
    assert_allclose(found.gain, expected, atol=1e-9)
    left = records[:, found.feature] <= found.threshold
    assert min(left.sum(), (~left).sum()) >= min_records


@given(labelled_records(max_records=8), st.integers(2, 5))
def test_there_is_no_best_split_without_a_valid_one(case, min_records):
    records, labels, _, _ = case
    assume(highest_gain(records, labels, min_records) is None)
    assert best_split(records, labels, min_records) is None


@pytest.mark.parametrize("seed", range(4))
def test_the_best_split_of_many_records_has_the_highest_information_gain(seed):
    rng = np.random.default_rng(seed)
    records = rng.normal(scale=10.0 ** rng.integers(-300, 300, size=3), size=(400, 3))
    records[:, 1] = rng.choice([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan], size=400)
    labels = rng.integers(4, size=400).astype(np.int32)
    labels[records[:, seed % 3] > 0] = 0
    found = best_split(records, labels, 3)
    assert_allclose(found.gain, highest_gain(records, labels, 3), rtol=1e-10)
    left = records[:, found.feature] <= found.threshold
    gain = total_entropy(labels) - total_entropy(labels[left]) - total_entropy(labels[~left])
    assert_allclose(gain, found.gain, rtol=1e-10)


def test_the_tree_forgets_where_the_concept_changed_and_remembers_elsewhere():
    x = np.random.default_rng(1).random(3000)
    quarter = (4 * x).astype(int)
    before, after = quarter % 2, np.where(quarter == 3, 0, quarter % 2)  # the last quarter changes
    model = OnlineTree2().fit(x[:2000, np.newaxis], before[:2000])
    stays, changed = quarter[2000:] < 3, quarter[2000:] == 3
    X, y = x[2000:, np.newaxis], after[2000:]
    assert model.score(X[stays], y[stays]) > 0.95
    assert model.score(X[changed], y[changed]) < 0.1
    model.partial_fit(X[:300], y[:300])
    assert model.score(X[stays], y[stays]) > 0.95
    assert model.score(X[changed], y[changed]) > 0.9


def test_a_tree_of_random_labels_stays_small():
    random = np.random.default_rng(1)
    model = OnlineTree2().fit(random.random((1000, 5)), random.integers(0, 2, 1000))
    assert len(pickle.dumps(model)) < 200_000
    assert type(model.root_).__name__ == "Leaf"
