import threading

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemorySink, MemorySource
from anystream.graph import KAOGINCClassifier
from anystream.model_file import ModelFileError
from anystream.runtime import BackgroundLearner, Engine, FrozenModel, InlineLearner, Records
from runtime.models import Recorder


def blobs(rng, n, n_classes):
    labels = np.arange(n) % n_classes
    return rng.normal(size=(n, 4)) + 3.0 * labels[:, None], labels


def pair(X, labels):
    return Records.from_features(X, label=labels.tolist())


def test_answers_come_from_whole_states_of_the_model_while_another_thread_learns():
    """Every answer of a reader equals that of one of the published states, and new classes break nothing."""
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 60, 2)
    probe, _ = blobs(rng, 40, 4)
    learner = BackgroundLearner(BayesTreeClassifier(n_jobs=1).fit(X, y), share=1.0)
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
        more, labels = blobs(rng, 200, n_classes)
        for first in range(0, 200, 20):
            learner.submit(pair(more[first : first + 20], labels[first : first + 20]))
    learner.close()
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert learner.learned == 600
    assert seen
    assert learner.model.classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("learner_class", [InlineLearner, BackgroundLearner])
def test_the_engine_tells_the_model_what_was_classified_by_option(learner_class):
    rng = np.random.default_rng(1)
    X, y = np.vstack([rng.normal(size=(40, 1)) + 100.0, rng.normal(size=(40, 1))]), np.repeat([1, 0], 40)
    counts = {}
    for noted in (False, True):
        model = KAOGINCClassifier.paper(tau=100, batch_size=40, pruning=None).fit(X, y)
        learner = learner_class(model, note_classified=noted)
        Engine(learner, MemorySource(rng.normal(size=(150, 1))), MemorySink(), within_s=10.0).run()
        counts[noted] = (learner.model.principal_.n_classified, bool((learner.model.predict([[99.0]]) == 1).all()))
    assert counts == {False: (0, True), True: (150, False)}
    with pytest.raises(TypeError, match="BayesTreeClassifier has no note_classified"):
        learner_class(BayesTreeClassifier().fit(X, y), note_classified=True)


def test_learning_in_the_background_equals_learning_in_order():
    rng = np.random.default_rng(3)
    X, y = blobs(rng, 50, 3)
    more, labels = blobs(rng, 300, 3)
    learner = BackgroundLearner(BayesTreeClassifier().fit(X, y), share=1.0)
    for row in range(len(more)):
        learner.submit(pair(more[row : row + 1], labels[row : row + 1]))
    learner.close()
    plain = BayesTreeClassifier().fit(X, y).partial_fit(more, labels)
    assert np.array_equal(learner.model.predict_proba(more), plain.predict_proba(more))


def test_the_state_is_a_model_and_exactly_the_records_that_are_not_in_it():
    rng = np.random.default_rng(4)
    X, y = blobs(rng, 50, 2)
    more, labels = blobs(rng, 200, 2)
    learner = BackgroundLearner(BayesTreeClassifier().fit(X, y), share=0.5)
    for first in range(0, 200, 10):
        learner.submit(pair(more[first : first + 10], labels[first : first + 10]))
        model, state = learner.state()
        done = first + 10 - len(state["labels"])
        assert state["learned"] == done
        expected = BayesTreeClassifier().fit(X, y)
        if done:
            expected.partial_fit(more[:done], labels[:done])
        assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    learner.close()


@pytest.mark.parametrize("make", [lambda model: InlineLearner(model, every=7), BackgroundLearner])
def test_a_restored_learner_learns_what_was_left(make):
    rng = np.random.default_rng(6)
    X, y = blobs(rng, 50, 2)
    more, labels = blobs(rng, 40, 2)
    first = InlineLearner(BayesTreeClassifier().fit(X, y), every=1000)
    first.submit(pair(more, labels))
    model, state = first.state()
    second = make(model)
    second.restore(state, answered=10)
    assert second.records_until_update(10) in (4, None)
    second.close()
    assert second.learned == 40
    plain = BayesTreeClassifier().fit(X, y).partial_fit(more, labels)
    assert np.array_equal(second.model.predict_proba(more), plain.predict_proba(more))


def test_only_learners_learn():
    model = BayesTreeClassifier().fit(*blobs(np.random.default_rng(7), 20, 2))
    background = BackgroundLearner(model)
    assert [learner.learns for learner in (FrozenModel(model), InlineLearner(model), background)] == [False, True, True]
    background.close()


POISON = 13.0


class Poisoned(Recorder):
    """Raises an error if a record that it learns has the value `POISON`, and then learns nothing."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def snapshot(self):
        return self

    def partial_fit(self, X, y):
        if POISON in X:
            raise self.error
        super().partial_fit(X, y)


@pytest.mark.parametrize("make", [InlineLearner, BackgroundLearner])
@pytest.mark.parametrize(
    "error_type",
    [
        *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, OverflowError, RecursionError),
        *(RuntimeError, StopIteration, TypeError, UnicodeError, ValueError),
    ],
)
def test_a_record_that_cannot_be_learned_is_reported_and_all_others_are_learned(make, error_type):
    values = np.arange(20.0)
    records = Records.from_features(
        values[:, None], key=[f"r{i}" for i in range(20)], line=np.arange(20) + 2, label=[1] * 20
    )
    reported = []
    model = Poisoned(error_type("no such value"))
    learner = make(model)
    learner.report_to(reported.extend)
    learner.submit(records)
    learner.close()
    assert [value for value, _ in model.learned] == [value for value in values if value != POISON]
    assert learner.learned == 19
    (rejected,) = reported
    assert (rejected.key, rejected.line) == ("r13", 15)
    assert "the record cannot be learned: " in rejected.reason
    assert "no such value" in rejected.reason
    _, state = learner.state()
    assert state["labels"] == []


@pytest.mark.parametrize("make", [InlineLearner, BackgroundLearner])
@pytest.mark.parametrize("error", [MemoryError("full"), OSError("gone"), ModelFileError("damaged")])
def test_an_error_that_is_not_about_a_record_is_raised_in_the_thread_of_the_engine(make, error):
    learner = make(Poisoned(error))
    learner.submit(pair(np.array([[1.0], [POISON]]), np.array([0, 1])))
    with pytest.raises(type(error), match=str(error)):
        learner.close()


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="every is 0"):
        InlineLearner(None, every=0)
    with pytest.raises(ValueError, match="share is 2"):
        BackgroundLearner(None, share=2.0)
