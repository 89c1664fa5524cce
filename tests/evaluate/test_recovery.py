"""Recovery from a drift on an error curve."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anystream.evaluate import measure_recovery
from reference import measures as reference

CURVES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@st.composite
def drift_cases(draw):
    errors = draw(CURVES)
    drift_point = draw(st.integers(1, len(errors) - 1))
    end = draw(st.integers(drift_point + 1, len(errors)))
    return errors, drift_point, end, draw(st.integers(1, 8)), draw(st.floats(0, 0.2))


def measured(errors, drift_point, end, n_before, tolerance):
    return measure_recovery(errors, drift_point, end=end, n_before=n_before, tolerance=tolerance)


@given(drift_cases())
def test_level_and_depth_equal_a_walk_along_the_curve(case):
    recovery = measured(*case)
    level, depth, _, _ = reference.recovery(*case)
    assert_allclose([recovery.level, recovery.depth], [level, depth], atol=1e-12)


@given(drift_cases())
def test_the_number_of_points_to_recover_equals_a_walk_along_the_curve(case):
    errors, drift_point, end, _, tolerance = case
    recovery = measured(*case)
    level, _, n_points, recovered = reference.recovery(*case)
    # otherwise the last bit of the mean decides
    assume(min(abs(error - level - tolerance) for error in errors[drift_point:end]) > 1e-9)
    assert (recovery.n_points, recovery.recovered) == (n_points, recovered)


def test_a_drift_beyond_the_curve_is_rejected():
    with pytest.raises(ValueError, match="drift_point is 5 and end is 5 on a curve of 5 points"):
        measure_recovery([0.1] * 5, drift_point=5)
