import json

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemorySink, MemorySource
from anystream.runtime import (
    CheckpointError,
    CheckpointFolder,
    DeadlineShare,
    Engine,
    FixedBudget,
    GainTable,
    ItemQueue,
    LearnsBetween,
    MachineCost,
    Replay,
    SimulatedClock,
    WaitingTime,
    arrivals,
    as_recorded,
    at_rate,
    simulate,
    workload_a,
    workload_b,
)
from anystream.runtime.simulation import EndlessRows, SimulatedModel


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 2.0 * labels[:, None], labels


class TornError(Exception):
    pass


def test_a_run_that_ends_anywhere_is_gone_on_with_even_out_of_order(tmp_path):
    """Deadlines of their own make records overtake each other; none is lost and none answered twice."""
    X, y = data(300)
    deadlines = np.random.default_rng(1).uniform(0.0, 1.0, 300) + np.arange(300) * 0.01

    def run(folder, tear_at=None):
        clock = SimulatedClock()
        checkpoint = CheckpointFolder(folder, every_records=7, every_s=1e9)
        state = checkpoint.load()
        model = BayesTreeClassifier(n_jobs=1).fit(*data(60, seed=2)) if state is None else state.model
        engine = Engine(
            LearnsBetween(SimulatedModel(model, clock, MachineCost(1e-4, 1e-3, 1e-4)), every=5),
            MemorySource(X, y.tolist(), deadline=deadlines),
            sink,
            scheduler=FixedBudget(3),
            queue=ItemQueue(40),
            checkpoint=checkpoint,
            clock=clock,
            most_records=3,
        )
        if state is None:
            sink.rewind(0)  # a file would be begun anew
        else:
            engine.resume(state)

        def tear(turn):
            if tear_at is not None and turn.summary.answered >= tear_at:
                raise TornError

        engine.watch(tear)
        return engine.run()

    sink = MemorySink()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".anystream-0123456789abcdef.tmp").write_bytes(b"a model that was being written")
    for tear_at in (4, 30, 31, 100, 222, 290):
        with pytest.raises(TornError):
            run(tmp_path / "c", tear_at)
    summary = run(tmp_path / "c")
    assert sorted(sink.column("key").tolist()) == list(range(300))
    assert summary.taken == summary.answered == 300
    assert len(list((tmp_path / "c").iterdir())) == 3, "one checkpoint and nothing else"


