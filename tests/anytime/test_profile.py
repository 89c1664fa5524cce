import json

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

from anystream import BayesTreeClassifier, PerformanceProfile, performance_profile

mpl.use("Agg")


class CheckHeldOut(ClassifierMixin, BaseEstimator):
    """Checks that no query was in the training data, and is correct from the step on that is the second feature.

    The features of a record are its number, the step from which on it is classified correctly, and its label.
    """

    fits = 0

    def __init__(self, budget=4):
        self.budget = budget

    def fit(self, X, y):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.trained_on_ = set(X[:, 0])
        return self

    def staged_predict(self, X, *, stages):
        assert self.trained_on_.isdisjoint(X[:, 0])
        for stage in stages:
            yield np.where(X[:, 1] <= stage, X[:, 2], -1)


def held_out_task(labels, correct_from):
    n = len(labels)
    return np.column_stack([np.arange(n), correct_from, labels]).astype(float), np.asarray(labels)


# -- from an estimator -----------------------------------------------------------------------------------------------


def test_every_record_is_held_out_once_from_the_model_that_classifies_it():
    X, y = held_out_task([0, 1] * 10, correct_from=[0, 0, 0, 1, 2, 3, 4, 5, 5, 5] * 2)
    CheckHeldOut.fits = 0
    profile = performance_profile(CheckHeldOut(), X, y, cv=4)
    assert CheckHeldOut.fits == 4
    assert_array_equal(profile.stages, [0, 1, 2, 3, 4])
    assert_allclose(profile.accuracy, [0.3, 0.4, 0.5, 0.6, 0.7])
    assert profile.n_records == 20


def test_the_profile_has_the_given_stages():
    X, y = held_out_task([0, 1] * 5, correct_from=[0, 1, 2, 3, 4] * 2)
    profile = performance_profile(CheckHeldOut(), X, y, stages=[1, 3])
    assert_array_equal(profile.stages, [1, 3])
    assert_allclose(profile.accuracy, [0.4, 0.8])


def test_the_seed_determines_the_folds():
    X, y = load_iris(return_X_y=True)
    estimator = BayesTreeClassifier(budget=5)
    first = performance_profile(estimator, X, y, seed=1)
    assert_array_equal(first.accuracy, performance_profile(estimator, X, y, seed=1).accuracy)
    others = [performance_profile(estimator, X, y, seed=seed).accuracy for seed in range(2, 8)]
    assert any(not np.array_equal(first.accuracy, other) for other in others)
    assert not hasattr(estimator, "classes_")


def test_there_are_at_most_as_many_folds_as_records_of_the_largest_class():
    X, y = held_out_task([0, 0, 0, 1, 1], correct_from=[0] * 5)
    CheckHeldOut.fits = 0
    assert_array_equal(performance_profile(CheckHeldOut(), X, y, cv=10).accuracy, np.ones(5))
    assert CheckHeldOut.fits == 3


def test_a_rare_class_does_not_reduce_the_number_of_folds():
    X, y = held_out_task([0] * 20 + [1], correct_from=[0] * 21)
    CheckHeldOut.fits = 0
    performance_profile(CheckHeldOut(), X, y, cv=5)
    assert CheckHeldOut.fits == 5


def test_folds_are_stratified():
    counts = []

    class CountClasses(CheckHeldOut):
        def staged_predict(self, X, *, stages):
            counts.append(np.bincount(X[:, 2].astype(int), minlength=2))
            return super().staged_predict(X, stages=stages)

    X, y = held_out_task([0] * 23 + [1] * 9, correct_from=[0] * 32)
    performance_profile(CountClasses(), X, y, cv=4)
    assert np.ptp(counts, axis=0).max() <= 1


def test_performance_profile_rejects_invalid_arguments():
    X, y = held_out_task([0, 1, 2], correct_from=[0] * 3)
    with pytest.raises(ValueError, match="none of the 3 classes has two records"):
        performance_profile(CheckHeldOut(), X, y)
    for wrong in (1, 2.5, True):
        with pytest.raises(ValueError, match=f"cv is {wrong}"):
            performance_profile(CheckHeldOut(), X, y, cv=wrong)
    with pytest.raises(ValueError, match="3 records and 2 labels"):
        performance_profile(CheckHeldOut(), X, y[1:])


