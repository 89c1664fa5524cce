"""Answers to records that a deadline did not let the classifier reach."""

import numpy as np
import pytest

from anystream import BayesTreeClassifier, Budget
from anystream.anytime.checks import three_clusters


class Growing(BayesTreeClassifier):
    """Has learned a fourth class by the time that it is asked for the shares of the classes."""

    def prior_proba(self):
        return np.array([0.1, 0.2, 0.1, 0.6])


@pytest.mark.parametrize("repeats", [1, 200])  # one block, and several
def test_a_class_that_appears_during_the_call_is_left_out(repeats):
    X, y = three_clusters()
    model = Growing().fit(X, y)
    many = np.tile(X, (repeats * 2, 1))
    answer = model.classify(many, budget=Budget(seconds=0))
    unreached = ~answer.reached
    assert unreached.sum() >= len(many) - 64
    np.testing.assert_allclose(answer.proba[unreached], np.tile([0.25, 0.5, 0.25], (unreached.sum(), 1)))
    assert set(answer.labels[unreached]) == {"bee"}
    assert not answer.certified[unreached].any()


def test_records_are_validated_when_their_turn_comes():
    X, y = three_clusters()
    model = BayesTreeClassifier().fit(X, y)
    many = np.tile(X, (1000, 1))
    many[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.classify(many, budget=Budget(seconds=0))
    assert len(model.classify(many[4:], budget=Budget(seconds=0))) == len(many) - 4
