"""Accuracy and kappas equal their definitions."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score

from anystream.evaluate import accuracy, kappa, kappa_m, kappa_t, windowed_accuracy
from reference import measures as reference

LABELS = st.sampled_from(["ant", "bee", "cat"])


@st.composite
def labels_with_predictions(draw):
    n = draw(st.integers(1, 40))
    return [draw(st.lists(LABELS, min_size=n, max_size=n)) for _ in range(2)]


@pytest.mark.parametrize("name", ["accuracy", "kappa", "kappa_m", "kappa_t"])
@given(labels_with_predictions())
def test_measures_equal_their_definitions(name, case):
    ours = {"accuracy": accuracy, "kappa": kappa, "kappa_m": kappa_m, "kappa_t": kappa_t}[name]
    assert_allclose(ours(*case), getattr(reference, name)(*case), atol=1e-12)


@given(labels_with_predictions(), st.integers(1, 50))
def test_windowed_accuracy_equals_its_definition(case, window):
    assert_allclose(windowed_accuracy(*case, window), reference.windowed_accuracy(*case, window))


@given(labels_with_predictions())
def test_kappa_equals_that_of_scikit_learn(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn divides by zero if there is one class
        expected = cohen_kappa_score(*case)
    assert_allclose(kappa(*case), expected, atol=1e-12)


def test_predictions_worse_than_repeating_the_last_label_have_a_negative_kappa_t():
    truth = [0] * 50 + [1] * 50
    assert kappa_t(truth, [0, 1] * 50) < 0 < kappa_t(truth, truth)


@pytest.mark.parametrize("measure", [accuracy, kappa, kappa_m, kappa_t])
def test_there_must_be_one_prediction_per_label(measure):
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        measure([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="no predictions"):
        measure([], [])


def test_a_window_of_0_is_rejected():
    with pytest.raises(ValueError, match="window is 0"):
        windowed_accuracy([0], [0], 0)