# -- expected accuracy, gain and steps -------------------------------------------------------------------------------


@st.composite
def profiles(draw):
    stages = sorted(draw(st.sets(st.integers(0, 50), min_size=1, max_size=15)))
    right = [draw(st.integers(0, 40)) for _ in stages]
    return PerformanceProfile(stages, np.array(right) / 40, 40)


@given(profiles())
def test_gain_is_never_negative_and_never_increases(profile):
    gain = profile.gain(np.arange(profile.stages[0], 60))
    assert np.all(gain >= 0)
    assert np.all(np.diff(gain) <= 1e-12)
    assert np.all(gain[profile.stages[-1] - profile.stages[0] :] == 0)


@given(profiles())
def test_the_envelope_is_the_lowest_concave_line_above_the_isotonic_fit(profile):
    x, height = profile.stages, profile.envelope
    fit = isotonic_fit(profile.accuracy)
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


def isotonic_fit(values):
    """Isotonic regression by its min-max formula."""
    n = len(values)
    return np.array([min(max(np.mean(values[a : b + 1]) for a in range(i + 1)) for b in range(i, n)) for i in range(n)])


@given(profiles(), st.floats(0, 1))
def test_steps_for_is_the_minimum_number_that_is_expected_to_reach_an_accuracy(profile, accuracy):
    assume(accuracy <= profile.accuracy.max())
    steps = profile.steps_for(accuracy)
    assert profile.expected(steps) >= accuracy
    before = np.arange(profile.stages[0], steps)
    assert np.all(profile.expected(before) < accuracy)


@given(profiles(), st.floats(0, 1, exclude_min=True))
def test_steps_for_raises_above_the_highest_accuracy(profile, share):
    highest = profile.accuracy.max()
    accuracy = highest + share * (1 - highest)
    assume(accuracy > highest)
    with pytest.raises(ValueError, match="the highest is"):
        profile.steps_for(accuracy)


def test_expected_is_linear_between_stages_and_constant_outside():
    profile = PerformanceProfile([2, 4, 8], [0.5, 0.7, 0.6], 100)
    assert_allclose(profile.expected([0, 2, 3, 4, 6, 8, 100]), [0.5, 0.5, 0.6, 0.7, 0.65, 0.6, 0.6])
    assert isinstance(profile.expected(3), float)
    assert isinstance(profile.gain(3), float)
    assert_allclose(profile.gain([2, 3]), [0.075, 0.075])


def test_the_standard_error_is_that_of_a_binomial_share_and_never_0():
    profile = PerformanceProfile([0, 1], [0.9, 1.0], 1000)
    assert_allclose(profile.standard_error[0], np.sqrt(0.9 * 0.1 / 1000), rtol=0.02)
    assert profile.standard_error[1] > 0


def test_json_restores_every_bit():
    profile = PerformanceProfile([0, 1, 7], np.array([1, 2, 3]) / 7, 7)
    restored = PerformanceProfile.from_json(profile.to_json())
    for name in ("stages", "accuracy", "standard_error", "envelope"):
        assert_array_equal(getattr(restored, name), getattr(profile, name))
    assert restored.n_records == 7
    assert repr(restored) == "PerformanceProfile(0 to 7 steps, 7 records: 0.143 to 0.429)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "format"),
        ({"stages": ["a", "b"]}, "'stages'"),
        ({"stages": [1, 0]}, "ascending"),
        ({"accuracy": None}, "'accuracy'"),
        ({"accuracy": [0.5, 2.0]}, "0.5 to 2.0"),
        ({"n_records": 0}, "n_records is 0"),
        ({"n_records": [5]}, "'n_records'"),
    ],
)
def test_invalid_json_is_rejected(change, message):
    good = json.loads(PerformanceProfile([0, 1], [0.5, 0.6], 10).to_json())
    with pytest.raises(ValueError, match=message):
        PerformanceProfile.from_json(json.dumps(good | change))
    for text in ("[]", "{}", "not json"):
        with pytest.raises(ValueError, match="to_json"):
            PerformanceProfile.from_json(text)


def test_plots_show_the_standard_error_and_the_envelope():
    profile = PerformanceProfile(range(21), np.linspace(0.5, 0.9, 21), 100)
    ax = profile.plot(label="tree")
    assert ax.get_ylabel() == "expected accuracy"
    assert len(ax.lines) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["tree"]
