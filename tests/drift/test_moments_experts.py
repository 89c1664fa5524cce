"""Experts in one array equal naive Bayes members that are called one by one."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB

from anystream import _native
from anystream.drift import DynamicWeightedMajority, GaussianNaiveBayes
from anystream.drift.ensemble_members import new_member
from anystream.drift.experts import MemberExperts
from anystream.drift.moments_experts import MomentsExperts, group_experts
from anystream.streams import RandomRBF
from drift.models import labelled_records


def naive_bayes(smoothing=0.5):
    return new_member(GaussianNaiveBayes(smoothing=smoothing), 0)


def assert_same_bits(group, members):
    assert len(group.members) == len(members.members)
    for own, other in zip(group.members, members.members, strict=True):
        assert own.moments.smoothing == other.moments.smoothing
        for name, array in own.moments.arrays().items():
            assert array.tobytes() == getattr(other.moments, name).tobytes()


@given(labelled_records(), st.data())
def test_experts_of_one_array_equal_members_that_are_called_one_by_one(case, data):
    records, labels, k, queries = case
    group, members = group_experts([naive_bayes()]), MemberExperts([naive_bayes()])
    for start in range(0, len(labels), 3):
        columns = max(1, min(records.shape[1], start))  # features are added over time
        batch = np.ascontiguousarray(records[start : start + 3, :columns]), labels[start : start + 3]
        group, members = (each.prepare(3, k, columns) for each in (group, members))
        if start:
            kept = np.array(
                data.draw(st.lists(st.booleans(), min_size=len(group.members), max_size=len(group.members)))
            )
            kept[0] = True
            smoothing = data.draw(st.sampled_from([0.1, 0.5]))
            predicted = group.predict(queries, k)
            assert_array_equal(predicted, members.predict(queries, k))
            group, members = (each.keep(kept).add(naive_bayes(smoothing)) for each in (group, members))
        for each in (group, members):
            each.learn(*batch, k)
        assert isinstance(group, MomentsExperts)
        assert_same_bits(group, members)
    assert_array_equal(group.predict(queries, k), members.predict(queries, k))


def test_prepared_experts_learn_without_changing_those_before():
    X, y = RandomRBF(n_classes=3, seed=7).take(40)
    before = group_experts([naive_bayes()]).prepare(1, 3, X.shape[1])
    before.learn(X[:20], y[:20].astype(np.int32), 3)
    expected = pickle.dumps(before)
    after = before.prepare(20, 3, X.shape[1])
    after.learn(X[20:], y[20:].astype(np.int32), 3)
    assert pickle.dumps(before) == expected
    assert pickle.dumps(after) != expected


def test_a_pickle_does_not_depend_on_whether_the_members_were_read():
    X, y = RandomRBF(n_classes=3, seed=7).take(60)
    model = DynamicWeightedMajority().fit(X, y)
    before = pickle.dumps(model)
    assert len(model.experts_) == len(model.weights_)
    assert pickle.dumps(model) == before


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")  # scikit-learn's
def test_the_estimator_can_be_changed_while_experts_of_the_other_kind_remain():
    X, y = RandomRBF(concepts=(1, 2), drifts=(100,), n_classes=2, seed=7).take(300)
    model = DynamicWeightedMajority(period=1, theta=0.0).partial_fit(X[:100], y[:100])
    n_before = len(model.experts_)
    model.set_params(estimator=GaussianNB(var_smoothing=1e-2)).partial_fit(X[100:], y[100:])
    kinds = {type(expert).__name__ for expert in model.experts_}
    assert len(model.experts_) > n_before
    assert kinds == {"MomentsMember", "EstimatorMember"}
    assert np.isfinite(model.predict_proba(X)).all()


def test_native_experts_reject_wrong_sizes_and_class_numbers():
    count, table, smoothing = np.zeros((2, 2)), np.zeros((2, 2, 3)), np.full(2, 0.5)
    records, out = np.zeros((1, 3)), np.zeros((2, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="class number 2 is not below 2"):
        _native.learn_moments_of_all(records, np.array([2], np.int32), count, table, table.copy(), table.copy())
    with pytest.raises(ValueError, match="size of mean is 6, expected 12"):
        _native.predict_moments_of_all(records, smoothing, count, table, np.zeros((1, 2, 3)), table, out)
    with pytest.raises(ValueError, match="size of smoothing is 1, expected 2"):
        _native.predict_moments_of_all(records, smoothing[:1], count, table, table, table, out)
    with pytest.raises(ValueError, match="size of out is 1, expected 2"):
        _native.predict_moments_of_all(records, smoothing, count, table, table, table, out[:1])
    with pytest.raises(ValueError, match="the moments have no classes"):
        _native.predict_moments_of_all(records, smoothing, count[:, :0], table[:, :0], table[:, :0], table[:, :0], out)
