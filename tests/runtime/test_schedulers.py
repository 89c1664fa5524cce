import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items
from anystream.runtime.gain_table import GainTable
from anystream.runtime.queue import ItemQueue
from anystream.runtime.schedulers import DeadlineShare, FixedBudget, MarginalGain, Situation, WaitingTime
from anystream.runtime.schedulers.early_ends import EarlyEnds
from anystream.runtime.step_cost import StepCost


def situation(deadlines, *, cost=None, now=0.0, rate=0.0, batch_s=0.004, capacity=10_000):
    queue = ItemQueue(capacity)
    n = len(deadlines)
    items = Items.of(np.zeros((n, 1)), deadline=np.sort(np.asarray(deadlines, dtype=float)), arrival=np.zeros(n))
    items.sequence = np.arange(n)
    queue.push(items)
    return Situation(queue, now, cost or StepCost(1e-9, 1e-9, 1e-3), batch_s, 10_000, rate)


def test_the_waiting_time_rule_is_equation_9():
    cost = StepCost(1e-9, 1e-9, 0.5)
    cost.update(10, 100, 25.0)  # t' = 0.25 seconds per step in the history of the stream
    for length in (1, 4, 10):
        plan = WaitingTime(10.0).plan(situation(np.full(length, np.inf), cost=cost))
        assert plan.steps == int(10.0 / (length * 0.25))  # n_s = t_w / (q_c t')


def test_the_waiting_time_rule_keeps_its_bounds():
    crowd = situation(np.full(9000, np.inf))
    assert WaitingTime(0.001).plan(crowd).steps == 1
    assert WaitingTime(1e6, most=50).plan(crowd).steps == 50


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=40))
def test_the_deadline_share_is_the_largest_with_which_nobody_is_late(seconds_left):
    found = situation(seconds_left)
    share = DeadlineShare(aim=1.0, headroom=None).plan(found).steps
    cost, ends = found.cost, np.sort(seconds_left)
    places = np.arange(1, len(ends) + 1)

    def in_time(steps):
        return np.all(places * (cost.record + steps * cost.step) + cost.call <= ends + 1e-9)

    assert in_time(share)
    alone = share * cost.step >= 0.24 * ends[0] - 0.001  # nobody gets more of the time that the first has left
    assert alone or not in_time((share + 1) / 0.95 + 1)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=40),
    st.floats(0.0, 60.0),
)
def test_an_allowance_costs_on_average_what_was_asked_for(ends, average):
    seen = EarlyEnds()
    steps, certified = np.array([n for n, _ in ends]), np.array([sure for _, sure in ends])
    seen.see(Answer(steps, np.ones((len(ends), 1)), steps, certified, 0.0))
    allowed = seen.allowance(average)
    last = np.where(certified, steps, np.inf)
    if allowed == np.inf:
        assert last.mean() <= average
    else:
        assert np.minimum(last, allowed).mean() == pytest.approx(average)


def test_only_the_latest_answers_say_who_stops_early():
    seen = EarlyEnds()
    ones = np.ones(400, dtype=int)
    for certified in (True, True, False, False):
        seen.see(Answer(ones, np.ones((400, 1)), ones, np.full(400, certified), 0.0))
    assert seen.allowance(10.0) == 10.0


def test_what_answers_leave_over_goes_to_the_others():
    scheduler = DeadlineShare(aim=1.0)
    found = situation([1.0] * 10)
    before = scheduler.plan(found).steps
    ones = np.ones(10, dtype=int)
    answer = Answer(ones, np.ones((10, 1)), ones, np.arange(10) < 5, 0.0)
    scheduler.final(found.queue.items(), answer, before, now=0.1)
    assert scheduler.plan(found).steps == pytest.approx(2 * before, abs=2)  # half of them stop after one step


def test_the_share_without_deadlines_is_the_cap_or_no_limit():
    assert DeadlineShare(most=70, headroom=None).plan(situation([np.inf])).steps == 70
    assert DeadlineShare(aim=1.0, headroom=None).plan(situation([np.inf])).steps is None


def test_answers_are_aimed_at_a_part_of_their_time():
    half = situation([1.0] * 10)
    assert DeadlineShare(aim=0.5, headroom=None).plan(half).steps == pytest.approx(47, abs=1)  # of 95 with all of it
    late_in_its_time = situation([1.0] * 10, now=0.8)  # a quarter of what is left
    assert DeadlineShare(aim=0.5, headroom=None).plan(late_in_its_time).steps == pytest.approx(4, abs=1)


def test_headroom_leaves_time_for_the_records_to_come():
    alone = situation([1.0], rate=100.0)
    assert DeadlineShare(aim=1.0, headroom=None).plan(alone).steps == 249  # a quarter of a second
    assert DeadlineShare(aim=1.0, headroom=0.5).plan(alone).steps == 4  # half of 10 ms at 1 ms a step


def test_late_records_hold_nobody_up():
    plan = DeadlineShare(aim=1.0, headroom=None).plan(situation([1.0, 2.0, 9.0], now=3.0))
    assert plan.rows == slice(2, 3)
    assert plan.steps > 1000


