import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.runtime import DeadlineShare, StepCost
from runtime.harness import scheduler_context


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=40))
def test_the_deadline_share_is_the_largest_with_which_no_record_is_late(seconds_left):
    context = scheduler_context(seconds_left)
    share = DeadlineShare(aim=1.0).plan(context).steps
    cost, ends = context.cost, np.sort(seconds_left)
    positions = np.arange(1, len(ends) + 1)

    def on_time(steps):
        return np.all(positions * (cost.record_s + steps * cost.step_s) + cost.call_s <= ends + 1e-9)

    assert on_time(share)
    alone = share * cost.step_s >= 0.24 * ends[0] - 0.001  # no record gets more of the time that the first has left
    assert alone or not on_time((share + 1) / 0.95 + 1)


def test_steps_that_certified_answers_save_go_to_the_others():
    scheduler = DeadlineShare(aim=1.0)
    context = scheduler_context([1.0] * 10)
    before = scheduler.plan(context).steps
    ones = np.ones(10, dtype=int)
    answer = Answer(ones, np.ones((10, 1)), ones, np.arange(10) < 5, 0.0)
    scheduler.observe(context.queue.records(), answer, now=0.1)
    assert scheduler.plan(context).steps == pytest.approx(2 * before, abs=2)  # half of them stop after one step


def test_a_batch_is_as_large_as_answers_that_stop_early_allow():
    scheduler, context = DeadlineShare(max_steps=100), scheduler_context(np.full(1000, 1e3), batch_s=1.01)
    assert scheduler.plan(context).size == 10  # of a hundred milliseconds each
    fives = np.full(10, 5)
    batch = context.queue.records().take(slice(10))
    scheduler.observe(batch, Answer(fives, np.ones((10, 1)), fives, fives > 0, 0.0), now=0.1)
    plan = scheduler.plan(context)
    assert (plan.size, plan.steps) == (201, 100)


def test_the_share_without_deadlines_is_the_maximum_or_no_limit():
    assert DeadlineShare(max_steps=70).plan(scheduler_context([np.inf])).steps == 70
    assert DeadlineShare(aim=1.0).plan(scheduler_context([np.inf])).steps is None


def test_answers_are_aimed_at_a_fraction_of_their_time():
    half = scheduler_context([1.0] * 10)
    assert DeadlineShare(aim=0.5).plan(half).steps == pytest.approx(47, abs=1)  # of 95 with all of it
    late_in_its_time = scheduler_context([1.0] * 10, now=0.8)  # a quarter of what is left
    assert DeadlineShare(aim=0.5).plan(late_in_its_time).steps == pytest.approx(4, abs=1)


def test_headroom_leaves_time_for_the_records_to_come():
    alone = scheduler_context([1.0], arrivals_per_s=100.0)
    assert DeadlineShare(aim=1.0).plan(alone).steps == 249  # a quarter of a second
    assert DeadlineShare(aim=1.0, headroom=0.5).plan(alone).steps == 4  # half of 10 ms at 1 ms a step


def test_late_records_do_not_delay_the_others():
    plan = DeadlineShare(aim=1.0).plan(scheduler_context([1.0, 2.0, 9.0], now=3.0))
    assert plan.rows == slice(2, 3)
    assert plan.steps > 1000


def test_late_records_are_classified_at_budget_0_when_no_other_waits_or_they_fill_the_queue():
    plan = DeadlineShare(aim=1.0).plan(scheduler_context([1.0, 2.0], now=3.0))
    assert (plan.rows, plan.steps) == (2, 0)
    plan = DeadlineShare(aim=1.0).plan(scheduler_context([1.0, 1.0, 1.0, 9.0], now=3.0, capacity=5))
    assert (plan.rows, plan.steps) == (3, 0)


def test_late_records_get_an_eighth_of_the_time():
    scheduler = DeadlineShare(max_steps=10, aim=1.0)
    cost = StepCost(1e-5, 1e-3, 1e-4)
    crowd = scheduler_context([1.0] * 3 + [9.0] * 300, now=3.0, cost=cost)
    plans = [scheduler.plan(crowd) for _ in range(100)]
    late = [cost.estimate_s(plan.rows, 0) for plan in plans if plan.steps == 0]
    others = [cost.estimate_s(plan.rows.stop - plan.rows.start, plan.steps) for plan in plans if plan.steps]
    assert 0.08 < sum(late) / sum(late + others) < 0.15


@pytest.mark.parametrize(
    ("seconds_left", "n_waiting", "n_expected"),
    [
        (100.0, 1000, 39),  # 4 ms of 0.1 ms each
        (0.008, 20, 19),  # a quarter of 8 ms
    ],
)
def test_a_batch_lasts_its_wanted_time_but_at_most_a_quarter_of_the_time_left(seconds_left, n_waiting, n_expected):
    context = scheduler_context([seconds_left] * n_waiting, cost=StepCost(1e-9, 1e-9, 1e-5))
    assert DeadlineShare(max_steps=10, aim=1.0).plan(context).rows == slice(0, n_expected)


def test_a_first_step_that_costs_much_is_given_only_where_there_is_time_for_it():
    cost = StepCost(1e-9, 1e-6, 1e-6, first_step=10.0)
    plans = [
        DeadlineShare(aim=1.0).plan(scheduler_context([each_s * 1000 / 0.95] * 1000, cost=cost, batch_s=1e3))
        for each_s in (5e-6, 11.5e-6, 20.5e-6)
    ]
    assert [plan.steps for plan in plans] == [0, 1, 10]


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="the maximum number of steps is -1"):
        DeadlineShare(max_steps=-1)
    with pytest.raises(ValueError, match="headroom is 2"):
        DeadlineShare(headroom=2.0)
    with pytest.raises(ValueError, match="aim is 0"):
        DeadlineShare(aim=0.0)
