"""Dynamic weighted majority that is asked in the middle of learning, or interrupted there."""

import pickle

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import DynamicWeightedMajority
from anystream.drift.ensemble_members.anytime import AnytimeMember
from anystream.drift.moments_experts import MomentsExperts

ESTIMATORS = {
    "naive Bayes": (None, MomentsExperts),
    "Bayes tree": (BayesTreeClassifier(metric=None, root_model=None, budget=5), AnytimeMember),
}


def drifting_records(seed, count, shift):
    """Return records whose classes trade places with `shift`, so that experts are added and removed."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, count)
    return rng.normal(size=(count, 2)) + ((y + shift) % 3)[:, np.newaxis], y


@pytest.fixture(params=ESTIMATORS)
def learning(request, monkeypatch):
    """Return a model that has learned, and a list of functions to be called before its experts learn."""
    estimator, member = ESTIMATORS[request.param]
    model = DynamicWeightedMajority(estimator, period=2, max_experts=4).fit(*drifting_records(0, 60, 0))
    calls = []
    original = member.learn

    def learn(self, *arguments):
        for call in calls:
            call()
        original(self, *arguments)

    monkeypatch.setattr(member, "learn", learn)
    return model, calls


def test_every_call_in_the_middle_of_a_batch_uses_the_model_before_it(learning):
    model, calls = learning
    X, y = drifting_records(1, 40, 1)
    before, experts, answers = model.predict_proba(X), model.experts_, []
    calls.append(lambda: answers.append((model.predict_proba(X), model.query(X[0]).label, model.experts_)))
    model.partial_fit(X, np.where(np.arange(40) > 30, 7, y))
    assert len(answers) > 20
    for proba, label, members in answers:
        assert proba.tobytes() == before.tobytes()
        assert label in (0, 1, 2)
        assert members is experts
    calls.clear()
    assert model.predict_proba(X).shape == (40, 4)


def test_a_batch_that_is_interrupted_before_any_expert_learns_changes_nothing(learning, tmp_path):
    def bits(model):
        model.save(tmp_path / "model.safetensors")
        return (tmp_path / "model.safetensors").read_bytes()

    model, calls = learning
    X, y = drifting_records(1, 24, 1)
    batch = X, np.where(np.arange(24) > 17, 7, y)
    twin = pickle.loads(pickle.dumps(model)).partial_fit(*batch)
    before, n_calls, interrupt_at = bits(model), 0, -1

    def count():
        nonlocal n_calls
        n_calls += 1
        if n_calls == interrupt_at:
            raise KeyboardInterrupt

    calls.append(count)
    pickle.loads(pickle.dumps(model)).partial_fit(*batch)
    assert n_calls > 10
    for interrupt_at in range(1, n_calls + 1):  # noqa: B007  # read by `count`
        n_calls = 0
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(*batch)
        assert bits(model) == before
        assert np.isfinite(model.predict_proba(X)).all()
    calls.clear()
    assert bits(model.partial_fit(*batch)) == bits(twin)
