"""Reading all trees with NumPy equals reading them one comparison at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_ensembles import random_ensembles, random_records

from anystream.forest import Link
from anystream.forest.evaluation import encode_records, find_leaves, score_records
from anystream.forest.thresholds import ZERO, round_down, skip_zero, step_below
from reference.forest import ensemble_scores, find_leaf, mean_below


@given(ensemble=random_ensembles(), seed=st.integers(0, 2**32 - 1))
def test_leaves_and_scores_equal_the_reference_bit_for_bit(ensemble, seed):
    records = random_records(np.random.default_rng(seed))
    leaves = find_leaves(ensemble, encode_records(ensemble, records))
    assert_array_equal(leaves, [[find_leaf(ensemble, tree, x) for tree in range(ensemble.n_trees)] for x in records])
    scores = score_records(ensemble, records)
    assert scores.dtype == (np.float32 if ensemble.single_sums else np.float64)
    assert_array_equal(scores, [ensemble_scores(ensemble, x) for x in records])


@given(ensemble=random_ensembles())
def test_the_value_of_every_node_is_the_weighted_mean_of_the_leaves_below(ensemble):
    expected = [mean_below(ensemble, node) for node in range(ensemble.n_nodes)]
    assert_allclose(ensemble.value, expected, rtol=1e-12, atol=1e-12)


numbers = st.floats(allow_nan=False, width=64)
singles = st.floats(allow_nan=False, width=32)


@given(value=singles, threshold=numbers)
def test_a_threshold_rounded_down_decides_alike_for_float32_values(value, threshold):
    assert (value <= round_down(np.array([threshold]))[0]) == (value <= threshold)


@given(value=singles, threshold=singles.filter(lambda t: t > -np.inf))
def test_the_float32_number_before_a_threshold_decides_as_below(value, threshold):
    assert (value <= step_below(np.array([threshold], np.float32))[0]) == (value < threshold)


@given(value=st.floats(-3, 3), threshold=st.floats(-3, 3))
def test_values_that_lightgbm_takes_for_zero_go_where_zero_goes(value, threshold):
    value, threshold = value * ZERO, threshold * ZERO
    compared = 0.0 if abs(value) <= ZERO else value
    assert (value <= skip_zero(np.array([threshold]))[0]) == (compared <= threshold)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_links_are_sigmoid_and_softmax_up_to_overflow(dtype):
    scores = np.array([[0.0], [3.0], [-1000.0], [1000.0]], dtype)
    assert_allclose(
        Link("sigmoid", scale=2.0).probabilities(scores)[:, 1], [0.5, 1 / (1 + np.exp(-6)), 0, 1], rtol=1e-6
    )
    shares = Link("softmax").probabilities(np.array([[1.0, 2.0, -900.0], [2000.0, 0.0, 0.0]], dtype))
    assert_allclose(shares, [[1 / (1 + np.e), np.e / (1 + np.e), 0], [1, 0, 0]], rtol=1e-6)


def test_a_score_of_zero_means_the_first_class_unless_the_framework_differs():
    zero = np.zeros((1, 1))
    assert Link("sigmoid").labels(zero).tolist() == [0]
    assert Link("sigmoid", label_from_scores=True).labels(zero).tolist() == [0]
    assert Link("sigmoid", label_from_scores=True, zero_is_positive=True).labels(zero).tolist() == [1]


def test_labels_of_saturated_probabilities_follow_the_framework():
    scores = np.array([[40.0, 50.0]])
    assert Link("one_vs_all").labels(scores).tolist() == [0]  # both probabilities are 1
    assert Link("one_vs_all", label_from_scores=True).labels(scores).tolist() == [1]
