import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.runtime import DeadlineShare, MachineCost, draw_arrivals, simulate
from anystream.runtime.cluster_layout import ClusterFaults, ClusterLayout
from anystream.runtime.cluster_simulation import ClusterSimulation, Traffic, simulate_cluster
from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.worker_simulation import SampledRecords, WorkerSettings, simulate_worker

WITHIN_S = 0.05
EVEN = ClusterFaults(skew=0.0, n_stragglers=0, n_lost=0, n_partitions=64)
NEVER_DONE = RecordedAnswers(np.full(2, 100), np.zeros(2, dtype=bool))  # one record, which takes all steps it is given


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 2)) + 1.5 * y[:, None]
    return BayesTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]


def run_worker(answers, arrival_s, *, weight=1, max_steps, cost):
    """Run every `weight`-th of the records on one worker."""
    sampled_s = arrival_s[weight - 1 :: weight]
    rows = np.arange(len(sampled_s)) % answers.n_rows
    return simulate_worker(
        answers,
        SampledRecords(sampled_s, sampled_s, rows),
        weight=weight,
        scheduler=DeadlineShare(max_steps=max_steps),
        cost=cost,
        settings=WorkerSettings(within_s=WITHIN_S),
    )


def make_simulation(*, rate, faults, duration_s=1.0, max_steps=20, per_deadline=15):
    return ClusterSimulation(
        answers=NEVER_DONE,
        traffic=Traffic(np.full(4, float(rate)), duration_s / 4),
        cost=MachineCost(30e-6, 1e-6, 0.1e-6),
        make_scheduler=lambda: DeadlineShare(max_steps=max_steps),
        settings=WorkerSettings(within_s=WITHIN_S),
        faults=faults,
        per_deadline=per_deadline,
    )


def test_one_worker_without_sampling_is_the_simulation_of_one_machine_record_by_record(fitted):
    model, X, y = fitted
    arrival_s = draw_arrivals(np.array([2000.0, 40_000.0, 2000.0]), 0.1)  # a burst beyond what all steps allow
    cost = MachineCost(30e-6, 5e-6, 1e-6)
    exact = simulate(model, arrival_s, X, y, scheduler=DeadlineShare(max_steps=100), cost=cost, within_s=WITHIN_S)
    answers = RecordedAnswers.record(model, X, y, max_steps=100)
    run = run_worker(answers, arrival_s, max_steps=100, cost=cost)
    assert run.steps.sum() == exact.steps
    assert run.waited_s.sum() == pytest.approx(exact.waited_s, rel=1e-12)
    assert np.count_nonzero(run.waited_s <= WITHIN_S) == exact.on_time
    assert np.count_nonzero(answers.right(run.records.rows, run.steps)) == exact.right
    assert 0 < exact.right < exact.answered


@pytest.mark.parametrize("weight", [5, 40])
def test_sampled_records_wait_as_long_and_take_as_many_steps_as_all_records(fitted, weight):
    model, X, y = fitted
    arrival_s = draw_arrivals(np.array([50_000.0, 120_000.0, 50_000.0]), 0.3)
    cost = MachineCost(30e-6, 2e-6, 0.4e-6)
    answers = RecordedAnswers.record(model, X, y, max_steps=100)
    whole = run_worker(answers, arrival_s, max_steps=100, cost=cost)
    sampled = run_worker(answers, arrival_s, weight=weight, max_steps=100, cost=cost)
    assert sampled.steps.mean() == pytest.approx(whole.steps.mean(), rel=0.06)
    for share in (0.5, 0.99):
        assert np.quantile(sampled.waited_s, share) == pytest.approx(np.quantile(whole.waited_s, share), rel=0.06)
    right = [answers.right(run.records.rows, run.steps).mean() for run in (whole, sampled)]
    assert right[0] == pytest.approx(right[1], abs=0.02)


