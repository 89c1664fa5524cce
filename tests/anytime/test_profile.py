import json

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

from anystream.anytime.profile import PerformanceProfile, performance_profile
from anystream.bayes_tree.classifier import BayesTreeClassifier

mpl.use("Agg")


class Memory(ClassifierMixin, BaseEstimator):
    """Right from the step on that is a record's second feature; refuses records whose number it was trained on."""

    fits = 0

    def __init__(self, budget=4):
        self.budget = budget

    def fit(self, X, y):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.seen_ = set(X[:, 0])
        self.labels_ = y
        return self

    def staged_predict(self, X, *, stages):
        assert self.seen_.isdisjoint(X[:, 0])
        for stage in stages:
            yield np.where(X[:, 1] <= stage, X[:, 2], -1)


def memory_task(labels, right_from):
    n = len(labels)
    return np.column_stack([np.arange(n), right_from, labels]).astype(float), np.asarray(labels)


# -- from an estimator -----------------------------------------------------------------------------------------------


def test_every_object_is_held_out_once_from_the_model_that_judges_it():
    X, y = memory_task([0, 1] * 10, right_from=[0, 0, 0, 1, 2, 3, 4, 5, 5, 5] * 2)
    Memory.fits = 0
    profile = performance_profile(Memory(), X, y, cv=4)
    assert Memory.fits == 4
    assert_array_equal(profile.stages, [0, 1, 2, 3, 4])
    assert_allclose(profile.accuracy, [0.3, 0.4, 0.5, 0.6, 0.7])
    assert profile.n_records == 20


def test_listed_stages_are_those_of_the_profile():
    X, y = memory_task([0, 1] * 5, right_from=[0, 1, 2, 3, 4] * 2)
    profile = performance_profile(Memory(), X, y, stages=[1, 3])
    assert_array_equal(profile.stages, [1, 3])
    assert_allclose(profile.accuracy, [0.4, 0.8])


def test_the_seed_decides_who_is_held_out_together():
    X, y = load_iris(return_X_y=True)
    estimator = BayesTreeClassifier(budget=5)
    first = performance_profile(estimator, X, y, seed=1)
    assert_array_equal(first.accuracy, performance_profile(estimator, X, y, seed=1).accuracy)
    others = [performance_profile(estimator, X, y, seed=seed).accuracy for seed in range(2, 8)]
    assert any(not np.array_equal(first.accuracy, other) for other in others)
    assert not hasattr(estimator, "classes_")


def test_small_classes_mean_fewer_parts():
    X, y = memory_task([0, 0, 0, 1, 1], right_from=[0] * 5)
    Memory.fits = 0
    assert_array_equal(performance_profile(Memory(), X, y, cv=10).accuracy, np.ones(5))
    assert Memory.fits == 3


def test_a_rare_class_does_not_cost_the_others_their_parts():
    X, y = memory_task([0] * 20 + [1], right_from=[0] * 21)
    Memory.fits = 0
    performance_profile(Memory(), X, y, cv=5)
    assert Memory.fits == 5


def test_parts_hold_even_shares_of_each_class():
    counts = []

    class Counting(Memory):
        def staged_predict(self, X, *, stages):
            counts.append(np.bincount(X[:, 2].astype(int), minlength=2))
            return super().staged_predict(X, stages=stages)

    X, y = memory_task([0] * 23 + [1] * 9, right_from=[0] * 32)
    performance_profile(Counting(), X, y, cv=4)
    assert np.ptp(counts, axis=0).max() <= 1


def test_impossible_requests_are_refused():
    X, y = memory_task([0, 1, 2], right_from=[0] * 3)
    with pytest.raises(ValueError, match="none of the 3 classes has two objects"):
        performance_profile(Memory(), X, y)
    for wrong in (1, 2.5, True):
        with pytest.raises(ValueError, match=f"cv is {wrong}"):
            performance_profile(Memory(), X, y, cv=wrong)
    with pytest.raises(ValueError, match="3 objects and 2 labels"):
        performance_profile(Memory(), X, y[1:])


# -- what a scheduler asks -------------------------------------------------------------------------------------------


@st.composite
def profiles(draw):
    stages = sorted(draw(st.sets(st.integers(0, 50), min_size=1, max_size=15)))
    right = [draw(st.integers(0, 40)) for _ in stages]
    return PerformanceProfile(stages, np.array(right) / 40, 40)


