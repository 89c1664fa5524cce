"""Records without arrival times have their whole time from when they can be taken."""

import numpy as np
import pytest

from anystream.connectors.memory import MemorySink, MemorySource
from anystream.runtime import DeadlineShare, Engine, MachineCost, SimulatedClock, SimulatedModel
from runtime.models import Threshold

COST = MachineCost(call_s=5e-5, record_s=1e-6, step_s=5e-7)


class SlowSource(MemorySource):
    """A source that takes 20 us to read a record."""

    def __init__(self, X, clock, always_ready):
        super().__init__(X)
        self._clock = clock
        self.always_ready = always_ready
        self.n_read = 0

    def poll(self, max_records):
        polled = super().poll(max_records)
        self.n_read += len(polled.records)
        self._clock.sleep(20e-6 * len(polled.records))
        return polled


@pytest.mark.parametrize("always_ready", [True, False])
def test_no_record_of_a_file_is_late_because_reading_takes_time(always_ready):
    clock = SimulatedClock()
    source = SlowSource(np.ones((500, 1)), clock, always_ready)
    engine = Engine(
        SimulatedModel(Threshold(), clock, COST),
        source,
        MemorySink(),
        scheduler=DeadlineShare(max_steps=20),
        within_s=0.005,
        clock=clock,
    )
    summary = engine.run()
    assert (summary.answered, summary.late, summary.deadlines_from) == (500, 0, "taken")
    if always_ready:
        assert summary.steps / summary.answered > 15


class StallingModel(SimulatedModel):
    """A model whose second call with a deadline is held up for 50 ms, as on a busy machine."""

    def __init__(self, model, clock, cost, source):
        super().__init__(model, clock, cost)
        self._source = source
        self._n_calls = 0
        self.n_read_before = 0

    def classify(self, X, *, budget):
        self._n_calls += budget.until is not None
        if self._n_calls == 2 and budget.until is not None:
            self.n_read_before = self._source.n_read
            self._clock.sleep(0.05)
        return super().classify(X, budget=budget)


def test_a_stall_makes_only_those_records_of_a_file_late_that_were_read_before_it():
    clock = SimulatedClock()
    source = SlowSource(np.ones((500, 1)), clock, always_ready=True)
    model = StallingModel(Threshold(), clock, COST, source)
    engine = Engine(model, source, MemorySink(), scheduler=DeadlineShare(max_steps=20), within_s=0.005, clock=clock)
    summary = engine.run()
    assert summary.answered == 500
    assert 0 < summary.late <= model.n_read_before < 500
