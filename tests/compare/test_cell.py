import math
import time
from dataclasses import replace

import numpy as np
import pytest

from anystream.compare import CellResult, Method, load_task, run_cell
from anystream.compare.candidate import Candidate
from anystream.compare.on_time import measure_on_time
from anystream.compare.prequential import LimitedStream, run_pass
from anystream.evaluate import kappa_t
from compare.tiny import TINY


@pytest.fixture(scope="module")
def task():
    return load_task("SEA", TINY)


class Repeater(Candidate):
    """Predicts the last label."""

    def __init__(self, limit=None):
        self.last, self.n_learned = None, 0

    def as_records(self, X):
        return list(X)

    def predict_one(self, record):
        return self.last

    def learn_one(self, record, label):
        self.last = label
        self.n_learned += 1


def test_a_method_that_learns_is_measured_in_every_way(task):
    pytest.importorskip("river")
    result = run_cell(Method("river", "HoeffdingTree"), task, TINY)
    assert 0.6 < result.holdout <= 1.0
    assert 0.6 < result.prequential <= 1.0
    assert result.n_trained == result.n_prequential == 200
    assert 0.0 < result.predict.cpu_p50_us <= result.predict.cpu_p99_us
    assert result.learn is not None
    assert result.rows_per_cpu_s > 0
    assert list(result.on_time) == [500.0]
    assert result.budgets == []


def test_an_anytime_classifier_is_measured_at_smaller_budgets_as_well(task):
    result = run_cell(Method("anystream", "neighbors"), task, TINY)
    assert [point.budget for point in result.budgets][:3] == [0, 1, 5]
    assert result.trained_by == "fit"
    assert result.n_prequential == 200
    assert CellResult.from_json(result.to_json()) == result


def test_a_method_that_cannot_learn_more_has_no_prequential_accuracy_and_no_learning_steps(task):
    result = run_cell(Method("scikit-learn", "KNeighbors(5)"), task, TINY)
    assert math.isnan(result.prequential)
    assert result.learn is None
    assert result.n_prequential == 0


def test_a_pass_tests_before_it_learns(task):
    run = run_pass(Repeater(), "SEA", task.X_train, task.y_train, max_s=60.0, method="repeater")
    labels = task.y_train
    assert run.accuracy == pytest.approx((labels[1:] == labels[:-1]).sum() / len(labels))  # the first has no prediction
    assert run.kappa_t == pytest.approx(0.0)
    assert kappa_t(labels, labels) == 1.0


def test_a_pass_ends_at_its_limit_of_processor_time(task):
    first = next(iter(LimitedStream("s", task.X_train, task.y_train, 0.0).batches(1_000)))
    run = run_pass(Repeater(), "SEA", task.X_train, task.y_train, max_s=0.0, method="repeater")
    assert len(first[1]) == len(run.truth) == 100


def test_a_method_that_is_always_right_and_quick_is_on_time_with_every_record(task):
    class Right(Repeater):
        def predict(self, X):
            places = [(task.X_test == row).all(axis=1).argmax() for row in X]  # warm-up records are none of them
            return task.y_test[places]

    assert measure_on_time(Right(), task, 500.0, TINY) == 1.0


def test_a_method_that_is_slower_than_the_deadline_is_never_on_time(task):
    hurried = replace(TINY, within_s=0.005)

    class Slow(Repeater):
        def predict(self, X):
            ends = time.process_time() + 2 * hurried.within_s
            while time.process_time() < ends:
                pass
            return np.zeros(len(X), dtype=np.int64)

    assert measure_on_time(Slow(), task, 500.0, hurried) == 0.0
