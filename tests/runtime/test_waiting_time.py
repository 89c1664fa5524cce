import numpy as np
import pytest

from anystream.runtime import FixedBudget, StepCost, WaitingTime
from runtime.harness import scheduler_context


def test_the_waiting_time_rule_is_equation_9():
    cost = StepCost(1e-9, 1e-9, 0.5)
    cost.update(10, 100, 25.0)  # t' = 0.25 seconds per step in the history of the stream
    for length in (1, 4, 10):
        plan = WaitingTime(10.0).plan(scheduler_context(np.full(length, np.inf), cost=cost))
        assert plan.steps == int(10.0 / (length * 0.25))  # n_s = t_w / (q_c t')


def test_the_waiting_time_rule_keeps_its_bounds():
    crowd = scheduler_context(np.full(9000, np.inf))
    assert WaitingTime(0.001).plan(crowd).steps == 1
    assert WaitingTime(0.001, min_steps=3).plan(crowd).steps == 3
    assert WaitingTime(1e6, max_steps=50).plan(crowd).steps == 50


def test_a_costly_call_is_spread_over_more_records():
    cost = StepCost(0.1, 0.001, 1e-9)
    assert FixedBudget(1).plan(scheduler_context(np.full(5000, np.inf), cost=cost)).rows == 99


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="target_s is 0"):
        WaitingTime(0.0)
    with pytest.raises(ValueError, match="the maximum number of steps is -1"):
        WaitingTime(1.0, max_steps=-1)
    with pytest.raises(ValueError, match="the maximum number of steps is True"):
        FixedBudget(True)