def test_late_records_are_answered_at_budget_0_when_nobody_else_waits_or_they_crowd_the_queue():
    plan = DeadlineShare(aim=1.0, headroom=None).plan(situation([1.0, 2.0], now=3.0))
    assert (plan.rows, plan.steps) == (2, 0)
    plan = DeadlineShare(aim=1.0, headroom=None).plan(situation([1.0, 1.0, 1.0, 9.0], now=3.0, capacity=5))
    assert (plan.rows, plan.steps) == (3, 0)


def test_late_records_get_their_turn_after_some_time():
    scheduler = DeadlineShare(most=10, aim=1.0, headroom=None)
    cost = StepCost(1e-5, 1e-3, 1e-4)
    crowd = situation([1.0] * 3 + [9.0] * 300, now=3.0, cost=cost)
    turns = [scheduler.plan(crowd) for _ in range(100)]
    late = [cost.of(plan.rows, 0) for plan in turns if plan.steps == 0]
    others = [cost.of(plan.rows.stop - plan.rows.start, plan.steps) for plan in turns if plan.steps]
    assert 0.08 < sum(late) / sum(late + others) < 0.15


def test_a_batch_lasts_as_long_as_it_should_and_no_longer_than_a_quarter_of_the_time_left():
    cost = StepCost(1e-9, 1e-9, 1e-5)
    assert DeadlineShare(most=10, aim=1.0, headroom=None).plan(situation([100.0] * 1000, cost=cost)).rows == slice(
        0, 39
    )  # 4 ms of 0.1 ms each
    assert DeadlineShare(most=10, aim=1.0, headroom=None).plan(situation([0.008] * 20, cost=cost)).rows == slice(
        0, 19
    )  # 2 ms


def test_a_costly_call_is_spread_over_more_records():
    cost = StepCost(0.1, 0.001, 1e-9)
    assert FixedBudget(1).plan(situation(np.full(5000, np.inf), cost=cost)).rows == 99


def table():
    levels = (0, 4, 16)
    edges = np.tile(np.linspace(0.1, 0.9, 9), (2, 1))
    gains = np.array([np.linspace(0.5, 0.0, 10), np.linspace(0.1, 0.0, 10)])
    return GainTable(levels, edges, gains, np.array([0.6, 0.8, 0.9]))


def pool(steps, confidence, deadlines=None, cost=None):
    found = situation(np.full(len(steps), 9.0) if deadlines is None else deadlines, batch_s=0.01, cost=cost)
    items = found.queue.take(len(steps))
    items.steps, items.confidence = np.array(steps), np.array(confidence)
    found.queue.put_back(items)
    return found


def test_whoever_has_no_answer_comes_first():
    cost = StepCost(1e-9, 1e-5, 1e-3)
    plan = MarginalGain(table()).plan(pool([0, -1, 4, -1], [0.2, 0.0, 0.2, 0.0], cost=cost))
    assert (plan.rows.tolist(), plan.steps) == ([1, 3], 0)


def test_few_that_have_no_answer_wait_for_others_but_not_for_long():
    cost = StepCost(1e-2, 1e-4, 1e-3)
    scheduler = MarginalGain(table())
    crowd = pool([0] * 40 + [-1], [0.2] * 40 + [0.0], cost=cost)
    assert scheduler.plan(crowd).steps == 4  # one record is not worth a call of ten milliseconds, forty drafts are
    later = Situation(crowd.queue, 2.0, cost, 0.01, 10_000, 0.0)
    plan = scheduler.plan(later)
    assert (plan.rows.tolist(), plan.steps) == ([40], 0)


def test_the_next_steps_go_to_the_drafts_that_gain_most():
    plan = MarginalGain(table()).plan(pool([0, 0, 0, 0], [0.95, 0.05, 0.15, 0.55]))
    assert plan.steps == 4
    assert plan.rows.tolist() == [1, 2]  # two records of four steps fit ten milliseconds


def test_an_answer_goes_out_when_it_is_certified_sure_or_late():
    batch = pool([0] * 4, [0.0] * 4, [1.0, 9.0, 9.0, 9.0]).queue.items()
    proba = np.array([[0.05, 0.0], [0.95, 0.0], [0.05, 0.0], [0.05, 0.0]])
    answer = Answer(np.zeros(4), proba, np.zeros(4, int), np.array([False, False, True, False]), 0.0)
    assert MarginalGain(table()).final(batch, answer, 0, now=2.0).tolist() == [True, True, True, False]


def test_drafts_go_out_before_their_deadline_and_all_of_them_at_the_end():
    found = pool([0, 0, -1], [0.1, 0.1, 0.0], [0.02, 9.0, 9.0])
    assert MarginalGain(table()).due(found).tolist() == [0]
    ending = Situation(found.queue, 0.0, found.cost, 0.004, 100, 0.0, ending=True)
    assert MarginalGain(table()).due(ending).tolist() == [0, 1]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="target_s is 0"):
        WaitingTime(0.0)
    with pytest.raises(ValueError, match="most is -1"):
        DeadlineShare(most=-1)
    with pytest.raises(ValueError, match="headroom is 2"):
        DeadlineShare(headroom=2.0)
