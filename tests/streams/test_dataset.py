"""A data set as a stream: batches, single records, shuffling, the predefined split."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anystream.streams import Dataset, load_dataset
from streams.small_dataset import X, Y, datasets, to_dense


@given(data=datasets(), size=st.integers(1, 50), start=st.integers(0, 45))
def test_batches_and_records_are_the_data_set_in_order(data, size, start):
    rest, labels = to_dense(data.X)[start:], data.y[start:]
    batches = list(data.batches(size, start=start))
    records = list(data.records(start=start))
    assert [len(y) for _, y in batches[:-1]] == [size] * (len(batches) - 1)
    assert [label for _, y in batches for label in y] == [label for _, label in records] == labels.tolist()
    if len(rest):
        assert np.array_equal(np.vstack([to_dense(records) for records, _ in batches]), rest)
        assert np.array_equal(np.vstack([to_dense(record) for record, _ in records]), rest)


@given(data=datasets(), start=st.integers(0, 45))
def test_take_returns_records_from_a_position_on(data, start):
    assume(start < data.n_records)
    records, labels = data.take(data.n_records - start, start=start)
    assert np.array_equal(to_dense(records), to_dense(data.X)[start:])
    assert np.array_equal(labels, data.y[start:])


@given(data=datasets())
def test_take_raises_beyond_the_end(data):
    with pytest.raises(ValueError, match=f"drawn has {data.n_records} records; take fewer"):
        data.take(data.n_records + 1)


@given(data=datasets(), seed=st.integers(0, 9))
def test_shuffling_keeps_records_labels_and_split_together(data, seed):
    def rows(dataset):
        split = dataset.is_test if dataset.is_test is not None else np.zeros(dataset.n_records)
        return np.column_stack([to_dense(dataset.X), dataset.y, split])

    shuffled = data.shuffled(seed)
    assert np.array_equal(rows(shuffled), rows(data.shuffled(seed)))
    assert sorted(rows(shuffled).tolist()) == sorted(rows(data).tolist())


def test_shuffling_changes_the_order():
    iris = load_dataset("iris")
    assert not np.array_equal(iris.shuffled(1).y, iris.y)
    assert not np.array_equal(iris.shuffled(1).y, iris.shuffled(2).y)


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_part_of_a_data_set_without_a_split_raises(part):
    names = {"feature_names": ("a", "b"), "class_names": ("r", "s", "t")}
    data = Dataset(name="whole", X=X.astype(float), y=Y.astype(int), **names)
    with pytest.raises(ValueError, match="whole has no predefined split; split X and y yourself"):
        getattr(data, part)


def test_invalid_sizes_are_rejected():
    iris = load_dataset("iris")
    with pytest.raises(ValueError, match="size is 0"):
        iris.batches(0)
    with pytest.raises(TypeError, match=r"start is 1\.5"):
        iris.records(start=1.5)
    with pytest.raises(TypeError, match="seed is None"):
        iris.shuffled(None)
