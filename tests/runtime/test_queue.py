import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.connectors.items import Items
from anystream.runtime.queue import ItemQueue


def elements(first, deadlines):
    n = len(deadlines)
    items = Items.of(np.zeros((n, 1)), offset=np.arange(first, first + n), deadline=deadlines, arrival=np.zeros(n))
    items.sequence = np.arange(first, first + n)
    return items


@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 6)), max_size=12))
def test_elements_come_out_by_deadline_and_then_by_arrival(moves):
    queue, waiting, first = ItemQueue(10_000), [], 0
    for deadlines, n in moves:
        queue.push(elements(first, np.array(deadlines, dtype=float)))
        waiting += [(due, first + i) for i, due in enumerate(deadlines)]
        first += len(deadlines)
        taken = queue.take(n)
        waiting.sort()
        assert list(zip(taken.deadline, taken.sequence, strict=True)) == waiting[: len(taken)]
        assert len(taken) == min(n, len(waiting))
        del waiting[: len(taken)]
        assert len(queue) == len(waiting)
        assert queue.deadlines().tolist() == [due for due, _ in waiting]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_a_slice_or_places_take_those_and_leave_the_rest(deadlines, data):
    for as_slice in (True, False):
        queue = ItemQueue()
        for first in range(0, len(deadlines), 4):
            queue.push(elements(first, np.array(deadlines[first : first + 4], dtype=float)))
        whole = queue.items().sequence.tolist()
        start = data.draw(st.integers(0, len(deadlines) - 1))
        stop = data.draw(st.integers(start, len(deadlines)))
        taken = queue.take(slice(start, stop) if as_slice else np.arange(start, stop))
        assert taken.sequence.tolist() == whole[start:stop]
        assert queue.items().sequence.tolist() == whole[:start] + whole[stop:]


@pytest.mark.parametrize(
    ("overflow", "gone"), [("shed_oldest", [0, 1]), ("shed_newest", [4, 5]), ("answer_now", [4, 5])]
)
def test_what_does_not_fit_is_what_the_policy_says(overflow, gone):
    queue = ItemQueue(4, overflow)
    assert len(queue.push(elements(0, np.array([9.0, 8.0, 7.0])))) == 0
    surplus = queue.push(elements(3, np.array([1.0, 2.0, 3.0])))
    assert sorted(surplus.sequence.tolist()) == gone
    assert len(queue) == 4


def test_a_queue_says_how_much_still_fits():
    queue = ItemQueue(4)
    queue.push(elements(0, np.zeros(3)))
    assert queue.room == 1


def test_a_policy_or_capacity_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="overflow is 'drop'; use one of block"):
        ItemQueue(1, "drop")
    with pytest.raises(ValueError, match="capacity is 0"):
        ItemQueue(0)
