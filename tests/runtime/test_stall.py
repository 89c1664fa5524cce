"""A process that stands still for 300 ms, on a simulated clock: what is lost, and how soon all is in time again."""

from dataclasses import replace

import numpy as np
import pytest

from anystream.connectors.memory import MemorySource
from anystream.runtime import (
    DeadlineShare,
    Engine,
    MachineCost,
    NullSink,
    RecordQueue,
    Replay,
    SimulatedClock,
    SimulatedModel,
    at_times,
)
from runtime.models import Threshold

COST = MachineCost(call_s=50e-6, record_s=40e-6, step_s=1e-6)  # at most 24,700 records a second at budget 0
WITHIN_S, STALL_S, STALL_AT_S = 0.1, 0.3, 0.2
BATCH_S = 0.004
READ_S = 40e-6  # a record, of a source that is slow to read


class LateSink(NullSink):
    """Remembers when records arrived, which were late, and which were reached."""

    def __init__(self, clock, n_records):
        self.clock = clock
        self.arrived = np.full(n_records, np.nan)
        self.late, self.reached = np.ones((2, n_records), dtype=bool)

    def write(self, answers):
        self.arrived[answers.offset] = self.clock.now() - answers.waited_s
        self.late[answers.offset] = answers.late
        self.reached[answers.offset] = answers.reached


class StallingModel(SimulatedModel):
    """Stands still within a call."""

    def __init__(self, clock, stall, cost):
        super().__init__(Threshold(), clock, cost)
        self.stall = stall

    def classify(self, X, *, budget):
        answer = super().classify(X, budget=budget)
        self.stall()
        return answer


class SlowSource(MemorySource):
    """Takes a time for each record that is read."""

    def __init__(self, X, clock):
        super().__init__(X)
        self.clock = clock

    def poll(self, max_records):
        records = super().poll(max_records)
        self.clock.sleep(READ_S * len(records))
        return records


def run_with_stall(load, *, in_call, overflow="block", capacity=100_000, cost=COST):
    """Return arrivals relative to the end of the stall, and what became of each record."""
    clock, ended = SimulatedClock(), []

    def stall(_=None):
        if not ended and clock.now() >= STALL_AT_S:
            clock.sleep(STALL_S)
            ended.append(clock.now())

    times = np.arange(0.0, 0.8, cost.record_s / load)
    sink = LateSink(clock, len(times))
    X = np.where(np.arange(len(times)) % 2, 1.0, -1.0)[:, None]
    source = Replay(MemorySource(X), at_times(times), clock)
    Engine(
        StallingModel(clock, stall if in_call else lambda: None, cost),
        source,
        sink,
        scheduler=DeadlineShare(max_steps=20),
        within_s=WITHIN_S,
        queue=RecordQueue(capacity, overflow),
        clock=clock,
        batch_s=BATCH_S,
        observer=None if in_call else stall,
    ).run()
    return sink.arrived - ended[0], sink


@pytest.mark.parametrize(
    ("load", "overflow", "capacity", "in_call"),
    [
        (0.2, "block", 100_000, False),
        (0.8, "block", 100_000, True),
        (0.8, "block", 1_500, False),
        (0.8, "answer_now", 4_000, False),
    ],
)
def test_all_records_that_could_be_saved_after_a_stall_are_in_time(load, overflow, capacity, in_call):
    arrived, sink = run_with_stall(load, in_call=in_call, overflow=overflow, capacity=capacity)
    assert not sink.late[arrived < -STALL_S - WITHIN_S].any()
    savable = arrived > -WITHIN_S + 3.0 * BATCH_S  # the others have no time for a batch, while more wait behind them
    assert not sink.late[savable].any()
    assert sink.late[(arrived > -STALL_S) & (arrived < -WITHIN_S)].all()  # the test would notice a late record


@pytest.mark.parametrize("in_call", [False, True])
def test_no_record_that_arrives_one_deadline_after_a_stall_is_late_or_not_reached_at_nine_tenths_of_the_load(in_call):
    arrived, sink = run_with_stall(0.9, in_call=in_call)
    after = arrived > WITHIN_S
    assert after.sum() > 4_000
    assert not sink.late[after].any()
    assert sink.reached[after].all()


@pytest.mark.parametrize("call_s", [0.5e-3, 1e-3, 1.5e-3])
def test_expensive_calls_do_not_keep_the_engine_on_the_verge_of_deadlines_after_a_stall(call_s):
    load = 0.9 * (1.0 - call_s / BATCH_S)  # of batches that take their usual time
    arrived, sink = run_with_stall(load, in_call=False, cost=replace(COST, call_s=call_s))
    after = arrived > WITHIN_S
    assert after.sum() > 3_000
    assert (~sink.late & sink.reached)[after].all()


def test_a_stream_of_twice_what_the_machine_can_do_is_answered_in_time_for_as_many_as_it_can():
    arrived, sink = run_with_stall(2.0, in_call=False, capacity=2_500)
    after = arrived > WITHIN_S
    assert (~sink.late & sink.reached)[after].mean() > 0.4


def test_reading_what_a_stall_has_left_is_no_cost_of_the_next_batch():
    clock, expected_s, stalled_at = SimulatedClock(), [], 50

    def note_cost(_):
        expected_s.append(engine.cost.estimate_s(100, 0))
        if len(expected_s) == stalled_at:
            clock.sleep(STALL_S)

    times = np.arange(0.0, 0.8, COST.record_s / 0.3)
    engine = Engine(
        SimulatedModel(Threshold(), clock, COST),
        Replay(SlowSource(np.ones((len(times), 1)), clock), at_times(times), clock),
        NullSink(),
        scheduler=DeadlineShare(max_steps=20),
        within_s=WITHIN_S,
        queue=RecordQueue(100_000),
        clock=clock,
        batch_s=BATCH_S,
        observer=note_cost,
    )
    engine.run()
    assert expected_s[stalled_at] <= expected_s[stalled_at - 1]