def test_a_folder_without_or_with_a_damaged_checkpoint(tmp_path):
    folder = CheckpointFolder(tmp_path)
    assert folder.load() is None
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        folder.load()
    (tmp_path / "state.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(CheckpointError, match="version 99"):
        folder.load()


def test_only_the_files_of_the_last_checkpoint_stay(tmp_path):
    X, y = data(100)
    model = BayesTreeClassifier().fit(X, y)
    checkpoint = CheckpointFolder(tmp_path, every_records=10, every_s=1e9, notes={"mine": 1})
    Engine(model, MemorySource(X), MemorySink(), checkpoint=checkpoint, scheduler=FixedBudget(1), most_records=10).run()
    assert len(list(tmp_path.iterdir())) == 3
    assert checkpoint.load().summary["answered"] == 100


def test_a_replay_gives_records_when_their_time_has_come():
    clock = SimulatedClock(100.0)
    replay = Replay(MemorySource(np.arange(10.0)[:, None]), at_rate(2.0), clock)
    assert replay.poll(99).items.key.tolist() == [0]
    clock.sleep(1.2)
    items = replay.poll(99).items
    assert (items.key.tolist(), items.arrival.tolist()) == ([1, 2], [100.5, 101.0])
    replay.wait(10.0)
    assert clock.now() == pytest.approx(101.5)
    assert replay.offset == 3
    assert not replay.done
    clock.sleep(99.0)
    assert len(replay.poll(4).items) == 4
    assert len(replay.poll(99).items) == 3
    assert replay.done


def test_a_replay_reads_little_more_than_what_is_due():
    """Reading takes time: a large queue must not make those wait who are due now."""
    clock = SimulatedClock()
    source = EndlessRows(np.zeros((5, 2)), None, 200_000)
    replay = Replay(source, at_rate(10_000.0), clock)
    given = []
    for pause in (0.0, 0.001, 0.5, 2.0):
        clock.sleep(pause)
        given.extend(replay.poll(100_000).items.offset.tolist())
        assert len(given) == round(clock.now() * 10_000) + 1
        assert source.offset <= len(given) + 512
    assert given == list(range(len(given)))
    assert len(replay.poll(100_000).items) == 0
    clock.sleep(99.0)
    assert len(replay.poll(100).items) == 100
    assert source.offset <= len(given) + 1200


def test_recorded_times_are_kept_at_any_speed():
    clock = SimulatedClock()
    source = MemorySource(np.zeros((4, 1)))
    source._items.arrival = np.array([1000.0, 1004.0, 1003.0, 1010.0])  # one runs back
    replay = Replay(source, as_recorded(2.0), clock)
    replay.poll(9)
    clock.sleep(99.0)
    assert replay.poll(9).items.arrival.tolist() == [2.0, 2.0, 5.0]
    with pytest.raises(ValueError, match="no recorded time"):
        Replay(MemorySource(np.zeros((4, 1))), as_recorded(), clock).poll(1)


def test_workloads_have_the_rates_they_should():
    a = workload_a(60.0, base=400.0, peak=12_000.0, seed=3)
    counts = np.histogram(a, bins=np.arange(61))[0]
    spikes = np.arange(60) % 10 == 9
    assert np.all(np.abs(counts[spikes] - 12_000) < 600)
    assert np.all(np.abs(counts[~spikes] - 400) < 120)
    b = workload_b(20.0, high=1000.0, step_s=2.0, seed=4)
    assert np.all(np.diff(b) >= 0.0)
    assert b[0] >= 0.0
    assert b[-1] <= 20.0
    assert np.histogram(b, bins=np.arange(0, 21, 2))[0].std() > 200
    assert arrivals(np.array([2.0, 0.0, 4.0]), 1.0, seed=None).tolist() == [0.25, 0.75, 2.125, 2.375, 2.625, 2.875]
    assert np.array_equal(workload_a(5.0, seed=1), workload_a(5.0, seed=1))


@pytest.fixture(scope="module")
def fitted():
    X, y = data(400)
    return BayesTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_simulated_bursts_are_answered_in_time_by_the_share_and_late_by_the_paper(fitted):
    model, X, y = fitted
    times = workload_a(20.0, base=40.0, peak=1200.0)
    cost = MachineCost(1e-3, 1e-3, 1e-3)
    share = simulate(model, times, X, y, scheduler=DeadlineShare(most=100), cost=cost, within=5.0)
    paper = simulate(model, times, X, y, scheduler=WaitingTime(5.0), cost=cost, within=5.0)
    assert share.late < 0.02 * share.taken
    assert paper.late > 0.2 * paper.taken
    assert share.right_on_time > paper.right_on_time
    again = simulate(model, times, X, y, scheduler=DeadlineShare(most=100), cost=cost, within=5.0)
    assert again.to_json() == share.to_json()


def test_a_faster_machine_goes_deeper(fitted):
    model, X, y = fitted
    times = workload_b(10.0, high=500.0)
    cost = MachineCost(1e-3, 1e-3, 1e-3)
    runs = [
        simulate(model, times, X, y, scheduler=DeadlineShare(most=100), cost=cost.scaled(speed), within=1.0)
        for speed in (1.0, 4.0)
    ]
    assert runs[1].steps > 2 * runs[0].steps


def test_the_cost_of_a_machine_is_measured(fitted):
    model, X, _ = fitted
    cost = MachineCost.measure(model, X, repeats=2)
    assert min(cost.call, cost.record, cost.step) > 0.0
    assert cost.capacity(0) > cost.capacity(100)


def test_a_gain_table_survives_json_and_gains_fall_with_confidence(fitted):
    model, X, y = fitted
    table = GainTable.measure(model, X, y, levels=(0, 2, 10))
    again = GainTable.from_json(json.loads(json.dumps(table.to_json())))
    assert again.levels == (0, 2, 10)
    np.testing.assert_array_equal(again.gains, table.gains)
    unsure, sure = table.gain(0, 2, np.array([0.0, 1.0]))
    assert unsure >= sure >= 0.0
    with pytest.raises(ValueError, match="fit the model again"):
        GainTable.from_json({"levels": [0]})
