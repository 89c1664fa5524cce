"""Least squares with coefficients of 0 or more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from anystream.runtime.nonnegative_fit import fit_nonnegative


def equations(seed):
    rng = np.random.default_rng(seed)
    n_equations, n_coefficients = rng.integers(1, 9), rng.integers(1, 5)
    matrix = rng.normal(size=(n_equations, n_coefficients)) * 10.0 ** rng.uniform(-2, 2, n_coefficients)
    return matrix, rng.normal(size=n_equations)


@pytest.mark.parametrize("seed", range(200))
def test_the_fit_is_that_of_scipy(seed):
    matrix, target = equations(seed)
    found, (expected, _) = fit_nonnegative(matrix, target), nnls(matrix, target)
    assert (found >= 0).all()
    assert_allclose(matrix @ found, matrix @ expected, rtol=1e-7, atol=1e-7)


def test_of_equal_columns_the_first_is_used():
    column = np.array([[1.0], [2.0]])
    assert_allclose(fit_nonnegative(np.hstack([column, column]), np.array([2.0, 4.0])), [2.0, 0.0])


def test_coefficients_of_empty_columns_are_zero():
    assert_allclose(fit_nonnegative(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, 1.0])), [0.0, 0.5])
