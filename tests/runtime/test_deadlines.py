import numpy as np
import pytest

from anystream.anytime.answer import Answer
from anystream.connectors.memory import MemorySink, MemorySource
from anystream.runtime import (
    DeadlineShare,
    Engine,
    FixedBudget,
    GainTable,
    MachineCost,
    MarginalGain,
    NullSink,
    RecordQueue,
    RepeatingSource,
    Replay,
    SimulatedClock,
    SimulatedModel,
    at_times,
)
from runtime.harness import COST, simulated_engine
from runtime.models import Threshold


def test_answers_are_on_time_when_the_machine_can_do_it_and_deeper_when_it_is_idle():
    times = np.concatenate([np.arange(50) * 0.1, 5.0 + np.arange(300) * 0.002])
    engine, sink, _, _ = simulated_engine(times, scheduler=DeadlineShare(), within_s=0.5, capacity=1000)
    summary = engine.run()
    assert summary.late == 0
    steps = dict(zip(sink.column("key").tolist(), sink.column("steps").tolist(), strict=True))
    assert np.mean([steps[i] for i in range(50)]) > 20 * max(np.mean([steps[i] for i in range(150, 300)]), 0.1)


def test_the_same_load_makes_a_fixed_budget_late():
    times = np.arange(300) * 0.002
    late = {}
    for name, scheduler in (("fixed", FixedBudget(20)), ("share", DeadlineShare())):
        engine, _, _, _ = simulated_engine(times, scheduler=scheduler, within_s=0.5, capacity=1000)
        late[name] = engine.run().late
    assert late["share"] == 0
    assert late["fixed"] > 250


class UrgentSource(MemorySource):
    """Every twentieth record is due 10 ms after its arrival, the others after 200 ms."""

    def __init__(self, times, clock):
        super().__init__(np.ones((len(times), 1)))
        self.due = times + np.where(np.arange(len(times)) % 20 == 0, 0.01, 0.2)
        self.clock = clock

    def poll(self, max_records):
        if self.offset == 0:
            self.due += self.clock.now()
        polled = super().poll(max_records)
        polled.records.deadline = self.due[polled.records.offset]
        return polled


@pytest.mark.parametrize("call_s", [5e-5, 3e-4, 1e-3])
@pytest.mark.parametrize("load", [0.5, 0.9])
def test_a_few_urgent_records_are_in_time_beside_many_that_have_time(call_s, load):
    cost, clock = MachineCost(call_s=call_s, record_s=4e-5, step_s=1e-6), SimulatedClock()
    each_s = cost.record_s / (1.0 - call_s / 0.004)  # in batches that take their usual time
    times = np.sort(np.random.default_rng(0).uniform(0.0, 1.5, int(1.5 * load / each_s)))
    summary = Engine(
        SimulatedModel(Threshold(), clock, cost),
        Replay(UrgentSource(times, clock), at_times(times), clock),
        NullSink(),
        scheduler=DeadlineShare(max_steps=20),
        queue=RecordQueue(100_000),
        clock=clock,
    ).run()
    assert (summary.answered, summary.late, summary.unreached) == (len(times), 0, 0)


class DelayedModel(SimulatedModel):
    """A model each of whose calls waits for a busy core, for a while."""

    def classify(self, X, *, budget):
        if 0.2 <= self._clock.now() < 1.2:
            self._clock.sleep(0.004)
        return super().classify(X, budget=budget)


@pytest.mark.parametrize("rate", [20_000, 50_000, 100_000])
def test_no_record_is_late_because_each_call_is_delayed(rate):
    times, clock = np.sort(np.random.default_rng(0).uniform(0.0, 1.5, int(1.5 * rate))), SimulatedClock()
    X = np.where(np.arange(1000) % 2, 1.0, -1.0)[:, None]
    summary = Engine(
        DelayedModel(Threshold(30), clock, MachineCost(call_s=5e-5, record_s=1e-6, step_s=3e-7)),
        Replay(RepeatingSource(X, None, len(times)), at_times(times), clock),
        NullSink(),
        scheduler=DeadlineShare(max_steps=30),
        within_s=0.05,
        queue=RecordQueue(2000, "answer_now"),
        clock=clock,
        observer=lambda turn: clock.sleep(2e-4),  # what the engine itself needs
    ).run()
    assert summary.late == 0
    assert summary.answered == len(times)
    assert summary.steps / len(times) > (15 if rate == 100_000 else 25)


def test_the_time_of_evicted_records_is_not_attributed_to_the_next_batch():
    times = np.repeat(np.arange(20.0), 600)  # and twenty fit
    engine, sink, _, _ = simulated_engine(times, scheduler=FixedBudget(5), overflow="answer_now")
    estimates = []
    engine.watch(lambda turn: estimates.append(engine.cost.estimate_s(20, 5)))
    engine.run()
    assert len(sink) == len(times)
    assert max(estimates) == pytest.approx(COST.call_s + 20 * (COST.record_s + 5 * COST.step_s), rel=0.05)


class HardRecords(Threshold):
    """Records whose second feature is 1 are hard: their answers are wrong, and unsure, before ten steps."""

    def classify(self, X, *, budget):
        found = super().classify(X, budget=budget)
        easy = (X[:, 1] == 0.0) | (found.steps >= 10)
        labels = np.where(easy, found.labels, 1 - found.labels)
        proba = np.where(easy[:, None], found.proba, 0.5)
        return Answer(labels, proba, found.steps, found.certified, 0.0)


def test_a_second_round_is_more_accurate_than_equal_shares():
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([-1.0, 1.0], 600), (rng.random(600) < 0.25).astype(float)], axis=1)
    y = (X[:, 0] > 0.0).astype(int)
    model = HardRecords(n_features=2)
    staged = [model.classify(X, budget=steps) for steps in (0, 10)]
    right = [(answer.labels == y).mean() for answer in staged]
    gains = np.zeros((1, 2, 10))
    gains[0, 1, :3] = (right[1] - right[0]) / 0.3
    table = GainTable((0, 10), np.linspace(0.55, 0.95, 9)[None], gains, np.array(right))

    def accuracy(scheduler):
        engine, _, _, _ = simulated_engine(
            np.arange(600) / 160.0, scheduler=scheduler, capacity=1000, X=X, y=y.tolist(), model=model
        )
        summary = engine.run()
        assert summary.late == 0
        return summary.right / summary.answered

    assert (
        accuracy(MarginalGain(table)) > accuracy(DeadlineShare(max_steps=10)) + 0.05
    )  # equal shares are too few steps


def test_the_most_urgent_record_is_classified_first():
    clock = SimulatedClock()
    deadlines = np.array([50.0, 10.0, 30.0, 20.0, 40.0])
    sink = MemorySink()
    model = SimulatedModel(Threshold(), clock, COST)
    source = MemorySource(np.ones((5, 1)), deadline=deadlines)
    Engine(model, source, sink, scheduler=FixedBudget(3), clock=clock, max_records=1).run()
    assert sink.column("key").tolist() == [1, 3, 2, 4, 0]


def test_waiting_counts_from_the_scheduled_arrival_even_outside_a_full_queue():
    engine, sink, _, _ = simulated_engine(np.zeros(40), scheduler=FixedBudget(9), capacity=4)
    engine.run()
    assert sink.column("waited_s")[-1] == pytest.approx(0.4, rel=0.1)  # forty records of ten milliseconds
