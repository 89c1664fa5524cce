"""A long key or label costs its own length, not that of every record beside it."""

import tracemalloc

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.runtime import Engine, FixedBudget, InlineLearner, LabelMatcher, Records

LONG = "z" * 10_000  # as long as a model file allows
N = 4000


def fitted():
    y = np.array(["no", "yes"] * 20)
    X = np.where(y == "yes", 3.0, 0.0)[:, None] + np.random.default_rng(0).normal(size=(40, 1))
    return BayesTreeClassifier(n_jobs=1, metric=None, root_model=None, bandwidth="f0.1").fit(X, y)


def peak_mb(run):
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def engine(**options):
    X = np.random.default_rng(1).normal(size=(N, 1))
    labels = ["no", "yes"] * (N // 2)
    labels[100] = LONG
    keys = [f"r{row}" for row in range(N)]
    keys[200] = "k" * 100_000
    source = MemorySource(X, labels, key=keys)
    return Engine(InlineLearner(fitted(), every=N), source, MemorySink(), scheduler=FixedBudget(1), **options)


def test_one_long_label_and_one_long_key_are_dead_letters():
    dead_letters = MemoryDeadLetters()
    summary = engine(dead_letters=dead_letters).run()
    assert [found.reason for found in dead_letters.rejected] == [
        "the key has 100000 characters, allowed are 1000",
        "the label has 10000 characters, allowed are 1000",
    ]
    assert all(len(str(found.key)) <= 500 for found in dead_letters.rejected)
    assert summary.answered == N - 2


def test_a_long_label_and_a_long_key_that_are_allowed_cost_no_other_record_anything():
    run = engine(max_text=200_000)
    assert peak_mb(run.run) < 50.0  # an array of texts would take 160 MB
    assert run.learner.learned == N
    assert LONG in run.learner.model.classes_.tolist()


def test_long_labels_that_come_later_cost_no_other_record_anything():
    model = fitted()
    labels = MemoryLabels([(row, LONG if row == 100 else "no") for row in range(N)])
    source = MemorySource(np.zeros((N, 1)))
    run = Engine(
        InlineLearner(model, every=N), source, MemorySink(), labels=labels, matcher=LabelMatcher(N), max_text=200_000
    )
    assert peak_mb(run.run) < 50.0
    assert run.learner.learned == N


def test_answers_of_a_model_with_a_long_class_name_share_the_name():
    model = fitted()
    model.classes_ = np.array(["no", LONG])
    answer = None

    def classify():
        nonlocal answer
        answer = model.classify(np.linspace(-3.0, 6.0, N)[:, None], budget=2)

    assert peak_mb(classify) < 50.0
    assert set(answer.labels.tolist()) == {"no", LONG}


@pytest.mark.parametrize("keys", [["a", "b" * 100_000], np.array(["a", "b"]), ("a", 1), [1, 2**70], [True, None]])
def test_keys_that_are_no_integers_are_objects(keys):
    records = Records.from_features(np.zeros((2, 1)), key=keys)
    assert records.key.dtype == object
    assert records.key.tolist() == list(keys)
    assert Records.from_features(np.zeros((2, 1)), key=[1, 2]).key.dtype == np.int64
