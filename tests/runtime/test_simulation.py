import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.runtime import DeadlineShare, MachineCost, WaitingTime, simulate, workload_a, workload_b

COST = MachineCost(1e-3, 1e-3, 1e-3)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 2)) + 2.0 * y[:, None]
    return BayesTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_simulated_bursts_are_on_time_with_equal_shares_and_late_with_the_rule_of_the_paper(fitted):
    model, X, y = fitted
    times = workload_a(20.0, base_rate=40.0, peak_rate=1200.0)
    share = simulate(model, times, X, y, scheduler=DeadlineShare(max_steps=100), cost=COST, within_s=5.0)
    paper = simulate(model, times, X, y, scheduler=WaitingTime(5.0), cost=COST, within_s=5.0)
    assert share.late < 0.02 * share.taken
    assert paper.late > 0.2 * paper.taken
    assert share.right_on_time > paper.right_on_time
    again = simulate(model, times, X, y, scheduler=DeadlineShare(max_steps=100), cost=COST, within_s=5.0)
    assert again.to_json() == share.to_json()


def test_a_faster_machine_takes_more_steps(fitted):
    model, X, y = fitted
    times = workload_b(10.0, max_rate=500.0)
    runs = [
        simulate(model, times, X, y, scheduler=DeadlineShare(max_steps=100), cost=COST.scale(speed), within_s=1.0)
        for speed in (1.0, 4.0)
    ]
    assert runs[1].steps > 2 * runs[0].steps


def test_the_cost_of_a_machine_is_measured(fitted):
    model, X, _ = fitted
    cost = MachineCost.measure(model, X, repeats=2)
    assert min(cost.call_s, cost.record_s, cost.step_s) > 0.0
    assert cost.records_per_s(0) > cost.records_per_s(100)
