import numpy as np
import pytest

from anystream.anytime.errors import RecordError
from anystream.runtime import MachineCost, SimulatedClock, SimulatedModel, StepCost
from anystream.runtime.step_cost import Measurement
from anystream.runtime.warm_up import measure_step_cost
from runtime.models import Threshold

STEPS = 30  # of a model that answers no record sooner


def feed(cost, truth, rng, n, noise=0.1):
    for _ in range(n):
        records, each = int(rng.integers(1, 500)), int(rng.integers(0, 100))
        steps = records * each
        seconds = truth[0] + truth[1] * records + truth[2] * steps
        cost.update(records, steps, seconds * rng.lognormal(0.0, noise))


def test_the_costs_are_found_and_followed():
    rng = np.random.default_rng(0)
    cost = StepCost()
    feed(cost, (2e-4, 1e-6, 3e-7), rng, 400)
    assert (cost.record_s, cost.step_s) == (pytest.approx(1e-6, rel=0.5), pytest.approx(3e-7, rel=0.2))
    assert cost.estimate_s(100, 50) == pytest.approx(2e-4 + 1e-4 + 1.5e-3, rel=0.2)
    feed(cost, (2e-4, 1e-6, 9e-7), rng, 200)  # the machine has become slower
    assert cost.step_s == pytest.approx(9e-7, rel=0.1)


def test_a_few_batches_are_enough_for_costs_of_any_size():
    truth = (0.02, 3e-6, 5e-5)  # a call as costly as that of a random forest
    batches = [(n, n * each) for n in (1, 64, 256) for each in (0, 8)]
    cost = StepCost.fit([Measurement(n, s, n if s else 0, truth[0] + truth[1] * n + truth[2] * s) for n, s in batches])
    assert (cost.call_s, cost.record_s, cost.step_s) == pytest.approx(truth, rel=0.01)
    assert cost.first_step == 1.0  # these batches do not tell


def test_a_costly_first_step_is_measured_once_and_counted_from_then_on():
    clock = SimulatedClock()
    truth = MachineCost(call_s=1e-4, record_s=1e-6, step_s=1e-6, first_step=12.0)
    cost = measure_step_cost(SimulatedModel(Threshold(STEPS), clock, truth), clock)
    assert cost.first_step == pytest.approx(12.0, rel=0.01)
    assert [cost.each_s(steps) for steps in (0, 0.5, 1, 3)] == pytest.approx([1e-6, 7e-6, 13e-6, 15e-6], rel=0.01)
    for _ in range(50):  # the machine has become three times as slow
        for records, each in ((100, 0), (100, 1), (40, 20)):
            stepped = records if each else 0
            seconds = 3 * (1e-4 + records * 1e-6 + (records * each + 11 * stepped) * 1e-6)
            cost.update(records, records * each, seconds, stepped=stepped)
    assert cost.each_s(1) == pytest.approx(39e-6, rel=0.2)
    assert cost.first_step == pytest.approx(12.0, rel=0.01)


@pytest.mark.parametrize("first_step", [1.0, 12.0])
@pytest.mark.parametrize("steps", [0.0, 0.25, 1.0, 1.5, 100.0])
def test_the_steps_within_a_time_are_those_that_take_it(first_step, steps):
    cost = StepCost(1e-5, 2e-6, 3e-7, first_step=first_step)
    assert cost.steps_within(cost.each_s(steps)) == pytest.approx(steps)


@pytest.mark.parametrize("first_step", [0.5, float("nan"), float("inf")])
def test_a_first_step_that_costs_less_than_a_step_is_refused(first_step):
    with pytest.raises(ValueError, match=f"first_step is {first_step}"):
        StepCost(first_step=first_step)


def test_one_outlier_does_not_upset_the_estimate():
    rng = np.random.default_rng(1)
    cost = StepCost()
    feed(cost, (1e-4, 1e-5, 1e-6), rng, 200)
    before = cost.estimate_s(100, 10)
    cost.update(100, 1000, 60.0)
    assert cost.estimate_s(100, 10) == pytest.approx(before, rel=0.5)


def test_a_delay_of_every_call_is_attributed_to_the_call():
    cost = StepCost(5e-5, 1e-6, 3e-7)
    for _ in range(60):  # batches of the size that fits the estimate
        records = int(max((0.004 - cost.call_s) / (cost.record_s + 30 * cost.step_s), 1))
        cost.update(records, 30 * records, 0.004 + records * (1e-6 + 30 * 3e-7))
    assert cost.call_s == pytest.approx(0.004, rel=0.1)
    assert cost.record_s + 30 * cost.step_s < 3e-5  # not 4e-3, which a batch of one record would suggest


def test_equal_batches_without_end_keep_the_prediction_right():
    cost = StepCost()
    for _ in range(5000):
        cost.update(64, 640, 0.001)
    assert cost.estimate_s(64, 10) == pytest.approx(0.001, rel=0.05)
    assert min(cost.call_s, cost.record_s, cost.step_s) > 0.0


def test_the_average_step_is_the_time_per_step_in_recent_history():
    cost = StepCost()
    cost.update(1, 10, 1e-5)
    cost.update(1, 30, 3e-5)
    assert cost.average_step_s == pytest.approx(1e-6)
    for _ in range(1000):
        cost.update(10, 1000, 4e-3)
    assert cost.average_step_s == pytest.approx(4e-6, rel=1e-3)


def test_warm_up_batches_measure_the_costs():
    clock = SimulatedClock()
    truth = MachineCost(call_s=1e-3, record_s=1e-4, step_s=1e-5)
    cost = measure_step_cost(SimulatedModel(Threshold(), clock, truth), clock)
    assert (cost.call_s, cost.record_s, cost.step_s) == pytest.approx((1e-3, 1e-4, 1e-5), rel=0.01)


def test_a_model_that_refuses_the_warm_up_records_starts_from_the_default_costs():
    class RefusesZeros(Threshold):
        def classify(self, X, *, budget):
            raise RecordError("a record is zero everywhere")

    cost = measure_step_cost(RefusesZeros(), SimulatedClock())
    assert cost.estimate_s(10, 10) == StepCost().estimate_s(10, 10)


def test_a_cost_of_nothing_is_refused():
    with pytest.raises(ValueError, match="use positive numbers of seconds"):
        StepCost(0.0)