@pytest.mark.parametrize("weight", [1, 20])
@pytest.mark.parametrize("load", [0.5, 0.75])
def test_waiting_at_budget_0_is_that_of_a_queue_served_in_batches(weight, load):
    """A batch takes T = c + rate·T·r, so T = c / (1 - load); a record waits T/2 for its batch and T in it."""
    call_s, record_s = 200e-6, 1e-6
    arrival_s = draw_arrivals(np.full(2, load / record_s), 0.1)
    run = run_worker(NEVER_DONE, arrival_s, weight=weight, max_steps=0, cost=MachineCost(call_s, record_s, 1e-6))
    assert run.waited_s.mean() == pytest.approx(1.5 * call_s / (1.0 - load), rel=0.1)
    one_by_one_s = record_s * (1.0 + load / (2.0 * (1.0 - load)))  # M/D/1 without any cost of calls
    assert run.waited_s.mean() > one_by_one_s


def test_a_worker_that_is_never_busy_answers_in_the_time_of_one_call():
    run = run_worker(NEVER_DONE, np.arange(1, 100) * 0.01, max_steps=0, cost=MachineCost(1e-4, 1e-5, 1e-6))
    np.testing.assert_allclose(run.waited_s, 1.1e-4, rtol=1e-6)


def test_an_overloaded_worker_has_no_more_answers_than_its_time_allows():
    simulation = make_simulation(rate=2e6, faults=EVEN, max_steps=0)  # twice what a worker can do
    figures = simulate_cluster(simulation, 1).undisturbed
    assert figures.on_time <= 0.5 + WITHIN_S
    assert figures.wait_p99_s > 0.25  # of 1 s of traffic half is still waiting


def test_more_workers_take_more_steps_until_all_are_taken():
    simulation = make_simulation(rate=4.4e6, faults=EVEN)
    found = [simulate_cluster(simulation, n).undisturbed for n in (4, 8, 16)]
    assert found[0].on_time < 0.95  # 4 workers manage 4 million a second at budget 0
    assert min(found[1].on_time, found[2].on_time) > 0.999
    assert found[0].steps < found[1].steps < found[2].steps
    allowed = (8 / 4.4e6 - 1e-6) / 0.1e-6  # steps for which 8 workers have the time
    assert 0.7 * allowed < found[1].steps <= (1.0 + WITHIN_S) * allowed  # the last ones may wait beyond the end


def test_ten_million_records_per_second_cost_no_more_than_the_sample():
    faults = ClusterFaults(n_partitions=128, n_lost=0)
    found = simulate_cluster(make_simulation(rate=1e7, faults=faults, duration_s=0.5), 32)
    assert found.undisturbed.n_records == pytest.approx(5e6, rel=0.05)
    assert found.undisturbed.on_time > 0.99


def test_the_records_of_a_lost_worker_are_late_until_others_take_over():
    faults = ClusterFaults(
        skew=0.0, n_stragglers=0, n_partitions=64, n_lost=1, lost_at_s=0.3, detect_s=0.2, replay_s=0.1
    )
    found = simulate_cluster(make_simulation(rate=1e6, faults=faults), 4)
    assert found.undisturbed.on_time > 0.999
    late = 0.25 * (0.1 + 0.2 - WITHIN_S)  # share of the worker, of the time in which nobody can answer in time
    assert 1.0 - found.with_loss.on_time == pytest.approx(late, rel=0.25)
    assert 0.2 - WITHIN_S <= found.recovery_s < 0.4
    assert found.after_recovery.on_time > 0.999
    assert found.after_recovery.steps < found.undisturbed.steps  # three workers have less time for each record


def test_a_cluster_that_is_too_small_without_the_lost_worker_does_not_recover():
    faults = ClusterFaults(
        skew=0.0, n_stragglers=0, n_partitions=64, n_lost=2, lost_at_s=0.25, detect_s=0.1, replay_s=0.1
    )
    found = simulate_cluster(make_simulation(rate=2.8e6, faults=faults, max_steps=0), 4)
    assert found.undisturbed.on_time > 0.99
    assert found.with_loss.on_time < 0.8
    assert found.recovery_s is None
    assert found.after_recovery is None


def test_a_single_worker_is_replaced_and_every_record_is_counted_once():
    faults = ClusterFaults(n_stragglers=0, lost_at_s=0.3, detect_s=0.2, replay_s=0.1)
    found = simulate_cluster(make_simulation(rate=1e5, faults=faults), 1)
    assert found.with_loss.n_records == found.undisturbed.n_records
    assert 0.2 - WITHIN_S <= found.recovery_s < 0.4


