import threading

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.runtime.learner import LearnsBeside


def blobs(rng, n, n_classes):
    labels = np.arange(n) % n_classes
    return rng.normal(size=(n, 4)) + 3.0 * labels[:, None], labels


def test_answers_come_from_whole_states_of_the_model_while_another_thread_learns():
    """Every answer of a reader equals that of one of the states that were published, and new classes break nothing."""
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 60, 2)
    probe, _ = blobs(rng, 40, 4)
    learner = LearnsBeside(BayesTreeClassifier(n_jobs=1).fit(X, y), share=1.0)
    seen, problems, stop = [], [], threading.Event()

    def read():
        try:
            while not stop.is_set():
                model = learner.model
                answer = model.classify(probe, budget=20)
                again = model.classify(probe, budget=20)
                assert np.array_equal(answer.proba, again.proba), "a snapshot has changed"
                assert answer.proba.shape[1] == len(model.classes_)
                seen.append(len(model.classes_))
        except BaseException as error:
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for n_classes in (2, 3, 4):
        rows, labels = blobs(rng, 200, n_classes)
        for first in range(0, 200, 20):
            learner.submit(list(zip(rows[first : first + 20], labels[first : first + 20].tolist(), strict=True)))
    learner.close()
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert learner.learned == 600
    assert seen
    assert learner.model.classes_.tolist() == [0, 1, 2, 3]


def test_what_was_learned_beside_equals_learning_in_order():
    rng = np.random.default_rng(3)
    X, y = blobs(rng, 50, 3)
    more, labels = blobs(rng, 300, 3)
    learner = LearnsBeside(BayesTreeClassifier().fit(X, y), share=1.0)
    for row, label in zip(more, labels.tolist(), strict=True):
        learner.submit([(row, label)])
    learner.close()
    plain = BayesTreeClassifier().fit(X, y).partial_fit(more, labels)
    assert np.array_equal(learner.model.predict_proba(more), plain.predict_proba(more))


def test_the_state_is_a_model_and_exactly_what_is_not_in_it():
    rng = np.random.default_rng(4)
    X, y = blobs(rng, 50, 2)
    more, labels = blobs(rng, 200, 2)
    learner = LearnsBeside(BayesTreeClassifier().fit(X, y), share=0.5)
    for first in range(0, 200, 10):
        learner.submit(list(zip(more[first : first + 10], labels[first : first + 10].tolist(), strict=True)))
        model, rest = learner.state()
        done = first + 10 - len(rest)
        expected = BayesTreeClassifier().fit(X, y)
        if done:
            expected.partial_fit(more[:done], labels[:done])
        assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    learner.close()


def test_what_goes_wrong_in_the_other_thread_is_told():
    X, y = blobs(np.random.default_rng(5), 20, 2)
    learner = LearnsBeside(BayesTreeClassifier().fit(X, y))
    learner.submit([(np.zeros(3), 0)])
    with pytest.raises(ValueError, match="features"):
        learner.close()
