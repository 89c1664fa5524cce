"""A call that fails does not change the model: its predictions, its pickle, and what it learns afterwards."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

from anystream.anytime.checks import three_clusters
from anystream.drift import (
    WCEA,
    DynamicWeightedMajority,
    GaussianNaiveBayes,
    OnlineTree2,
    ResetOnDrift,
    SEAEnsemble,
    online_tree,
)
from anystream.streams import SEA, RandomRBF
from drift.models import each_model


class MemberError(Exception):
    """Raised by the members below."""


class Countdown:
    """Raises MemberError at the n-th call; n is counted over all members."""

    def __init__(self):
        self.n_left = 0

    def __call__(self):
        self.n_left -= 1
        if self.n_left == 0:
            raise MemberError


countdown = Countdown()


class FailingNB(BernoulliNB):
    """Naive Bayes of scikit-learn that fails when it has changed."""

    def fit(self, X, y):
        super().fit(X, y)
        countdown()
        return self

    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes=classes)
        countdown()
        return self


class FailingTree(OnlineTree2):
    """Anytime classifier of a user that fails when it has changed."""

    def learn_records(self, records, numbers, n_classes):
        super().learn_records(records, numbers, n_classes)
        countdown()


ENSEMBLES = {
    "sea": lambda estimator: SEAEnsemble(estimator, chunk_size=5),
    "sea-quality": lambda estimator: SEAEnsemble.street_kim(estimator=estimator, chunk_size=5, capacity=2),
    "wcea": lambda estimator: WCEA(estimator, chunk_size=5, folds=2),
    "sea-spread": lambda estimator: SEAEnsemble(estimator, chunk_size=4, train_within=3),
    "wcea-spread": lambda estimator: WCEA(estimator, chunk_size=5, folds=2, train_within=5),
    "dwm": lambda estimator: DynamicWeightedMajority(estimator, period=2, max_experts=4),
    "reset": lambda estimator: ResetOnDrift(estimator, detector="ADWIN", keep=8),
    "dwm-of-sea": lambda estimator: DynamicWeightedMajority(
        SEAEnsemble(estimator, chunk_size=4), period=5, max_experts=3
    ),
}


def learn_in_a_batch(model, X, y):
    model.partial_fit(X, y)


def learn_one_by_one(model, X, y):
    """Learn single records; return the model before the record at which it failed."""
    for record, label in zip(X.tolist(), y.tolist(), strict=True):
        before = pickle.dumps(model)
        try:
            model.learn_one(dict(enumerate(record)), label)
        except MemberError as error:
            error.before = before
            raise


def learn_many(model, X, y):
    model.learn_many(pd.DataFrame(X), y)


def fit_again(model, X, y):
    model.fit(X, y)


@pytest.mark.parametrize("learn", [learn_in_a_batch, learn_one_by_one, learn_many, fit_again])
@pytest.mark.parametrize("estimator", [FailingNB(binarize=0.5), FailingTree()], ids=["scikit-learn", "anytime"])
@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
def test_a_member_that_fails_at_any_of_its_calls_changes_nothing(make, estimator, learn):
    X, y = RandomRBF(concepts=(1, 2), drifts=(60,), n_classes=3, seed=7).take(80)
    y[:40] %= 2  # class 2 is new in the batch that fails
    for n_calls in (1, 2, 7):
        model = make(estimator).partial_fit(X[:40], y[:40])
        before, expected = pickle.dumps(model), model.predict_proba(X)
        countdown.n_left = n_calls
        with pytest.raises(MemberError) as caught:
            learn(model, X[40:], y[40:])
        before = getattr(caught.value, "before", before)
        countdown.n_left = 0
        assert pickle.dumps(model) == before
        unharmed = pickle.loads(before)
        assert np.array_equal(model.predict_proba(X), unharmed.predict_proba(X))
        if learn is not learn_one_by_one:
            assert np.array_equal(model.predict_proba(X), expected)
        for each in (model, unharmed):
            each.partial_fit(X[40:60], y[40:60])
        assert np.array_equal(model.predict_proba(X), unharmed.predict_proba(X))


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
def test_an_unfitted_ensemble_whose_member_fails_stays_unfitted(make):
    X, y = SEA(seed=1).take(40)
    model = make(FailingNB())
    before = pickle.dumps(model)
    for learn in (learn_in_a_batch, learn_many, fit_again):
        countdown.n_left = 1
        with pytest.raises(MemberError):
            learn(model, X, y)
        assert pickle.dumps(model) == before
    countdown.n_left = 0
    assert model.fit(X, y).predict(X).shape == (40,)


class FailingDetector:
    """Detector of a user that fails at the n-th error."""

    def __init__(self):
        self.errors = 0

    @property
    def drift_detected(self):
        return self.errors % 7 == 6

    def update(self, x):
        self.errors += 1
        if x:
            countdown()


@pytest.mark.parametrize("learn", [learn_in_a_batch, learn_one_by_one])
def test_a_detector_that_fails_changes_nothing(learn):
    X, y = RandomRBF(n_classes=3, seed=7).take(120)
    model = ResetOnDrift(detector=FailingDetector(), keep=8).partial_fit(X[:60], y[:60])
    before = pickle.dumps(model)
    countdown.n_left = 3
    with pytest.raises(MemberError) as caught:
        learn(model, X[60:], y[60:])
    countdown.n_left = 0
    assert pickle.dumps(model) == getattr(caught.value, "before", before)
    model.partial_fit(X[60:], y[60:])


@pytest.mark.parametrize(
    ("make", "owner", "name"),
    [
        (OnlineTree2, online_tree, "learn_record"),
        (DynamicWeightedMajority, DynamicWeightedMajority, "_test"),
    ],
    ids=["online-tree", "dwm"],
)
def test_a_batch_of_our_own_models_can_be_interrupted(make, owner, name, monkeypatch):
    X, y = RandomRBF(concepts=(1, 2), drifts=(200,), n_classes=3, seed=7).take(400)
    y[:300] %= 2  # class 2 is new in the batch that is interrupted
    model = make().partial_fit(X[:300], y[:300])
    before, expected = pickle.dumps(model), model.predict_proba(X)
    original, n_calls = getattr(owner, name), 0

    def interrupted(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 7:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[300:], y[300:])
    monkeypatch.undo()
    assert pickle.dumps(model) == before
    assert np.array_equal(model.predict_proba(X), expected)
    unharmed = pickle.loads(before)
    for each in (model, unharmed):
        each.partial_fit(X[300:], y[300:])
    assert np.array_equal(model.predict_proba(X), unharmed.predict_proba(X))


@each_model
def test_invalid_records_change_nothing(make):
    X, y = SEA(seed=1).take(100)
    model = make().fit(X, y)
    before, expected = pickle.dumps(model), model.predict_proba(X)
    for bad_X, bad_y in ((X[:, :2], y), (X, y[:5]), (np.full_like(X, np.inf), y), (np.full_like(X, 1e150), y)):
        with pytest.raises(ValueError):
            model.partial_fit(bad_X, bad_y)
    with pytest.raises(ValueError, match="infinite value"):
        model.learn_one({0: np.inf, 1: 0.0, 2: 0.0, "new": 1.0}, 7)
    assert pickle.dumps(model) == before
    assert np.array_equal(model.predict_proba(X), expected)


class PositiveOnly(LogisticRegression):
    """Classifier that rejects negative values."""

    def fit(self, X, y):
        if X.min() < 0:
            raise ValueError("a negative value")
        return super().fit(X, y)


@pytest.mark.parametrize("make", [SEAEnsemble, WCEA])
def test_records_that_members_cannot_learn_do_not_end_an_earlier_model(make):
    X, y = three_clusters(60)
    model = make(PositiveOnly(), chunk_size=20).fit(np.abs(X), y)
    before = model.predict_proba(np.abs(X))
    with pytest.raises(ValueError, match="a negative value"):
        model.fit(X[:, :2] - 100, np.roll(y, 1))
    assert np.array_equal(model.predict_proba(np.abs(X)), before)


def test_a_snapshot_of_naive_bayes_experts_does_not_change():
    X, y = RandomRBF(n_classes=3, seed=7).take(100)
    model = DynamicWeightedMajority(GaussianNaiveBayes()).fit(X[:60], y[:60])
    snapshot = model.snapshot()
    expected = snapshot.predict_proba(X)
    for record, label in zip(X[60:].tolist(), y[60:].tolist(), strict=True):
        model.learn_one(dict(enumerate(record)), label)
    assert np.array_equal(snapshot.predict_proba(X), expected)
