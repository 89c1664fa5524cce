import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items, Reject
from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.connectors.protocols import Polled
from anystream.runtime import (
    BadRecord,
    DeadlineShare,
    Engine,
    FixedBudget,
    GainTable,
    ItemQueue,
    LearnsBetween,
    MachineCost,
    MarginalGain,
    Replay,
    SimulatedClock,
    WaitingTime,
    at_times,
    stop_on_signals,
)
from anystream.runtime.simulation import EndlessRows, Nowhere, SimulatedModel
from runtime.models import Threshold

COST = MachineCost(call=1e-4, record=1e-3, step=1e-3)
TABLE = GainTable((0, 4, 16), np.full((2, 9), 0.5), np.full((2, 3, 10), 0.2), np.array([0.5, 0.6, 0.7]))


def engine_on(times, *, scheduler, within=1.0, overflow="block", capacity=20, X=None, y=None, model=None, **options):
    clock = SimulatedClock()
    X = np.where(np.arange(len(times)) % 2, 1.0, -1.0)[:, None] if X is None else X
    source = Replay(MemorySource(X, y), at_times(times), clock)
    sink, dead = MemorySink(), MemoryDeadLetters()
    engine = Engine(
        SimulatedModel(model or Threshold(), clock, COST),
        source,
        sink,
        scheduler=scheduler,
        within=within,
        queue=ItemQueue(capacity, overflow),
        dead_letters=dead,
        clock=clock,
        **options,
    )
    return engine, sink, dead, clock


SCHEDULERS = st.sampled_from(["fixed", "waiting", "share", "headroom", "gain"])


def scheduler_named(name):
    return {
        "fixed": lambda: FixedBudget(5),
        "waiting": lambda: WaitingTime(0.5),
        "share": lambda: DeadlineShare(most=50),
        "headroom": lambda: DeadlineShare(most=50, headroom=0.8),
        "gain": lambda: MarginalGain(TABLE),
    }[name]()


@settings(max_examples=60)
@given(
    st.lists(st.floats(0.0, 0.05), min_size=1, max_size=120),
    SCHEDULERS,
    st.sampled_from(["block", "answer_now", "shed_oldest", "shed_newest"]),
    st.sets(st.integers(0, 119), max_size=5),
)
def test_every_record_ends_in_exactly_one_place(gaps, name, overflow, bad):
    times = np.cumsum(gaps)
    X = np.ones((len(times), 1))
    bad = [row for row in bad if row < len(times)]
    X[bad] = np.where(np.arange(len(bad)) % 2, np.inf, 666.0)[:, None]
    engine, sink, dead, _ = engine_on(times, scheduler=scheduler_named(name), within=0.1, overflow=overflow, X=X)
    summary = engine.run()
    answered = sink.column("key").tolist()
    given_up = [reject.key for reject in dead.rejects]
    assert sorted(answered + given_up) == list(range(len(times)))
    assert summary.taken == len(times) == summary.answered + summary.shed + summary.dead
    assert summary.answered == len(answered) == summary.on_time + summary.late
    assert set(bad) <= set(given_up)
    assert summary.waiting == 0
    if overflow == "block":
        assert summary.shed == 0


def test_answers_are_in_time_when_the_machine_can_do_it_and_deeper_when_it_is_idle():
    times = np.concatenate([np.arange(50) * 0.1, 5.0 + np.arange(300) * 0.002])
    engine, sink, _, _ = engine_on(times, scheduler=DeadlineShare(), within=0.5, capacity=1000)
    summary = engine.run()
    assert summary.late == 0
    steps = dict(zip(sink.column("key").tolist(), sink.column("steps").tolist(), strict=True))
    assert np.mean([steps[i] for i in range(50)]) > 20 * max(np.mean([steps[i] for i in range(150, 300)]), 0.1)


def test_the_same_load_makes_a_fixed_budget_late():
    times = np.arange(300) * 0.002
    late = {}
    for name, scheduler in (("fixed", FixedBudget(20)), ("share", DeadlineShare())):
        engine, _, _, _ = engine_on(times, scheduler=scheduler, within=0.5, capacity=1000)
        late[name] = engine.run().late
    assert late["share"] == 0
    assert late["fixed"] > 250


