import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import friedmanchisquare
from sklearn.metrics import cohen_kappa_score

from anystream.evaluate import (
    accuracy,
    compare_ranks,
    kappa,
    kappa_m,
    kappa_t,
    mean_and_standard_error,
    recovery,
    windowed_accuracy,
)
from tests.reference import measures as reference

LABELS = st.sampled_from(["ant", "bee", "cat"])


@st.composite
def answers(draw):
    n = draw(st.integers(1, 40))
    return [draw(st.lists(LABELS, min_size=n, max_size=n)) for _ in range(2)]


@given(answers())
def test_measures_equal_their_definitions(case):
    truth, predicted = case
    for ours, plain in (
        (accuracy, reference.accuracy),
        (kappa, reference.kappa),
        (kappa_m, reference.kappa_m),
        (kappa_t, reference.kappa_t),
    ):
        assert_allclose(ours(truth, predicted), plain(truth, predicted), atol=1e-12)


@given(answers(), st.integers(1, 50))
def test_windowed_accuracy_equals_its_definition(case, window):
    assert_allclose(windowed_accuracy(*case, window), reference.windowed_accuracy(*case, window))


@given(answers())
def test_kappa_equals_that_of_scikit_learn(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by zero where there is one class
        expected = cohen_kappa_score(*case)
    assert_allclose(kappa(*case), expected, atol=1e-12)


def test_an_answer_worse_than_repeating_the_last_label_has_a_negative_kappa_t():
    truth = [0] * 50 + [1] * 50
    assert kappa_t(truth, [0, 1] * 50) < 0 < kappa_t(truth, truth)


@pytest.mark.parametrize("measure", [accuracy, kappa, kappa_m, kappa_t])
def test_labels_and_answers_must_match(measure):
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        measure([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="no answers"):
        measure([], [])


def test_a_window_without_records_is_refused():
    with pytest.raises(ValueError, match="window is 0"):
        windowed_accuracy([0], [0], 0)


CURVES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@given(CURVES, st.data(), st.integers(1, 8), st.floats(0, 0.2))
def test_recovery_equals_a_walk_along_the_curve(errors, data, before, within):
    at = data.draw(st.integers(1, len(errors) - 1))
    end = data.draw(st.integers(at + 1, len(errors)))
    found = recovery(errors, at, until=end, before=before, within=within)
    level, depth, time, recovered = reference.recovery(errors, at, end, before, within)
    assert_allclose([found.level, found.depth], [level, depth], atol=1e-12)
    if abs(min(abs(e - level - within) for e in errors[at:end])) > 1e-9:  # else the last bit of the mean decides
        assert (found.time, found.recovered) == (time, recovered)


def test_a_drift_outside_the_curve_is_refused():
    with pytest.raises(ValueError, match="point 5"):
        recovery([0.1] * 5, at=5)


ERRORS = st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=4, max_size=4), min_size=2, max_size=8)


@given(ERRORS)
def test_ranks_and_the_friedman_statistic_are_the_known_ones(errors):
    result = compare_ranks(errors)
    assert_allclose(result.ranks, reference.mean_ranks(errors))
    if any(len(set(row)) > 1 for row in errors):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_allclose(result.statistic, friedmanchisquare(*np.transpose(errors)).statistic, atol=1e-9)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_that_of_the_tables(methods, q):
    """Table 5a of Demšar 2006."""
    n = 14
    errors = np.random.default_rng(0).random((n, methods))
    expected = q * np.sqrt(methods * (methods + 1) / (6 * n))
    assert_allclose(compare_ranks(errors).critical_difference, expected, rtol=1e-3)


def test_methods_that_always_differ_are_told_apart_and_equal_ones_are_not():
    apart = compare_ranks([[0.1, 0.5, 0.9]] * 12)
    assert apart.p_value < 1e-6
    assert apart.pairwise[0, 2] < 0.001 < apart.pairwise[0, 0]
    assert compare_ranks([[0.3, 0.3]] * 5).p_value == 1.0


def test_the_standard_error_of_one_value_is_not_known():
    mean, spread = mean_and_standard_error([0.5])
    assert mean == 0.5
    assert np.isnan(spread)
