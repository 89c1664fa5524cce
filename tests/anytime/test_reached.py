"""Answers to records that a deadline did not let the classifier reach."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from anystream import BayesTreeClassifier, Budget
from anystream.anytime.answer import Answer, Rows, Unread
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


def test_records_behind_the_arrays_of_an_answer_were_not_reached():
    reached, prior = np.array([True, False]), np.array([0.1, 0.9])
    given = np.array(["a", "a"]), np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([3, 0]), np.array([True, False])
    answer = Answer(*given, 0.5, reached, Unread("b", prior, n_behind=3))
    assert len(answer) == 5
    assert answer.steps.tolist() == [3, 0, 0, 0, 0]
    assert answer.labels.tolist() == ["a", *"bbbb"]
    assert answer.proba.tolist() == [[0.8, 0.2], *[[0.1, 0.9]] * 4]
    assert answer.reached.tolist() == answer.certified.tolist() == [True, *[False] * 4]
    assert answer.confident.tolist() == [False] * 5
    assert answer.take(slice(4, None)).labels.tolist() == ["b"]


def test_blocks_of_an_answer_are_joined_when_it_is_asked_for():
    def rows(n, label, reached, confident):
        return Rows(np.full(n, label), np.full((n, 2), 0.5), np.arange(n), np.ones(n, np.bool_), reached, confident)

    blocks = [rows(2, "a", None, None), rows(3, "b", np.array([True, False, True]), np.array([True, False, False]))]
    answer = Answer.of_blocks(blocks, 0.5, Unread("z", np.array([0.1, 0.9]), n_behind=1))
    assert len(answer) == 6
    assert answer.elapsed_s == 0.5
    assert answer.labels.tolist() == ["a", "a", "b", "z", "b", "z"]
    assert answer.proba[:, 0].tolist() == [0.5, 0.5, 0.5, 0.1, 0.5, 0.1]
    assert answer.steps.tolist() == [0, 1, 0, 1, 2, 0]
    assert answer.reached.tolist() == [True, True, True, False, True, False]
    assert answer.confident.tolist() == [False, False, True, False, False, False]


def test_threads_that_read_an_answer_at_once_see_the_same_rows():
    given = np.zeros(1, np.int64), np.ones((1, 1)), np.zeros(1, np.int64), np.zeros(1, np.bool_)
    for _ in range(20):
        answer = Answer(*given, 0.0, np.ones(1, np.bool_), Unread(7, np.ones(1), n_behind=5000))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda name, answer=answer: len(getattr(answer, name)), ["labels", "proba"] * 4))
        assert found == [5001] * 8
        assert answer.labels[1:].tolist() == [7] * 5000