@given(profiles())
def test_gain_is_never_negative_and_never_grows(profile):
    gain = profile.gain(np.arange(profile.stages[0], 60))
    assert np.all(gain >= 0)
    assert np.all(np.diff(gain) <= 1e-12)
    assert np.all(gain[profile.stages[-1] - profile.stages[0] :] == 0)


@given(profiles())
def test_the_envelope_is_the_lowest_concave_line_above_the_rising_fit(profile):
    x, height = profile.stages, profile.envelope
    fit = rising_fit(profile.accuracy)
    assert np.all(height >= fit - 1e-12)
    chords = [  # the highest that any chord between two points of the fit reaches at each stage
        max(
            fit[a] if a == b else fit[a] + (fit[b] - fit[a]) * (x[i] - x[a]) / (x[b] - x[a])
            for a in range(i + 1)
            for b in range(i, x.size)
        )
        for i in range(x.size)
    ]
    assert_allclose(height, chords, atol=1e-12)


def rising_fit(values):
    """Isotonic regression by its min-max formula."""
    n = len(values)
    return np.array([min(max(np.mean(values[a : b + 1]) for a in range(i + 1)) for b in range(i, n)) for i in range(n)])


@given(profiles(), st.floats(0, 1))
def test_steps_for_is_the_least_number_that_is_expected_to_do(profile, accuracy):
    if accuracy > profile.accuracy.max():
        with pytest.raises(ValueError, match="the best is"):
            profile.steps_for(accuracy)
        return
    steps = profile.steps_for(accuracy)
    assert profile.expected(steps) >= accuracy
    before = np.arange(profile.stages[0], steps)
    assert np.all(profile.expected(before) < accuracy)


def test_expected_is_straight_between_stages_and_level_outside():
    profile = PerformanceProfile([2, 4, 8], [0.5, 0.7, 0.6], 100)
    assert_allclose(profile.expected([0, 2, 3, 4, 6, 8, 100]), [0.5, 0.5, 0.6, 0.7, 0.65, 0.6, 0.6])
    assert isinstance(profile.expected(3), float)
    assert isinstance(profile.gain(3), float)
    assert_allclose(profile.gain([2, 3]), [0.075, 0.075])


def test_the_standard_error_is_that_of_a_share_and_never_0():
    profile = PerformanceProfile([0, 1], [0.9, 1.0], 1000)
    assert_allclose(profile.standard_error[0], np.sqrt(0.9 * 0.1 / 1000), rtol=0.02)
    assert profile.standard_error[1] > 0


def test_json_keeps_every_bit():
    profile = PerformanceProfile([0, 1, 7], np.array([1, 2, 3]) / 7, 7)
    twin = PerformanceProfile.from_json(profile.to_json())
    for name in ("stages", "accuracy", "standard_error", "envelope"):
        assert_array_equal(getattr(twin, name), getattr(profile, name))
    assert twin.n_records == 7
    assert repr(twin) == "PerformanceProfile(0 to 7 steps, 7 records: 0.143 to 0.429)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "format"),
        ({"stages": ["a", "b"]}, "'stages'"),
        ({"stages": [1, 0]}, "ascending"),
        ({"accuracy": None}, "'accuracy'"),
        ({"accuracy": [0.5, 2.0]}, "0.5 and 2.0"),
        ({"n_records": 0}, "n_records is 0"),
        ({"n_records": [5]}, "'n_records'"),
    ],
)
def test_other_json_is_refused(change, message):
    good = json.loads(PerformanceProfile([0, 1], [0.5, 0.6], 10).to_json())
    with pytest.raises(ValueError, match=message):
        PerformanceProfile.from_json(json.dumps(good | change))
    for text in ("[]", "{}", "no json"):
        with pytest.raises(ValueError, match="to_json"):
            PerformanceProfile.from_json(text)


def test_profiles_are_drawn_with_their_error_and_envelope():
    profile = PerformanceProfile(range(21), np.linspace(0.5, 0.9, 21), 100)
    ax = profile.plot(label="tree")
    assert ax.get_ylabel() == "expected accuracy"
    assert len(ax.lines) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["tree"]
