import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.runtime import DeadlineShare, StepCost
from anystream.runtime.schedulers.late_records import count_late
from runtime.harness import scheduler_context, simulated_engine
from runtime.models import Threshold

COST = StepCost(1e-3, 1e-2, 1e-3)


@given(st.lists(st.floats(-0.5, 3.0), min_size=1, max_size=40))
def test_as_few_records_are_given_up_as_leave_time_for_all_others(seconds_left):
    context = scheduler_context(np.add(seconds_left, 1.0), now=1.0, cost=COST, batch_s=0.1)
    left = np.sort(seconds_left)
    late = count_late(context, context.queue.deadlines())

    def all_in_time(first):
        kept = left[first:]
        return bool(np.all(np.arange(len(kept)) * late.each_s + late.batch_s <= kept + 1e-9))

    assert all_in_time(late.count)
    assert not any(all_in_time(first) for first in range(late.count) if not np.isclose(late.slack_s(left[first:]), 0.0))


def test_late_records_get_no_time_while_others_would_miss_their_aim():
    scheduler = DeadlineShare(max_steps=10, aim=0.5)
    crowd = scheduler_context([1.0] * 3 + [9.0] * 300, now=3.0, cost=StepCost(1e-4, 1e-2, 1e-3))  # three of 4.5 s
    assert all(scheduler.plan(crowd).rows.start == 3 for _ in range(100))


def test_late_records_that_fill_the_queue_are_given_up_at_once_where_others_need_the_time():
    context = scheduler_context([1.0] * 4 + [4.0], now=3.0, cost=StepCost(1e-4, 0.4, 1e-3), capacity=6)
    plan = DeadlineShare(aim=0.5).plan(context)
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