class HeldUp(SimulatedModel):
    """A model each of whose calls has to wait for a core that somebody else uses, for a while."""

    def classify(self, X, *, budget):
        if 0.2 <= self._clock.now() < 1.2:
            self._clock.sleep(0.004)
        return super().classify(X, budget=budget)


@pytest.mark.parametrize("rate", [20_000, 50_000, 100_000])
def test_nobody_is_late_because_each_call_is_held_up(rate):
    times, clock = np.sort(np.random.default_rng(0).uniform(0.0, 1.5, int(1.5 * rate))), SimulatedClock()
    X = np.where(np.arange(1000) % 2, 1.0, -1.0)[:, None]
    summary = Engine(
        HeldUp(Threshold(30), clock, MachineCost(call=5e-5, record=1e-6, step=3e-7)),
        Replay(EndlessRows(X, None, len(times)), at_times(times), clock),
        Nowhere(),
        scheduler=DeadlineShare(most=30),
        within=0.05,
        queue=ItemQueue(2000, "answer_now"),
        clock=clock,
        observer=lambda turn: clock.sleep(2e-4),  # what the engine itself needs
    ).run()
    assert summary.late == 0
    assert summary.answered == len(times)
    assert summary.steps / len(times) > (15 if rate == 100_000 else 25)


def test_the_time_for_answers_to_a_full_queue_is_not_laid_to_the_next_batch():
    times = np.repeat(np.arange(20.0), 600)  # and twenty fit
    engine, sink, _, _ = engine_on(times, scheduler=FixedBudget(5), overflow="answer_now")
    seen = []
    engine.watch(lambda turn: seen.append(engine.cost.of(20, 5)))
    engine.run()
    assert len(sink) == len(times)
    assert max(seen) == pytest.approx(COST.call + 20 * (COST.record + 5 * COST.step), rel=0.05)


class HalfSure(Threshold):
    """Records whose second feature is 1 are hard: they are wrong, and unsure, before ten steps."""

    def classify(self, X, *, budget):
        found = super().classify(X, budget=budget)
        easy = (X[:, 1] == 0.0) | (found.steps >= 10)
        labels = np.where(easy, found.labels, 1 - found.labels)
        proba = np.where(easy[:, None], found.proba, 0.5)
        return Answer(labels, proba, found.steps, found.certified, 0.0)


def test_a_second_round_answers_more_than_equal_shares():
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([-1.0, 1.0], 600), (rng.random(600) < 0.25).astype(float)], axis=1)
    y = (X[:, 0] > 0.0).astype(int)
    model = HalfSure(n_features=2)
    staged = [model.classify(X, budget=steps) for steps in (0, 10)]
    right = [(answer.labels == y).mean() for answer in staged]
    gains = np.zeros((1, 2, 10))
    gains[0, 1, :3] = (right[1] - right[0]) / 0.3
    table = GainTable((0, 10), np.linspace(0.55, 0.95, 9)[None], gains, np.array(right))

    def accuracy(scheduler):
        engine, _, _, _ = engine_on(
            np.arange(600) / 160.0, scheduler=scheduler, capacity=1000, X=X, y=y.tolist(), model=model
        )
        summary = engine.run()
        assert summary.late == 0
        return summary.right / summary.answered

    assert accuracy(MarginalGain(table)) > accuracy(DeadlineShare(most=10)) + 0.05  # a few for everyone help nobody


def test_the_most_urgent_record_is_answered_first():
    clock = SimulatedClock()
    deadlines = np.array([50.0, 10.0, 30.0, 20.0, 40.0])
    sink = MemorySink()
    model = SimulatedModel(Threshold(), clock, COST)
    source = MemorySource(np.ones((5, 1)), deadline=deadlines)
    Engine(model, source, sink, scheduler=FixedBudget(3), clock=clock, most_records=1).run()
    assert sink.column("key").tolist() == [1, 3, 2, 4, 0]


def test_waiting_counts_from_the_scheduled_arrival_even_outside_a_full_queue():
    engine, sink, _, _ = engine_on(np.zeros(40), scheduler=FixedBudget(9), capacity=4)
    engine.run()
    assert sink.column("waited")[-1] == pytest.approx(0.4, rel=0.1)  # forty records of ten milliseconds


