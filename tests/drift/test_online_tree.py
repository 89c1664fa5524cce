"""OnlineTree2 splits by information gain, forgets where the concept changed, and stays small."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anystream.drift import OnlineTree2
from anystream.drift.split_search import grow_splits
from drift.models import labelled_records
from reference.drift_tree import highest_gain, total_entropy


def grow_all(records, labels, min_side):
    """Return all splits, whether they pay or not."""
    return grow_splits(records, labels, min_side=min_side, min_records=2, n_features=1, min_gain=-np.inf)


def assert_highest_gains(found, records, labels, min_side, **tolerance):
    """Every node has the split of highest gain of its records, or none if no split is valid or all are of one class."""
    for node, rows in enumerate(found.rows):
        own, own_labels = records[rows], labels[rows]
        expected = highest_gain(own, own_labels, min_side)
        assert (np.diff(rows) > 0).all()
        if node not in found.splits:
            assert expected is None or len(set(own_labels.tolist())) == 1
            continue
        split = found.splits[node]
        assert_allclose(split.gain, expected, **tolerance)
        left = own[:, split.feature] <= split.threshold
        assert min(left.sum(), (~left).sum()) >= min_side
        assert found.rows[split.left].tolist() == rows[left].tolist()
        assert found.rows[split.right].tolist() == rows[~left].tolist()
        gain = total_entropy(own_labels) - total_entropy(own_labels[left]) - total_entropy(own_labels[~left])
        assert_allclose(gain, split.gain, **tolerance)


@given(labelled_records(max_records=20), st.integers(1, 4))
def test_every_split_has_the_highest_information_gain(case, min_side):
    records, labels, _, _ = case
    assert_highest_gains(grow_all(records, labels, min_side), records, labels, min_side, atol=1e-9)


@given(labelled_records(max_records=8), st.integers(2, 5))
def test_there_is_no_split_without_a_valid_one(case, min_side):
    records, labels, _, _ = case
    assume(highest_gain(records, labels, min_side) is None)
    assert not grow_all(records, labels, min_side).splits


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_records", [400, 1600])
def test_every_split_of_many_records_has_the_highest_information_gain(seed, n_records):
    rng = np.random.default_rng(seed)
    records = rng.normal(scale=10.0 ** rng.integers(-300, 300, size=3), size=(n_records, 3))
    records[:, 1] = rng.choice([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan], size=n_records)
    records[:, 2] = 1 + 1e-12 * np.round(rng.normal(scale=100, size=n_records))  # upper halves of the bits agree
    labels = rng.integers(4, size=n_records).astype(np.int32)
    labels[records[:, seed % 3] > np.nanmedian(records[:, seed % 3])] = 0
    found = grow_all(records, labels, n_records // 8)
    assert len(found.splits) > 1
    assert_highest_gains(found, records, labels, n_records // 8, rtol=1e-9)


@given(labelled_records(max_records=40), st.sampled_from([-2.0, 0.0, 1.0]))
def test_a_node_is_split_exactly_if_the_gain_exceeds_the_cost(case, min_gain):
    records, labels, _, _ = case
    found = grow_splits(records, labels, min_side=1, min_records=4, n_features=3, min_gain=min_gain)
    for node, rows in enumerate(found.rows):
        n, gain = len(rows), highest_gain(records[rows], labels[rows], 1)
        if n < 4 or gain is None or len(set(labels[rows].tolist())) == 1:
            assert node not in found.splits
            continue
        excess = gain - (np.log(3 * (n - 1)) + min_gain)
        if abs(excess) > 1e-9:
            assert (node in found.splits) == (excess > 0)


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
