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

    def poll(self, max_records):
        polled = super().poll(max_records)
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