def test_after_a_stop_what_was_taken_is_answered_and_acknowledged():
    times = np.arange(1000) * 0.002
    engine, sink, _, _ = engine_on(times, scheduler=DeadlineShare(), capacity=1000)
    engine.watch(lambda turn: engine.stop() if turn.summary.answered >= 100 else None)
    summary = engine.run()
    assert 100 <= summary.answered < 1000
    assert summary.taken == summary.answered == len(sink)
    assert engine.source._source.acknowledged == summary.taken


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_engine_gracefully(number):
    before = signal.getsignal(number)
    engine, sink, _, _ = engine_on(np.arange(1000) * 0.002, scheduler=DeadlineShare(), capacity=1000)
    engine.watch(
        lambda turn: signal.raise_signal(number) if 50 <= turn.summary.answered < 900 and not engine._stopping else None
    )
    with stop_on_signals(engine):
        summary = engine.run()
    assert summary.taken == len(sink) < 1000
    assert signal.getsignal(number) is before


class HalfBroken(MemorySource):
    def poll(self, most):
        items, _ = super().poll(most)
        return Polled(items.take(slice(1, None)), [Reject("torn", 0, 1)] if len(items) else [])


def test_a_strict_engine_stops_at_the_first_bad_record():
    source = HalfBroken(np.ones((5, 1)))
    with pytest.raises(BadRecord, match="line 1: torn"):
        Engine(Threshold(), source, MemorySink(), strict=True).run()


class Learning(Threshold):
    """Remembers what it was taught, and when it was asked."""

    def __init__(self):
        super().__init__()
        self.taught, self.taught_before = [], []

    def classify(self, X, *, budget):
        self.taught_before.extend([len(self.taught)] * len(X))
        return super().classify(X, budget=budget)

    def partial_fit(self, X, y):
        self.taught.extend(zip(X[:, 0].tolist(), y.tolist(), strict=True))


def test_labels_that_come_with_records_are_learned_after_the_answer_in_fixed_portions():
    X, y = np.arange(100.0)[:, None], [None if i % 4 == 0 else i % 2 for i in range(100)]
    model = Learning()
    summary = Engine(LearnsBetween(model, every=10), MemorySource(X, y), MemorySink(), scheduler=FixedBudget(1)).run()
    assert model.taught == [(float(i), i % 2) for i in range(100) if i % 4]
    asked = model.taught_before[-100:]
    assert asked == [sum(1 for j in range(i // 10 * 10) if j % 4) for i in range(100)]
    assert summary.judged == 75


def test_later_labels_meet_their_records_by_key_and_missing_ones_do_no_harm():
    model = Learning()
    labels = MemoryLabels([(f"r{i}", i % 2) for i in (7, 3, 99)] + [("r5", 1)])
    source = MemorySource(np.arange(10.0)[:, None], key=[f"r{i}" for i in range(10)])
    engine = Engine(LearnsBetween(model, every=4), source, MemorySink(), labels=labels, scheduler=FixedBudget(1))
    engine.run()
    assert sorted(model.taught) == [(3.0, 1), (5.0, 1), (7.0, 1)]


def test_an_idle_engine_in_another_thread_can_be_stopped():
    class Silent(MemorySource):
        done = False

        def wait(self, seconds):
            started.set()

    started = threading.Event()
    engine = Engine(Threshold(), Silent(np.empty((0, 1))), MemorySink())
    worker = threading.Thread(target=engine.run)
    worker.start()
    started.wait(10.0)
    engine.stop()
    worker.join(10.0)
    assert not worker.is_alive()


def test_items_join_slice_and_iterate():
    a, b = Items.of([[1.0]], key=["a"], label=[None]), Items.of([[2.0]], key=[7], label=["x"])
    both = Items.joined([a, b])
    assert [(item.key, item.label, item.features.tolist()) for item in both] == [("a", None, [1.0]), (7, "x", [2.0])]
    with pytest.raises(ValueError, match="2 rows of features and 1 of key"):
        Items.of([[1.0], [2.0]], key=["a"])
