import numpy as np
import pytest

from anystream.compare import Settings, load_task
from anystream.compare.run import load_tasks
from compare.tiny import TINY


def test_the_test_records_of_a_stream_are_later_than_its_training_records_and_its_last_drift():
    task = load_task("SEA", TINY)
    X, y = task.X_train, task.y_train
    again = load_task("SEA", TINY)
    assert task.ordered
    assert len(y) == 200
    assert len(task.y_test) == 60
    np.testing.assert_array_equal(X, again.X_train)
    assert not np.isin(task.X_test, X).all()


def test_records_without_a_time_order_are_shuffled_by_the_seed():
    first, second = (load_task("digits", Settings(max_train=100, max_test=50, seed=seed)) for seed in (0, 1))
    assert not first.ordered
    assert first.X_train.shape == (100, 64)
    assert not np.array_equal(first.X_train, second.X_train)


def test_a_small_data_set_is_split_two_to_one():
    task = load_task("iris", Settings())
    assert (len(task.y_train), len(task.y_test)) == (100, 50)
    assert set(task.y_train) == set(task.y_test) == {0, 1, 2}


def test_a_missing_data_set_is_skipped_with_a_message(monkeypatch):
    def missing(name):
        raise LookupError(f"data set {name!r} not found")

    monkeypatch.setattr("anystream.compare.tasks.load_dataset", missing)
    messages = []
    tasks = load_tasks(["pendigits", "Sine"], TINY, messages.append)
    assert [task.name for task in tasks] == ["Sine"]
    assert messages == ["pendigits is skipped: data set 'pendigits' not found"]


@pytest.mark.parametrize("name", ["SEA", "Sine", "Gauss"])
def test_generated_streams_have_every_class_on_both_sides(name):
    task = load_task(name, TINY)
    assert set(task.y_train) == set(task.y_test) == set(range(task.n_classes))
