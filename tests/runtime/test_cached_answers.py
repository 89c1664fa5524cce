import numpy as np
import pytest

from anystream import BayesTreeClassifier, Budget
from anystream.anytime.errors import RecordError
from anystream.forest import AnytimeForestClassifier
from anystream.runtime import DeadlineShare, MachineCost, simulate
from anystream.runtime.cached_answers import CachedAnswers


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    return rng.normal(size=(600, 2)) + y[:, None], y


class CountedModel:
    """A classifier that counts the records that it classifies."""

    def __init__(self, model):
        self.model = model
        self.n_classified = 0

    def __getattr__(self, name):
        return getattr(self.model, name)

    def classify(self, X, *, budget):
        self.n_classified += len(X)
        return self.model.classify(X, budget=budget)


def test_cached_answers_are_those_of_the_model_and_every_record_is_classified_once_per_number_of_steps(table):
    X, y = table
    model = CountedModel(BayesTreeClassifier().fit(X, y))
    cached = CachedAnswers(model, X)
    rng = np.random.default_rng(1)
    for steps in (0, 5, 5, None, 5):
        for _ in range(20):
            rows = rng.integers(len(X), size=rng.integers(1, 30))
            answer = cached.classify(rows[:, None].astype(float), budget=Budget(steps=steps))
            expected = model.model.classify(X[rows], budget=Budget(steps=steps))
            for name in ("labels", "proba", "steps", "certified", "confident"):
                np.testing.assert_array_equal(getattr(answer, name), getattr(expected, name))
    assert model.n_classified <= 3 * len(X)


def test_a_full_cache_is_emptied_and_answers_stay_the_same(table, monkeypatch):
    X, y = table
    monkeypatch.setattr("anystream.runtime.cached_answers._MAX_CACHED_BYTES", 2 * len(X) * 3 * 8)
    model = BayesTreeClassifier().fit(X, y)
    cached = CachedAnswers(model, X)
    rows = np.arange(100, dtype=float)[:, None]
    for steps in (1, 2, 3, 1, 2, 3):
        answer = cached.classify(rows, budget=Budget(steps=steps))
        np.testing.assert_array_equal(answer.proba, model.predict_proba(X[:100], budget=steps))


def test_invalid_records_of_a_simulated_table_are_dead_letters(table):
    X, y = table
    model = AnytimeForestClassifier(base="random_forest", n_estimators=5).fit(X, y)
    damaged = X[:100].copy()
    damaged[7, 0], damaged[60, 1] = np.inf, np.inf
    with pytest.raises(RecordError, match="infinite"):
        CachedAnswers(model, damaged).classify(np.array([[6.0], [7.0]]), budget=Budget(steps=3))
    cost = MachineCost(1e-4, 1e-5, 1e-6)
    times = np.linspace(0.0, 1.0, 1000)
    summary = simulate(model, times, damaged, scheduler=DeadlineShare(max_steps=20), cost=cost, within_s=0.1)
    assert (summary.answered, summary.dead_letters) == (980, 20)
