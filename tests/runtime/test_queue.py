import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.runtime import RecordQueue, Records


def numbers(parts):
    return [number for part in parts for number in part.sequence.tolist()]


def make_records(first, deadlines):
    n = len(deadlines)
    offset = np.arange(first, first + n)
    records = Records.from_features(np.zeros((n, 1)), offset=offset, deadline=deadlines, arrival=np.zeros(n))
    records.sequence = offset
    return records


def assert_deadlines(queue, expected):
    """Compare all deadlines, samples of them, the last one, and how many are due before each instant."""
    for first, size in ((0, 1000), (0, 3), (2, 3), (len(expected), 3)):
        sample = queue.sample(first, size)
        step = max(math.ceil((len(expected) - first) / size), 1)
        assert sample.deadlines.tolist() == expected[first::step]
        assert sample.positions.tolist() == list(range(first, len(expected), step))
        assert sample.arrivals.tolist() == [0.0] * len(sample.positions)
    assert [queue.count_due_before(i) for i in range(22)] == [sum(due < i for due in expected) for i in range(22)]
    assert [queue.deadline_at(i) for i in range(len(expected))] == expected


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
        assert_deadlines(queue, [due for due, _ in waiting])


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
    assert queue.enqueue(make_records(0, np.array([9.0, 8.0, 7.0]))) == []
    surplus = queue.enqueue(make_records(3, np.array([1.0, 2.0, 3.0])))
    assert sorted(numbers(surplus)) == evicted
    assert len(queue) == 4


def test_records_that_are_late_are_evicted_before_those_that_are_answered_now():
    queue = RecordQueue(4, "answer_now")
    queue.enqueue(make_records(0, np.array([1.0, 9.0, 8.0])), 0.0)
    assert numbers(queue.enqueue(make_records(3, np.array([3.0, 2.0])), 1.5)) == [0]
    assert numbers(queue.enqueue(make_records(5, np.array([7.0, 6.0])), 2.5)) == [4, 6]
    assert queue.records().sequence.tolist() == [3, 5, 2, 1]


def test_the_newest_and_the_oldest_are_evicted_wherever_their_deadlines_are():
    rng = np.random.default_rng(0)
    for overflow in ("answer_now", "shed_oldest", "shed_newest"):
        queue, waiting = RecordQueue(20, overflow), {}
        for first in range(0, 300, 15):
            now, deadlines = first / 10, first / 10 + rng.integers(-3, 9, 15)
            waiting.update(zip(range(first, first + 15), deadlines, strict=True))
            evicted = numbers(queue.enqueue(make_records(first, deadlines), now))
            expected = sorted(waiting)[: len(evicted)]
            if overflow == "shed_newest":
                expected = sorted(waiting)[20:]
            elif overflow == "answer_now":
                late = [(due, number) for number, due in waiting.items() if due < now]
                expected = [number for _, number in sorted(late)][: len(evicted)]
                expected += sorted(set(waiting) - set(expected))[20:]
            assert len(evicted) == len(waiting) - len(queue) == max(len(waiting) - 20, 0)
            assert sorted(evicted) == sorted(expected)
            for number in evicted:
                del waiting[number]
            assert queue.records().sequence.tolist() == sorted(waiting, key=lambda number: (waiting[number], number))


@pytest.mark.parametrize(("overflow", "evicted"), [("answer_now", [0, 1]), ("block", []), ("shed_newest", [])])
def test_late_records_never_fill_more_than_half_of_the_queue(overflow, evicted):
    queue = RecordQueue(4, overflow)
    queue.enqueue(make_records(0, np.array([0.0, 1.0])), 3.0)
    assert numbers(queue.enqueue(make_records(2, np.array([2.0])), 3.0)) == evicted  # whole parts, without a copy
    assert numbers(queue.enqueue(make_records(3, np.array([9.0])), 3.0)) == []


@given(st.lists(st.lists(st.integers(0, 20), max_size=6), max_size=8), st.data())
def test_records_that_return_to_the_queue_have_their_old_places(batches, data):
    queue, waiting, first = RecordQueue(10_000), [], 0
    for deadlines in batches:
        queue.enqueue(make_records(first, np.array(deadlines, dtype=float) + 0.5 * (first % 2)))
        waiting += [(due + 0.5 * (first % 2), first + i) for i, due in enumerate(deadlines)]
        first += len(deadlines)
        taken = queue.dequeue(data.draw(st.integers(0, 10)))
        again = np.array(data.draw(st.lists(st.booleans(), min_size=len(taken), max_size=len(taken))), dtype=bool)
        queue.enqueue(taken.take(again))
        finished = set(taken.take(~again).sequence.tolist())
        waiting = sorted(each for each in waiting if each[1] not in finished)
        assert_deadlines(queue, [due for due, _ in waiting])
        assert sorted(queue.records().sequence.tolist()) == sorted(number for _, number in waiting)


def test_records_that_return_to_a_long_queue_do_not_copy_it():
    queue = RecordQueue(10_000)
    queue.enqueue(make_records(0, np.arange(4000.0)))
    queue.enqueue(make_records(4000, np.arange(4000.0, 8000.0)))
    features = queue.records().features
    taken = queue.dequeue(100)
    queue.enqueue(taken.take(np.arange(50, 100)))
    assert len(queue.dequeue(50)) == 50
    assert np.shares_memory(queue.dequeue(7900).features, features)


def test_many_small_parts_are_joined_without_a_copy_of_large_ones():
    queue = RecordQueue(10_000)
    queue.enqueue(make_records(0, np.arange(5000.0)))
    large = queue.records().features
    for first in range(5000, 6000):
        queue.enqueue(make_records(first, np.array([float(first)])))
    assert np.shares_memory(queue.dequeue(5000).features, large)
    assert queue.dequeue(1000).sequence.tolist() == list(range(5000, 6000))


def test_parts_are_dequeued_without_a_copy():
    queue = RecordQueue(10_000)
    for first in (0, 3000, 6000):
        queue.enqueue(make_records(first, np.arange(first, first + 3000.0)))
    parts = queue.dequeue_parts(7000)
    assert numbers(parts) == list(range(7000))
    assert [len(part) for part in parts] == [3000, 3000, 1000]
    assert np.shares_memory(parts[-1].deadline.base, queue.records().deadline.base)
    assert queue.records().sequence.tolist() == list(range(7000, 9000))


@pytest.mark.parametrize("size", [1, 30, 700, 3000])
def test_no_insert_copies_more_than_a_few_thousand_records(size, monkeypatch):
    queue, copied, concatenate = RecordQueue(1_000_000), [], Records.concatenate
    monkeypatch.setattr(Records, "concatenate", lambda parts: copied.append(sum(map(len, parts))) or concatenate(parts))
    for first in range(0, 300 * size, size):
        queue.enqueue(make_records(first, np.arange(first, first + size, dtype=float)))
        assert sum(copied) <= 4096
        copied.clear()
    assert queue.records().sequence.tolist() == list(range(300 * size))


def test_free_slots_are_the_capacity_less_the_records():
    queue = RecordQueue(4)
    queue.enqueue(make_records(0, np.zeros(3)))
    assert queue.free_slots == 1


def test_an_invalid_policy_or_capacity_is_refused():
    with pytest.raises(ValueError, match="overflow is 'drop'; use one of block"):
        RecordQueue(1, "drop")
    with pytest.raises(ValueError, match="capacity is 0"):
        RecordQueue(0)