def test_a_slow_worker_takes_fewer_steps_and_is_late_first():
    slow = ClusterFaults(skew=0.0, n_stragglers=2, straggler_speed=0.25, n_lost=0, n_partitions=64)
    even, uneven = (simulate_cluster(make_simulation(rate=1.6e6, faults=faults), 4) for faults in (EVEN, slow))
    assert even.undisturbed.on_time > 0.999
    assert 0.5 < uneven.undisturbed.on_time < 0.9  # two of four workers need 1.6 times the time that they have
    assert uneven.busiest_at_budget_0 == pytest.approx(4.0 * even.busiest_at_budget_0)


@pytest.mark.parametrize("n_workers", [1, 2, 7, 50])
@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_partitions_are_spread_evenly_by_number_and_move_completely(n_workers, skew):
    layout = ClusterLayout.draw(n_workers, ClusterFaults(n_partitions=200, skew=skew, n_lost=2), seed=3)
    assert layout.shares.sum() == pytest.approx(1.0)
    assert layout.taken_over.sum() == pytest.approx(layout.shares[layout.lost].sum())
    assert np.all(layout.shares[layout.lost] >= np.delete(layout.shares, layout.lost).max(initial=0.0))
    if layout.has_survivors:
        assert np.all(layout.taken_over[layout.lost] == 0.0)
    stands_for = sum(n_alike * layout.shares[worker] for worker, n_alike in layout.choose_examples())
    assert stands_for == pytest.approx(1.0)
    if skew == 0.0 and 200 % n_workers == 0:
        np.testing.assert_allclose(layout.shares, 1.0 / n_workers)


def test_slow_workers_are_at_most_half_and_never_the_lost_ones():
    layout = ClusterLayout.draw(5, ClusterFaults(n_stragglers=9, n_lost=1))
    assert np.count_nonzero(layout.speeds < 1.0) == 2
    assert np.all(layout.speeds[layout.lost] == 1.0)


@pytest.mark.parametrize("weight", [1, 30])
def test_every_nth_arrival_has_the_spread_of_a_poisson_process(weight):
    traffic, rng = Traffic(np.array([1000.0, 9000.0]), 0.5), np.random.default_rng(1)
    drawn = [traffic.draw_every(weight, 0.6, rng) for _ in range(400)]
    counts = np.array([len(times) * weight for times in drawn])
    assert counts.mean() + (weight - 1) / 2 == pytest.approx(3000.0, rel=0.01)  # up to weight - 1 are not complete
    assert counts.var() == pytest.approx(3000.0, rel=0.3)
    in_first_half = np.mean([np.mean(times < 0.5) for times in drawn])
    assert in_first_half == pytest.approx(0.1, abs=0.01)


def test_recorded_answers_are_those_of_the_model_after_every_number_of_steps(fitted):
    model, X, y = fitted
    answers = RecordedAnswers.record(model, X, y, max_steps=30)
    rows = np.arange(len(X))
    for steps in (0, 3, 30):
        given = model.classify(X, budget=steps)
        found = answers.classify((rows[:, None] + 1).astype(float), budget=type("B", (), {"steps": steps}))
        np.testing.assert_array_equal(found.steps, given.steps)
        np.testing.assert_array_equal(found.settled, given.settled)
        np.testing.assert_array_equal(answers.right(rows, given.steps), given.labels == y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_partitions": 0}, "the number of partitions is 0"),
        ({"skew": -1.0}, "the skew is -1.0"),
        ({"n_lost": -1}, "use 0 or more"),
        ({"straggler_speed": 0.0}, "the speed of slow workers is 0.0"),
        ({"detect_s": float("nan")}, "loss, detection and replay"),
    ],
)
def test_invalid_faults_are_reported_with_their_value(options, message):
    with pytest.raises(ValueError, match=message):
        ClusterFaults(**options)


def test_impossible_clusters_are_reported():
    with pytest.raises(ValueError, match="9 workers share 8 partitions"):
        ClusterLayout.draw(9, ClusterFaults(n_partitions=8))
    with pytest.raises(ValueError, match=r"lost after 3 s, but the traffic takes only 1 s"):
        make_simulation(rate=10.0, faults=ClusterFaults(lost_at_s=3.0))
    with pytest.raises(ValueError, match="no labels"):
        NEVER_DONE.right(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    with pytest.raises(ValueError, match="the table has no records"):
        RecordedAnswers.record(None, np.empty((0, 2)), max_steps=3)
