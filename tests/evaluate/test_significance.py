"""Friedman's test and Nemenyi's critical difference."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import friedmanchisquare

from anystream.evaluate import compare_ranks
from reference import measures as reference

ERRORS = st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=4, max_size=4), min_size=2, max_size=8)


@given(ERRORS)
def test_mean_ranks_equal_their_definition(errors):
    assert_allclose(compare_ranks(errors).ranks, reference.mean_ranks(errors))


@given(ERRORS)
def test_the_friedman_statistic_equals_that_of_scipy(errors):
    assume(any(len(set(row)) > 1 for row in errors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = friedmanchisquare(*np.transpose(errors)).statistic
    assert_allclose(compare_ranks(errors).statistic, expected, atol=1e-9)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_equals_the_published_table(methods, q):
    """Table 5a of Demšar 2006."""
    n = 14
    errors = np.random.default_rng(0).random((n, methods))
    expected = q * np.sqrt(methods * (methods + 1) / (6 * n))
    assert_allclose(compare_ranks(errors).critical_difference, expected, rtol=1e-3)


def test_methods_that_always_differ_are_significantly_different():
    result = compare_ranks([[0.1, 0.5, 0.9]] * 12)
    assert result.p_value < 1e-6
    assert result.pairwise[0, 2] < 0.001 < result.pairwise[0, 0]


def test_equal_methods_are_not_significantly_different():
    assert compare_ranks([[0.3, 0.3]] * 5).p_value == 1.0
