import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.runtime import DeadlineShare, StepCost
from anystream.runtime.schedulers.late_records import count_late
from runtime.harness import scheduler_context, simulated_engine
from runtime.models import Threshold

COST = StepCost(1e-3, 1e-2, 1e-3)


@example([0.11] * 20 + [np.inf], 40)
@given(st.lists(st.floats(-0.5, 3.0) | st.just(np.inf), min_size=1, max_size=40), st.integers(1, 40))
def test_as_few_records_are_given_up_as_leave_time_for_all_others(seconds_left, sample_size):
    context = scheduler_context(np.add(seconds_left, 1.0), now=1.0, cost=COST, batch_s=0.1)
    left = np.sort(seconds_left)
    late = count_late(context, sample_size)

    def spare_s(first):
        kept = left[first:]
        return np.min(kept - np.arange(len(kept)) * late.each_s - late.room_s, initial=np.inf)

    not_looked_at = -(-len(left) // sample_size) - 1  # up to so many between two that are
    assert spare_s(late.count) >= -not_looked_at * late.each_s - 1e-9
    assert all(spare_s(first) < 1e-9 for first in range(late.count))


def test_where_records_are_given_up_for_others_the_first_that_is_kept_has_time_for_two_batches():
    cost, now = StepCost(1e-3, 1e-2, 1e-3), 1.0

    def first_kept_s(seconds_left):
        context = scheduler_context(now + np.array(seconds_left), now=now, cost=cost, batch_s=0.1)  # of nine records
        return seconds_left[count_late(context, 100).count]

    assert first_kept_s([0.05, 0.11, 0.15, 0.18, 0.25, *[2.0] * 9]) == 0.11  # all others have the time
    assert first_kept_s([0.05, 0.11, 0.11, 0.11, 0.15, 0.18, 0.25, *[2.0] * 9]) == 0.25


@pytest.mark.parametrize(("arrivals_per_s", "first_kept_s"), [(0.0, 0.11), (40.0, 0.11), (79.0, 0.18), (200.0, 0.25)])
def test_the_first_record_that_is_kept_has_time_for_batches_that_keep_up_with_the_arrivals(
    arrivals_per_s, first_kept_s
):
    def first_kept(left):
        context = scheduler_context(left, cost=StepCost(1e-3, 1e-2, 1e-3), batch_s=0.1, arrivals_per_s=arrivals_per_s)
        return left[count_late(context, 100).count]

    assert first_kept([0.05, 0.11, 0.15, 0.18, *[0.25] * 8, 2.0]) == first_kept_s
    assert first_kept([0.05, 0.11, 0.15, 0.18, 0.25, *[2.0] * 9]) == 0.11  # the next batch has much time


@given(st.floats(1e-5, 1e-2), st.floats(1e-6, 1e-2), st.floats(0.0, 1e4))
def test_a_batch_that_keeps_up_answers_the_arrivals_of_its_own_time_and_a_quarter_more(
    call_s, record_s, arrivals_per_s
):
    context = scheduler_context([1.0], cost=StepCost(call_s, record_s, 1e-3), arrivals_per_s=arrivals_per_s)
    seconds = context.keep_up_s()
    if np.isinf(seconds):
        assert arrivals_per_s * record_s >= 0.8 - 1e-9
    else:
        assert (seconds - call_s) / record_s == pytest.approx(1.25 * arrivals_per_s * seconds, abs=1e-6)


def test_late_records_get_no_time_while_others_would_miss_their_aim():
    scheduler = DeadlineShare(max_steps=10, aim=0.5)
    crowd = scheduler_context([1.0] * 3 + [9.0] * 300, now=3.0, cost=StepCost(1e-4, 1e-2, 1e-3))  # three of 4.5 s
    assert all(scheduler.plan(crowd).rows.start == 3 for _ in range(100))


def test_late_records_that_fill_the_queue_are_given_up_at_once_where_others_need_the_time():
    context = scheduler_context([1.0] * 4 + [4.0], now=3.0, cost=StepCost(1e-4, 0.4, 1e-3), capacity=6)
    plan = DeadlineShare(aim=0.5).plan(context)
    assert (plan.rows, plan.steps, plan.until) == (4, 0, 3.0)


def test_late_records_that_fill_half_of_the_queue_have_no_more_than_their_share_of_the_time():
    context = scheduler_context([1.0] * 4 + [100.0], now=3.0, cost=StepCost(1e-4, 1e-2, 1e-3), capacity=6)
    plan = DeadlineShare().plan(context)  # the last record has time, but others may come
    assert (plan.rows, plan.steps, plan.until) == (4, 0, 3.0)


class Interrupted(Threshold):
    """Reaches three records of a batch, the first time."""

    def classify(self, X, *, budget):
        answer = super().classify(X, budget=budget)
        if len(self.calls) == 2 and len(X) > 3:
            reached = np.arange(len(X)) < 3
            return Answer(answer.labels, answer.proba, answer.steps, answer.certified, 0.0, reached)
        return answer


def test_records_that_a_batch_does_not_reach_return_to_the_queue_while_they_have_time():
    model = Interrupted()
    del model.n_features_in_  # no warm-up
    engine, sink, _, _ = simulated_engine(
        [0.0] * 12, scheduler=DeadlineShare(max_steps=2), within_s=5.0, model=model, batch_s=0.01
    )
    model.calls.append("first")
    summary = engine.run()
    assert (summary.answered, summary.on_time, summary.unreached) == (12, 12, 0)
    assert model.calls[1][0] > 3
    assert sum(n for n, _ in model.calls[1:]) == 12 + model.calls[1][0] - 3
    assert len(sink) == 12
