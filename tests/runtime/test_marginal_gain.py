import numpy as np
import pytest

from anystream.anytime.answer import Answer
from anystream.runtime import DeadlineShare, MarginalGain, StepCost
from runtime.gain_tables import table_of_three_levels
from runtime.harness import scheduler_context


def crowd(n, steps_each):
    """A batch of `n` records with time for `steps_each` steps each; three times as many wait behind it."""
    cost = StepCost(1e-9, 1e-6, 1e-3)
    return scheduler_context(np.full(4 * n, 4 * n * steps_each * 1e-3 / 0.95), cost=cost, batch_s=1e3)


def first_answers(confidence, certified=False):
    confidence = np.asarray(confidence, dtype=float)
    n = len(confidence)
    return Answer(np.zeros(n), confidence[:, None], np.zeros(n, int), np.broadcast_to(certified, n), 0.0)


def test_the_second_round_goes_to_the_records_that_gain_most():
    scheduler = MarginalGain(table_of_three_levels(), aim=1.0)
    plan = scheduler.plan(crowd(8, 2.0))
    assert (plan.size, plan.steps) == (8, 0)  # two steps each, or four for the less sure half
    second = scheduler.second_round(first_answers([0.95, 0.05, 0.15, 0.55, 0.85, 0.25, 0.35, 0.65]), now=0.0)
    assert second.steps == 4
    assert set(second.rows.tolist()) <= {1, 2, 3, 5, 6}
    assert {1, 2, 5} <= set(second.rows.tolist())
    assert scheduler.second_round(first_answers([0.05] * 8), now=0.0) is None  # there is no third round


def test_certified_answers_and_those_with_nothing_to_gain_get_no_second_round():
    scheduler = MarginalGain(table_of_three_levels(), aim=1.0)
    scheduler.plan(crowd(4, 2.0))
    answer = first_answers([0.05, 0.05, 0.95, 0.95], np.array([True, False, True, False]))
    assert scheduler.second_round(answer, now=0.0).rows.tolist() == [1]


def test_there_is_no_second_round_without_time_for_it():
    scheduler = MarginalGain(table_of_three_levels(), aim=1.0)
    plan = scheduler.plan(crowd(4, 2.0))
    assert plan.steps == 0
    assert scheduler.second_round(first_answers([0.05] * 4), now=plan.until) is None


@pytest.mark.parametrize(
    ("make_context", "rises"),
    [
        (lambda: crowd(8, 100.0), (0.5, 0.5, 0.1)),  # time for everything
        (lambda: crowd(8, 2.0), (0.0, 0.0, 0.0)),  # nothing to gain
    ],
)
def test_shares_are_equal_where_two_rounds_gain_nothing(make_context, rises):
    scheduler = MarginalGain(table_of_three_levels(rises), aim=1.0)
    assert scheduler.plan(make_context()) == DeadlineShare(max_steps=16, aim=1.0).plan(make_context())
    assert scheduler.second_round(first_answers([0.05] * 8), now=0.0) is None


def test_a_negative_gain_is_refused():
    with pytest.raises(ValueError, match="min_gain is -1"):
        MarginalGain(table_of_three_levels(), min_gain=-1.0)
