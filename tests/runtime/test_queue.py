import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.runtime import RecordQueue, Records


def make_records(first, deadlines):
    n = len(deadlines)
    offset = np.arange(first, first + n)
    records = Records.from_features(np.zeros((n, 1)), offset=offset, deadline=deadlines, arrival=np.zeros(n))
    records.sequence = offset
    return records


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 6)), max_size=12))
def test_records_are_dequeued_by_deadline_and_then_by_arrival(moves):
    queue, waiting, first = RecordQueue(10_000), [], 0
    for deadlines, n in moves:
        queue.enqueue(make_records(first, np.array(deadlines, dtype=float)))
        waiting += [(due, first + i) for i, due in enumerate(deadlines)]
        first += len(deadlines)
        taken = queue.dequeue(n)
        waiting.sort()
        assert list(zip(taken.deadline, taken.sequence, strict=True)) == waiting[: len(taken)]
        assert len(taken) == min(n, len(waiting))
        del waiting[: len(taken)]
        assert len(queue) == len(waiting)
        assert queue.deadlines().tolist() == [due for due, _ in waiting]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_a_slice_or_positions_dequeue_those_records_and_leave_the_rest(deadlines, data):
    for as_slice in (True, False):
        queue = RecordQueue()
        for first in range(0, len(deadlines), 4):
            queue.enqueue(make_records(first, np.array(deadlines[first : first + 4], dtype=float)))
        whole = queue.records().sequence.tolist()
        start = data.draw(st.integers(0, len(deadlines) - 1))
        stop = data.draw(st.integers(start, len(deadlines)))
        taken = queue.dequeue(slice(start, stop) if as_slice else np.arange(start, stop))
        assert taken.sequence.tolist() == whole[start:stop]
        assert queue.records().sequence.tolist() == whole[:start] + whole[stop:]


@pytest.mark.parametrize(
    ("overflow", "evicted"), [("shed_oldest", [0, 1]), ("shed_newest", [4, 5]), ("answer_now", [4, 5])]
)
def test_the_policy_decides_which_records_are_evicted(overflow, evicted):
    queue = RecordQueue(4, overflow)
    assert len(queue.enqueue(make_records(0, np.array([9.0, 8.0, 7.0])))) == 0
    surplus = queue.enqueue(make_records(3, np.array([1.0, 2.0, 3.0])))
    assert sorted(surplus.sequence.tolist()) == evicted
    assert len(queue) == 4


def test_records_that_are_late_are_evicted_before_those_that_are_answered_now():
    queue = RecordQueue(4, "answer_now")
    queue.enqueue(make_records(0, np.array([1.0, 9.0, 8.0])), 0.0)
    assert queue.enqueue(make_records(3, np.array([3.0, 2.0])), 1.5).sequence.tolist() == [0]
    assert queue.enqueue(make_records(5, np.array([7.0, 6.0])), 2.5).sequence.tolist() == [4, 6]
    assert queue.records().sequence.tolist() == [3, 5, 2, 1]


def test_free_slots_are_the_capacity_less_the_records():
    queue = RecordQueue(4)
    queue.enqueue(make_records(0, np.zeros(3)))
    assert queue.free_slots == 1


def test_an_invalid_policy_or_capacity_is_refused():
    with pytest.raises(ValueError, match="overflow is 'drop'; use one of block"):
        RecordQueue(1, "drop")
    with pytest.raises(ValueError, match="capacity is 0"):
        RecordQueue(0)
