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
    scheduler.saw(found.queue.items(), answer, now=0.1)
    assert scheduler.plan(found).steps == pytest.approx(2 * before, abs=2)  # half of them stop after one step


def test_a_batch_is_as_large_as_answers_that_stop_early_allow():
    scheduler, found = DeadlineShare(most=100), situation(np.full(1000, 1e3), batch_s=1.01)
    assert scheduler.plan(found).size == 10  # of a hundred milliseconds each
    fives = np.full(10, 5)
    scheduler.saw(found.queue.items().take(slice(10)), Answer(fives, np.ones((10, 1)), fives, fives > 0, 0.0), now=0.1)
    plan = scheduler.plan(found)
    assert (plan.size, plan.steps) == (201, 100)


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


def table(rises=(0.5, 0.5, 0.1)):
    """Levels of 0, 4 and 16 steps; the less sure a record, the more to gain."""
    to_4, to_16, from_4 = (np.linspace(rise, 0.0, 10) for rise in rises)
    gains = np.zeros((2, 3, 10))
    gains[0, 1], gains[0, 2], gains[1, 2] = to_4, to_16, from_4
    edges = np.tile(np.linspace(0.1, 0.9, 9), (2, 1))
    return GainTable((0, 4, 16), edges, gains, 0.6 + np.array([0.0, to_4.mean(), to_16.mean()]))


def crowd(n, steps_each):
    """A batch of `n` records that has time for so many steps each; three times as many wait behind it."""
    cost = StepCost(1e-9, 1e-6, 1e-3)
    return situation(np.full(4 * n, 4 * n * steps_each * 1e-3 / 0.95), cost=cost, batch_s=1e3)


def first_answers(confidence, certified=False):
    confidence = np.asarray(confidence, dtype=float)
    n = len(confidence)
    return Answer(np.zeros(n), confidence[:, None], np.zeros(n, int), np.broadcast_to(certified, n), 0.0)


def test_steps_go_to_those_who_gain_most_in_a_second_round():
    scheduler = MarginalGain(table(), aim=1.0)
    plan = scheduler.plan(crowd(8, 2.0))
    assert (plan.size, plan.steps) == (8, 0)  # two steps each, or four for the less sure half
    again = scheduler.again(first_answers([0.95, 0.05, 0.15, 0.55, 0.85, 0.25, 0.35, 0.65]), now=0.0)
    assert again.steps == 4
    assert set(again.rows.tolist()) <= {1, 2, 3, 5, 6}
    assert {1, 2, 5} <= set(again.rows.tolist())
    assert scheduler.again(first_answers([0.05] * 8), now=0.0) is None  # there are two rounds and no more


def test_what_is_certain_or_has_nothing_to_gain_is_not_asked_again():
    scheduler = MarginalGain(table(), aim=1.0)
    scheduler.plan(crowd(4, 2.0))
    answer = first_answers([0.05, 0.05, 0.95, 0.95], np.array([True, False, True, False]))
    assert scheduler.again(answer, now=0.0).rows.tolist() == [1]


def test_without_time_for_a_second_round_the_first_answers_stand():
    scheduler = MarginalGain(table(), aim=1.0)
    plan = scheduler.plan(crowd(4, 2.0))
    assert plan.steps == 0
    assert scheduler.again(first_answers([0.05] * 4), now=plan.until) is None


@pytest.mark.parametrize(
    ("found", "gains"),
    [
        (lambda: crowd(8, 100.0), (0.5, 0.5, 0.1)),  # time for everything
        (lambda: crowd(8, 2.0), (0.0, 0.0, 0.0)),  # nothing to gain
    ],
)
def test_everyone_gets_an_equal_share_where_two_rounds_promise_no_more(found, gains):
    scheduler = MarginalGain(table(gains), aim=1.0)
    assert scheduler.plan(found()) == DeadlineShare(most=16, aim=1.0).plan(found())
    assert scheduler.again(first_answers([0.05] * 8), now=0.0) is None


def test_a_promise_counts_the_records_that_gain_most():
    found = table()
    lower, higher = found.pairs
    assert list(zip(lower.tolist(), higher.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    tops = np.linspace(0.5, 0.0, 10)
    for part, gain in (
        (0.0, 0.0),
        (0.1, tops[0] / 10),
        (0.25, (tops[0] + tops[1] + tops[2] / 2) / 10),
        (7.0, tops.mean()),
    ):
        assert found.promises(np.full(3, part))[0] == pytest.approx(0.6 + gain)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="target_s is 0"):
        WaitingTime(0.0)
    with pytest.raises(ValueError, match="most is -1"):
        DeadlineShare(most=-1)
    with pytest.raises(ValueError, match="headroom is 2"):
        DeadlineShare(headroom=2.0)
